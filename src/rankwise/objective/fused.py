"""Value, gradient and Hessian product of whole queries in one go: scores, pair sums, back to features while the query's
rows are in the cache. What `risk.PairwiseRisk` says in arrays, said again for one query at a time; X is read once from
memory, and Python is asked once a part.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.jit import kernel
from rankwise.objective.chunks import ChunkExpansion, sizes
from rankwise.objective.losses import Loss
from rankwise.objective.risks import PairHessian, PairwiseRisk
from rankwise.objective.row_kernels import add_transposed, dot
from rankwise.objective.rows import MemoryRows
from rankwise.pairs.compiled import Engine, Ranking, sort_queries, sweep

NO_ROWS = np.zeros(0, np.int32)  # of a part, the rows lie together by query


@dataclass(frozen=True)
class FusedChunk:
    """Some whole queries, none of them too long for one thread: their rows of X and the risk of their scores."""

    features: MemoryRows
    risk: PairwiseRisk
    large: bool = field(default=False, init=False)

    @property
    def layout(self) -> tuple[Array, ...]:
        layout, margins = self.risk.preferences.layout, self.risk.margins
        weights = np.ones(layout.n_rows) if layout.weights is None else layout.weights
        return layout.starts, layout.n_levels, layout.level, weights, np.zeros(0) if margins is None else margins

    def at(self, w: Floats) -> "FusedExpansion":
        pieces = _pieces(self.risk.loss)
        engine = self.risk.preferences.pairs
        assert isinstance(engine, Engine)
        ranking = Ranking.empty(engine)
        degrees = np.empty((len(pieces), self.features.n_rows))
        sums = np.zeros(self.features.n_features + 3)
        _expand(self.features.loaded().rows, w, self.layout, pieces, ranking.arrays, degrees, sums)
        return FusedExpansion(self, ranking, degrees, sums)


@dataclass(frozen=True)
class FusedExpansion:
    part: FusedChunk
    ranking: Ranking
    degrees: Floats  # one row a piece
    sums: Floats

    def hessian(self, v: Floats) -> Floats:
        if v.ndim == 2:
            return self._unfused.hessian(v)
        part = self.part
        out = np.zeros(v.size)
        _product(
            part.features.loaded().rows, v, part.layout, _pieces(part.risk.loss), self.ranking.arrays, self.degrees, out
        )
        return out

    def half_hessian(self) -> Floats:
        return self._unfused.half_hessian()

    def diagonal(self) -> Floats:
        curvatures = _pieces(self.part.risk.loss)[:, 3]
        return self.part.features.loaded().squared_transposed_dot(curvatures @ self.degrees)

    def sizes(self, w: Floats) -> Floats:
        pieces = np.abs(_pieces(self.part.risk.loss))
        return sizes(self.part.features, (pieces[:, 2] + pieces[:, 3]) @ self.degrees, w)

    @cached_property
    def _unfused(self) -> ChunkExpansion:
        tau = self.part.risk.tau
        pieces = self.part.risk.loss.pieces
        graphs = [(piece, self.ranking.active(piece.threshold + tau - 1.0)) for piece in pieces]
        return ChunkExpansion(self.part.features, PairHessian(tuple(graphs)), self.sums)


def _pieces(loss: Loss) -> Floats:
    return np.array([(p.threshold, p.constant, p.slope, p.curvature) for p in loss.pieces])


@kernel
def _expand(rows: Any, w: Floats, layout: Any, pieces: Floats, ranking: Any, degrees: Floats, out: Floats) -> None:
    """Fill ranking and degrees; add the gradient to out, and behind it the value, the moment and the sum of sizes."""
    starts, n_levels, level, weights, margins = layout
    n, d = level.size, w.size
    s, g, work = np.empty(n), np.zeros(n), (np.empty(n), np.empty(n), np.empty(n))
    tau = 0.0 if margins.size else 1.0
    for q in range(n_levels.size):
        ends = starts[q : q + 2]
        first, last = ends
        dot(rows, first, last, w, s)
        if margins.size:
            for i in range(first, last):
                s[i] -= margins[i]
        sort_queries(ends, True, NO_ROWS, s, level, ranking)
        for p in range(pieces.shape[0]):
            threshold, a, b, c = pieces[p]
            graph = (threshold + tau - 1.0, ends, n_levels[q : q + 1], ranking)
            N, sd, sLs = _piece(graph, weights, s, (b + tau * c, c), degrees[p], work, g)
            u, uu = tau * N - sd, tau * tau * N - 2 * tau * sd + sLs
            out[d] += a * N + b * u + c / 2 * uu
            out[d + 1] += b * u + c * uu
            out[d + 2] += (abs(b) + abs(c)) * (tau * N + 2 * abs(sd) + abs(sLs))
        add_transposed(rows, first, last, g, out)


@kernel
def _piece(graph: Any, weights: Floats, s: Floats, pulls: Any, degree: Floats, work: Any, g: Floats) -> Any:
    """N, s·d and s·Ls of one query's graph, with the scores centred; g gains c Ls - (b + τc) d."""
    first, last = graph[1]
    pull, c = pulls
    v, below, above = work
    _sums(graph, weights, below, above)
    N, total, mean = 0.0, 0.0, 0.0
    for i in range(first, last):
        degree[i] = weights[i] * (below[i] + above[i])
        N += weights[i] * below[i]
        total += degree[i]
        mean += degree[i] * s[i]
    mean = mean / total if total > 0 else 0.0
    sd, sLs = 0.0, 0.0
    for i in range(first, last):
        balance = weights[i] * (below[i] - above[i])
        sd += (s[i] - mean) * balance
        g[i] -= pull * balance
        v[i] = weights[i] * (s[i] - mean)
    if c != 0.0:
        _sums(graph, v, below, above)
        for i in range(first, last):
            centred = s[i] - mean
            Ls = degree[i] * centred - weights[i] * (below[i] + above[i])
            sLs += centred * Ls
            g[i] += c * Ls
    return N, sd, sLs


@kernel
def _product(rows: Any, v: Floats, layout: Any, pieces: Floats, ranking: Any, degrees: Floats, out: Floats) -> None:
    """Add Xᵀ (Σ c L) X v, the sum over the pieces, to out."""
    starts, n_levels, level, weights, margins = layout
    n = level.size
    x, g, scaled, below, above = np.empty(n), np.zeros(n), np.empty(n), np.empty(n), np.empty(n)
    tau = 0.0 if margins.size else 1.0
    for q in range(n_levels.size):
        ends = starts[q : q + 2]
        first, last = ends
        dot(rows, first, last, v, x)
        for i in range(first, last):
            scaled[i] = weights[i] * x[i]
        for p in range(pieces.shape[0]):
            c = pieces[p, 3]
            if c != 0.0:
                _sums((pieces[p, 0] + tau - 1.0, ends, n_levels[q : q + 1], ranking), scaled, below, above)
                for i in range(first, last):
                    g[i] += c * (degrees[p, i] * x[i] - weights[i] * (below[i] + above[i]))
        add_transposed(rows, first, last, g, out)


@kernel
def _sums(graph: Any, v: Floats, below: Floats, above: Floats) -> None:
    """below(v) and above(v) of one query, without the documents' own weights."""
    threshold, ends, n_levels, ranking = graph
    for upward, out in ((False, below), (True, above)):
        out[ends[0] : ends[1]] = 0.0
        sweep(upward, threshold, ends, n_levels, ranking, v, out)
