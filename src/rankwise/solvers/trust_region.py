"""Truncated Newton in a trust region: the step minimises the quadratic model within |s| ≤ Δ by conjugate gradients
(Steihaug), and Δ follows how well the model predicted the decrease (Lin and Moré's rule, with Lee and Lin's constants).
"""

import math
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.foundation.devices import AnyFloats, length_of
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
    require,
    went_as_predicted,
)
from rankwise.solvers.conjugate import ModelStep, Sample, conjugate_gradients, make_preconditioner
from rankwise.solvers.newton import Model, Newton
from rankwise.solvers.stuck import Rescue

ACCEPT, POOR, GOOD = 1e-4, 0.25, 0.75  # Lee and Lin's η0, η1, η2
SHRINK, HALVE, GROW = 0.25, 0.5, 4.0  # and σ1, σ2, σ3
ROOM = 2.0  # times the length of the first step, for the radius
PATIENCE = 8  # steps; a sample that represents the data needs fewer
SAMPLE_TOLERANCE = 1e-3  # how far the sample's own problem is solved


@dataclass(frozen=True)
class TrustRegion:
    """precondition: None, "diagonal", or "sampled": the Hessian of a sample of the rows, factorised.

    The region is then a ball in the preconditioner's norm. With a sample, the sample's own optimum is the start.
    """

    needs: ClassVar = ("smooth loss",)

    tol: float = 1e-3
    max_iter: int = 1000
    precondition: str | None = None
    stopping: str = "gap"
    rescue: Rescue | None = None  # of the Newton's method that takes over from a sample

    def __call__(
        self, objective: Function, start: AnyFloats | Start | None = None, callback: Callback | None = None
    ) -> Result:
        began = time.perf_counter()
        preconditioner = make_preconditioner(self.precondition, objective)
        if isinstance(preconditioner, Sample) and is_cold(start):
            start = Newton(SAMPLE_TOLERANCE)(preconditioner.objective).point
        here, at_zero = begun(objective, start)
        journal = Journal(began, at_zero, self.tol, callback, self.stopping)
        require(here, "trust-region", "hessian")
        precondition = preconditioner(here, 0)
        radius = math.sqrt(max(float(here.gradient @ precondition(here.gradient)), 0.0))
        if isinstance(preconditioner, Sample):  # the step is about that long, and what it allows is known only inside
            radius *= ROOM
        model: ModelStep | None = None
        detail, estimate, sound = "", np.inf, False
        while True:
            if journal.seems_near(here, estimate):
                model = conjugate_gradients(here, precondition, radius, journal.enough(here.value))
                estimate = SHRINKS * estimate if agrees(estimate, model.predicted, here.value) else np.inf
            if not journal.goes_on(here, detail, estimate):
                return journal.result(here)
            if len(journal.history) > self.max_iter:
                return journal.result(here, f"max_iter = {self.max_iter} iterations were not enough")
            model = model or conjugate_gradients(here, precondition, radius, journal.enough(here.value))
            there = objective.at(here.point + model.step)
            gained = decrease(here, there)
            ratio = gained / model.predicted if model.predicted > 0 else -1.0
            if len(journal.history) == 1:
                radius = min(radius, model.length)
            radius = _next_radius(radius, model.length, ratio, float(here.gradient @ model.step), gained)
            estimate = np.inf
            if ratio > ACCEPT:
                here, sound = there, went_as_predicted(model.predicted, gained)
                estimate = model.attainable if sound else np.inf
                precondition = preconditioner(here, model.products)
            elif radius <= np.finfo(float).eps * max(1.0, length_of(here.point)):
                journal.estimate = model.attainable if sound else np.inf
                journal.converged = self.stopping == "gap" and journal.near(here.value, journal.estimate)
                return journal.result(here, "the trust region vanished: rounding allows no further decrease")
            else:
                journal.progress = len(journal.history)  # the radius halves at least: this cannot go on for long
            detail, model = f"{model.products} products, radius {radius:.3g}", None
            if isinstance(preconditioner, Sample) and len(journal.history) >= PATIENCE:
                # Near separability few pairs are left, and a sample sees too few of them: all rows from here on.
                newton = Newton(self.tol, self.max_iter, stopping=self.stopping, rescue=self.rescue)
                return newton.follow(Model(newton, objective), journal, here, detail)


def _next_radius(radius: float, length: float, ratio: float, slope: float, gained: float) -> float:
    """Lin and Moré: interpolate the decrease along the step, and keep the radius within the bounds of its class."""
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
