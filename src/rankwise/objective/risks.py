"""Risks: functions of the scores.

For a piece (t; a, b, c) of a loss with u = τ - (s_i - s_j), and with N, d and L the number of edges, balance and
Laplacian of the graph G(t + τ - 1),

    Σu = τ N - s·d,   Σu² = τ² N - 2τ s·d + s·L s
    value = a N + b Σu + c/2 Σu²,   gradient = c L s - (b + τ c) d,   H v = c L v

and a loss is the sum over its pieces. The margin τ is 1, or 0 if the documents' own margins are subtracted from s.
"""

from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np

from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.devices import AnyFloats, DeviceArray, Selection, SparseMatrix, device_of, namespace
from rankwise.foundation.functions import Expansion
from rankwise.objective.losses import Loss, Piece
from rankwise.pairs.graph import PairGraph, Ranking
from rankwise.pairs.preferences import Preferences
from rankwise.pairs.queries import draw


class RiskExpansion(Expansion, Protocol):
    """A risk at one vector of scores; its arrays are stored on the device of the scores."""

    @property
    def moment(self) -> float:
        """Σ loss'(u) u, for the dual bound."""
        ...

    @property
    def terms(self) -> float:
        """The sum of the absolute values of all terms of the value, for the bound on its rounding error."""
        ...

    def with_loss(self, loss: Loss) -> Self:
        """The same scores with another loss."""
        ...

    def half_hessian(self, v: AnyFloats) -> AnyFloats:
        """M v, where M + Mᵀ is the Hessian, for a matrix of columns."""
        ...

    def sizes(self) -> AnyFloats:
        """For each document, the sum of |b| + |c| over its pairs, for bounds on rounding errors."""
        ...


class Risk(Protocol):
    """A function of the scores that is a sum over queries, whose rows are stored together."""

    @property
    def loss(self) -> Loss: ...
    @property
    def any(self) -> bool:
        """Whether there is any pair of positive weight."""
        ...

    @property
    def totals(self) -> Floats:
        """For each query, the number of its pairs, or their total weight."""
        ...

    @property
    def starts(self) -> Ints:
        """The first row of each query, and the number of rows."""
        ...

    def at(self, scores: AnyFloats) -> RiskExpansion: ...
    def with_loss(self, loss: Loss) -> Self: ...
    def select(self, queries: Selection, rows: Selection, n_threads: int) -> Self:
        """The risk of these queries only, whose rows are `rows`."""
        ...

    def sampled(self, n_rows: int, seed: int, n_threads: int) -> tuple[Self, Ints]:
        """An estimate from a random sample of about `n_rows` rows, and the row numbers of the sample."""
        ...

    def drawn(self, queries: Ints, rows: Ints, sizes: Ints, scales: Floats, n_threads: int) -> Self:
        """The estimate from a sample that `pairs.queries.draw` has drawn."""
        ...


@dataclass(frozen=True)
class PairwiseExpansion:
    """Pieces with the graphs of their active pairs: the Hessian is the sum of c L over them."""

    point: AnyFloats
    value: float
    gradient: AnyFloats
    moment: float
    terms: float
    pieces: tuple[tuple[Piece, PairGraph], ...]
    of: "PairwiseRisk"
    ranking: Ranking

    def with_loss(self, loss: Loss) -> "PairwiseExpansion":
        return self.of.with_loss(loss).ranked_at(self.point, self.ranking)

    def hessian(self, v: AnyFloats) -> AnyFloats:
        total: AnyFloats = namespace(v).zeros_like(v)
        for curvature, graph in self._curved:
            product = graph.laplacian(v)
            product *= curvature
            total += product
        return total

    def half_hessian(self, v: AnyFloats) -> AnyFloats:
        """c (½ D v - below(v)), which takes one sum over pairs where L v takes two."""
        total: AnyFloats = namespace(v).zeros_like(v)
        for curvature, graph in self._curved:
            sums = graph.below(v)
            sums -= v * (0.5 * graph.degree)[:, None]
            sums *= -curvature
            total += sums
        return total

    def hessian_matrix(self) -> AnyFloats:
        return self.hessian(_identity(self.point))

    def hessian_diagonal(self) -> AnyFloats:
        (first, *others) = [piece.curvature * graph.degree for piece, graph in self.pieces]
        return sum(others, first)

    def sizes(self) -> AnyFloats:
        (first, *others) = [(abs(piece.slope) + abs(piece.curvature)) * graph.degree for piece, graph in self.pieces]
        return sum(others, first)

    @property
    def _curved(self) -> list[tuple[float, PairGraph]]:
        return [(piece.curvature, graph) for piece, graph in self.pieces if piece.curvature]


