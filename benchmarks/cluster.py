"""Threads, chunks on disk and a Dask cluster on this machine, against the cost model of docs/scale.md.

    seconds = passes · n (d b + PAIR_WORK) / (cores · speed) + Hessians · 2 m d² / (cores · flops) + rounds · latency

where a Hessian is written out of m rows: all of them, or of a sample. `speed` and `flops` are measured first, on one
block and one core, `latency` on a cluster with nothing to do. From disk, `cores · speed` is at most the rate at which
the files are read, as it was just before the fits. Data are made where they are used, block after block.
Beside the seconds stand those that each core was at work: on a busy machine, what they would be on an idle one.
Every row is also kept in benchmarks/results/scale/cluster.csv.

    python -m benchmarks.cluster --gigabytes 0.5 1 2 --cores 1 2
    python -m benchmarks.cluster --gigabytes 12 --cores 2 --engines disk --folder /data --repeats 1
"""

import argparse
import re
import statistics
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.where import SCALE, keep
from rankwise import RankSVM
from rankwise.objective.building import PAIR_WORK
from rankwise.solvers import WORTH_SAMPLING
from rankwise.solvers.conjugate import sample_size

FEATURES, DOCUMENTS, LEVELS = 136, 120, (0.5, 1.0, 1.8, 2.5)
BLOCK_BYTES = 1 << 26  # of X in a partition
OPTIONS: dict[str, Any] = {"C": 1e-4, "tol": 1e-6}
TIMES = ("seconds", "best", "at work", "before", "predicted")
HESSIANS = 6  # of the sample: a few Newton steps of its own, and one or two as preconditioners


