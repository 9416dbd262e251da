"""Near separability few pairs are unsatisfied, other ones at every step, and a primal solver can no longer see where to
go. Ascent in the dual over listed pairs is at its best there: it takes over, where the pairs are few enough to list.
"""

from dataclasses import replace
from typing import Any

from rankwise.solvers.base import Callback, Result, Step, converged_by, gap_scale

SEPARABLE = 0.05  # share of f(0) below which few pairs are left unsatisfied; above it the dual is far slower


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
    best = min(one, other, key=lambda result: result.value)
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
