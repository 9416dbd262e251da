"""The minimum of a quadratic model plus a penalty with corners: weights of given signs, few features.

Weights at a corner of the penalty, 0, without a slope away from it stay there; all others are *free* and take a Newton
step together. On the way, a weight that reaches 0 stops there, or goes on if the other sign is allowed and the model
decreases. At the minimum on this path, the next *face* begins: another set of free weights. There are few of them, as
many weights may become free or stop at once, and as those at the minima of successive models are mostly the same.
"""

from dataclasses import dataclass, field
from typing import Protocol, cast

import numpy as np

from rankwise.foundation.arrays import Floats
from rankwise.foundation.devices import AnyFloats, diagonal_of, inner, on_device_of, to_host
from rankwise.foundation.functions import Expansion
from rankwise.objective.penalties import ElasticNet, Penalty
from rankwise.solvers.conjugate import Inverse, ModelStep, conjugate_gradients, energy_share
from rankwise.solvers.equations import scaled_inverse

MOST_FACES = 500
SOLVED = 1e-12  # share of the total decrease; a face that gains less is the last one
MOST_CUTS = 40  # how often a step is halved
KEPT = 0.1  # share of its slope that a step must keep if weights stop at 0
MOST_GAINED = 10.0  # multiple of f per weight: a model that gains more is indefinite by rounding, and has no minimum
DAMPING = 1e-3  # share of the curvature with which a weight alone could decrease f to 0


class Penalised(Expansion, Protocol):
    """An expansion of P(w) + C · risk; its gradient is the shortest subgradient."""

    @property
    def penalty(self) -> Penalty: ...
    @property
    def slopes(self) -> AnyFloats:
        """The gradient of C · risk."""
        ...


@dataclass(frozen=True)
class Place:
    """Weights, and the gradient of the model there, but for the corners of P."""

    x: Floats
    smooth: Floats


class Quadratic(Protocol):
    """The quadratic part of a model, by which faces are minimised."""

    products: int  # with the Hessian, so far
    left: float  # decrease that the last face may have missed

    def face(self, penalty: ElasticNet, place: Place) -> tuple[Place, float]:
        """The minimum on the path of a Newton step over the free weights, and the decrease to it."""
        ...

    def solved(self, total: float) -> float:
        """The decrease by a face at which to stop, after so much in total."""
        ...


def cornered_step(quadratic: Quadratic, current: Penalised) -> ModelStep:
    """The step to the minimum of the model at `current`."""
    penalty = current.penalty
    assert isinstance(penalty, ElasticNet)
    w = to_host(current.point)
    place, total, gain = Place(w, penalty.ridge * w + to_host(current.slopes)), 0.0, 0.0
    for _ in range(MOST_FACES):
        place, gain = quadratic.face(penalty, place)
        total += gain
        if not gain > quadratic.solved(total) or total > MOST_GAINED * w.size * abs(current.value):
            break
    step = on_device_of(current.point, place.x - w)
    return ModelStep(step, 0.0, total, total + gain + quadratic.left, quadratic.products)


def damping(current: Penalised, diagonal: Floats) -> Floats:
    """What is added to the diagonal of the Hessian, so that no step gains much more than f, which is not negative.

    Without a ridge, and with few pairs where the loss is curved, the model may have no minimum. Near the optimum this
    vanishes as the square of the subgradient.
    """
    least = to_host(current.gradient) ** 2 / max(2.0 * abs(current.value), 1e-300)
    more: Floats = (1.0 - current.penalty.ridge) * np.maximum(DAMPING * least, least - diagonal)
    return more


