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

from rankwise.estimators.base import positive
from rankwise.estimators.inputs import warn_of_query_ids
from rankwise.estimators.ranksvm import RankSVM
from rankwise.foundation.arrays import Floats
from rankwise.foundation.devices import to_host
from rankwise.foundation.tabular import Columns, Tabular
from rankwise.foundation.texts import counted
from rankwise.foundation.threads import thread_count
from rankwise.objective import losses
from rankwise.objective.building import build
from rankwise.objective.regularized import Objective
from rankwise.objective.rows import MemoryRows
from rankwise.objective.sums import Sum, SumExpansion
from rankwise.solvers import Callback, Result, Smoothing

CS = tuple(2.0**k for k in range(-15, 11))
DIRECTIONS = ("up", "down")
SELECTION_TOL = 1e-3  # what is gained beyond it does not show in any measure
NARROW = 0.1  # how far the hinge's corner is rounded at first, where there is a start
SIDE_BY_SIDE = 1 << 28  # bytes of X up to which each thread may hold the rows of a fold of its own


@dataclass(frozen=True, eq=False, repr=False)
class Path(Tabular):
    """The solutions by C, in the order in which the Cs were given."""

    Cs: Floats
    coef: Floats  # (n_Cs, n_features)
    results: list[Result]

    def summary(self) -> str:
        shape = f"{counted(self.Cs.size, 'solutions')} of {counted(self.coef.shape[1], 'features')}"
        return f"{shape}, C from {self.Cs.min():g} to {self.Cs.max():g}"

    def __repr__(self) -> str:
        return f"<Path: {self.summary()}>"

    def table_columns(self) -> Columns:
        """One row per C."""
        parts = ("value", "gradient_norm", "iterations", "converged")
        return {"C": self.Cs, **{part: [getattr(one, part) for one in self.results] for part in parts}}


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
    """`walk` for an objective at C = 1 that is built already."""
    data_term: Any = _Remembering(unit.data)
    for C in Cs:
        objective = Objective(data_term, float(C) * unit.C)
        result = _warm(solver, start)(objective, start, callback)
        start = result.point
        if not result.converged:
            warnings.warn(f"RankSVM did not converge at C = {C:g}: {result.message}", ConvergenceWarning, stacklevel=2)
        yield result


def _warm(solver: Any, start: Floats | None) -> Any:
    """The solver for a good start: the hinge's corner need not be rounded as far."""
    return replace(solver, width=NARROW) if start is not None and isinstance(solver, Smoothing) else solver


class _Remembering:
    """risk(X w) that is not computed again where the last C's solver ended and the next one's begins, nor at zero.

    Where one begins, the Hessian is the last one that was written out: it is near enough for a first step, and the
    next is taken anew.
    """

    def __init__(self, data: Sum) -> None:
        self._data = data
        self._seen: list[tuple[Any, Any]] = []  # (point, what is known there): zero first, then the last other point
        self.half_hessian: Any = None

    def at(self, w: Floats) -> Any:
        for point, expansion in self._seen:
            if bool((point == w).all()):
                expansion.old = True
                return expansion
        self._seen[1:] = []
        self._seen.append((w + 0.0, _Known(self, self._data.at(w))))  # a copy: a solver may go on with w itself
        return self._seen[-1][1]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._data, name)


class _Known:
    """What is known of the risk at a point; `old` once it is asked for again."""

    def __init__(self, memory: _Remembering, expansion: SumExpansion) -> None:
        self._memory, self._expansion = memory, expansion
        self.old = False

    def half_hessian(self) -> Any:
        if not self.old or self._memory.half_hessian is None:
            self._memory.half_hessian = self._expansion.half_hessian()
        return self._memory.half_hessian

    def __getattr__(self, name: str) -> Any:
        return getattr(self._expansion, name)


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
