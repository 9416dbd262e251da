"""Value, gradient and Hessian of whole queries in one compiled pass.

Per query: scores, pair sums, and back to features while the query's rows are in the cache. So X is read from memory
once, and Python is called once per chunk. The formulas are those of `risks.PairwiseRisk`.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.jit import kernel
from rankwise.objective.chunks import SCALARS, PlainChunk, degree_moments, sizes
from rankwise.objective.losses import Loss
from rankwise.objective.risks import PairwiseRisk, sums_of_piece
from rankwise.objective.row_kernels import add_transposed, dot
from rankwise.objective.rows import MemoryRows
from rankwise.pairs.compiled import (
    FEW_LEVELS,
    Engine,
    Ranking,
    buffers,
    find_run,
    first_node,
    next_node,
    room_for_sums,
    sweep_query,
)
from rankwise.pairs.sorting import sort_query, sorting_space

NO_ROWS = np.zeros(0, np.int32)  # the rows of a chunk are stored query by query
_sums_of_piece = kernel(sums_of_piece)


@dataclass(frozen=True)
class FusedChunk(PlainChunk):
    """Some whole queries, few enough rows for one thread, with the sum over all pairs and no costs."""

    rows: MemoryRows
    risk: PairwiseRisk
    large: bool = field(default=False, init=False)

    @cached_property
    def layout(self) -> tuple[Array, ...]:
        layout, margins = self.risk.preferences.layout, self.risk.margins
        weights = np.ones(layout.n_rows) if layout.weights is None else layout.weights
        return layout.starts, layout.n_levels, layout.level, weights, np.zeros(0) if margins is None else margins

    @cached_property
    def pieces(self) -> Floats:
        pieces = self.risk.loss.pieces
        return np.array([(p.threshold, p.constant, p.slope, p.curvature) for p in pieces])

    def at(self, w: Floats, known: Ranking | None = None) -> "FusedExpansion":
        """The expansion at w, whose ranking may be known."""
        pieces, ranked = self.pieces, known is not None
        ranking = self.unranked() if known is None else known
        runs = np.empty((len(pieces), 2, self.rows.n_rows), np.int32)
        degrees = np.empty((len(pieces), self.rows.n_rows))
        rows = self.rows.loaded()
        inner = rows.inner(w)
        sums = np.zeros(inner.size + SCALARS)
        _expand(rows.factor, inner, ranked, self.layout, pieces, ranking.arrays, runs, degrees, sums)
        if inner is not w:
            sums = np.concatenate((rows.outer(sums[:-SCALARS]), sums[-SCALARS:]))
        return FusedExpansion(w, self, ranking, runs, degrees, sums)

    def unranked(self) -> Ranking:
        """Arrays for the documents in the order of their scores."""
        engine = self.risk.preferences.pairs
        assert isinstance(engine, Engine)
        return Ranking.empty(engine)

    def along(self, start: Floats, direction: Floats) -> "FusedRay":
        rows, margins = self.rows.loaded(), self.risk.margins
        scores = rows.dot(start)
        return FusedRay(self, scores if margins is None else scores - margins, rows.dot(direction))


@dataclass(frozen=True)
class FusedRay:
    """The scores at the start of a ray, less the margins, and by how much they change."""

    chunk: FusedChunk
    scores: Floats
    changes: Floats

    def slope(self, t: float) -> Floats:
        chunk = self.chunk
        ranking = chunk.unranked().arrays
        return np.array(_slope(self.scores + t * self.changes, self.changes, chunk.layout, chunk.pieces, ranking))


@dataclass(frozen=True)
class FusedExpansion:
    point: Floats
    chunk: FusedChunk
    ranking: Ranking
    runs: Ints  # two rows per piece: how far a document's partners reach, in both directions
    degrees: Floats  # one row per piece
    sums: Floats

    def with_loss(self, loss: Loss) -> "FusedExpansion":
        return self.chunk.with_loss(loss).at(self.point, self.ranking)

    def hessian(self, v: Floats) -> Floats:
        chunk = self.chunk
        if v.ndim == 2:
            return np.column_stack([self.hessian(column) for column in v.T])
        rows = chunk.rows.loaded()
        inner = rows.inner(v)
        out = np.zeros(inner.size)
        _product(rows.factor, inner, chunk.layout, chunk.pieces, self.ranking.arrays, self.runs, self.degrees, out)
        return rows.outer(out)

    def hessian_matrix(self) -> Floats:
        """Sums over pairs of a group of columns in one pass, then a matrix product."""
        rows = self.chunk.rows.loaded()
        d, width = rows.n_features, rows.width
        if d <= width:
            columns = rows.columns(0, d)
            half: Floats = columns.T @ self._curved(columns)
        else:
            groups = [rows.columns(j, min(j + width, d)) for j in range(0, d, width)]
            half = np.hstack([rows.transposed_dot(self._curved(columns)) for columns in groups])
        return half + half.T

    def _curved(self, columns: Floats) -> Floats:
        """M X, where M + Mᵀ is the Hessian in score space, for some columns of X."""
        out = np.empty_like(columns)
        _curve(columns, self.chunk.layout, self.chunk.pieces, self.ranking.arrays, self.runs, self.degrees, out)
        return out

    def degree_moments(self) -> Floats:
        return degree_moments(self.chunk.rows.loaded(), self.chunk.pieces[:, 3] @ self.degrees)

    def sizes(self) -> Floats:
        pieces = np.abs(self.chunk.pieces)
        return sizes(self.chunk.rows, (pieces[:, 2] + pieces[:, 3]) @ self.degrees, self.point)


@kernel
def _expand(
    rows: Any,
    w: Floats,
    ranked: bool,
    layout: Any,
    pieces: Floats,
    ranking: Any,
    runs: Ints,
    degrees: Floats,
    out: Floats,
) -> None:
    """Fill ranking, unless it is known, runs and degrees.

    Add the gradient to out, followed by the value, the moment and the terms. Between the sort and the way back to the
    rows, everything is in score order.
    """
    starts, n_levels, level, weights, margins = layout
    order, scores, _ = ranking
    d = w.size
    s, pull = np.empty(level.size), np.empty(level.size)
    work, sums, spare = buffers(starts, 5), room_for_sums(n_levels), sorting_space(starts, order.dtype)
    scale, g = work[0], work[1]
    tau = 0.0 if margins.size else 1.0
    for q in range(n_levels.size):
        first, last = starts[q], starts[q + 1]
        if not ranked:
            dot(rows, first, last, w, s)
            if margins.size:
                for i in range(first, last):
                    s[i] -= margins[i]
            sort_query(first, last, True, NO_ROWS, s, level, ranking, spare)
        for i in range(last - first):
            scale[i], g[i] = weights[order[first + i]], 0.0
        for p in range(pieces.shape[0]):
            threshold, a, b, c = pieces[p]
            find_run(first, last, scores, threshold + tau - 1.0, runs[p])
            query = (first, last, n_levels[q])
            N, sd, sLs = _piece(query, ranking, runs[p], (b + tau * c, c), degrees[p], work, sums)
            value, moment, terms = _sums_of_piece(a, b, c, tau, N, sd, sLs)
            out[d] += value
            out[d + 1] += moment
            out[d + 2] += terms
        for i in range(last - first):
            pull[order[first + i]] = g[i]
        add_transposed(rows, first, last, pull, out)


@kernel
def _slope(s: Floats, changes: Floats, layout: Any, pieces: Floats, ranking: Any) -> float:
    """The derivative at the scores s in the direction of `changes`; the margins are subtracted from s already."""
    starts, n_levels, level, weights, margins = layout
    order, scores, _ = ranking
    runs, degrees = np.empty((2, level.size), np.int32), np.empty(level.size)
    work, sums, spare = buffers(starts, 5), room_for_sums(n_levels), sorting_space(starts, order.dtype)
    scale, g = work[0], work[1]
    tau, slope = 0.0 if margins.size else 1.0, 0.0
    for q in range(n_levels.size):
        first, last = starts[q], starts[q + 1]
        sort_query(first, last, True, NO_ROWS, s, level, ranking, spare)
        for i in range(last - first):
            scale[i], g[i] = weights[order[first + i]], 0.0
        for p in range(pieces.shape[0]):
            threshold, _, b, c = pieces[p]
            find_run(first, last, scores, threshold + tau - 1.0, runs)
            _piece((first, last, n_levels[q]), ranking, runs, (b + tau * c, c), degrees, work, sums)
        for i in range(last - first):
            slope += g[i] * changes[order[first + i]]
    return slope


@kernel
def _piece(query: Any, ranking: Any, runs: Ints, pulls: Any, degrees: Floats, work: Floats, sums: Any) -> Any:
    """N, s·d and s·Ls of one query's graph, for centred scores; c Ls - (b + τc) d is added to g."""
    first, last, _ = query
    order, scores, levels = ranking
    n = last - first
    pull, c = pulls
    scale, g, v, found = work[0], work[1], work[2], work[3:]
    below, above = found[0], found[1]
    _sums(query, levels, runs, scale, sums, found)
    N, total, mean = 0.0, 0.0, 0.0
    for i in range(n):
        degree = scale[i] * (below[i] + above[i])
        degrees[order[first + i]] = degree
        N += scale[i] * below[i]
        total += degree
        mean += degree * scores[first + i]
    mean = mean / total if total > 0 else 0.0
    sd, sLs = 0.0, 0.0
    for i in range(n):
        centred = scores[first + i] - mean
        balance = scale[i] * (below[i] - above[i])
        sd += centred * balance
        g[i] -= pull * balance
        v[i] = scale[i] * centred
    if c != 0.0:
        _sums(query, levels, runs, v, sums, found)
        for i in range(n):
            centred = scores[first + i] - mean
            Ls = degrees[order[first + i]] * centred - scale[i] * (below[i] + above[i])
            sLs += centred * Ls
            g[i] += c * Ls
    return N, sd, sLs