class Formed:
    """A Hessian matrix: faces are minimised exactly."""

    products, left = 0, 0.0

    def __init__(self, hessian: AnyFloats, current: Penalised) -> None:
        self.matrix: Floats = np.array(to_host(hessian))
        diagonal = diagonal_of(self.matrix)
        diagonal[:] += damping(current, np.array(diagonal))

    def solved(self, total: float) -> float:
        return SOLVED * total

    def face(self, penalty: ElasticNet, place: Place) -> tuple[Place, float]:
        subgradient = penalty.corners(place.x, place.smooth)
        return self._follow(penalty, place, self._newton(place.x, subgradient))

    def _newton(self, x: Floats, subgradient: Floats) -> Floats:
        """The step to the minimum over the free weights. Those at 0 that would go uphill are not free."""
        step, free = np.zeros_like(x), (x != 0.0) | (subgradient != 0.0)
        while free.any():
            step = np.zeros_like(x)
            step[free] = -scaled_inverse(self.matrix[np.ix_(free, free)], least=0.0)(subgradient[free])
            uphill = (x == 0.0) & (step * subgradient > 0.0)
            if not uphill.any():
                break
            free &= ~uphill
        return step

    def _follow(self, penalty: ElasticNet, place: Place, step: Floats) -> tuple[Place, float]:
        """The minimum on the path of a step: from corner to corner, the model is a parabola."""
        x, smooth = place.x, place.smooth
        sides, curved = np.where(x != 0.0, np.sign(x), np.sign(step)), self.matrix @ step
        crossing = x * step < 0.0
        times = np.where(crossing, -x / np.where(crossing, step, 1.0), np.inf)
        now, gain = 0.0, 0.0
        for j in (*np.argsort(times)[: int(crossing.sum())], None):
            slope, bend = inner(smooth + penalty.l1_ratio * sides, step), inner(step, curved)
            if not slope < 0.0:
                break
            lowest = now - slope / bend if bend > 0.0 else max(now, 1.0)
            corner = np.inf if j is None else float(times[j])
            length = min(lowest, corner) - now
            x, smooth, now = x + length * step, smooth + length * curved, now + length
            gain -= length * (slope + 0.5 * length * bend)
            if j is None or lowest <= corner:
                break
            x[j], beyond = 0.0, np.sign(step[j])
            if penalty.permits(j, beyond) and beyond * smooth[j] + penalty.l1_ratio < 0.0:
                sides[j] = beyond
            else:
                curved, step[j] = curved - step[j] * self.matrix[:, j], 0.0
        return Place(np.where(x * sides > 0.0, x, 0.0), smooth), gain


@dataclass
class Products:
    """Products with the Hessian only, for many features: faces are minimised as roughly as models without corners.

    enough, patience  see `conjugate_gradients`
    """

    current: Penalised
    enough: float = 0.0
    patience: float = np.inf
    products: int = 0
    left: float = 0.0
    damping: Floats = field(init=False)
    diagonal: Floats = field(init=False)

    def __post_init__(self) -> None:
        diagonal = to_host(self.current.hessian_diagonal())
        self.damping = damping(self.current, diagonal)
        self.diagonal = np.maximum(diagonal + self.damping, 1e-300)

    def product(self, v: Floats) -> Floats:
        self.products += 1
        product: Floats = to_host(self.current.hessian(on_device_of(self.current.point, v))) + self.damping * v
        return product

    def solved(self, total: float) -> float:
        return np.inf if self.products >= self.patience else energy_share(total, self.current.value) * total

    def face(self, penalty: ElasticNet, place: Place) -> tuple[Place, float]:
        """A step along the scaled subgradient decides which weights are free (Moré and Toraldo)."""
        subgradient = penalty.corners(place.x, place.smooth)
        place, first = self._towards(place, subgradient, -subgradient / self.diagonal)
        subgradient = penalty.corners(place.x, place.smooth) * (place.x != 0.0)
        place, second = self._towards(place, subgradient, self._newton(subgradient))
        return place, first + second

    def _newton(self, subgradient: Floats) -> Floats:
        """The step to about the minimum over the free weights, those with a subgradient."""
        inverse = Inverse(lambda v: v / self.diagonal, 1.0 / float(self.diagonal.max(initial=1.0)))
        face, patience = Face(self, subgradient), self.patience - self.products
        found = conjugate_gradients(cast(Expansion, face), inverse, enough=self.enough, patience=patience)
        self.left = found.attainable - found.predicted
        return to_host(found.step)

    def _towards(self, place: Place, subgradient: Floats, direction: Floats) -> tuple[Place, float]:
        """The minimum on the line to the end of a step, on which weights stop at 0.

        The step is halved until this keeps a good part of the slope.
        """
        x, sides = place.x, np.where(place.x != 0.0, np.sign(place.x), -np.sign(subgradient))
        for _ in range(MOST_CUTS):
            ahead = x + direction
            step = np.where(ahead * sides > 0.0, ahead, 0.0) - x
            slope = inner(subgradient, step)
            if slope < min(KEPT * inner(subgradient, direction), 0.0):
                curved = self.product(step)
                bend = inner(step, curved)
                length = min(1.0, -slope / bend) if bend > 0.0 else 1.0
                end = Place(x + length * step, place.smooth + length * curved)
                return end, -length * (slope + 0.5 * length * bend)
            direction = 0.5 * direction
        return place, 0.0


@dataclass(frozen=True)
class Face:
    """The model over the free weights, for conjugate gradients."""

    of: Products
    gradient: Floats

    @property
    def value(self) -> float:
        return self.of.current.value

    def hessian(self, v: Floats) -> Floats:
        return np.where(self.gradient != 0.0, self.of.product(v), 0.0)
