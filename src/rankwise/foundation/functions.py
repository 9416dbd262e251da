"""What is known of a function at a point: the one contract between objectives, their parts and solvers.

`Function` and `Expansion` are what every solver needs. What only some objectives can do is a protocol of its own; a
solver that can do without it asks by isinstance.
"""

from typing import Protocol, Self, TypeAlias, TypeVar, runtime_checkable

from rankwise.foundation.devices import AnyFloats


class Expansion(Protocol):
    """A function to second order at one point. Sums and multiples of expansions are expansions."""

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
        """Near the diagonal of ∇², where it is to be had more cheaply than the matrix."""
        ...


E = TypeVar("E", bound=Expansion)
E_co = TypeVar("E_co", bound=Expansion, covariant=True)


class Expandable(Protocol[E_co]):
    """All that every solver needs of what it minimises, ½|w|² + something convex; its expansions have the type E."""

    @property
    def size(self) -> int: ...
    def at(self, w: AnyFloats) -> E_co: ...


Function: TypeAlias = Expandable[Expansion]


@runtime_checkable
class Located(Protocol):
    """Its points are stored on a device."""

    @property
    def zero(self) -> AnyFloats:
        """The origin, on that device."""
        ...


class Ray(Protocol):
    """A function of t on a ray."""

    def slope(self, t: float) -> float: ...


@runtime_checkable
class Searchable(Protocol):
    def along(self, start: AnyFloats, direction: AnyFloats) -> Ray:
        """The function on the ray start + t · direction, at less than the cost of an expansion per slope."""
        ...


@runtime_checkable
class Sampleable(Protocol):
    def sampled(self, n_rows: int, seed: int) -> Function:
        """An estimate of the function from about `n_rows` of its rows, drawn at random."""
        ...


@runtime_checkable
class Scalable(Protocol):
    """½|w|² + C times something: a function or an expansion of one."""

    def times(self, factor: float) -> Self:
        """The same with C times a factor."""
        ...


class Certificate(Protocol):
    """Proven bounds at one point."""

    def gap(self) -> float:
        """On f(w) - min f, rounding included."""
        ...

    def errors(self) -> tuple[float, float]:
        """On the rounding errors of the gradient, by its length, and of the value."""
        ...

    def unseen(self) -> float:
        """On the share of f(0) that terms may add which only rounding makes seem 0."""
        ...


@runtime_checkable
class Certified(Protocol):
    """An expansion from which something can be proven."""

    @property
    def certificate(self) -> Certificate: ...
