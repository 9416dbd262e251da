"""The minimum of a quadratic model plus a penalty with corners: weights of given signs, few features.

Weights at a corner of the penalty, 0, without a slope away from it stay there; all others are *free* and take a Newton
step together. On the way, a weight that reaches 0 stops there, or goes on if the other sign is allowed and the model
decreases. At the minimum on this path, the next *face* begins: another set of free weights. Few faces are needed: many
weights become free or stop at once, and successive minima share most of them.
"""

from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np

from rankwise.foundation.arrays import Floats
from rankwise.foundation.devices import AnyFloats, diagonal_of, inner, on_device_of, to_host
from rankwise.foundation.functions import Expansion
from rankwise.objective.penalties import ElasticNet, Penalty
from rankwise.solvers.base import may_overflow
from rankwise.solvers.conjugate import ModelStep
from rankwise.solvers.equations import scaled_inverse

MOST_FACES = 30, 500  # two per weight, between these: nearly dependent columns take many, but rounding may have no end
SOLVED = 1e-12  # share of the total decrease; a face that gains less is the last one
MOST_DAMPING = 1e300  # less than the largest number
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


def cornered_step(hessian: AnyFloats, current: Penalised) -> ModelStep:
    """The step to the minimum of the model with this Hessian matrix at `current`."""
    penalty = current.penalty
    assert isinstance(penalty, ElasticNet)
    w, model = to_host(current.point), Formed(hessian, current)
    place, total, gain = Place(w, penalty.ridge * w + to_host(current.slopes)), 0.0, 0.0
    for _ in range(int(np.clip(2 * w.size, *MOST_FACES))):
        with may_overflow():  # a step that did is no decrease, and ends this
            place, gain = model.face(penalty, place)
        total += gain
        if not gain > SOLVED * total or total > MOST_GAINED * w.size * abs(current.value):
            break
    return ModelStep(on_device_of(current.point, place.x - w), 0.0, total, total + gain, 0)


def damping(current: Penalised, diagonal: Floats) -> Floats:
    """What is added to the diagonal of the Hessian, so that no step gains much more than f, which is not negative.

    Without a ridge, and with few pairs where the loss is curved, the model may have no minimum. Near the optimum this
    vanishes as the square of the subgradient.
    """
    with may_overflow():  # near separability f is tiny, and the subgradient mostly rounding errors
        least = np.minimum(to_host(current.gradient) ** 2 / max(2.0 * abs(current.value), 1e-300), MOST_DAMPING)
    more: Floats = (1.0 - current.penalty.ridge) * np.maximum(DAMPING * least, least - diagonal)
    return more


class Formed:
    """A Hessian matrix: faces are minimised exactly."""

    def __init__(self, hessian: AnyFloats, current: Penalised) -> None:
        self.matrix, self.ridge = cast(Floats, np.array(to_host(hessian))), current.penalty.ridge
        diagonal = diagonal_of(self.matrix)
        diagonal[:] += damping(current, np.array(diagonal))

    def face(self, penalty: ElasticNet, place: Place) -> tuple[Place, float]:
        """The minimum on the path of a Newton step over the free weights, and the decrease to it."""
        subgradient = penalty.corners(place.x, place.smooth)
        return self._follow(penalty, place, self._newton(place.x, subgradient))

    def _newton(self, x: Floats, subgradient: Floats) -> Floats:
        """The step to the minimum over the free weights. Those at 0 that would go uphill are not free."""
        step, free = np.zeros_like(x), (x != 0.0) | (subgradient != 0.0)
        while free.any():
            step = np.zeros_like(x)
            step[free] = -scaled_inverse(self.matrix[np.ix_(free, free)], least=self.ridge)(subgradient[free])
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