def block(i: int, n: int, dtype: Any) -> tuple[Any, Any, Any]:
    """Rows of whole queries, from one ranking function for all blocks."""
    rng = np.random.default_rng(i)
    X = rng.standard_normal((n, FEATURES), dtype=np.float32).astype(dtype)
    weights = np.random.default_rng(2**32).standard_normal(FEATURES) / np.sqrt(FEATURES)
    y = np.digitize(X @ weights + rng.standard_normal(n), LEVELS).astype(np.float64)
    return X, y, np.repeat(np.arange(n // DOCUMENTS) + i * (n // DOCUMENTS), DOCUMENTS)


def sizes(gigabytes: float, dtype: Any) -> tuple[int, int]:
    """Blocks, and rows in each."""
    width = FEATURES * np.dtype(dtype).itemsize
    rows = max(DOCUMENTS, BLOCK_BYTES // width // DOCUMENTS * DOCUMENTS)
    return max(1, round(gigabytes * 1e9 / (rows * width))), rows


def on_threads(gigabytes: float, dtype: Any, n_threads: int, repeats: int) -> Iterator[dict[str, Any]]:
    n, rows = sizes(gigabytes, dtype)
    X, y, qid = np.empty((n * rows, FEATURES), dtype), np.empty(n * rows), np.empty(n * rows, np.int64)
    for i in range(n):
        here = slice(i * rows, (i + 1) * rows)
        X[here], y[here], qid[here] = block(i, rows, dtype)
    for _ in range(repeats):
        began = time.process_time()
        found = timed(RankSVM(**OPTIONS, n_jobs=n_threads), X, y, qid)
        yield found | {"at work": (time.process_time() - began) / n_threads}


def on_disk(gigabytes: float, dtype: Any, n_threads: int, repeats: int, folder: str | None) -> Iterator[dict[str, Any]]:
    """The rate at which the files are read, then fits to them."""
    from rankwise import open_chunks, write_chunks
    from rankwise.data.records import RankingData

    n, rows = sizes(gigabytes, dtype)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        chunks = Path(scratch) / "chunks"
        write_chunks(chunks, (RankingData(*block(i, rows, dtype)) for i in range(n)))
        data, rate = open_chunks(chunks), read_rate(chunks)
        for _ in range(repeats):
            began = time.process_time()
            found = timed(RankSVM(**OPTIONS, n_jobs=n_threads), data)
            yield found | {"at work": (time.process_time() - began) / n_threads, "rate": rate}


def read_rate(folder: Path) -> float:
    """Bytes per second of a plain read of all files."""
    buffer, total, began = bytearray(1 << 22), 0, time.perf_counter()
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb", buffering=0) as file:
                while size := file.readinto(buffer):
                    total += size
    return total / (time.perf_counter() - began)


def on_cluster(gigabytes: float, dtype: Any, n_workers: int, repeats: int) -> Iterator[dict[str, Any]]:
    """The latency of a round, then fits to data that lie on the workers already."""
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    from rankwise.distributed import DaskRankSVM

    n, rows = sizes(gigabytes, dtype)
    options = {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        parts = [dask.delayed(block)(i, rows, dtype) for i in range(n)]
        X = da.concatenate([da.from_delayed(one[0], (rows, FEATURES), dtype) for one in parts])
        y, qid = (da.concatenate([da.from_delayed(one[k], (rows,), float) for one in parts]) for k in (1, 2))
        held = client.persist([X, y, qid])
        wait(held)
        waits = [latency(client) for _ in range(50)]
        for _ in range(repeats):
            began = sum(client.run(time.process_time).values())
            found = timed(DaskRankSVM(**OPTIONS), *held) | {"latency": statistics.median(waits)}
            yield found | {"at work": (sum(client.run(time.process_time).values()) - began) / n_workers}


def latency(client: Any) -> float:
    began = time.perf_counter()
    client.run(int)
    return time.perf_counter() - began


def timed(ranker: Any, *data: Any) -> dict[str, Any]:
    began = time.perf_counter()
    ranker.fit(*data)
    seconds, result = time.perf_counter() - began, ranker.result_
    solving = result.history[-1].seconds
    products = sum(int(found[1]) for step in result.history if (found := re.match(r"(\d+) products", step.detail)))
    return {
        "seconds": seconds,
        "before": seconds - solving,  # checked, copied where need be, sorted by level
        "rounds": getattr(result, "rounds", 0),
        "sent": getattr(result, "bytes", 0),
        # at zero, at the start, at every step and product; and before all that, rows are checked and sorted by level
        "passes": 4 + result.iterations + products,
        "hessians": HESSIANS,
        "objective": result.value,
    }


def speeds(dtype: Any) -> tuple[float, float]:
    """Bytes per second of one core in a pass, and operations per second where a Hessian is written out."""
    from rankwise.objective.building import build
    from rankwise.objective.losses import parse

    rows = sizes(0.1, dtype)[1]
    X, y, qid = block(0, rows, dtype)
    objective, v = build(X, y, qid, loss=parse("squared_hinge"), C=1.0, n_jobs=1), np.ones(FEATURES)
    here = objective.at(np.zeros(FEATURES))
    one_pass = (median_time(lambda: objective.at(v)) + median_time(lambda: here.hessian(v))) / 2
    return (X.nbytes + PAIR_WORK * rows) / one_pass, 2 * rows * FEATURES**2 / median_time(here.hessian_matrix)


def median_time(work: Any) -> float:
    times = []
    for _ in range(9):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return statistics.median(times)


def predicted(found: dict[str, Any], n_rows: int, itemsize: int, cores: int, measured: tuple[float, float]) -> float:
    """What the cost model says of a fit."""
    speed, flops = measured
    sampled = n_rows >= WORTH_SAMPLING * sample_size(FEATURES)
    written_out = sample_size(FEATURES) if sampled else n_rows
    rate = min(cores * speed, found.get("rate", np.inf))
    passes = found["passes"] * n_rows * (FEATURES * itemsize + PAIR_WORK) / rate
    hessians = found["hessians"] * 2 * written_out * FEATURES**2 / (cores * flops)
    return passes + hessians + found["rounds"] * found.get("latency", 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, nargs="+", default=[0.5])
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--dtype", default="float64")
    parser.add_argument("--repeats", type=int, default=5, help="fits; the first is not counted if there are more")
    parser.add_argument("--engines", nargs="+", choices=("threads", "disk", "workers"), default=["threads", "workers"])
    parser.add_argument("--folder", help="where the chunks are written, and removed again")
    asked = parser.parse_args()
    measured = speeds(asked.dtype)
    print(f"a core: {measured[0] / 1e9:.2f} GB/s in passes, {measured[1] / 1e9:.1f} GFLOP/s in Hessians")
    show("GB", "engine", *TIMES, "passes", "rounds", "MB sent", "objective")
    for gigabytes in asked.gigabytes:
        n_blocks, rows = sizes(gigabytes, asked.dtype)
        engines = {"threads": on_threads, "disk": partial(on_disk, folder=asked.folder), "workers": on_cluster}
        for cores in asked.cores:
            for name in asked.engines:
                found = list(engines[name](gigabytes, asked.dtype, cores, asked.repeats))
                every = sorted(one["seconds"] for one in found[1:] or found)
                best = min(found, key=lambda one: one["seconds"])
                told = predicted(best, n_blocks * rows, np.dtype(asked.dtype).itemsize, cores, measured)
                times = statistics.median(every), every[0], best["at work"], best["before"], told
                counts = best["passes"], best["rounds"], f"{best['sent'] / 1e6:.1f}", f"{best['objective']:.11g}"
                show(f"{gigabytes:g}", f"{cores} {name}", *(f"{one:.2f}" for one in times), *counts)
                key = {"GB": f"{gigabytes:g}", "dtype": asked.dtype, "engine": name, "cores": cores}
                rates = {"GB/s": measured[0] / 1e9, "GFLOP/s": measured[1] / 1e9, "latency": best.get("latency")}
                shown = dict(zip(TIMES, times, strict=True)) | {"documents": n_blocks * rows, "repeats": asked.repeats}
                kept = ("passes", "rounds", "sent", "objective")
                keep(SCALE / "cluster.csv", key, shown | {one: best[one] for one in kept} | rates)


def show(*cells: Any) -> None:
    print(" ".join(f"{cell:>9}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
