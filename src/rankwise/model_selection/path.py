"""The optimum for every C from one objective whose C changes, each started from the one before:

    w(C) = argmin ½|w|² + C Σ loss(w·x_i - w·x_j)

Upwards, from the smallest C, is the default: the first problem is the easiest (docs/selection.md has the measurement).
"""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from rankwise.foundation.arrays import Floats
from rankwise.objective.regularized import Objective
from rankwise.objective.sums import Sum, SumExpansion
from rankwise.solvers import Callback, Result, Smoothing

NARROW = 0.1  # how far the hinge's corner is rounded at first, where there is a start


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
