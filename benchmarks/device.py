"""What a GPU does: `python -m benchmarks.device`, on a machine with one (`make bench-gpu`); `--small` anywhere.

Times are of a second call: compiled kernels, memory at hand. Data are made where they are used. On a GPU and at full
size, every row is also kept in benchmarks/results/scale/device.csv.
"""

import argparse
import json
import statistics
import sys
import time
import warnings

import numpy as np
import torch

from benchmarks.where import SCALE, keep
from rankwise import Preferences
from rankwise.objective import losses
from rankwise.objective.building import build
from rankwise.solvers import make_solver

SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)  # of documents by level, about those of a search engine's judgements


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--small", action="store_true", help="a hundredth of the sizes")
    parser.add_argument("--largest", action="store_true", help="and the largest problem that fits the GPU")
    parser.add_argument("--only", help="one of: letor, labels, sparse, engines, largest")
    options = parser.parse_args()
    scale = 0.01 if options.small else 1.0
    print(f"torch {torch.__version__} on {_name(options.device)}", flush=True)
    works = {"letor": letor, "labels": distinct_labels, "sparse": sparse, "engines": engines}
    if options.largest or options.only == "largest":
        works["largest"] = largest
    for name, work in works.items():
        if options.only in (None, name):
            for row in work(options.device, scale):
                print(json.dumps({"case": name} | row), flush=True)
                if options.device.startswith("cuda") and not options.small:
                    key = {"case": name, "what": row.pop("what")}
                    keep(SCALE / "device.csv", key, row | {"machine": _name(options.device)})


def letor(device, scale):
    """2.27 M × 136 in 18,919 queries of 5 levels, C = 8."""
    X, y, qid = ranking_data(int(2_270_000 * scale), 136, max(1, int(18_919 * scale)), device)
    yield {"what": "copy", "TB/s": round(_copy_bandwidth(device) / 1e12, 3)}
    loss = losses.squared_hinge()
    seconds, objective = timed(lambda: build(X, y, qid, loss=loss, C=8.0), device)
    yield {"what": "set-up", "seconds": seconds}
    w = objective.zero + 0.01
    seconds, here = timed(lambda: objective.at(w), device)
    yield {"what": "value and gradient", "seconds": seconds}
    v = torch.randn(136, dtype=torch.float64, device=device)
    seconds, _ = timed(lambda: here.hessian(v), device, repeats=20)
    yield {
        "what": "Hessian product",
        "seconds": seconds,
        "TB/s of X read twice": round(2 * X.nbytes / seconds / 1e12, 3),
    }
    seconds, _ = timed(lambda: objective.rows.dot(v), device, repeats=20)
    yield {"what": "X v", "seconds": seconds, "TB/s": round(X.nbytes / seconds / 1e12, 3)}
    g = torch.randn(X.shape[0], dtype=torch.float64, device=device)
    seconds, _ = timed(lambda: objective.rows.transposed_dot(g), device, repeats=20)
    yield {"what": "X' g", "seconds": seconds, "TB/s": round(X.nbytes / seconds / 1e12, 3)}
    seconds, _ = timed(here.hessian_matrix, device)
    yield {"what": "Hessian matrix", "seconds": seconds}
    here = None  # its memory
    best = make_solver("newton", loss, X, tol=1e-10)(objective).value
    for name in ("newton", "trust-region-sampled"):
        solve = make_solver(name, loss, X, tol=1e-10)

        def to_gap(solve=solve):
            return solve(objective, None, lambda step: step.value <= best * (1 + 1e-6))

        seconds, result = timed(to_gap, device)
        yield {
            "what": f"squared hinge to a relative gap of 1e-6, {name}",
            "seconds": seconds,
            "steps": result.iterations,
            "objective": result.value,
            "optimum": best,
        }
    hinge = build(X, y, qid, loss=losses.hinge(), C=8.0)
    solve = make_solver("auto", losses.hinge(), X, tol=1e-4)
    seconds, result = timed(lambda: solve(hinge), device)
    row = {"seconds": seconds, "steps": result.iterations, "objective": result.value, "gap": result.gap}
    yield {"what": "hinge to a certified gap of 1e-4"} | row | {"message": result.message}


def distinct_labels(device, scale):
    """One query of 10^7 distinct labels: the graph at one point, and a product with its Laplacian."""
    n = int(10_000_000 * scale)
    generator = torch.Generator(device).manual_seed(0)
    draw = {"generator": generator, "device": device, "dtype": torch.float64}
    labels, scores, v = (torch.randn(n, **draw) for _ in range(3))
    seconds, preferences = timed(lambda: Preferences(labels), device)
    yield {"what": "preferences", "seconds": seconds}
    seconds, graph = timed(lambda: preferences.active(scores, 1.0), device)
    yield {"what": "graph", "seconds": seconds, "pairs": graph.n_pairs}
    seconds, _ = timed(lambda: graph.laplacian(v), device)
    yield {"what": "product", "seconds": seconds}


