"""The hinge with a penalty that has corners: the Huber loss by proximal Newton, with narrower and narrower widths.

The slopes of the Huber loss are dual feasible for the hinge, so every width proves a bound (docs/theory.md).
"""

import time
from dataclasses import dataclass
from typing import ClassVar

from rankwise.foundation.devices import AnyFloats
from rankwise.objective.objective import Objective, ObjectiveExpansion, hinge_gap
from rankwise.solvers.base import (
    CORNER,
    STOPPED,
    Callback,
    Result,
    Start,
    Step,
    begun,
    converged_by,
    gap_scale,
    point_of,
    relative,
    within,
)
from rankwise.solvers.proximal import ProximalNewton

NARROWER = 0.2  # each width is this multiple of the last
NARROWEST = 1e-12  # then only rounding errors are left
EXACT = 0.1  # the optimum of a width is found to this share of the tolerance


@dataclass(frozen=True)
class ProximalSmoothing:
    """inner  as in `ProximalNewton`."""

    needs: ClassVar = ("hinge loss",)
    takes_penalties: ClassVar = True

    tol: float = 1e-3
    max_iter: int = 1000
    inner: str = "cholesky"

    def __call__(
        self, objective: Objective, start: AnyFloats | Start | None = None, callback: Callback | None = None
    ) -> Result:
        began, at_zero = time.perf_counter(), begun(objective, None)[1]
        point, steps, width = point_of(objective, start), 0, 1.0
        best: ObjectiveExpansion | None = None
        bound, off, message, history = 0.0, 0.0, "", list[Step]()
        while not message:
            solver = ProximalNewton(EXACT * self.tol, self.max_iter - steps, self.inner)
            result = solver(objective.smoothed(width), point)
            assert result.end is not None
            assert isinstance(result.end.expansion, ObjectiveExpansion)
            smooth, steps = result.end.expansion, steps + result.iterations
            hinge, point = smooth.with_loss(objective.loss), smooth.point
            in_gradient, in_value = smooth.certificate.errors()
            proven = hinge_gap(smooth, hinge.value)
            rounding = hinge_gap(smooth, hinge.value, in_gradient) + in_value - proven + CORNER * at_zero[1]
            bound, off = max((bound, off), (hinge.value - proven - rounding, rounding))
            best = hinge if best is None or hinge.value <= best.value else best
            gap = max(best.value - bound, 0.0)
            scale = gap_scale(best.value, at_zero[1], gap)
            detail = f"width {width:.2g}, relative gap {relative(gap, scale):.2g}"
            step = Step(steps, best.value, result.gradient_norm, time.perf_counter() - began, detail)
            history.append(step)
            rounding = 2.0 * off  # the slack is a difference, with an error of its own
            converged = within(self.tol, max(gap - rounding, 0.0), rounding, best.value, at_zero[1])
            stopped = callback is not None and bool(callback(step))
            width *= NARROWER
            if converged:
                message = converged_by("certified", gap, scale, self.tol)
            elif stopped:
                message = STOPPED
            elif steps >= self.max_iter:
                message = f"max_iter = {self.max_iter} steps were not enough: {detail}"
            elif width < NARROWEST:
                message = f"rounding allows no smaller gap: {detail}"
        assert best is not None
        return Result(
            best.point,
            best.value,
            history[-1].gradient_norm,
            steps,
            converged,
            message,
            history,
            gap=gap,
            gap_estimate=gap,
            end=Start(best, at_zero),
        )
