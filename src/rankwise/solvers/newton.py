"""Newton's method with a line search. With the Hessian written out and factorised, nothing is faster for few features;
the inner solve can also be iterative, by products with the Hessian alone (Chapelle and Keerthi's PRSVM).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg, minres

from rankwise.arrays import Floats
from rankwise.device import on_device_of, to_host
from rankwise.solvers.base import Callback, Expansion, Journal, Objective, Result, decrease, length_of, require
from rankwise.solvers.equations import lifted_inverse

DECREASE = 1e-4  # Armijo's share of the slope
SHORTEST = 1e-30
INNER_TOLERANCE = 1e-2


@dataclass(frozen=True)
class Newton:
    """inner: "cholesky" of the Hessian matrix, or "cg" or "minres" on Hessian products."""

    tol: float = 1e-3
    max_iter: int = 1000
    inner: str = "cholesky"

    def __call__(self, objective: Objective, start: Floats | None = None, callback: Callback | None = None) -> Result:
        journal = Journal(objective, start, self.tol, callback)
        here = journal.begin()
        require(here, "newton", "hessian_matrix" if self.inner == "cholesky" else "hessian")
        return self.follow(objective, journal, here)

    def follow(self, objective: Objective, journal: Journal, here: Expansion, detail: str = "") -> Result:
        """Go on from `here`."""
        while journal.goes_on(here, detail):
            if len(journal.history) > self.max_iter:
                return journal.result(here, f"max_iter = {self.max_iter} iterations were not enough")
            direction = -self._step(here, journal.goal / self.tol)
            there, length = _line_search(objective, here, direction)
            if there is None:
                return journal.result(here, "the line search failed: rounding allows no further decrease")
            here, detail = there, f"step {length:.3g}"
        return journal.result(here)

    def _step(self, here: Any, norm_at_zero: float) -> Floats:
        """∇²f⁻¹ ∇f."""
        if self.inner == "cholesky":
            return lifted_inverse(here.hessian_matrix())(here.gradient)
        gradient, size = to_host(here.gradient), here.gradient.shape[0]

        def multiply(v: Floats) -> Floats:
            product: Floats = to_host(here.hessian(on_device_of(here.gradient, v)))
            return product

        product = LinearOperator((size, size), matvec=multiply, dtype=np.float64)
        # The nearer the optimum the more exact: the steps' errors then shrink faster than the steps.
        share = min(INNER_TOLERANCE, float(np.sqrt(np.linalg.norm(gradient) / norm_at_zero)))
        # scipy's minres measures the residual against |∇²f| |step|, which is far larger than |∇f|
        solver, rtol = (cg, share) if self.inner == "cg" else (minres, 1e-9 * share)
        step = solver(product, gradient, rtol=rtol, maxiter=max(100, 2 * size))[0]
        there: Floats = on_device_of(here.gradient, step)
        return there


def _line_search(objective: Objective, here: Expansion, direction: Floats) -> tuple[Expansion | None, float]:
    """Backtracking from the full step, each time to the minimum of the parabola through what is known."""
    slope = float(here.gradient @ direction)
    # Where the Hessian says little (a narrow loss at w = 0) a step may be too long by many orders of magnitude.
    shortest = max(SHORTEST, float(np.finfo(float).eps) * length_of(here.point) / max(length_of(direction), SHORTEST))
    length = 1.0
    while length > shortest:
        there: Expansion = objective.at(here.point + length * direction)
        gained = decrease(here, there)
        if gained >= -DECREASE * length * slope:
            return there, length
        excess = -gained - length * slope
        length *= float(np.clip(-0.5 * length * slope / excess, 0.1, 0.5))
    return None, length
