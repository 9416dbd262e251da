"""Near separability few pairs are unsatisfied, other ones at every step, and a primal solver can no longer see where to
go. Ascent in the dual over listed pairs is at its best there: it takes over, where the pairs are few enough to list.
"""

from dataclasses import replace
from typing import Any

from rankwise.solvers.base import Callback, Result, converged_by

SEPARABLE = 0.05  # share of f(0) below which few pairs are left unsatisfied; above it the dual is far slower
LISTABLE = 5_000_000  # pairs that are worth listing


def can_help(rescue: Any, objective: Any) -> bool:
    """Whether there is another solver to turn to, and few enough pairs for it."""
    listable = hasattr(objective, "most_pairs") and objective.most_pairs <= LISTABLE
    return rescue is not None and bool(listable)


def near_separable(value: float, at_zero: float) -> bool:
    return value <= SEPARABLE * at_zero


def rescued(one: Result, rescue: Any, objective: Any, at_zero: float, callback: Callback | None) -> Result:
    """The better point of `one` and of what `rescue` finds, with the better of the two bounds."""
    other: Result = rescue(objective, None, callback)
    best = min(one, other, key=lambda result: result.value)
    bound = max(result.value - result.gap for result in (one, other) if result.gap is not None)
    gap = max(best.value - bound, 0.0)
    scale = max(min(best.value, at_zero - best.value + gap), 0.0)
    converged = other.converged or gap <= rescue.tol * scale
    message = other.message if other.converged else converged_by("certified", gap, scale, rescue.tol)
    return replace(
        best,
        iterations=one.iterations + other.iterations,
        converged=converged,
        message=message if converged else other.message,
        history=one.history + other.history,
        gap=gap,
        gap_estimate=gap,
        dual=None,
    )
