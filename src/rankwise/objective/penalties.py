"""Penalties as values: P(w), a sum over the weights, in the objective P(w) + C · risk(X w).

A solver needs P to be quadratic apart from corners at 0: P(w) = ½ ridge |w|² + l1 |w|₁ where every weight has an
allowed sign. `docs/theory.md` derives the bounds on the distance to the optimum.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import ClassVar, Protocol

import numpy as np

from rankwise.foundation.arrays import Floats
from rankwise.foundation.devices import AnyFloats, half_square, inner, length_of, namespace, on_device_of


class Penalty(Protocol):
    """In all methods, `gradient` is that of C · risk at w, and `risk` the value of C · risk there."""

    @property
    def ridge(self) -> float:
        """The curvature of P."""
        ...

    def value(self, w: AnyFloats) -> float: ...
    def allowed(self, w: AnyFloats) -> AnyFloats:
        """The nearest point at which P is finite."""
        ...

    def subgradient(self, w: AnyFloats, gradient: AnyFloats) -> AnyFloats:
        """The shortest subgradient of the objective: 0 at the optimum and only there."""
        ...

    def towards(self, w: AnyFloats, gradient: AnyFloats, direction: AnyFloats) -> AnyFloats:
        """The subgradient of the objective whose inner product with a direction is the derivative in it."""
        ...

    def along(self, start: AnyFloats, direction: AnyFloats) -> Callable[[float], float]:
        """The derivative of P(start + t · direction) as a function of t."""
        ...

    def gap(self, w: AnyFloats, gradient: AnyFloats, risk: float, error: AnyFloats | float = 0.0) -> float:
        """A bound on the distance to the optimum, if no entry of the gradient is off by more than `error`."""
        ...


@dataclass(frozen=True)
class L2:
    """½|w|²."""

    ridge: ClassVar = 1.0

    def value(self, w: AnyFloats) -> float:
        return 0.5 * inner(w, w)

    def allowed(self, w: AnyFloats) -> AnyFloats:
        return w

    def subgradient(self, w: AnyFloats, gradient: AnyFloats) -> AnyFloats:
        return w + gradient

    def towards(self, w: AnyFloats, gradient: AnyFloats, direction: AnyFloats) -> AnyFloats:
        return w + gradient

    def along(self, start: AnyFloats, direction: AnyFloats) -> Callable[[float], float]:
        at_start, bend = inner(start, direction), inner(direction, direction)
        return lambda t: at_start + t * bend

    def gap(self, w: AnyFloats, gradient: AnyFloats, risk: float, error: AnyFloats | float = 0.0) -> float:
        return half_square(length_of(w + gradient) + length_of(0.0 * w + error))


PLAIN = L2()


@dataclass(frozen=True, eq=False)
class ElasticNet:
    """l1_ratio |w|₁ + ½ (1 - l1_ratio) |w|², where w_j signs_j ≥ 0 for all j; else infinite.

    signs  1: this weight must not be negative, -1: it must not be positive, 0: free; None: all are free
    """

    l1_ratio: float = 0.0
    signs: Floats | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.l1_ratio <= 1.0:
            raise ValueError(f"l1_ratio must be a number from 0 to 1; got {self.l1_ratio!r}")

    @property
    def ridge(self) -> float:
        return 1.0 - self.l1_ratio

    def value(self, w: AnyFloats) -> float:
        if not bool(self.allows(w).all()):
            return inf
        return 0.5 * self.ridge * inner(w, w) + self.l1_ratio * float(abs(w).sum())

    def allows(self, w: AnyFloats) -> AnyFloats:
        """For each weight, whether its sign is allowed."""
        return w * self._signs(w) >= 0.0

    def subgradient(self, w: AnyFloats, gradient: AnyFloats) -> AnyFloats:
        return self.corners(w, self.ridge * w + gradient)

    def corners(self, w: AnyFloats, smooth: AnyFloats) -> AnyFloats:
        """The shortest subgradient of a function, whose gradient is `smooth` but for the corners of P at 0."""
        xp = namespace(w)
        at_zero = -self.allowed(_soft(-smooth, self.l1_ratio))
        return xp.where(w == 0.0, at_zero, smooth + self.l1_ratio * xp.sign(w))

    def nearest(self, z: AnyFloats, curvature: AnyFloats) -> AnyFloats:
        """The minimum over u of ½ curvature (u - z)² + the corners of P, by weight."""
        return self.allowed(_soft(z, self.l1_ratio / curvature))

    def permits(self, j: int, side: float) -> bool:
        """Whether the weight of that number may have that sign."""
        return self.signs is None or float(self.signs[j]) * side >= 0.0

    def allowed(self, w: AnyFloats) -> AnyFloats:
        """The nearest point at which P is finite."""
        return namespace(w).where(self.allows(w), w, 0.0 * w)

    def towards(self, w: AnyFloats, gradient: AnyFloats, direction: AnyFloats) -> AnyFloats:
        xp = namespace(w)
        sides = xp.where(w == 0.0, xp.sign(direction), xp.sign(w))
        return self.ridge * w + gradient + self.l1_ratio * sides

    def along(self, start: AnyFloats, direction: AnyFloats) -> Callable[[float], float]:
        return lambda t: inner(self.towards(start + t * direction, 0.0 * start, direction), direction)

    def gap(self, w: AnyFloats, gradient: AnyFloats, risk: float, error: AnyFloats | float = 0.0) -> float:
        if not bool(self.allows(w).all()):
            return inf
        slopes = (-gradient - error, error - gradient)  # between which those without rounding errors are
        outward = max(float(abs(self.allowed(z)).max()) if z.shape[0] else 0.0 for z in slopes)
        feasible = self.l1_ratio / outward if outward > self.l1_ratio else 1.0
        bounds = [self._bound(w, slopes, feasible, risk, at_zero=True)]
        if self.ridge:
            bounds.append(self._bound(w, slopes, 1.0, risk))
        return min(*bounds, self.value(w) + risk)  # f is not negative

    def _bound(
        self, w: AnyFloats, slopes: tuple[AnyFloats, AnyFloats], share: float, risk: float, at_zero: bool = False
    ) -> float:
        """The bound by this share of the slopes; it is convex in each of them, so greatest at one of their bounds."""
        low, high = (self._young(w, share * z, at_zero) for z in slopes)
        return (1.0 - share) * risk + float(namespace(w).where(low > high, low, high).sum())

    def _young(self, w: AnyFloats, z: AnyFloats, at_zero: bool) -> AnyFloats:
        """P(w) + P*(z) - z·w by weight, which is not negative; P* is attained at 0, or at u."""
        u = 0.0 * w if at_zero else self.allowed(_soft(z, self.l1_ratio)) / self.ridge
        off = w - u
        young = (0.5 * self.ridge * off + self.ridge * u - z) * off + self.l1_ratio * (abs(w) - abs(u))
        return young.clip(0.0, None)

    def _signs(self, w: AnyFloats) -> AnyFloats:
        return 0.0 * w if self.signs is None else on_device_of(w, self.signs)


def _soft(z: AnyFloats, width: AnyFloats | float) -> AnyFloats:
    return namespace(z).sign(z) * (abs(z) - width).clip(0.0, None)


def make_penalty(l1_ratio: float = 0.0, signs: Floats | None = None) -> Penalty:
    """The simplest penalty with these options."""
    return ElasticNet(l1_ratio, signs) if l1_ratio or (signs is not None and np.any(signs)) else PLAIN
