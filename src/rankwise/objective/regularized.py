"""The objective of a linear ranker: f(w) = ½|w|² + C · risk(X w)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.devices import half_square, length_of
from rankwise.objective import losses
from rankwise.objective.losses import Loss
from rankwise.objective.risks import Risk
from rankwise.objective.rows import MemoryRows
from rankwise.objective.sums import Ray, Sum, SumExpansion
from rankwise.pairs.preferences import Preferences

ROUNDING = 4 * float(np.finfo(float).eps)  # an error of one operation, with room for sums of many


class Objective:
    """f(w) = ½|w|² + C · risk(X w). `data` is risk(X w) as a function of w.

    `rows` are the numbers that the rows had where they came from, if they were put into another order.
    """

    def __init__(self, data: Sum, C: float, rows: Array | None = None) -> None:
        self.data = data
        self.C = C
        self.rows = rows

    @property
    def size(self) -> int:
        return self.features.n_features

    @property
    def features(self) -> MemoryRows:
        return self.data.features

    @property
    def risk(self) -> Risk:
        """Of the scores."""
        return self.data.risk

    @property
    def loss(self) -> Loss:
        return self.risk.loss

    @property
    def preferences(self) -> Preferences:
        """For the solvers that look at single pairs."""
        if hasattr(self.risk, "preferences"):
            return self.risk.preferences
        raise ValueError("this solver draws pairs from labels and query ids: it cannot take a list of pairs")

    @property
    def most_pairs(self) -> float:
        """A bound on how many pairs there would be to list."""
        sizes = np.diff(self.risk.starts).astype(np.float64)
        return float(sizes @ (sizes - 1.0)) / 2

    @property
    def any(self) -> bool:
        """Whether there is a preference pair at all."""
        return self.risk.any

    @property
    def zero(self) -> Floats:
        """The origin, where w lies."""
        return self.data.zero

    def at(self, w: Floats) -> "Expansion":
        return Expansion(w, self.C, self.data.at(w), self.loss)

    def eased(self, share: float) -> "Objective":
        """The same with this share of C."""
        return Objective(self.data, share * self.C, self.rows)

    def smoothed(self, width: float) -> "Objective":
        """The same with the hinge's corner rounded over `width`."""
        if self.loss.pieces != losses.hinge().pieces:
            raise ValueError(f"solver 'smoothing' is for the hinge loss: for {self.loss} take 'auto'")
        return Objective(self.data.with_loss(losses.huber(width)), self.C, self.rows)

    def beyond(self, width: float) -> "Objective":
        """The same with the hinge only where a pair is more than `width` away from being satisfied."""
        return Objective(self.data.with_loss(losses.beyond(width)), self.C, self.rows)

    def sampled(self, n_rows: int, seed: int) -> "Objective":
        """An estimate of f from about `n_rows` of the rows, drawn at random."""
        return Objective(self.data.sampled(n_rows, seed), self.C)

    def along(self, start: Floats, direction: Floats) -> "RegularizedRay":
        """f on the ray start + t · direction; X is read here and not again."""
        at_start, bend = float(start @ direction), float(direction @ direction)
        return RegularizedRay(at_start, bend, self.C, self.data.along(start, direction))


@dataclass(frozen=True)
class Expansion:
    """What is known of f at w."""

    point: Floats
    C: float
    risk: SumExpansion
    loss: Loss

    @property
    def value(self) -> float:
        risk = self.risk.value
        if risk < 0.0:  # no loss is negative: this is rounding, and its size is reported instead
            risk = ROUNDING * self.risk.terms
        return 0.5 * float(self.point @ self.point) + self.C * risk

    @property
    def gradient(self) -> Floats:
        return self.point + self.C * self.risk.gradient

    def hinge_slack(self, value: float) -> float:
        """C Σ (u - loss'(u) u) for the hinge, of which this is a smoothed one and whose objective is `value` here.

        The slopes C loss'(u) are dual feasible for the hinge, and the dual's value there is value - slack - ½|∇f|².
        """
        return value - 0.5 * float(self.point @ self.point) - self.C * self.risk.moment

    def certified_gap(self) -> float:
        """A proven bound on f(w) - min f: ½|∇f|², as f is 1-strongly convex, and what rounding may have hidden."""
        in_gradient, in_value = self.errors()
        reach: float = length_of(self.gradient) + in_gradient
        return half_square(reach) + in_value

    def errors(self) -> tuple[float, float]:
        """Bounds on the rounding errors of ∇f, by its length, and of f, from the sizes of what was added up."""
        sizes = self._sizes
        in_gradient = ROUNDING * (length_of(self.point) + self.C * length_of(sizes[:-2]))
        in_value = ROUNDING * (
            half_square(length_of(self.point)) + self.C * (float(sizes[-2]) + float(self.risk.terms))
        )
        return in_gradient, in_value

    def unseen(self) -> float:
        """The share of f(0) that pairs may add which only rounding makes seem satisfied: δ² times the curvature."""
        return 2.0 * self.loss.bend * ROUNDING**2 * float(self._sizes[-1])

    @cached_property
    def _sizes(self) -> Floats:
        return self.risk.sizes(self.point)

    def hessian(self, v: Array) -> Floats:
        """∇²f v, for a vector or a matrix of columns."""
        return v + self.C * self.risk.hessian(v)

    def hessian_matrix(self) -> Floats:
        """∇²f, by matrix products."""
        half = self.C * self.risk.half_hessian()
        matrix: Floats = half + half.T
        matrix.reshape(-1)[:: matrix.shape[0] + 1] += 1.0
        return matrix

    def hessian_diagonal(self) -> Floats:
        """Near the diagonal of ∇²f, for one pass over X."""
        return 1.0 + self.C * self.risk.diagonal()


@dataclass(frozen=True)
class RegularizedRay:
    """f(start + t · direction) as a function of t."""

    at_start: float
    bend: float
    C: float
    risk: Ray

    def slope(self, t: float) -> float:
        return self.at_start + t * self.bend + self.C * self.risk.slope(t)
