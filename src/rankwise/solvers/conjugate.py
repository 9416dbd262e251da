"""Conjugate gradients on the quadratic model of f at a point, and their preconditioners."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rankwise.foundation.devices import AnyFloats, inner
from rankwise.foundation.functions import Expansion, Function, Sampleable
from rankwise.solvers.base import lacking
from rankwise.solvers.equations import scaled_inverse

INF = math.inf
RESIDUAL = 0.1  # the papers' rule: stop at this share of the gradient's norm
ENERGY = 0.25  # our rule: stop when k times the last gain is at most this share of the total gain of all k products
EXACT_ENERGY = 0.02  # the share near the optimum; with a smaller one, a step would waste products
MOST_PRODUCTS = 100, 2000  # bounds on the limit of products per step, which is twice the number of features
STALE = 6  # if a step takes this many products, the sample's Hessian is computed again

SAMPLED_LEAST = 0.01  # assumed least eigenvalue of M⁻¹H if M comes from a sample: likely, not proven


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
    """An approximate minimiser of the model.

    step        from the current point to it
    length      of the step, in the norm of M
    predicted   decrease that the model predicts for the step
    attainable  upper bound on the largest decrease that the model allows
    products    number of Hessian products
    """

    step: AnyFloats
    length: float
    predicted: float
    attainable: float
    products: int


def conjugate_gradients(
    current: Expansion, precondition: Inverse, radius: float = INF, enough: float | None = 0.0, patience: float = INF
) -> ModelStep:
    """Minimise the model within |s| ≤ radius in the norm of M, whose inverse is `precondition` (Steihaug).

    M itself is not needed: M step and M direction follow the recurrences of step and direction, with the residual in
    place of the preconditioned one. The k-th product adds gain_k to the predicted decrease. If the columns of X differ
    in scale, a small residual says little about the remaining decrease, but the gains do (Nash and Sofer). Near the
    optimum the iterations are more exact, so that the errors of the steps shrink faster than the steps.
    If the predicted decrease is at most `enough`, the iterations continue until the remaining decrease is too, by the
    bound of Gauss-Radau quadrature (`reach`). If `enough` is None, the papers' rule on the residual is used. At most
    `patience` products are made.
    """
    step, M_step = 0.0 * current.gradient, 0.0 * current.gradient
    residual = -current.gradient
    direction, M_direction = precondition(residual), residual
    square = inner(residual, direction)
    goal = RESIDUAL**2 * square
    products, predicted, gain, outside = 0, 0.0, math.inf, False
    reach, value = 1.0 / precondition.least, current.value
    most = min(max(MOST_PRODUCTS[0], 2 * step.shape[0]), MOST_PRODUCTS[1], patience)
    while products < most and square > 0:
        if enough is None:
            solved = square <= goal
        else:
            roughly = products * gain <= energy_share(predicted, value) * predicted
            solved = roughly and not predicted <= enough < predicted + 0.5 * reach * square
        if solved:
            break
        curved = current.hessian(direction)
        bend = inner(direction, curved)
        if not 0 < bend < math.inf:
            break
        products += 1
        length = square / bend
        with np.errstate(over="ignore"):  # beyond float64 is outside
            ahead, M_ahead = step + length * direction, M_step + length * M_direction
            outside = inner(ahead, M_ahead) >= radius * radius
        if outside:
            lengths = inner(direction, M_direction), inner(step, M_direction), inner(step, M_step)
            length = _to_boundary(*lengths, radius)
            ahead, M_ahead = step + length * direction, M_step + length * M_direction
        gain = length * (square - 0.5 * length * bend)
        predicted += gain
        step, M_step = ahead, M_ahead
        if outside:
            break
        residual = residual - length * curved
        preconditioned = precondition(residual)
        previous, square = square, inner(residual, preconditioned)
        reach = _narrowed(reach, length, square / previous, precondition.least)
        direction = preconditioned + (square / previous) * direction
        M_direction = residual + (square / previous) * M_direction
    # Without rounding there are at most as many products as features. Beyond that, `reach` is an estimate that may stop
    # the iterations but proves nothing.
    by_quadrature = reach * square if products <= step.shape[0] else math.inf
    left = 0.5 * min(by_quadrature, inner(residual, residual))
    attainable = math.inf if outside else predicted + left
    return ModelStep(step, math.sqrt(max(inner(step, M_step), 0.0)), predicted, attainable, products)


def energy_share(predicted: float, value: float) -> float:
    """The share of the decrease predicted so far that may be missing at the end; less near the optimum."""
    return min(max(EXACT_ENERGY, math.sqrt(predicted / max(abs(value), 1e-300))), ENERGY)


def _narrowed(reach: float, length: float, ratio: float, least: float) -> float:
    """Update `reach`, the factor of the squared residual in the upper bound on the squared error, after a product.

    Meurant and Tichý's recurrence, for a preconditioned matrix with no eigenvalue below `least`; `length` is the step
    length of conjugate gradients and `ratio` the quotient of successive squared residuals.
    """
    excess = max(reach - length, 0.0)
    return excess / max(least * excess + ratio, 1e-300)


def _to_boundary(dd: float, sd: float, ss: float, radius: float) -> float:
    """The positive length at which s + length · d leaves the ball, computed without cancellation."""
    a, b, c = dd, sd, ss - radius * radius
    root = math.sqrt(max(b * b - a * c, 0.0))
    if min(a, abs(b) + root) <= 0:  # the squares underflow: no step, so that the trust region vanishes
        return 0.0
    return (root - b) / a if b < 0 else -c / (b + root)


def make_preconditioner(kind: str | None, objective: Function) -> Preconditioner:
    """A function of an expansion and of the products of the last step that returns an approximate inverse Hessian."""
    if kind is None:
        return lambda current, products: Inverse(lambda v: v, 1.0)
    if kind == "diagonal":
        return lambda current, products: _by_diagonal(current.hessian_diagonal())
    if not isinstance(objective, Sampleable):
        raise lacking(objective, "a sampled preconditioner", "sampled")
    return Sample(objective.sampled(sample_size(objective.size), seed=0))


def _by_diagonal(diagonal: AnyFloats) -> Inverse:
    diagonal = diagonal.clip(1.0, None)  # that of H is not below 1, but an objective may approximate it
    inverse = 1.0 / diagonal
    # not by partial(operator.mul, inverse): NumPy would take `inverse` for a temporary array, and multiply in its place
    return Inverse(lambda v: inverse * v, 1.0 / float(diagonal.max()))


def sample_size(n_features: int) -> int:
    """The number of rows of a sample: many times the number of features."""
    return max(5000, 150 * n_features)


class Sample:
    """The Hessian of a sample as preconditioner; it is computed again when a step takes many products."""

    def __init__(self, objective: Function) -> None:
        self.objective = objective
        self.inverse: Inverse | None = None

    def __call__(self, current: Expansion, products: int) -> Inverse:
        if self.inverse is None or products >= STALE:
            matrix = self.objective.at(current.point).hessian_matrix()
            self.inverse = Inverse(scaled_inverse(matrix), SAMPLED_LEAST)
        return self.inverse
