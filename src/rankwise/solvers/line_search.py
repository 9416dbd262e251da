"""How far to go along a direction."""

import math

import numpy as np

from rankwise.foundation.devices import AnyFloats, length_of
from rankwise.foundation.functions import E, Expandable, Ray, Searchable
from rankwise.solvers.base import decrease

DECREASE = 1e-4  # Armijo's share of the slope
ENOUGH = 0.25  # share of the slope that a full step must gain; where the model is right it gains half of it
ROUGHLY = 0.01  # relative exactness of the minimum on the way
SHORTEST = 1e-300  # where the curvature at w = 0 says nothing, a step is too long by the square of the features' size


def line_search(objective: Expandable[E], here: E, direction: AnyFloats) -> tuple[E | None, float]:
    """The full step if it gains what a right model promises, else the minimum on the way there.

    Where pairs become active on the way, f bends up again long before a full step, at a place that backtracking from
    the far end finds badly: steps a tenth as long as they could be made it ten times as many. Slopes along the way cost
    no product with X.
    """
    slope = float(here.gradient @ direction)
    if not slope < 0:
        return None, 1.0
    with np.errstate(over="ignore", invalid="ignore"):  # too long a step is shortened
        there = objective.at(here.point + direction)
        if decrease(here, there) >= -ENOUGH * slope:
            return there, 1.0
        length = _minimum_on(objective.along(here.point, direction)) if isinstance(objective, Searchable) else 1.0
        return _backtracked(objective, here, direction, slope, length)


def _minimum_on(ray: Ray) -> float:
    """Where a convex function that falls at t = 0 is least among t ≤ 1, roughly."""
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
    from scipy import optimize  # only here: it takes long to import

    return float(optimize.brentq(ray.slope, low, high, xtol=ROUGHLY * high, rtol=ROUGHLY, disp=False))


def _backtracked(
    objective: Expandable[E], here: E, direction: AnyFloats, slope: float, length: float
) -> tuple[E | None, float]:
    """Backtracking from a length, each time to the minimum of the parabola through what is known."""
    # Where the Hessian says little (a narrow loss at w = 0) a step may be too long by many orders of magnitude.
    shortest = max(SHORTEST, float(np.finfo(float).eps) * length_of(here.point) / max(length_of(direction), SHORTEST))
    while length > shortest:
        there = objective.at(here.point + length * direction)
        gained = decrease(here, there)
        if gained >= -DECREASE * length * slope:
            return there, length
        excess = -gained - length * slope
        shorter = -0.5 * length * slope / excess if np.isfinite(excess) else 0.0
        length *= float(np.clip(shorter, 0.1, 0.5))
    return None, length
