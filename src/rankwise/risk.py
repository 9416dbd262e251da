"""Risks: functions of the scores.

For a piece (t; a, b, c) of a loss, with N, d and L the number of edges, balance and Laplacian of the graph G(t),

    value    = a N + b (N - s·d) + c/2 (N - 2 s·d + s·L s)
    gradient = c L s - (b + c) d
    H v      = c L v

and a loss is the sum over its pieces.
"""

from dataclasses import dataclass

import numpy as np

from rankwise.arrays import Array, Floats
from rankwise.losses import Loss
from rankwise.pairs.graph import PairGraph
from rankwise.preferences import Preferences


@dataclass(frozen=True)
class PairHessian:
    """The sum of c L over the curved pieces; called with a vector or a matrix of columns."""

    terms: tuple[tuple[float, PairGraph], ...]

    def __call__(self, v: Array) -> Floats:
        total = np.zeros(v.shape)
        for curvature, graph in self.terms:
            product = graph.laplacian(v)
            product *= curvature
            total += product
        return total


@dataclass(frozen=True)
class RiskExpansion:
    """What is known of a risk at one vector of scores."""

    point: Floats
    value: float
    gradient: Floats
    hessian: PairHessian


class PairwiseRisk:
    """The sum of loss(s_i - s_j) over all preference pairs (i, j)."""

    def __init__(self, preferences: Preferences, loss: Loss) -> None:
        self.preferences = preferences
        self.loss = loss

    def at(self, scores: Floats) -> RiskExpansion:
        # Only differences of scores count, and s·d and s·Ls would lose digits to a common offset.
        s = self.preferences.centred(scores)
        ranking = self.preferences.ranked(s)
        value, gradient, curved = 0.0, np.zeros_like(s), []
        for piece in self.loss.pieces:
            a, b, c = piece.constant, piece.slope, piece.curvature
            graph: PairGraph = ranking.active(piece.threshold)
            N, d = float(graph.n_pairs), graph.balance
            sd = float(s @ d)
            value += a * N + b * (N - sd) + c / 2 * (N - 2 * sd)
            gradient -= (b + c) * d
            if c:
                Ls = graph.laplacian(s)
                value += c / 2 * float(s @ Ls)
                gradient += c * Ls
                curved.append((c, graph))
        return RiskExpansion(scores, value, gradient, PairHessian(tuple(curved)))
