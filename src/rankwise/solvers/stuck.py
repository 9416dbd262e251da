"""What to do where a solver hardly advances: near separability few pairs are unsatisfied, and other ones at every step.

A detour by way of smaller C comes first. Then a *rescue* takes over, if the pairs are few enough to list them: ascent
in the dual, which is at its best there.
"""

import time
from dataclasses import replace
from typing import Any

import numpy as np

from rankwise.foundation.functions import Expansion
from rankwise.solvers.base import CORNER, Callback, Result, Step, converged_by, gap_scale

CUT_SHORT = 0.02  # share of a full step
BLOCKED = 3  # steps cut short, after which there is a detour
SHARES = 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1.0  # of C
LOOSELY, STAGE = 0.1, 50  # tolerance and steps for each of them
SEPARABLE = 0.05  # share of f(0) below which few pairs are left unsatisfied; above it the dual is far slower


class Detour:
    """By way of smaller C, where pairs that become active cut steps short again and again.

    At the optimum of a smaller C fewer of them are beyond their margin, and from one C to the next few change. Such a
    path takes some steps for every power of ten, and is worth it only where the direct way is blocked.
    """

    def __init__(self, options: Any, times: int, run: Any) -> None:
        most = min(STAGE, options.max_iter)
        self.stage = replace(options, tol=LOOSELY, max_iter=most, stopping="gap", detours=0, rescue=None)
        self.left, self.run = times, run  # whose callback hears of it
        self.blocked = self.steps = 0

    def instead(
        self, objective: Any, here: Expansion, there: Expansion | None, length: float
    ) -> tuple[Expansion | None, float]:
        """The end of such a path where it is time for one and it leads lower, else what is given."""
        self.blocked += length < CUT_SHORT
        if not self.left or (there is not None and self.blocked < BLOCKED) or not hasattr(objective, "times"):
            return there, length
        self.left, self.blocked = self.left - 1, 0
        w = 0.0 * here.point
        for share in SHARES:
            found = self.stage(objective.times(share), w, self._told)
            w, self.steps = found.point, self.steps + found.iterations
        end = objective.at(w)
        return (end, 0.0) if end.value < (there or here).value else (there, length)

    def _told(self, step: Step) -> Any:
        run = self.run
        if run.callback is None:
            return False
        iteration = run.history[-1].iteration if run.history else 0
        seconds = time.perf_counter() - run.began
        return run.callback(replace(step, iteration=iteration, seconds=seconds, detail=f"smaller C, {step.detail}"))


def can_help(rescue: Any, objective: Any) -> bool:
    """Whether there is another solver to turn to, and few enough pairs for it."""
    return rescue is not None and bool(rescue.worth_listing(objective))


def near_separable(value: float, at_zero: float) -> bool:
    return value <= SEPARABLE * at_zero


def rescued(one: Result, rescue: Any, objective: Any, at_zero: float, callback: Callback | None) -> Result:
    """The better point of `one` and of what `rescue` finds, with the better of the two bounds."""

    def later(step: Step) -> Step:
        return replace(step, iteration=one.iterations + step.iteration, seconds=spent + step.seconds)

    spent = one.history[-1].seconds
    other: Result = rescue(objective, None, callback and (lambda step: callback(later(step))))
    best = _better(one, other, CORNER * at_zero)
    bound = max(result.value - result.gap for result in (one, other) if result.gap is not None)
    gap = max(best.value - bound, 0.0)
    scale = gap_scale(best.value, at_zero, gap)
    message = other.message if other.converged else f"after {one.iterations} steps, in the dual: {other.message}"
    if gap <= rescue.tol * scale and not other.converged:
        message = converged_by("certified", gap, scale, rescue.tol)
    return replace(
        best,
        iterations=one.iterations + other.iterations,
        converged=message.startswith("converged"),
        message=message,
        history=one.history + [later(step) for step in other.history],
        gap=gap,
        gap_estimate=gap,
        dual=None,
    )


def _better(one: Result, other: Result, rounding: float) -> Result:
    """The one of smaller value, or, where rounding may be all the difference, of the smaller bound on its gap."""
    if abs(one.value - other.value) > rounding:
        return one if one.value < other.value else other
    gaps = [np.inf if result.gap is None else result.gap for result in (one, other)]
    return one if gaps[0] < gaps[1] else other
