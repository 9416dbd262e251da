"""Products with the Hessian, against what the machine needs to read X at all."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import load
from benchmarks.measures import OURS, figure, row
from benchmarks.process import repeated

PIECES = 16  # of the rows, that the threads of a plain pass take one by one


def bandwidth(folder: str, quick: bool) -> Iterator[dict[str, Any]]:
    """∇²f v of dense data, against a plain sum over X with all cores."""
    from rankwise.objective import losses
    from rankwise.objective.building import build

    data = load(Path(folder))
    total = repeated(lambda: _by_threads(lambda rows: data.X[rows].sum(), len(data.y)), 9, 5.0)
    objective = build(data.X, data.y, data.qid, loss=losses.parse("squared_hinge"), C=8.0)
    rng = np.random.default_rng(0)
    here = objective.at(rng.normal(size=objective.size) / objective.size)
    v = rng.normal(size=objective.size)
    here.hessian(v)
    product = repeated(lambda: here.hessian(v), 9, 10.0)
    yield row("one pass over X", "plain sum, all cores", total)
    yield row("one pass over X", OURS, product)
    for name, timed in (("plain sum, all cores", total), (OURS, product)):
        yield figure("bandwidth", data.X.nbytes / 1e9 / timed["value"], "GB/s", name)
    yield figure("share of the bandwidth", total["value"] / product["value"], "of a plain sum")
    yield row("value and gradient", OURS, repeated(lambda: objective.at(here.point), 5, 10.0))
    yield row("the Hessian written out", OURS, repeated(here.hessian_matrix, 3, 10.0))


def sparse_products(folder: str, quick: bool) -> Iterator[dict[str, Any]]:
    """∇²f v of sparse data, against X v and Xᵀ g alone: SciPy's on one and on all cores, and our own."""
    from rankwise.foundation.threads import thread_count
    from rankwise.objective import losses
    from rankwise.objective.building import build
    from rankwise.objective.rows import MemoryRows

    data = load(Path(folder))
    X, n = data.X, len(data.y)
    rng = np.random.default_rng(0)
    v, g = rng.normal(size=X.shape[1]), rng.normal(size=n)
    own = MemoryRows(X, thread_count())
    passes: dict[str, Callable[[], Any]] = {
        "SciPy, one core": lambda: (X @ v, X.T @ g),
        "SciPy, rows shared by all cores": _shared_products(X, v, g),
        "rankwise.MemoryRows, all cores": lambda: (own.dot(v), own.transposed_dot(g)),
    }
    plain = {}
    for name, work in passes.items():
        work()
        plain[name] = repeated(work, 9, 10.0)
        yield row("X v and X'g", name, plain[name])
    here = build(X, data.y, None, loss=losses.parse("squared_hinge"), C=1e-8).at(np.zeros(X.shape[1]))
    here.hessian(v)
    product = repeated(lambda: here.hessian(v), 9, 10.0)
    yield row("X v and X'g", OURS, product)
    least = min(timed["value"] for timed in plain.values())
    yield figure("Hessian product over the fastest plain passes", product["value"] / least, "x")


def million(folder: str, quick: bool) -> Iterator[dict[str, Any]]:
    """One query, all labels distinct: the graph of active pairs at new scores, and one product with its Laplacian."""
    from rankwise import Preferences

    n = 100_000 if quick else 1_000_000
    rng = np.random.default_rng(0)
    labels = rng.normal(size=n)
    scores, v = 1.5 * labels + rng.normal(size=n), rng.normal(size=n)
    preferences = Preferences(labels)
    preferences.active(scores, 1.0).laplacian(v)
    what = f"{n:,} distinct labels"
    yield row(f"{what}: labels sorted, once a fit", OURS, repeated(lambda: Preferences(labels), 5, 5.0))
    yield row(f"{what}: sort by score", "numpy.argsort", repeated(lambda: np.argsort(scores), 5, 5.0))
    whole = repeated(lambda: preferences.active(scores, 1.0).laplacian(v), 9, 5.0)
    yield row("one build and one product", OURS, whole)


def _by_threads(work: Callable[[slice], Any], n: int) -> list[Any]:
    from rankwise.foundation.threads import share, thread_count

    step = -(-n // PIECES)
    return share(work, [slice(first, min(first + step, n)) for first in range(0, n, step)], thread_count())


def _shared_products(X: Any, v: Any, g: Any) -> Callable[[], Any]:
    """The rows cut once, a part for each core: a sum of X.shape[1] numbers a part is part of the price."""
    from rankwise.foundation.threads import share, thread_count

    edges = np.linspace(0, X.shape[0], thread_count() + 1).astype(int)
    parts = [(X[a:b], g[a:b]) for a, b in pairwise(edges)]

    def products() -> Any:
        share(lambda part: part[0] @ v, parts, len(parts))
        return sum(share(lambda part: part[0].T @ part[1], parts, len(parts)))

    return products
