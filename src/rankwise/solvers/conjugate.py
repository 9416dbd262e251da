"""Conjugate gradients on the quadratic model of f at a point, and what they may be preconditioned by."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import mul

import numpy as np

from rankwise.foundation.devices import AnyFloats
from rankwise.foundation.functions import Expansion, Function, Sampleable
from rankwise.solvers.base import lacking
from rankwise.solvers.equations import scaled_inverse

RESIDUAL = 0.1  # the papers' rule: stop at this share of the gradient's norm
ENERGY = 0.25  # ours: stop when k times the last gain is at most this share of the total gain of all k products
EXACT_ENERGY = 0.02  # and the share near the optimum; smaller ones cost products that another step uses better
MOST_PRODUCTS = 100, 2000  # of a step: at least, at most, and twice the number of features between them
STALE = 6  # products per step from which on the sample's Hessian is computed again

SAMPLED_LEAST = 0.01  # taken for the least eigenvalue of M⁻¹H where M comes from a sample: likely, not proven


@dataclass(frozen=True)
class Inverse:
    """M⁻¹, and a lower bound on the eigenvalues of M⁻¹ H, given that no eigenvalue of H is less than 1."""

    apply: Callable[[AnyFloats], AnyFloats]
    least: float

    def __call__(self, v: AnyFloats) -> AnyFloats:
        return self.apply(v)


Preconditioner = Callable[[Expansion, int], Inverse]


@dataclass(frozen=True)
class ModelStep:
    """An approximate minimiser of the model: the step, its length in the norm of M, the decrease that the model
    predicts for it, a bound on the largest decrease that the model allows, and the number of Hessian products.
    """

    step: AnyFloats
    length: float
    predicted: float
    attainable: float
    products: int


def conjugate_gradients(
    here: Expansion, precondition: "Inverse", radius: float = math.inf, enough: float | None = 0.0
) -> ModelStep:
    """Minimise the model within |s| ≤ radius in the norm of M, whose inverse is `precondition` (Steihaug).

    M itself is not needed: M step and M direction follow the recurrences of step and direction, with the residual in
    place of the preconditioned one. The k-th product adds gain_k to the predicted decrease. Where the columns of X
    differ in scale, a small residual says little about the decrease that is left, and the gains do (Nash and Sofer);
    the nearer the optimum the more exact, so that the steps' errors shrink faster than the steps.
    Where the predicted decrease is at most `enough`, the iterations go on until what is left is too, by the bound of
    Gauss and Radau's rule (`reach`). `enough` None: the papers' rule on the residual.
    """
    step, M_step = 0.0 * here.gradient, 0.0 * here.gradient
    residual = -here.gradient
    direction, M_direction = precondition(residual), residual
    square = float(residual @ direction)
    goal = RESIDUAL**2 * square
    products, predicted, gain, outside = 0, 0.0, math.inf, False
    reach = 1.0 / precondition.least
    most = min(max(MOST_PRODUCTS[0], 2 * step.shape[0]), MOST_PRODUCTS[1])
    while products < most and square > 0:
        if enough is None:
            solved = square <= goal
        else:
            share = min(max(EXACT_ENERGY, math.sqrt(predicted / max(abs(here.value), 1e-300))), ENERGY)
            roughly = products * gain <= share * predicted
            solved = roughly and not predicted <= enough < predicted + 0.5 * reach * square
        if solved:
            break
        curved = here.hessian(direction)
        with np.errstate(over="ignore"):  # then there is no step to take
            bend = float(direction @ curved)
        if not 0 < bend < math.inf:
            break
        products += 1
        length = square / bend
        with np.errstate(over="ignore"):  # beyond float64 is outside
            ahead, M_ahead = step + length * direction, M_step + length * M_direction
            outside = float(ahead @ M_ahead) >= radius * radius
        if outside:
            lengths = float(direction @ M_direction), float(step @ M_direction), float(step @ M_step)
            length = _to_boundary(*lengths, radius)
            ahead, M_ahead = step + length * direction, M_step + length * M_direction
        gain = length * (square - 0.5 * length * bend)
        predicted += gain
        step, M_step = ahead, M_ahead
        if outside:
            break
        residual = residual - length * curved
        preconditioned = precondition(residual)
        previous, square = square, float(residual @ preconditioned)
        reach = _narrowed(reach, length, square / previous, precondition.least)
        direction = preconditioned + (square / previous) * direction
        M_direction = residual + (square / previous) * M_direction
    left = 0.5 * min(reach * square, float(residual @ residual))
    attainable = math.inf if outside else predicted + left
    return ModelStep(step, math.sqrt(max(float(step @ M_step), 0.0)), predicted, attainable, products)


def _narrowed(reach: float, length: float, ratio: float, least: float) -> float:
    """The factor of the squared residual in the upper bound on the squared error, one product later.

    Meurant and Tichý's recurrence, for a preconditioned matrix with no eigenvalue below `least`; `length` is the step
    of conjugate gradients and `ratio` that of the squared residuals.
    """
    excess = max(reach - length, 0.0)
    return excess / max(least * excess + ratio, 1e-300)


def _to_boundary(dd: float, sd: float, ss: float, radius: float) -> float:
    """The positive length at which s + length · d leaves the ball, in the form that does not cancel."""
    a, b, c = dd, sd, ss - radius * radius
    root = math.sqrt(max(b * b - a * c, 0.0))
    if min(a, abs(b) + root) <= 0:  # lengths whose squares underflow: no step, and the region is given up
        return 0.0
    return (root - b) / a if b < 0 else -c / (b + root)


def make_preconditioner(kind: str | None, objective: Function) -> Preconditioner:
    """For each point, the inverse of something like the Hessian there; also given the products of the last step."""
    if kind is None:
        return lambda here, products: Inverse(lambda v: v, 1.0)
    if kind == "diagonal":
        return lambda here, products: _by_diagonal(here.hessian_diagonal())
    if not isinstance(objective, Sampleable):
        raise lacking(objective, "with a sampled preconditioner", "sampled")
    return Sample(objective.sampled(sample_size(objective.size), seed=0))


def _by_diagonal(diagonal: AnyFloats) -> Inverse:
    diagonal = diagonal.clip(1.0, None)  # as it is without rounding: pieces of opposite curvature may cancel
    return Inverse(partial(mul, 1.0 / diagonal), 1.0 / float(diagonal.max()))


def sample_size(n_features: int) -> int:
    """Rows enough to see every direction many times over."""
    return max(5000, 150 * n_features)


class Sample:
    """Preconditions by the Hessian of a sample, kept as long as it does well."""

    def __init__(self, objective: Function) -> None:
        self.objective = objective
        self.inverse: Inverse | None = None

    def __call__(self, here: Expansion, products: int) -> Inverse:
        if self.inverse is None or products >= STALE:
            matrix = self.objective.at(here.point).hessian_matrix()
            self.inverse = Inverse(scaled_inverse(matrix), SAMPLED_LEAST)
        return self.inverse
