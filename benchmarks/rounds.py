"""One round of messages on a Dask cluster: our tree of messages beside a tree reduction of ordinary Dask tasks.

Both add up the gradient of a fit over partitions of one query each, so that the round itself is what takes time.

Every row is also kept in benchmarks/results/scale/rounds.csv.

    python -m benchmarks.rounds --partitions 20 200 2000 --workers 2
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.where import SCALE, keep
from rankwise.objective.sums import Sum

FEATURES, DOCUMENTS = 136, 20


def by_messages(objective: Any, w: Any) -> Any:
    return objective.at(w).gradient


def by_tasks(client: Any, futures: list[Any], w: Any) -> Any:
    """A task per partition, then sums of eight of them until one is left; nothing is kept for the next round."""
    parts = client.map(gradient_of, futures, w=w, pure=False)
    while len(parts) > 1:
        parts = [client.submit(added, parts[i : i + 8], pure=False) for i in range(0, len(parts), 8)]
    return w + parts[0].result()


def gradient_of(partition: Any, w: Any) -> Any:
    return Sum(partition.content.threads).at(w).gradient


def added(parts: list[Any]) -> Any:
    return np.sum(parts, axis=0)


def best(work: Callable[[], Any], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def measured(client: Any, n: int, repeats: int) -> dict[str, float]:
    import dask.array as da

    from rankwise.distributed.executor import build_rows, distributed_objective
    from rankwise.distributed.spread import spread
    from rankwise.objective.building import Pairing
    from rankwise.objective.losses import squared_hinge

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n * DOCUMENTS, FEATURES)), rng.integers(0, 5, n * DOCUMENTS).astype(float)
    qid = np.repeat(np.arange(n), DOCUMENTS)
    given = [da.from_array(one, chunks=(DOCUMENTS, *one.shape[1:])) for one in (X, y, qid)]
    data = spread(client, (*given, None), build_rows, squared_hinge(), Pairing(), 1)
    with data.partitions:
        objective = distributed_objective(data, squared_hinge(), 1.0, "sum")
        w = np.zeros(FEATURES)
        np.testing.assert_allclose(by_messages(objective, w), by_tasks(client, data.partitions.futures, w), rtol=1e-9)
        return {
            "messages": best(lambda: by_messages(objective, w), repeats),
            "tasks": best(lambda: by_tasks(client, data.partitions.futures, w), repeats),
        }


def main() -> None:
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(prog="python -m benchmarks.rounds", description=__doc__)
    parser.add_argument("--partitions", type=int, nargs="+", default=[20, 200, 2000])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    local: Any = {"n_workers": asked.workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**local) as cluster, Client(cluster) as client:
        print("| partitions | messages | tasks | ratio |\n|---|---|---|---|")
        for n in asked.partitions:
            found = measured(client, n, asked.repeats)
            ratio = found["tasks"] / found["messages"]
            print(f"| {n:,} | {found['messages']:.4f} s | {found['tasks']:.4f} s | {ratio:.1f} |", flush=True)
            keep(SCALE / "rounds.csv", {"partitions": n, "workers": asked.workers}, found)


if __name__ == "__main__":
    main()
