"""The optimum for every C from one objective whose C changes, each started from the one before:

    w(C) = argmin ½|w|² + C Σ loss(w·x_i - w·x_j)

Upwards, from the smallest C, is the default: the first problem is the easiest (docs/selection.md has the measurement).
"""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace

from sklearn.exceptions import ConvergenceWarning

from rankwise.foundation.arrays import Floats
from rankwise.objective.objective import Objective
from rankwise.solvers import Callback, Result, Solver, Start


def follow(
    solver: Solver, unit: Objective, Cs: Iterable[float], start: Floats | None, callback: Callback | None
) -> Iterator[Result]:
    """The optimum for each C, from the objective at C = 1. Each solve starts from what the last one knew."""
    begin: Floats | Start | None = start
    last = 1.0
    for C in Cs:
        if isinstance(begin, Start):
            begin = begin.times(float(C) / last)
        result = solver(unit.times(float(C)), begin, callback)
        begin, last = result.end or result.point, float(C)
        if not result.converged:
            warnings.warn(f"RankSVM did not converge at C = {C:g}: {result.message}", ConvergenceWarning, stacklevel=2)
        yield replace(result, end=None)
