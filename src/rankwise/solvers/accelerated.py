"""The minimum of a quadratic model plus a penalty with corners, by products with the Hessian only: for many features.

Proximal gradient steps, scaled by the diagonal of the Hessian and accelerated (Beck and Teboulle's FISTA, with the
restarts of O'Donoghue and Candès). Every weight may stop at 0 or leave it at every step, so that sets of thousands of
weights at 0 are found in a few dozen products; solving for one set after the other takes a hundred times as many.
"""

import math

import numpy as np

from rankwise.foundation.arrays import Floats
from rankwise.foundation.devices import inner, on_device_of, to_host
from rankwise.objective.penalties import ElasticNet
from rankwise.solvers.conjugate import ModelStep
from rankwise.solvers.corners import Penalised, damping

REDUCED = 0.1  # a model is minimised until its subgradient is this share of what it was
MOST_PRODUCTS = 2000  # per step
LARGER = 1.5  # least factor by which a bound on the eigenvalues that is too small grows


def accelerated_step(current: Penalised, enough: float = 0.0, patience: float = math.inf) -> ModelStep:
    """The step to about the minimum of the model at `current`; `enough` and `patience` as in `conjugate_gradients`.

    x is the best point so far and y the one ahead of it, from which the next step begins. Both gradients follow from
    one product per step, because the gradient of the model is linear.
    """
    penalty = current.penalty
    assert isinstance(penalty, ElasticNet)
    start, scale = to_host(current.point), _scale(current)
    first = penalty.ridge * start + to_host(current.slopes)  # the gradient at the start, but for the corners of P
    extra = damping(current, to_host(current.hessian_diagonal()))
    x, at_x = start, first
    y, at_y, momentum, largest, products = x, at_x, 1.0, 1.0, 0
    subgradient = penalty.corners(x, at_x)
    at_first = inner(subgradient, subgradient / scale)
    predicted, left = 0.0, math.inf
    while products < min(patience, MOST_PRODUCTS):
        ahead = penalty.nearest(y - at_y / (largest * scale), largest * scale)
        step = ahead - y
        curved = to_host(current.hessian(on_device_of(current.point, step))) + extra * step
        products += 1
        bend, length = inner(step, curved), inner(step, scale * step)
        if bend > largest * length:
            largest = max(LARGER * largest, bend / length)
            continue
        at_ahead = at_y + curved
        overshot = inner(scale * (y - ahead), ahead - x) > 0.0
        following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum**2))
        further = 0.0 if overshot else (momentum - 1.0) / following
        momentum = 1.0 if overshot else following
        y, at_y = ahead + further * (ahead - x), at_ahead + further * (at_ahead - at_x)
        x, at_x = ahead, at_ahead
        subgradient = penalty.corners(x, at_x)
        share = inner(subgradient, subgradient / scale) / max(at_first, 1e-300)
        if share <= REDUCED**2:
            predicted = _decrease(penalty, start, first, x, at_x)
            # A bound; without a ridge there is none, and what is left is about in proportion to the squares.
            ridge = penalty.ridge
            left = 0.5 * inner(subgradient, subgradient) / ridge if ridge else share * predicted
            if not predicted <= enough < predicted + left or not length:
                break
    predicted = _decrease(penalty, start, first, x, at_x)
    return ModelStep(on_device_of(current.point, x - start), 0.0, predicted, predicted + left, products)


def _scale(current: Penalised) -> Floats:
    """The diagonal of the model's Hessian."""
    diagonal = to_host(current.hessian_diagonal())
    scale: Floats = np.maximum(diagonal + damping(current, diagonal), 1e-300)
    return scale


def _decrease(penalty: ElasticNet, start: Floats, first: Floats, x: Floats, at_x: Floats) -> float:
    """By which the model is less at x, with the gradient at_x, than at the start."""
    corners = penalty.l1_ratio * float(abs(x).sum() - abs(start).sum())
    return -0.5 * inner(first + at_x, x - start) - corners
