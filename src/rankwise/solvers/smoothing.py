"""The hinge by way of smooth problems: its corner rounded over a width that shrinks, each problem starting from the
last one's optimum. The slopes of the rounded hinge are dual feasible for the hinge itself, so at any point the
objective knows a lower bound, and the gap to it is certified. Narrower by a tenth: about a tenth of the gap.
"""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankwise.arrays import Floats
from rankwise.solvers.base import Callback, Objective, Result, Step, length_of, origin, point_of, require
from rankwise.solvers.newton import Newton

EXACT = 1e-14
SETTLED = 0.1  # an inner problem is left when its own gap, ½|∇|², is this share of the whole
COARSE = 0.1  # rounding of the bound, as a share of the gap, from which on a narrower width cannot help
FASTEST = 0.2  # no narrower than this share of the last width at once


@dataclass(frozen=True)
class Smoothing:
    """Stops when value - bound ≤ tol · min(value, f(0) - bound), for the unsmoothed objective. `inner` solves the
    smooth problems, the first of them `width` wide: from a good start, a narrow one saves steps.
    """

    tol: float = 1e-3
    max_iter: int = 1000
    inner: Any = field(default_factory=lambda: Newton(tol=EXACT))  # stopped from here, when it is near enough
    width: float = 1.0

    def __call__(self, objective: Objective, start: Floats | None = None, callback: Callback | None = None) -> Result:
        require(objective, "smoothing", "smoothed")
        run = _Run(objective, self, callback)
        w = point_of(objective, start)
        width = self.width
        while run.goes_on(w, width):
            wanted = 0.5 * self.tol * run.scale / max(run.gap, 1e-300)
            narrower = float(np.clip(wanted, FASTEST, 0.5)) if len(run.history) > 1 else 1.0
            width *= narrower
            w = run.minimise(w, width, narrower * min(run.gap, run.value))
        return run.result()


class _Run:
    """The best point and the best bound seen so far; they need not come from the same width."""

    def __init__(self, objective: Any, options: Smoothing, callback: Callback | None) -> None:
        self.objective, self.options, self.callback = objective, options, callback
        self.began = time.perf_counter()
        self.value, self.bound, self.point = np.inf, -np.inf, origin(objective)
        self.at_zero = objective.at(self.point).value
        self.iterations = 0
        self.history: list[Step] = []
        self.message = ""

    @property
    def gap(self) -> float:
        return self.value - self.bound

    @property
    def scale(self) -> float:
        """What a gap is measured by: the value, or what there is to gain at all where that is less (C is small)."""
        return float(max(min(abs(self.value), self.at_zero - self.bound), 0.0))

    def goes_on(self, w: Floats, width: float) -> bool:
        """Look at the unsmoothed objective and the bound at w, the optimum at this width; False when it is enough."""
        smooth, value = self.objective.smoothed(width).at(w), self.objective.at(w).value
        self.bound = max(self.bound, smooth.bound)
        # Far from the optimum the bound is as coarse as its rounding is large: that is no reason to stop.
        if value < self.value:
            self.value, self.point = value, w
        lost = smooth.bound_error > max(0.5 * self.options.tol * self.scale, COARSE * (value - smooth.bound))
        norm = length_of(smooth.gradient)
        relative = self.gap / max(self.scale, 1e-300)
        detail = f"width {width:.2g}, relative gap {relative:.2g}"
        step = Step(self.iterations, self.value, norm, time.perf_counter() - self.began, detail)
        self.history.append(step)
        stopped = self.callback is not None and bool(self.callback(step))
        if self.converged:
            self.message = f"certified relative gap {max(relative, 0.0):.3g} is at most {self.options.tol:g}"
        elif stopped:
            self.message = "stopped by the callback"
        elif max(self.iterations, len(self.history)) >= self.options.max_iter:
            self.message = f"max_iter = {self.options.max_iter} steps were not enough: relative gap {relative:.3g}"
        elif lost:
            self.message = f"rounding allows no smaller gap than {relative:.3g}"
        return not self.message

    @property
    def converged(self) -> bool:
        return self.gap <= self.options.tol * self.scale

    def minimise(self, w: Floats, width: float, expected_gap: float) -> Floats:
        """The optimum at this width, only as exact as the gap to be expected there asks for."""
        enough = SETTLED * max(expected_gap, self.options.tol * self.scale)

        def near(step: Step) -> bool:
            self.iterations += step.iteration > 0
            return 0.5 * step.gradient_norm**2 <= enough or self.iterations >= self.options.max_iter

        found: Result = self.options.inner(self.objective.smoothed(width), w, near)
        return found.point

    def result(self) -> Result:
        last = self.history[-1]
        return Result(
            self.point,
            self.value,
            last.gradient_norm,
            self.iterations,
            self.converged,
            self.message,
            self.history,
            gap=max(self.gap, 0.0),
        )
