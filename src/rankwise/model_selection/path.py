"""The optimum for every C from one objective whose C changes, each started from the one before:

    w(C) = argmin ½|w|² + C Σ loss(w·x_i - w·x_j)

Upwards, from the smallest C, is the default: the first problem is the easiest (docs/selection.md has the measurement).
"""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from rankwise.estimators.base import positive, warn_of_query_ids
from rankwise.estimators.ranksvm import RankSVM
from rankwise.foundation.arrays import Floats
from rankwise.foundation.devices import to_host
from rankwise.foundation.threads import thread_count
from rankwise.objective import losses
from rankwise.objective.building import build
from rankwise.objective.objective import Objective
from rankwise.objective.rows import MemoryRows
from rankwise.solvers import Callback, Result, Start

CS = tuple(2.0**k for k in range(-15, 11))
DIRECTIONS = ("up", "down")
SELECTION_TOL = 1e-3  # what is gained beyond it does not show in any measure
SIDE_BY_SIDE = 1 << 28  # bytes of X up to which each thread may hold the rows of a fold of its own


@dataclass(frozen=True)
class Path:
    """The solutions by C, in the order in which the Cs were given."""

    Cs: Floats
    coef: Floats  # (n_Cs, n_features)
    results: list[Result]


def c_path(
    X: Any,
    y: Any,
    qid: Any = None,
    Cs: Any = None,
    *,
    ranker: RankSVM | None = None,
    direction: str = "up",
    sample_weight: Any = None,
) -> Path:
    """`RankSVM(C=C).fit(X, y, qid).coef_` for every C of `Cs` (None: 2^-15, 2^-14, ..., 2^10), to the solver's `tol`.

    ranker     a RankSVM with the options to use (loss, solver, tol, costs, ...); its own C is not looked at
    direction  "up": from the smallest C to the largest, each from the last one's solution; or "down"
    """
    chosen = check_strengths(Cs)
    if direction not in DIRECTIONS:
        raise ValueError(f"direction is {direction!r}: there are 'up' and 'down'")
    template = template_of(ranker)
    warn_of_query_ids(X, qid)
    X, y, sample_weight = template._check_fit(X, y, sample_weight)
    order = np.argsort(chosen, kind="stable")[:: 1 if direction == "up" else -1]
    walked = list(walk(template, (X, y, qid, sample_weight), chosen[order]))
    results: list[Any] = [None] * chosen.size
    for place, result in zip(order.tolist(), walked, strict=True):
        results[place] = result
    return Path(chosen, np.array([to_host(result.point) for result in results]), results)


def walk(ranker: RankSVM, data: tuple[Any, ...], Cs: Iterable[float], start: Floats | None = None) -> Iterator[Result]:
    """The solution at each C in turn, the first from `start` and each other from the one before it.

    data  (X, y, qid, sample_weight), checked
    """
    X, y, qid, sample_weight = data
    solver = ranker._solver(X)
    options: Any = {"loss": losses.parse(ranker.loss), "pairing": ranker._pairing(), "n_jobs": ranker.n_jobs}
    yield from follow(solver, build(X, y, qid, sample_weight, C=1.0, **options), Cs, start, ranker.callback)


def follow(
    solver: Any, unit: Objective, Cs: Iterable[float], start: Floats | None, callback: Callback | None
) -> Iterator[Result]:
    """`walk` for an objective at C = 1 that is built already. Each solver starts from what the last one knew."""
    begin: Floats | Start | None = start
    last = 1.0
    for C in Cs:
        if isinstance(begin, Start):
            begin = begin.times(float(C) / last)
        result: Result = solver(unit.times(float(C)), begin, callback)
        begin, last = result.end or result.point, float(C)
        if not result.converged:
            warnings.warn(f"RankSVM did not converge at C = {C:g}: {result.message}", ConvergenceWarning, stacklevel=2)
        yield replace(result, end=None)


def template_of(ranker: Any) -> RankSVM:
    """A copy of the ranker whose C is to change, or one sentence."""
    if not isinstance(ranker, RankSVM | None):
        cure = 'it must be a RankSVM, whose C is chosen; to scale features take ScaledRanker(RankSVMCV(), "zscore")'
        raise ValueError(f"ranker is a {type(ranker).__name__}: {cure}")
    copied: RankSVM = RankSVM() if ranker is None else clone(ranker)
    return copied


def check_strengths(Cs: Any) -> Floats:
    """Cs as an array, or one sentence."""
    given = np.asarray(CS if Cs is None else Cs, dtype=object).ravel()
    if not given.size:
        raise ValueError("Cs is empty: give at least one")
    return np.array([positive("Cs", C) for C in given])


def for_selection(ranker: RankSVM, n_jobs: int) -> RankSVM:
    """A copy that is as exact as a choice needs."""
    copied: RankSVM = clone(ranker).set_params(n_jobs=n_jobs, tol=max(ranker.tol, SELECTION_TOL))
    return copied


def side_by_side(X: Any, n_tasks: int, n_jobs: int | None) -> tuple[int, int]:
    """How many tasks to do at once, each with a copy of most rows of X, and how many threads each may use."""
    threads = thread_count(n_jobs)
    at_once = min(threads, n_tasks) if MemoryRows(X).nbytes <= SIDE_BY_SIDE else 1
    return at_once, max(1, threads // at_once)