def _identity(point: AnyFloats) -> AnyFloats:
    xp = namespace(point)
    identity: AnyFloats = xp.eye(point.shape[0], dtype=point.dtype, device=device_of(point))
    return identity


def sums_of_piece(a: float, b: float, c: float, tau: float, N: Any, sd: Any, sLs: Any) -> tuple[Any, Any, Any]:
    """What a piece (a, b, c) adds to value, moment and terms, from the sums over its edges; `fused` compiles it."""
    u, uu = tau * N - sd, tau * tau * N - 2 * tau * sd + sLs
    size = tau * N + 2 * abs(sd) + abs(sLs)
    return a * N + b * u + c / 2 * uu, b * u + c * uu, abs(a) * N + (abs(b) + abs(c)) * size


@dataclass(frozen=True)
class PairwiseRisk:
    """The sum of loss(s_i - s_j) over all preference pairs (i, j).

    With `margins` δ, one per document, the required margin of the pair (i, j) is δ_i - δ_j instead of 1.
    """

    preferences: Preferences
    loss: Loss
    margins: AnyFloats | None = None

    def at(self, scores: AnyFloats) -> PairwiseExpansion:
        return self.ranked_at(scores, self.preferences.ranked(self._shifted(scores)))

    def ranked_at(self, scores: AnyFloats, ranking: Ranking) -> PairwiseExpansion:
        """The expansion at scores whose ranking is known."""
        tau, shifted = self.tau, self._shifted(scores)
        value, moment, terms, gradient, graphs = 0.0, 0.0, 0.0, namespace(scores).zeros_like(scores), []
        for piece in self.loss.pieces:
            a, b, c = piece.constant, piece.slope, piece.curvature
            graph = ranking.active(piece.threshold + tau - 1.0)
            N, d = graph.total, graph.balance
            # Only differences matter: without centring, a common offset of the scores would cost digits of s·d and s·Ls
            s = self.preferences.centred(shifted, graph.degree)
            sd: float | DeviceArray = s @ d
            sLs: float | DeviceArray = 0.0  # on the scores' device, as are the other sums
            gradient -= (b + tau * c) * d
            if c:
                Ls = graph.laplacian(s)
                with np.errstate(over="ignore", invalid="ignore"):  # on too long a step; solvers look at the value
                    sLs = s @ Ls
                gradient += c * Ls
            graphs.append((piece, graph))
            of_value, of_moment, of_terms = sums_of_piece(a, b, c, tau, N, sd, sLs)
            value, moment, terms = value + of_value, moment + of_moment, terms + of_terms
        return PairwiseExpansion(scores, value, gradient, moment, terms, tuple(graphs), self, ranking)

    def _shifted(self, scores: AnyFloats) -> AnyFloats:
        return scores if self.margins is None else scores - self.margins

    @property
    def tau(self) -> float:
        """The required margin of a pair after the documents' own margins are subtracted from the scores."""
        return 1.0 if self.margins is None else 0.0

    @property
    def any(self) -> bool:
        return self.preferences.any

    @property
    def totals(self) -> Floats:
        return self.preferences.pairs_per_query()

    @property
    def starts(self) -> Ints:
        return self.preferences.layout.starts

    def with_loss(self, loss: Loss) -> "PairwiseRisk":
        return self if loss is self.loss else replace(self, loss=loss)

    def select(self, queries: Selection, rows: Selection, n_threads: int) -> "PairwiseRisk":
        margins = None if self.margins is None else self.margins[rows]
        return PairwiseRisk(self.preferences.select(queries, rows, n_threads), self.loss, margins)

    def sampled(self, n_rows: int, seed: int, n_threads: int) -> tuple["PairwiseRisk", Ints]:
        queries, rows, sizes, scales = draw(self.starts, n_rows, np.random.default_rng(seed))
        return self.drawn(queries, rows, sizes, scales, n_threads), rows

    def drawn(self, queries: Ints, rows: Ints, sizes: Ints, scales: Floats, n_threads: int) -> "PairwiseRisk":
        margins = None if self.margins is None else self.margins[rows]
        return PairwiseRisk(self.preferences.sampled(queries, rows, sizes, scales, n_threads), self.loss, margins)


