"""RankRLS's risk of the scores s: the sum of (y_i - y_j - (s_i - s_j))² over the pairs that are compared.

With the Laplacian L = R Rᵀ of their graph (see `comparisons`) and the gaps e = y - s,

    value = eᵀ L e = |Rᵀ e|²,   gradient = -2 L e,   Hessian = 2 L
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.devices import Selection
from rankwise.least_squares.comparisons import Comparisons
from rankwise.objective import losses
from rankwise.objective.losses import Loss
from rankwise.pairs.queries import draw

SQUARED = losses.squared()


@dataclass(frozen=True)
class SquaredGapRisk:
    """Documents with labels, query by query; query q owns the rows starts[q], ..., starts[q + 1] - 1."""

    comparisons: Comparisons
    labels: Floats
    starts: Ints

    @property
    def loss(self) -> Loss:
        return SQUARED

    @cached_property
    def targets(self) -> Floats:
        """The labels minus the first one of the query: only differences matter, and an offset would cost digits."""
        return self.labels - np.repeat(self.labels[self.starts[:-1]], np.diff(self.starts))

    @property
    def any(self) -> bool:
        """Whether two labels of a query differ; otherwise there is nothing to learn, even with ties included."""
        return bool(self.targets.any())

    @property
    def totals(self) -> Floats:
        return self.comparisons.pairs_by_query

    def at(self, scores: Floats) -> "SquaredGapExpansion":
        pulled, value = self.comparisons.form(self.targets - scores)
        return SquaredGapExpansion(scores, value, -2.0 * pulled, self)

    def with_loss(self, loss: Loss) -> "SquaredGapRisk":
        if loss != SQUARED:
            raise ValueError(f"RankRLS is least squares on differences of labels: loss {loss} is not available")
        return self

    def select(self, queries: Selection, rows: Selection, n_threads: int) -> "SquaredGapRisk":
        sizes = np.diff(self.starts)[queries]
        return SquaredGapRisk(self.comparisons.select(queries, rows), self.labels[rows], _ends(sizes))

    def sampled(self, n_rows: int, seed: int, n_threads: int) -> tuple["SquaredGapRisk", Ints]:
        queries, rows, sizes, scales = draw(self.starts, n_rows, np.random.default_rng(seed))
        return self.drawn(queries, rows, sizes, scales, n_threads), rows

    def drawn(self, queries: Ints, rows: Ints, sizes: Ints, scales: Floats, n_threads: int) -> "SquaredGapRisk":
        comparisons = self.comparisons.select(queries, rows).scaled(scales)
        return SquaredGapRisk(comparisons, self.labels[rows], _ends(sizes))


@dataclass(frozen=True)
class SquaredGapExpansion:
    point: Floats
    value: float
    gradient: Floats
    of: SquaredGapRisk

    @property
    def comparisons(self) -> Comparisons:
        return self.of.comparisons

    def with_loss(self, loss: Loss) -> "SquaredGapExpansion":
        return self.of.with_loss(loss).at(self.point)

    @property
    def moment(self) -> float:
        return 2.0 * self.value

    @property
    def terms(self) -> float:
        return 2.0 * self.value

    @property
    def moved(self) -> float:
        """The squared differences of the scores: what the value would be with all labels equal."""
        return self.comparisons.form(self.point)[1]

    def hessian(self, v: Array) -> Floats:
        return 2.0 * self.comparisons.laplacian(v)

    def half_hessian(self, v: Array) -> Floats:
        return self.comparisons.laplacian(v)

    def hessian_matrix(self) -> Floats:
        return self.hessian(np.eye(self.point.size))

    def hessian_diagonal(self) -> Floats:
        """An approximation: with ties included a document counts as compared to itself."""
        return 2.0 * self.comparisons.degree

    def sizes(self) -> Floats:
        return 2.0 * self.comparisons.degree


def _ends(sizes: Ints) -> Ints:
    return np.concatenate(([0], np.cumsum(sizes)))
