"""The optimum for every C, from one objective with varying C, each fit warm-started from the one before:

    w(C) = argmin ½|w|² + C Σ loss(w·x_i - w·x_j)

By default C ascends, because the first problem is then the easiest (docs/selection.md has measurements).
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
    """The results for each C in turn, from the objective at C = 1; each solve starts from the end of the last one."""
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
