"""One problem on every engine: `python -m benchmarks.engines`, each in a process of its own.

500,040 × 136 float32, 4,167 queries of 5 levels, squared hinge, C = 1e-4, tol 1e-6: objective, seconds of a fit after
the first (median of three; data where the engine wants them), peak memory, and rounds of messages. Every row is also
kept in benchmarks/results/scale/engines.csv.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.cluster import OPTIONS, block
from benchmarks.process import StoppedError, fresh, memory
from benchmarks.where import SCALE, keep
from rankwise import RankSVM

QUERIES_A_BLOCK, BLOCKS = 463, 9
ROWS = 120 * QUERIES_A_BLOCK


def blocks() -> Iterator[tuple[Any, Any, Any]]:
    return (block(i, ROWS, np.float32) for i in range(BLOCKS))


def in_memory() -> tuple[Any, Any, Any]:
    X, y, qid = (np.concatenate(part) for part in zip(*blocks(), strict=True))
    return X, y, qid


def numpy_alone() -> Iterator[dict[str, Any]]:
    X, y, qid = in_memory()
    yield from fits(lambda: RankSVM(**OPTIONS, scheme="portable").fit(X, y, qid))


def compiled() -> Iterator[dict[str, Any]]:
    X, y, qid = in_memory()
    yield from fits(lambda: RankSVM(**OPTIONS).fit(X, y, qid))


def chunks() -> Iterator[dict[str, Any]]:
    from rankwise import open_chunks, write_chunks
    from rankwise.data.records import RankingData

    with tempfile.TemporaryDirectory() as folder:
        write_chunks(f"{folder}/chunks", (RankingData(*one) for one in blocks()))
        data = open_chunks(f"{folder}/chunks")
        yield from fits(lambda: RankSVM(**OPTIONS).fit(data))


def dask() -> Iterator[dict[str, Any]]:
    import dask.array as da
    from distributed import Client, LocalCluster

    from rankwise.distributed import DaskRankSVM

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        X, y, qid = (da.from_array(one, chunks=(ROWS, *one.shape[1:])).persist() for one in in_memory())
        for row in fits(lambda: DaskRankSVM(**OPTIONS).fit(X, y, qid)):
            yield row | {"peak MB": sum(client.run(lambda: memory()[1]).values())}


def on_torch(device: str) -> Iterator[dict[str, Any]]:
    import torch

    X, y, qid = (torch.from_numpy(one).to(device) for one in in_memory())
    on_gpu = device != "cpu"

    def fit() -> Any:
        ranker = RankSVM(**OPTIONS).fit(X, y, qid)
        if on_gpu:
            torch.cuda.synchronize()
        return ranker

    for row in fits(fit):
        if on_gpu:
            row |= {"peak MB": torch.cuda.max_memory_allocated() / 1e6, "machine": torch.cuda.get_device_name()}
        yield row


def fits(fit: Callable[[], Any]) -> Iterator[dict[str, Any]]:
    seconds: list[float] = []
    for _ in range(4):
        began = time.perf_counter()
        ranker = fit()
        seconds.append(time.perf_counter() - began)
    result = ranker.result_
    row = {"objective": result.value, "seconds": statistics.median(seconds[1:]), "peak MB": memory()[1]}
    yield row | {"steps": result.iterations, "rounds": getattr(result, "rounds", None)}


ENGINES = {
    "NumPy (portable)": ("numpy_alone", {}),
    "compiled": ("compiled", {}),
    "chunks on disk": ("chunks", {}),
    "Dask, 2 workers": ("dask", {}),
    "torch, CPU": ("on_torch", {"device": "cpu"}),
    "torch, GPU": ("on_torch", {"device": "cuda"}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="ENGINE", help=f"{', '.join(ENGINES)}; all if none is named")
    for name in parser.parse_args().names or ENGINES:
        function, arguments = ENGINES[name]
        try:
            (row,) = fresh(f"benchmarks.engines:{function}", arguments)
        except StoppedError as stop:
            print(f"{name:18} {stop}", flush=True)
            continue
        rounds = f", {row['rounds']} rounds" if row["rounds"] else ""
        told = (
            f"{row['objective']:.12g}  {row['seconds']:8.3f} s  {row['peak MB']:8.0f} MB  {row['steps']} steps{rounds}"
        )
        print(f"{name:18} {told}", flush=True)
        keep(SCALE / "engines.csv", {"engine": name}, row)


if __name__ == "__main__":
    main()