@kernel
def _product(
    rows: Any, v: Floats, layout: Any, pieces: Floats, ranking: Any, runs: Ints, degrees: Floats, out: Floats
) -> None:
    """Add Xᵀ (Σ c L) X v, the sum over the pieces, to out."""
    starts, n_levels, level, weights, _ = layout
    order, _, levels = ranking
    x, g, work, sums = np.empty(level.size), np.zeros(level.size), buffers(starts, 3), room_for_sums(n_levels)
    scaled, found = work[0], work[1:]
    for q in range(n_levels.size):
        first, last = starts[q], starts[q + 1]
        dot(rows, first, last, v, x)
        for i in range(last - first):
            row = order[first + i]
            scaled[i] = weights[row] * x[row]
        for p in range(pieces.shape[0]):
            c = pieces[p, 3]
            if c != 0.0:
                _sums((first, last, n_levels[q]), levels, runs[p], scaled, sums, found)
                for i in range(last - first):
                    row = order[first + i]
                    g[row] += c * (degrees[p, row] * x[row] - weights[row] * (found[0, i] + found[1, i]))
        add_transposed(rows, first, last, g, out)


@kernel
def _sums(query: Any, levels: Ints, runs: Ints, v: Floats, sums: Any, found: Floats) -> None:
    """found = (below(v), above(v)) of one query, without the documents' own weights."""
    for upward in range(2):  # one call for both: all of it is compiled once
        sweep_query(upward == 1, query, levels, runs[upward], v, sums, found[upward])


