"""The interface between objectives, their parts and solvers: a function, and its expansion at a point.

Every solver needs `Function` and `Expansion`. Each capability that only some objectives have is a protocol of its own;
a solver that can do without it tests for it by isinstance.
"""

from typing import Protocol, Self, TypeAlias, TypeVar, runtime_checkable

from rankwise.foundation.devices import AnyFloats


class Expansion(Protocol):
    """A function to second order at one point. Sums and multiples of expansions are expansions.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import load_sample, losses
    >>> from rankwise.objective.building import build
    >>> data = load_sample()
    >>> objective = build(data.X, data.y, data.qid, loss=losses.squared_hinge(), C=0.01)
    >>> expansion = objective.at(np.zeros(13))
    >>> expansion.gradient.shape, expansion.hessian_matrix().shape
    ((13,), (13, 13))
    """

    @property
    def point(self) -> AnyFloats: ...
    @property
    def value(self) -> float: ...
    @property
    def gradient(self) -> AnyFloats: ...
    def hessian(self, v: AnyFloats) -> AnyFloats:
        """∇² v, for a vector or a matrix of columns."""
        ...

    def hessian_matrix(self) -> AnyFloats: ...
    def hessian_diagonal(self) -> AnyFloats:
        """The diagonal of ∇², or an approximation of it that is cheaper than the matrix."""
        ...


E = TypeVar("E", bound=Expansion)
E_co = TypeVar("E_co", bound=Expansion, covariant=True)


class Expandable(Protocol[E_co]):
    """What every solver needs of the function that it minimises: ½|w|² plus a convex function of `size` variables."""

    @property
    def size(self) -> int: ...
    def at(self, w: AnyFloats) -> E_co: ...


Function: TypeAlias = Expandable[Expansion]


@runtime_checkable
class Located(Protocol):
    """A function whose points are stored on a device."""

    @property
    def zero(self) -> AnyFloats:
        """The origin, on that device."""
        ...


@runtime_checkable
class Constrained(Protocol):
    """A function that is finite at some points only."""

    def allowed(self, w: AnyFloats) -> AnyFloats:
        """The nearest of them."""
        ...


@runtime_checkable
class Cornered(Protocol):
    """An expansion of a penalty, which may have corners, plus C · risk; its gradient is the shortest subgradient."""

    @property
    def ridge(self) -> float:
        """The curvature of the penalty."""
        ...

    @property
    def slopes(self) -> AnyFloats:
        """The gradient of C · risk."""
        ...

    def towards(self, direction: AnyFloats) -> AnyFloats:
        """The subgradient whose inner product with a direction is the derivative in it."""
        ...

    def gap(self) -> float:
        """A bound on f(w) - min f, but for rounding."""
        ...


@runtime_checkable
class Underflowing(Protocol):
    """An expansion at 0 that can tell whether underflow has distorted it."""

    def underflows(self) -> bool: ...


class Ray(Protocol):
    """A function on a ray start + t · direction."""

    def slope(self, t: float) -> float: ...


@runtime_checkable
class Searchable(Protocol):
    def along(self, start: AnyFloats, direction: AnyFloats) -> Ray:
        """The function on the ray start + t · direction; a slope costs less than an expansion."""
        ...


@runtime_checkable
class Sampleable(Protocol):
    def sampled(self, n_rows: int, seed: int) -> Function:
        """An estimate of the function from a random sample of about `n_rows` rows."""
        ...


@runtime_checkable
class Scalable(Protocol):
    """A function ½|w|² + C · risk, or an expansion of one."""

    def times(self, factor: float) -> Self:
        """The same with C multiplied by `factor`."""
        ...


class Certificate(Protocol):
    """Proven bounds at one point w."""

    def gap(self) -> float:
        """A bound on f(w) - min f, rounding errors included."""
        ...

    def errors(self) -> tuple[float, float]:
        """Bounds on the rounding error of the gradient (its norm) and on that of the value."""
        ...

    def unseen(self) -> float:
        """A bound on the terms that rounding may have hidden, as a fraction of f(0)."""
        ...


@runtime_checkable
class Certified(Protocol):
    """An expansion with a certificate."""

    @property
    def certificate(self) -> Certificate: ...
