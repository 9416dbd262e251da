"""Few documents with many features: the optimum is a combination of their rows.

With the rows X = Rᵀ Qᵀ, where the columns of Q are orthonormal, w = Q z has the length of z and the scores X w = Rᵀ z.
The problem in z is therefore the same, with n × n numbers in place of X. Its certificate includes their rounding.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from rankwise.foundation.devices import AnyFloats
from rankwise.foundation.threads import one_blas_thread
from rankwise.objective.executors import Threads
from rankwise.objective.objective import Objective
from rankwise.objective.rows import MemoryRows
from rankwise.objective.sums import Sum
from rankwise.solvers.base import STOPPED, Callback, Result, Start, begun, continued
from rankwise.solvers.newton import Newton
from rankwise.solvers.smoothing import Smoothing
from rankwise.solvers.trust_region import TrustRegion


@dataclass(frozen=True)
class InSpan:
    """`solver` in the coordinates of the span; if rounding keeps it from the tolerance, `then` continues from there."""

    solver: Newton | Smoothing
    then: Newton | TrustRegion | Smoothing

    @property
    def needs(self) -> tuple[str, ...]:
        return ("NumPy arrays", "single pairs", *self.solver.needs)

    def within(self, max_iter: int) -> Self:
        return replace(self, solver=replace(self.solver, max_iter=max_iter), then=replace(self.then, max_iter=max_iter))

    def __call__(
        self, objective: Objective, start: AnyFloats | Start | None = None, callback: Callback | None = None
    ) -> Result:
        rows, risk = objective.rows, objective.risk
        with one_blas_thread():
            Q, R = np.linalg.qr(rows.columns(0, rows.n_features).T)
        spanned = Threads(MemoryRows(np.ascontiguousarray(R.T), rows.n_threads), risk)
        point = start.expansion.point if isinstance(start, Start) else start
        result = self.solver(replace(objective, sum=Sum(spanned)), None if point is None else Q.T @ point, callback)
        end = Start(*begun(objective, Q @ result.point))
        value, left = end.expansion.value, self.then.max_iter - result.iterations
        off = abs(value - result.value)  # by the rounding of R
        stopped = result.message == STOPPED or left <= 0
        if off <= self.then.tol * abs(value) if result.converged else stopped:
            gap = None if result.gap is None else result.gap + off
            return replace(result, point=end.expansion.point, value=value, gap=gap, end=end)
        then = replace(self.then, max_iter=left)
        return continued(result, lambda tell: then(objective, end, tell), callback, "in all features")
