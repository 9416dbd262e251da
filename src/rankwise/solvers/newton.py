"""Newton's method with the Hessian written out: Cholesky, then a line search. For few features nothing is faster."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from rankwise.arrays import Floats
from rankwise.solvers.base import Callback, Expansion, Journal, Objective, Result, decrease, require

DECREASE = 1e-4  # Armijo's share of the slope
SHORTEST = 1e-10


@dataclass(frozen=True)
class Newton:
    tol: float = 1e-3
    max_iter: int = 1000

    def __call__(self, objective: Objective, start: Floats | None = None, callback: Callback | None = None) -> Result:
        journal = Journal(objective, start, self.tol, callback)
        here = journal.start
        require(here, "newton", "hessian_matrix")
        detail = ""
        while journal.goes_on(here, detail):
            if len(journal.history) > self.max_iter:
                return journal.result(here, f"max_iter = {self.max_iter} iterations were not enough")
            direction = -_solve(here.hessian_matrix(), here.gradient)
            there, length = _line_search(objective, here, direction)
            if there is None:
                return journal.result(here, "the line search failed: rounding allows no further decrease")
            here, detail = there, f"step {length:.3g}"
        return journal.result(here)


def _line_search(objective: Objective, here: Expansion, direction: Floats) -> tuple[Expansion | None, float]:
    """Backtracking from the full step, each time to the minimum of the parabola through what is known."""
    slope = float(here.gradient @ direction)
    length = 1.0
    while length > SHORTEST:
        there: Expansion = objective.at(here.point + length * direction)
        gained = decrease(here, there)
        if gained >= -DECREASE * length * slope:
            return there, length
        excess = -gained - length * slope
        length *= float(np.clip(-0.5 * length * slope / excess, 0.1, 0.5))
    return None, length


def _solve(matrix: Floats, right: Floats) -> Floats:
    """matrix⁻¹ right. Rounding can make a positive definite matrix of huge condition indefinite: then it is lifted."""
    lift = float(np.finfo(float).eps) * float(np.trace(matrix))
    while True:
        try:
            factor = linalg.cho_factor(matrix, lower=True, check_finite=False)
            solution: Floats = linalg.cho_solve(factor, right, check_finite=False)
            return solution
        except linalg.LinAlgError:
            matrix = matrix + lift * np.eye(right.size)
            lift *= 10