@kernel
def _curve(X: Floats, layout: Any, pieces: Floats, ranking: Any, runs: Ints, degrees: Floats, out: Floats) -> None:
    """out = M X = Σ c (½ D X - below(X)), where M + Mᵀ = Σ c L; this takes one sum over pairs where L X takes two."""
    starts, n_levels, _, weights, _ = layout
    curvatures = pieces[:, 3]
    sums = np.empty((n_levels.max(), X.shape[1]))
    for q in range(n_levels.size):
        for i in range(starts[q], starts[q + 1]):
            degree = 0.0
            for p in range(curvatures.size):
                degree += curvatures[p] * degrees[p, i]
            for j in range(X.shape[1]):
                out[i, j] = 0.5 * degree * X[i, j]
        for p in range(curvatures.size):
            if curvatures[p] != 0.0:
                query = (starts[q], starts[q + 1], n_levels[q])
                _subtract_below(query, ranking, runs[p, 0], X, weights, curvatures[p], sums, out)


@kernel
def _subtract_below(
    query: Any, ranking: Any, run: Ints, X: Floats, weights: Floats, c: float, sums: Floats, out: Floats
) -> None:
    """out -= c below(X) for one query: the sweep of `pairs.compiled`, without gathering the rows in score order."""
    first, last, k = query
    order, _, levels = ranking
    few = k <= FEW_LEVELS
    sums[:k] = 0.0
    entering = last - 1
    for p in range(last - 1, first - 1, -1):
        while entering >= last - run[p]:
            row, node = order[entering], first_node(levels[entering], False)
            while node > 0:
                for j in range(X.shape[1]):
                    sums[node - 1, j] += weights[row] * X[row, j]
                node = next_node(node, k, few, False)
            entering -= 1
        row, node = order[p], first_node(levels[p], True)
        scale = c * weights[row]
        while node > 0:
            for j in range(X.shape[1]):
                out[row, j] -= scale * sums[node - 1, j]
            node = next_node(node, k, few, True)
