"""Truncated Newton in a trust region: the step minimises the quadratic model within |s| ≤ Δ by conjugate gradients
(Steihaug), and Δ is adapted to how well the model predicted the decrease (Lin and Moré's rule, Lee and Lin's
constants).
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.foundation.compiling import clock
from rankwise.foundation.devices import AnyFloats, inner, length_of
from rankwise.foundation.functions import Function
from rankwise.solvers.base import (
    SHRINKS,
    Callback,
    Journal,
    Result,
    Start,
    agrees,
    begun,
    decrease,
    is_cold,
    may_overflow,
    require,
    went_as_predicted,
)
from rankwise.solvers.conjugate import ModelStep, Sample, conjugate_gradients, make_preconditioner
from rankwise.solvers.newton import Model, Newton
from rankwise.solvers.stuck import Rescue

ACCEPT, POOR, GOOD = 1e-4, 0.25, 0.75  # Lee and Lin's η0, η1, η2
SHRINK, HALVE, GROW = 0.25, 0.5, 4.0  # and σ1, σ2, σ3
ROOM = 2.0  # the first radius with a sample, in expected lengths of the first step
PATIENCE = 8  # steps after which Newton's method takes over from a sample; a representative one needs fewer
SAMPLE_TOLERANCE = 1e-3  # of the solution on the sample


@dataclass(frozen=True)
class TrustRegion:
    """Truncated Newton steps in a trust region; `tol`, `max_iter` and `stopping` end it.

    precondition: None, "diagonal", or "sampled": the Hessian of a sample of the rows, factorised.

    The region is a ball in the norm of the preconditioner. With a sample, a cold start begins at the sample's optimum.

    Examples
    --------
    >>> from rankwise import load_sample, losses
    >>> from rankwise.objective.building import build
    >>> from rankwise.solvers import TrustRegion
    >>> data = load_sample()
    >>> objective = build(data.X, data.y, data.qid, loss=losses.squared_hinge(), C=0.01)
    >>> TrustRegion(precondition="diagonal")(objective).converged
    True
    """

    needs: ClassVar = ("smooth loss",)

    tol: float = 1e-3
    max_iter: int = 1000
    precondition: str | None = None
    stopping: str = "gap"
    rescue: Rescue | None = None  # for Newton's method, which takes over if a sample does not represent the data

    def __call__(
        self, objective: Function, start: AnyFloats | Start | None = None, callback: Callback | None = None
    ) -> Result:
        began = clock()
        preconditioner = make_preconditioner(self.precondition, objective)
        if isinstance(preconditioner, Sample) and is_cold(start):
            start = Newton(SAMPLE_TOLERANCE)(preconditioner.objective).point
        current, at_zero = begun(objective, start)
        journal = Journal(began, at_zero, self.tol, callback, self.stopping)
        require(current, "trust-region", "hessian")
        precondition = preconditioner(current, 0)
        radius = math.sqrt(max(inner(current.gradient, precondition(current.gradient)), 0.0))
        if isinstance(preconditioner, Sample):  # the step is about that long; only inside the region is there a bound
            radius *= ROOM
        model: ModelStep | None = None
        detail, estimate, sound = "", np.inf, False
        while True:
            if journal.seems_near(current, estimate):
                model = conjugate_gradients(current, precondition, radius, journal.enough(current.value))
                estimate = SHRINKS * estimate if agrees(estimate, model.predicted, current.value) else np.inf
            if not journal.goes_on(current, detail, estimate):
                return journal.result(current)
            if len(journal.history) > self.max_iter:
                return journal.result(current, f"max_iter = {self.max_iter} iterations were not enough")
            model = model or conjugate_gradients(current, precondition, radius, journal.enough(current.value))
            with may_overflow():
                trial = objective.at(current.point + model.step)
            gained = decrease(current, trial)
            ratio = gained / model.predicted if model.predicted > 0 else -1.0
            if len(journal.history) == 1:
                radius = min(radius, model.length)
            radius = _next_radius(radius, model.length, ratio, inner(current.gradient, model.step), gained)
            estimate = np.inf
            if ratio > ACCEPT:
                current, sound = trial, went_as_predicted(model.predicted, gained)
                estimate = model.attainable if sound else np.inf
                precondition = preconditioner(current, model.products)
            elif radius <= np.finfo(float).eps * max(1.0, length_of(current.point)):
                journal.estimate = model.attainable if sound else np.inf
                journal.converged = self.stopping == "gap" and journal.near(current.value, journal.estimate)
                return journal.result(current, "the trust region vanished: rounding allows no further decrease")
            else:
                journal.progress = len(journal.history)  # not stalled: the radius is at least halved each time
            detail, model = f"{model.products} products, radius {radius:.3g}", None
            if isinstance(preconditioner, Sample) and len(journal.history) >= PATIENCE:
                # Near separability few pairs are active, and a sample has too few of them: use all rows from now on.
                newton = Newton(self.tol, self.max_iter, stopping=self.stopping, rescue=self.rescue)
                return newton.follow(Model(newton, objective), journal, current, detail)


def _next_radius(radius: float, length: float, ratio: float, slope: float, gained: float) -> float:
    """Lin and Moré's rule: interpolate the decrease along the step, and bound the radius depending on the ratio."""
    if not math.isfinite(gained):
        return SHRINK * min(radius, length)
    excess = -gained - slope
    wanted = (GROW if excess <= 0 else max(SHRINK, -0.5 * slope / excess)) * length
    if ratio < ACCEPT:
        return min(max(wanted, SHRINK * length), HALVE * radius)
    if ratio < POOR:
        return max(SHRINK * radius, min(wanted, HALVE * radius))
    if ratio < GOOD:
        return max(SHRINK * radius, min(wanted, GROW * radius))
    return max(radius, min(wanted, GROW * radius))
