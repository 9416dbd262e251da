"""Chunks: some whole queries with their rows of X and the risk of their scores, joined by the chain rule.

value = risk(X w),   gradient = Xᵀ g,   Hessian v = Xᵀ H (X v)
"""

from dataclasses import dataclass, replace
from typing import Protocol, Self

from rankwise.foundation.arrays import Array
from rankwise.foundation.devices import AnyFloats, namespace
from rankwise.objective.losses import Loss
from rankwise.objective.risks import Risk, RiskExpansion
from rankwise.objective.rows import Rows

SCALARS = 3  # numbers after the gradient in `Summand.sums`


class Summand(Protocol):
    """An expansion of a term of a sum."""

    @property
    def sums(self) -> AnyFloats:
        """The gradient, followed by the value, the moment and the terms (see `risks.RiskExpansion`)."""
        ...

    def hessian(self, v: AnyFloats) -> AnyFloats: ...
    def hessian_matrix(self) -> AnyFloats: ...
    def degree_moments(self) -> AnyFloats:
        """What the diagonal of the sum's Hessian is estimated from: see the function `degree_moments`."""
        ...

    def sizes(self) -> AnyFloats:
        """Bounds on rounding errors in units of ε: see the function `sizes`."""
        ...

    def with_loss(self, loss: Loss) -> Self:
        """The same point with another loss: scores are not computed and sorted again."""
        ...


class Slope(Protocol):
    """The derivative of a function on a ray, as a term of a sum."""

    def slope(self, t: float) -> AnyFloats: ...


class Chunk(Protocol):
    """Some whole queries."""

    @property
    def rows(self) -> Rows: ...
    @property
    def large(self) -> bool:
        """Whether all threads work on this chunk together."""
        ...

    def with_loss(self, loss: Loss) -> Self: ...
    def at(self, w: AnyFloats) -> Summand: ...
    def along(self, start: AnyFloats, direction: AnyFloats) -> Slope: ...


@dataclass(frozen=True)
class PlainChunk:
    """A chunk of any rows and any risk."""

    rows: Rows
    risk: Risk
    large: bool

    def with_loss(self, loss: Loss) -> Self:
        return self if loss is self.risk.loss else replace(self, risk=self.risk.with_loss(loss))

    def at(self, w: AnyFloats) -> Summand:
        rows = self.rows.loaded()
        risk = self.risk.at(rows.dot(w))
        return ChunkExpansion(w, self.rows, risk, _sums(rows, risk))

    def along(self, start: AnyFloats, direction: AnyFloats) -> Slope:
        rows = self.rows.loaded()
        return ChunkRay(self.risk, rows.dot(start), rows.dot(direction))


@dataclass(frozen=True)
class ChunkExpansion:
    point: AnyFloats
    rows: Rows
    risk: RiskExpansion
    sums: AnyFloats

    def with_loss(self, loss: Loss) -> "ChunkExpansion":
        risk = self.risk.with_loss(loss)
        return ChunkExpansion(self.point, self.rows, risk, _sums(self.rows.loaded(), risk))

    def hessian(self, v: AnyFloats) -> AnyFloats:
        rows = self.rows.loaded()
        return rows.transposed_dot(self.risk.hessian(rows.dot(v)))

    def hessian_matrix(self) -> AnyFloats:
        """Computed by matrix products, for a group of columns at a time."""
        rows = self.rows.loaded()
        width, d = rows.width, rows.n_features
        groups = [(j, min(j + width, d)) for j in range(0, d, width)]
        columns = [rows.transposed_dot(self.risk.half_hessian(rows.columns(*group))) for group in groups]
        half: AnyFloats = namespace(columns[0]).concat(columns, axis=1)
        return half + half.T

    def degree_moments(self) -> AnyFloats:
        return degree_moments(self.rows.loaded(), self.risk.hessian_diagonal())

    def sizes(self) -> AnyFloats:
        return sizes(self.rows, self.risk.sizes(), self.point)


def degree_moments(rows: Rows, degrees: AnyFloats) -> AnyFloats:
    """For every column the sums of its squares and of itself, weighted by the degrees; and the sum of the degrees."""
    squares, sums = rows.squared_transposed_dot(degrees), rows.transposed_dot(degrees)
    xp = namespace(squares)
    joined: AnyFloats = xp.concat((squares, sums, xp.stack((degrees.sum(),))))
    return joined


def _sums(rows: Rows, risk: RiskExpansion) -> AnyFloats:
    gradient = rows.transposed_dot(risk.gradient)
    xp = namespace(gradient)
    joined: AnyFloats = xp.concat((gradient, xp.stack((risk.value, risk.moment, risk.terms))))
    return joined


@dataclass(frozen=True)
class ChunkRay:
    """The scores at the start of a ray, and their change per unit of t: X is not read again."""

    risk: Risk
    scores: AnyFloats
    changes: AnyFloats

    def slope(self, t: float) -> AnyFloats:
        slope: Array = self.risk.at(self.scores + t * self.changes).gradient @ self.changes
        return slope


def sizes(rows: Rows, curvatures: AnyFloats, w: AnyFloats) -> AnyFloats:
    """Bounds on the rounding errors of the gradient and of the value at the weights w, in units of ε.

    `curvatures` are the sums of |b| + |c| over the pairs of each document. A score has an error of ε size_i, where
    size_i = |x_i|·|w| + 1 (the 1 is for the margin). This changes ∂/∂w_j by ε Σ_i curvature_i size_i |x_ij| (the first
    entries) and the value by at most ε Σ_i curvature_i size_i² (the last but one). The last entry is Σ_i size_i², which
    bounds the loss of pairs that seem satisfied only because of rounding.
    """
    rows = rows.loaded()
    scores = rows.absolute_dot(abs(w)) + 1.0
    added = curvatures * scores
    in_gradient = rows.absolute_transposed_dot(added)
    xp = namespace(in_gradient)
    joined: AnyFloats = xp.concat((in_gradient, xp.stack((added @ scores, scores @ scores))))
    return joined
