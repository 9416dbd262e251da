"""A part of the data: some whole queries, their rows of X and the risk of their scores, and the chain rule for them.

value = risk(X w),   gradient = Xᵀ g,   Hessian v = Xᵀ H (X v)
"""

from dataclasses import dataclass
from typing import Protocol

from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.devices import namespace
from rankwise.objective.risks import Risk, RiskHessian
from rankwise.objective.rows import MemoryRows


class Expansion(Protocol):
    """What is known of a part's risk at w."""

    @property
    def sums(self) -> Floats:
        """The gradient, and behind it the value, the moment and the sum of sizes (see `risk.RiskExpansion`)."""
        ...

    def hessian(self, v: Array) -> Floats: ...
    def half_hessian(self) -> Floats: ...
    def diagonal(self) -> Floats: ...
    def sizes(self, w: Floats) -> Floats: ...


@dataclass(frozen=True)
class Chunk:
    """Any features and any risk. A large part is worked on by all threads together."""

    features: MemoryRows
    risk: Risk
    large: bool

    def at(self, w: Floats) -> "ChunkExpansion":
        features = self.features.loaded()
        risk = self.risk.at(features.dot(w))
        gradient = features.transposed_dot(risk.gradient)
        xp = namespace(gradient)
        sums = xp.concat((gradient, xp.stack((risk.value, risk.moment, risk.terms))))
        return ChunkExpansion(self.features, risk.hessian, sums)


@dataclass(frozen=True)
class ChunkExpansion:
    features: MemoryRows
    risk_hessian: RiskHessian
    sums: Floats

    def hessian(self, v: Array) -> Floats:
        """Xᵀ H X v, for a vector or a matrix of columns."""
        features = self.features.loaded()
        return features.transposed_dot(self.risk_hessian(features.dot(v)))

    def half_hessian(self) -> Floats:
        """A matrix M with M + Mᵀ = Xᵀ H X, by matrix products."""
        features = self.features.loaded()
        width = features.width
        groups = [(j, min(j + width, features.n_features)) for j in range(0, features.n_features, width)]
        columns = [features.transposed_dot(self.risk_hessian.half(features.columns(*g))) for g in groups]
        matrix: Floats = namespace(columns[0]).concat(columns, axis=1)
        return matrix

    def diagonal(self) -> Floats:
        """The diagonal of Xᵀ D X, D the diagonal of H: near that of Xᵀ H X, for one pass over X."""
        return self.features.loaded().squared_transposed_dot(self.risk_hessian.diagonal())

    def sizes(self, w: Floats) -> Floats:
        return sizes(self.features, self.risk_hessian.sizes(), w)


def sizes(features: MemoryRows, curvatures: Floats, w: Floats) -> Floats:
    """What rounding of the gradient and of the value grows with, without a factor ε, at the weights w.

    `curvatures` are the sums of |b| + |c| over the pairs of each document. A score is off by ε size_i, where
    size_i = |x_i|·|w|; this moves ∂/∂w_j by ε Σ_i curvature_i size_i |x_ij| (the first entries) and the value by at
    most ε Σ_i curvature_i size_i² (the last but one). Sums over pairs have sizes of their own: 1 is added for the
    margin. The last is Σ_i size_i², for pairs that are satisfied by less than that.
    """
    rows = features.loaded()
    scores = rows.absolute_dot(abs(w)) + 1.0
    added = curvatures * scores
    in_gradient = rows.absolute_transposed_dot(added)
    xp = namespace(in_gradient)
    return xp.concat((in_gradient, xp.stack((added @ scores, scores @ scores))))  # type: ignore[no-any-return]