def sparse(device, scale):
    """1 M × 100,000 CSR with 50 values a row in 10,000 queries."""
    n, d = int(1_000_000 * scale), max(1000, int(100_000 * scale))
    generator = torch.Generator(device).manual_seed(0)
    columns = torch.sort(torch.rand((n, d // 1000 if d < 50_000 else 50), generator=generator, device=device))[0]
    columns = torch.unique_consecutive((columns * d).long() + torch.arange(n, device=device)[:, None] * d)
    rows, columns = columns // d, columns % d
    ends = torch.searchsorted(rows, torch.arange(n + 1, device=device))
    values = torch.rand(columns.shape[0], generator=generator, device=device)
    X = torch.sparse_csr_tensor(ends, columns, values, size=(n, d))
    y = torch.randint(0, 5, (n,), generator=generator, device=device).double()
    qid = torch.arange(n, device=device) // 100
    loss = losses.squared_hinge()
    seconds, objective = timed(lambda: build(X, y, qid, loss=loss, C=0.01), device)
    yield {"what": "set-up", "seconds": seconds, "stored": int(values.shape[0])}
    here, v = objective.at(objective.zero), torch.randn(d, dtype=torch.float64, device=device)
    seconds, _ = timed(lambda: here.hessian(v), device)
    yield {"what": "Hessian product", "seconds": seconds}
    solve = make_solver("trust-region-diagonal", loss, X, tol=1e-3)
    seconds, result = timed(lambda: solve(objective), device)
    yield {"what": "fit, tol 1e-3", "seconds": seconds, "steps": result.iterations, "converged": result.converged}


def engines(device, scale):
    """500,000 × 136 in 4,167 queries: the same fit by every engine that is there."""
    X, y, qid = ranking_data(int(500_000 * scale), 136, max(1, int(4_167 * scale)), device)
    at_host = [one.cpu().numpy() for one in (X, y, qid)]
    loss = losses.squared_hinge()
    data = {"compiled, NumPy": at_host, "torch on the CPU": [torch.from_numpy(one) for one in at_host]}
    if device.startswith("cuda"):
        data["torch on the GPU"] = X, y, qid
        try:
            import cupy

            data["CuPy on the GPU"] = [cupy.asarray(one) for one in (X, y, qid)]
        except ImportError:
            pass
    for name, (rows, labels, queries) in data.items():
        solve = make_solver("auto", loss, rows, tol=1e-6)

        def fit(rows=rows, labels=labels, queries=queries, solve=solve):
            return solve(build(rows, labels, queries, loss=loss, C=8.0))

        seconds, result = timed(fit, device, repeats=3)
        row = {"what": name, "seconds": seconds, "steps": result.iterations, "objective": result.value}
        yield row | {"|w|": float((result.point @ result.point) ** 0.5)}


def largest(device, scale):
    """As many rows of 136 float32 as leave room for a fit."""
    free = torch.cuda.mem_get_info()[0] * scale
    n = int(0.68 * free / (136 * 4))
    X, y, qid = ranking_data(n, 136, n // 120, device)
    torch.cuda.reset_peak_memory_stats()
    began = time.perf_counter()
    objective = build(X, y, qid, loss=losses.squared_hinge(), C=0.01)
    torch.cuda.synchronize()
    built = time.perf_counter()
    result = make_solver("auto", losses.squared_hinge(), X, tol=1e-3)(objective)
    torch.cuda.synchronize()
    yield {
        "what": "set-up and fit",
        "rows": n,
        "GB of X": round(X.nbytes / 1e9, 1),
        "set-up seconds": built - began,
        "fit seconds": time.perf_counter() - built,
        "steps": result.iterations,
        "converged": result.converged,
        "peak GiB": round(torch.cuda.max_memory_allocated() / 2**30, 1),
    }


def ranking_data(n, d, n_queries, device):
    """Rows of normal features, queries of varied length, levels from a noisy linear score."""
    generator = torch.Generator(device).manual_seed(1)
    ends = np.sort(np.random.default_rng(2).choice(n - 1, n_queries - 1, replace=False)) + 1
    sizes = np.diff(np.concatenate(([0], ends, [n])))
    qid = torch.repeat_interleave(torch.arange(n_queries, device=device), torch.as_tensor(sizes, device=device))
    X = torch.empty((n, d), dtype=torch.float32, device=device)
    score = torch.empty(n, device=device)
    truth = torch.randn(d, generator=generator, device=device) / d**0.5
    for first in range(0, n, 1 << 22):  # a block at a time: the generator takes memory too
        rows = slice(first, first + (1 << 22))
        X[rows].normal_(generator=generator)
        noise = torch.randn(X[rows].shape[0], generator=generator, device=device)
        score[rows] = X[rows] @ truth + 1.5 * noise
    cuts = torch.as_tensor(np.cumsum(SHARES)[:-1], dtype=torch.float32, device=device)
    sample = score[:: max(1, n // 1_000_000)]
    return X, torch.searchsorted(torch.quantile(sample[:1_000_000], cuts), score).double(), qid


def timed(work, device, repeats=5):
    """The median time of a call after the first, and what it returns."""
    work()
    seconds = []
    for _ in range(repeats):
        _wait(device)
        began = time.perf_counter()
        result = work()
        _wait(device)
        seconds.append(time.perf_counter() - began)
    return round(statistics.median(seconds), 6), result


def _copy_bandwidth(device):
    """Bytes per second that a copy reads and writes."""
    source = torch.ones(1 << 28 if device.startswith("cuda") else 1 << 22, device=device)
    target = torch.empty_like(source)
    seconds, _ = timed(lambda: target.copy_(source), device, repeats=20)
    return 2 * source.nbytes / seconds


def _wait(device):
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def _name(device):
    return torch.cuda.get_device_name() if device.startswith("cuda") else "the CPU"


if __name__ == "__main__":
    warnings.simplefilter("ignore", UserWarning)
    sys.exit(main())
