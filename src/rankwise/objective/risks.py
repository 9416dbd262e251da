"""Risks: functions of the scores.

For a piece (t; a, b, c) of a loss with u = τ - (s_i - s_j), and with N, d and L the number of edges, balance and
Laplacian of the graph G(t + τ - 1),

    Σu = τ N - s·d,   Σu² = τ² N - 2τ s·d + s·L s
    value = a N + b Σu + c/2 Σu²,   gradient = c L s - (b + τ c) d,   H v = c L v

and a loss is the sum over its pieces. The margin τ is 1, or 0 where margins of their own are in the scores already.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.devices import namespace
from rankwise.objective.losses import Loss, Piece
from rankwise.pairs.graph import PairGraph
from rankwise.pairs.preferences import Preferences
from rankwise.pairs.queries import draw


@dataclass(frozen=True)
class RiskExpansion:
    """What is known of a risk at one vector of scores; `moment` is Σ loss'(u) u, from which a dual bound follows, and
    `terms` the sum of the sizes of what was added up for it, from which its rounding. All lie where the scores do.
    """

    value: Any
    gradient: Floats
    hessian: "RiskHessian"
    moment: Any
    terms: Any


@dataclass(frozen=True)
class PairHessian:
    """The sum of c L over the pieces; called with a vector or a matrix of columns."""

    pieces: tuple[tuple[Piece, PairGraph], ...]

    @property
    def terms(self) -> list[tuple[float, PairGraph]]:
        """The curved ones."""
        return [(piece.curvature, graph) for piece, graph in self.pieces if piece.curvature]

    def __call__(self, v: Array) -> Floats:
        total: Any = None
        for curvature, graph in self.terms:
            product = graph.laplacian(v)
            product *= curvature
            total = product if total is None else total + product
        return _or_zeros(total, v)

    def half(self, v: Array) -> Floats:
        """M v, where M + Mᵀ is the Hessian: c (½ D v - below(v)) has one sum where L v has two."""
        total: Any = None
        for curvature, graph in self.terms:
            sums = graph.below(v)
            sums -= v * (0.5 * graph.degree)[:, None]
            sums *= -curvature
            total = sums if total is None else total + sums
        return _or_zeros(total, v)

    def diagonal(self) -> Floats:
        (first, *others) = [piece.curvature * graph.degree for piece, graph in self.pieces]
        return sum(others, first)

    def sizes(self) -> Floats:
        """Of all that is added up for a document."""
        (first, *others) = [(abs(piece.slope) + abs(piece.curvature)) * graph.degree for piece, graph in self.pieces]
        return sum(others, first)


def _or_zeros(total: Any, v: Array) -> Floats:
    """The total, or zeros where there was nothing to add up."""
    found: Floats = namespace(v).zeros_like(v) if total is None else total
    return found


@dataclass(frozen=True)
class PairwiseRisk:
    """The sum of loss(s_i - s_j) over all preference pairs (i, j).

    With `margins` δ, one per document, the pair (i, j) is asked to differ by δ_i - δ_j instead of 1.
    """

    preferences: Preferences
    loss: Loss
    margins: Floats | None = None

    def at(self, scores: Floats) -> RiskExpansion:
        tau = self.tau
        asked = scores if self.margins is None else scores - self.margins
        ranking = self.preferences.ranked(asked)
        value, moment, terms, gradient, graphs = 0.0, 0.0, 0.0, namespace(scores).zeros_like(scores), []
        for piece in self.loss.pieces:
            a, b, c = piece.constant, piece.slope, piece.curvature
            graph = ranking.active(piece.threshold + tau - 1.0)
            N, d = graph.total, graph.balance
            # Only differences count, and s·d and s·Ls would lose digits to an offset common to the documents in pairs.
            s = self.preferences.centred(asked, graph.degree)
            sd = s @ d
            sLs: Any = 0.0
            gradient -= (b + tau * c) * d
            if c:
                Ls = graph.laplacian(s)
                sLs = s @ Ls
                gradient += c * Ls
            graphs.append((piece, graph))
            u, uu = tau * N - sd, tau * tau * N - 2 * tau * sd + sLs
            value += a * N + b * u + c / 2 * uu
            moment += b * u + c * uu
            terms += (abs(b) + abs(c)) * (tau * N + 2 * abs(sd) + abs(sLs))
        return RiskExpansion(value, gradient, PairHessian(tuple(graphs)), moment, terms)

    @property
    def tau(self) -> float:
        """By how much a pair's scores are asked to differ, the documents' own margins taken off."""
        return 1.0 if self.margins is None else 0.0

    @property
    def any(self) -> bool:
        """Whether there is a pair at all."""
        return self.preferences.any

    @property
    def weight(self) -> float:
        """How many pairs there are, or their total weight."""
        return float(self.preferences.pairs_per_query().sum())

    @property
    def starts(self) -> Array:
        """Where each query begins among the rows, and the end."""
        return self.preferences.layout.starts

    def select(self, queries: Any, rows: Any, n_threads: int) -> "PairwiseRisk":
        """The share of these queries, whose rows are `rows`."""
        margins = None if self.margins is None else self.margins[rows]
        return PairwiseRisk(self.preferences.select(queries, rows, n_threads), self.loss, margins)

    def sampled(self, n_rows: int, seed: int, n_threads: int) -> tuple["PairwiseRisk", Array]:
        """An estimate from about `n_rows` of the rows, drawn at random, and these rows."""
        queries, rows, sizes, scales = draw(self.starts, n_rows, np.random.default_rng(seed))
        margins = None if self.margins is None else self.margins[rows]
        return replace(
            self, preferences=self.preferences.sampled(queries, rows, sizes, scales, n_threads), margins=margins
        ), rows


@dataclass(frozen=True)
class ListedRisk:
    """Σ_p weight_p · loss(u_p) over listed pairs, u_p = margin_p - (s_better - s_worse).

    For pairs that a user gives, and for costs that only a list can hold. `differences` is the pairs × rows matrix with
    +1 at the better and -1 at the worse document of each pair.
    """

    differences: Any
    weights: Floats
    margins: Floats
    loss: Loss

    def at(self, scores: Floats) -> RiskExpansion:
        u = self.margins - self.differences @ scores
        value, slopes, curvatures, sizes = 0.0, np.zeros_like(u), np.zeros_like(u), np.zeros_like(u)
        for piece in self.loss.pieces:
            a, b, c = piece.constant, piece.slope, piece.curvature
            weights = self.weights * (1.0 - u < piece.threshold)
            value += float(weights @ (a + b * u + c / 2 * u * u))
            slopes += weights * (b + c * u)
            curvatures += weights * c
            sizes += weights * (abs(b) + abs(c))
        gradient: Floats = -(self.differences.T @ slopes)
        hessian = ListedHessian(self.differences, curvatures, sizes)
        return RiskExpansion(value, gradient, hessian, float(slopes @ u), float(slopes @ np.abs(u)))

    @property
    def any(self) -> bool:
        return bool(self.weights.any())

    @property
    def weight(self) -> float:
        return float(self.weights.sum())

    @property
    def starts(self) -> Array:
        """One part: listed pairs may join any two rows."""
        return np.array([0, self.differences.shape[1]])

    def select(self, queries: Any, rows: Any, n_threads: int) -> "ListedRisk":
        return self

    def sampled(self, n_rows: int, seed: int, n_threads: int) -> tuple["ListedRisk", Array]:
        """All of it."""
        return self, np.arange(self.differences.shape[1])


@dataclass(frozen=True)
class ListedHessian:
    differences: Any
    curvatures: Floats
    pair_sizes: Floats

    def __call__(self, v: Array) -> Floats:
        scale = self.curvatures if v.ndim == 1 else self.curvatures[:, None]
        product: Floats = self.differences.T @ (scale * (self.differences @ v))
        return product

    def half(self, v: Array) -> Floats:
        return 0.5 * self(v)

    def diagonal(self) -> Floats:
        sums: Floats = abs(self.differences).T @ self.curvatures
        return sums

    def sizes(self) -> Floats:
        sums: Floats = abs(self.differences).T @ self.pair_sizes
        return sums


Risk = PairwiseRisk | ListedRisk
RiskHessian = PairHessian | ListedHessian
