"""What is known of a function at a point: the one contract between objectives, their parts and solvers."""

from typing import Protocol

from rankwise.foundation.arrays import Array, Floats


class Expansion(Protocol):
    """A function to second order at one point. Sums and multiples of expansions are expansions."""

    @property
    def point(self) -> Floats: ...
    @property
    def value(self) -> float: ...
    @property
    def gradient(self) -> Floats: ...
    def hessian(self, v: Array) -> Floats:
        """∇² v, for a vector or a matrix of columns."""
        ...

    def hessian_matrix(self) -> Floats: ...
    def hessian_diagonal(self) -> Floats:
        """Near the diagonal of ∇², where it is to be had more cheaply than the matrix."""
        ...


class Function(Protocol):
    """All that every solver needs of what it minimises: ½|w|² + something convex."""

    @property
    def size(self) -> int: ...
    def at(self, w: Floats) -> Expansion: ...