@dataclass(frozen=True)
class ListedRisk:
    """Σ_p weight_p · loss(u_p) over listed pairs, u_p = margin_p - (s_better - s_worse).

    For pairs that a user passes, and for costs that are not sums of products. `differences` is the pairs × rows matrix
    with +1 at the better and -1 at the worse document of each pair. `by_query` has the weight of each query's pairs, if
    they come from labels and query ids.
    """

    differences: SparseMatrix
    weights: Floats
    margins: Floats
    loss: Loss
    by_query: Floats | None = None

    def at(self, scores: Floats) -> "ListedExpansion":
        u = self.margins - self.differences @ scores
        value, terms, slopes, curvatures, sizes = 0.0, 0.0, np.zeros_like(u), np.zeros_like(u), np.zeros_like(u)
        for piece in self.loss.pieces:
            a, b, c = piece.constant, piece.slope, piece.curvature
            weights = self.weights * (1.0 - u < piece.threshold)
            with np.errstate(over="ignore", invalid="ignore"):  # on too long a step; solvers look at the value
                value += float(weights @ (a + b * u + c / 2 * u * u))
                terms += float(weights @ (abs(a) + abs(b * u) + abs(c) / 2 * u * u))  # pieces may cancel
            slopes += weights * (b + c * u)
            curvatures += weights * c
            sizes += weights * (abs(b) + abs(c))
        gradient: Floats = -(self.differences.T @ slopes)
        moment = float(slopes @ u)
        return ListedExpansion(scores, value, gradient, moment, terms, self, curvatures, sizes)

    @property
    def any(self) -> bool:
        return bool(self.weights.any())

    @property
    def totals(self) -> Floats:
        return np.array([self.weights.sum()]) if self.by_query is None else self.by_query

    @property
    def starts(self) -> Ints:
        """One query, because listed pairs may contain any two rows."""
        return np.array([0, self.differences.shape[1]])

    def with_loss(self, loss: Loss) -> "ListedRisk":
        return self if loss is self.loss else replace(self, loss=loss)

    def select(self, queries: Selection, rows: Selection, n_threads: int) -> "ListedRisk":
        return self

    def sampled(self, n_rows: int, seed: int, n_threads: int) -> tuple["ListedRisk", Ints]:
        """The whole risk: listed pairs are not sampled."""
        return self, np.arange(self.differences.shape[1])

    def drawn(self, queries: Ints, rows: Ints, sizes: Ints, scales: Floats, n_threads: int) -> "ListedRisk":
        return self


@dataclass(frozen=True)
class ListedExpansion:
    """Holds the curvature of each pair, and its |b| + |c| for bounds on rounding errors."""

    point: Floats
    value: float
    gradient: Floats
    moment: float
    terms: float
    of: ListedRisk
    curvatures: Floats
    pair_sizes: Floats

    @property
    def differences(self) -> SparseMatrix:
        return self.of.differences

    def with_loss(self, loss: Loss) -> "ListedExpansion":
        return self.of.with_loss(loss).at(self.point)

    def hessian(self, v: Floats) -> Floats:
        scale = self.curvatures if v.ndim == 1 else self.curvatures[:, None]
        product: Floats = self.differences.T @ (scale * (self.differences @ v))
        return product

    def half_hessian(self, v: Floats) -> Floats:
        return 0.5 * self.hessian(v)

    def hessian_matrix(self) -> Floats:
        return self.hessian(_identity(self.point))

    def hessian_diagonal(self) -> Floats:
        sums: Floats = abs(self.differences).T @ self.curvatures
        return sums

    def sizes(self) -> Floats:
        sums: Floats = abs(self.differences).T @ self.pair_sizes
        return sums
