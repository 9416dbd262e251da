"""The line search of Newton's method."""

import math

import numpy as np

from rankwise.foundation.devices import AnyFloats, inner, length_of
from rankwise.foundation.functions import E, Expandable, Ray, Searchable
from rankwise.solvers.base import decrease, gradient_towards, may_overflow

DECREASE = 1e-4  # Armijo's constant
ENOUGH = 0.25  # a full step is accepted if it gains this share of the slope; with a right model it gains half of it
ROUGHLY = 0.01  # relative accuracy of the minimum on the ray
SHORTEST = 1e-300  # with a useless curvature at w = 0, a step is too long by the square of the features' size


def line_search(objective: Expandable[E], current: E, direction: AnyFloats) -> tuple[E | None, float]:
    """The full step if it decreases f about as the model predicts, else the minimum on the ray up to there.

    If pairs become active on the way, f increases again long before a full step. Backtracking alone then ends at steps
    a tenth as long as the best, so that ten times as many are needed. Slopes on the ray take no product with X.
    Returns the new expansion, or None if no step decreases f, and the length of the step.
    """
    slope = inner(gradient_towards(current, direction), direction)
    if not slope < 0:
        return None, 1.0
    with may_overflow():
        trial = objective.at(current.point + direction)
        if decrease(current, trial) >= -ENOUGH * slope:
            return trial, 1.0
        length = _minimum_on(objective.along(current.point, direction)) if isinstance(objective, Searchable) else 1.0
        return _backtracked(objective, current, direction, slope, length)


def _minimum_on(ray: Ray) -> float:
    """The approximate minimiser over 0 ≤ t ≤ 1 of a convex function that decreases at t = 0."""
    if not ray.slope(1.0) > 0:
        return 1.0
    low, high = 0.1, 1.0
    while ray.slope(low) > 0:
        low, high = low * low, low
        if low < SHORTEST:
            return high
    while low < 0.1 * high:
        middle = math.sqrt(low) * math.sqrt(high)  # their product may underflow
        low, high = (low, middle) if ray.slope(middle) > 0 else (middle, high)
    from scipy import optimize  # slow to import, and rarely needed

    return float(optimize.brentq(ray.slope, low, high, xtol=ROUGHLY * high, rtol=ROUGHLY, disp=False))


def _backtracked(
    objective: Expandable[E], current: E, direction: AnyFloats, slope: float, length: float
) -> tuple[E | None, float]:
    """Backtrack from a length, each time to the minimum of a parabola through both values and the slope."""
    # If the Hessian is no guide (a narrow loss at w = 0), a step may be too long by many orders of magnitude.
    shortest = max(
        SHORTEST, float(np.finfo(float).eps) * length_of(current.point) / max(length_of(direction), SHORTEST)
    )
    while length > shortest:
        trial = objective.at(current.point + length * direction)
        gained = decrease(current, trial)
        if gained >= -DECREASE * length * slope:
            return trial, length
        excess = -gained - length * slope
        shorter = -0.5 * length * slope / excess if np.isfinite(excess) else 0.0
        length *= float(np.clip(shorter, 0.1, 0.5))
    return None, length
