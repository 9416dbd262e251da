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
    def subgradient(self, w: AnyFloats, gradient: AnyFloats) -> AnyFloats:
        """The shortest subgradient of the objective: 0 at the optimum and only there."""
        ...

    def towards(self, w: AnyFloats, gradient: AnyFloats, direction: AnyFloats) -> AnyFloats:
        """The subgradient of the objective whose inner product with a direction is the derivative in it."""
        ...

    def along(self, start: AnyFloats, direction: AnyFloats) -> Callable[[float], float]:
        """The derivative of P(start + t · direction) as a function of t."""
        ...

    def gap(self, w: AnyFloats, gradient: AnyFloats, risk: float, error: float = 0.0) -> float:
        """A bound on the distance to the optimum, if |error in the gradient| ≤ error."""
        ...


@dataclass(frozen=True)
class L2:
    """½|w|²."""

    ridge: ClassVar = 1.0

    def value(self, w: AnyFloats) -> float:
        return 0.5 * inner(w, w)

    def subgradient(self, w: AnyFloats, gradient: AnyFloats) -> AnyFloats:
        return w + gradient

    def towards(self, w: AnyFloats, gradient: AnyFloats, direction: AnyFloats) -> AnyFloats:
        return w + gradient

    def along(self, start: AnyFloats, direction: AnyFloats) -> Callable[[float], float]:
        at_start, bend = inner(start, direction), inner(direction, direction)
        return lambda t: at_start + t * bend

    def gap(self, w: AnyFloats, gradient: AnyFloats, risk: float, error: float = 0.0) -> float:
        return half_square(length_of(w + gradient) + error)


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

    def allowed(self, w: AnyFloats) -> AnyFloats:
        """The nearest point at which P is finite."""
        return namespace(w).where(self.allows(w), w, 0.0 * w)

    def towards(self, w: AnyFloats, gradient: AnyFloats, direction: AnyFloats) -> AnyFloats:
        xp = namespace(w)
        sides = xp.where(w == 0.0, xp.sign(direction), xp.sign(w))
        return self.ridge * w + gradient + self.l1_ratio * sides

    def along(self, start: AnyFloats, direction: AnyFloats) -> Callable[[float], float]:
        return lambda t: inner(self.towards(start + t * direction, 0.0 * start, direction), direction)

    def gap(self, w: AnyFloats, gradient: AnyFloats, risk: float, error: float = 0.0) -> float:
        if not bool(self.allows(w).all()):
            return inf
        share = self._feasible(gradient, error)
        bounds = [self._gap(share, w, gradient, risk, error)]
        if self.ridge:
            bounds.append(self._gap(1.0, w, gradient, risk, error) + half_square(error) / self.ridge)
        return min(bounds)

    def _gap(self, share: float, w: AnyFloats, gradient: AnyFloats, risk: float, error: float) -> float:
        """The bound by this share of the slopes; the terms of its sum are not negative."""
        z = -share * gradient
        excess = self.allowed(_soft(z, self.l1_ratio))
        u = excess / self.ridge if self.ridge and share == 1.0 else 0.0 * w  # a feasible share leaves rounding only
        off = w - u
        young = 0.5 * self.ridge * inner(off, off) + inner(self.ridge * u - z, off)
        young += self.l1_ratio * float((abs(w) - abs(u)).sum())
        return (1.0 - share) * risk + max(young, 0.0) + share * error * length_of(off)

    def _feasible(self, gradient: AnyFloats, error: float) -> float:
        """The largest share of the slopes for which u = 0 attains the conjugate."""
        outward = self.allowed(-gradient)
        largest = float(abs(outward).max()) + error if outward.shape[0] else 0.0
        return self.l1_ratio / largest if largest > self.l1_ratio else 1.0

    def _signs(self, w: AnyFloats) -> AnyFloats:
        return 0.0 * w if self.signs is None else on_device_of(w, self.signs)


def _soft(z: AnyFloats, width: float) -> AnyFloats:
    return namespace(z).sign(z) * (abs(z) - width).clip(0.0, None)


def make_penalty(l1_ratio: float = 0.0, signs: Floats | None = None) -> Penalty:
    """The simplest penalty with these options."""
    return ElasticNet(l1_ratio, signs) if l1_ratio or (signs is not None and np.any(signs)) else PLAIN
