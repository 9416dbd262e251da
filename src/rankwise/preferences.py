"""Preferences: labels and query ids say who should be above whom. Knows no features and no loss."""

from typing import Any

import numpy as np

from rankwise.arrays import Array, Floats, Ints
from rankwise.pairs.graph import Engine, Layout, PairGraph, Ranking
from rankwise.queries import Queries
from rankwise.threads import thread_count

FEW_LABELS = 256  # so many distinct labels are numbered once for all queries


class Preferences:
    """All pairs (i, j) of the same query with labels[i] > labels[j], each of weight weights[i] * weights[j].

    Labels are any real numbers; query ids are of any type, unsorted, scattered over the rows; None is one query.
    """

    def __init__(
        self,
        labels: Any,
        queries: Any = None,
        weights: Any = None,
        *,
        engine: str = "compiled",
        n_jobs: int | None = None,
    ) -> None:
        values = _numbers(labels, "labels")
        grouped = queries if isinstance(queries, Queries) else Queries(queries, values.size)
        level, n_levels = _levels(values, grouped)
        rows = None if grouped.rows is None else grouped.rows.astype(np.int32 if values.size < 2**31 else np.int64)
        scales = None if weights is None else _weights(weights, values.size)
        self.engine = engine
        self._settle(Layout(grouped.starts, rows, level, n_levels, scales), thread_count(n_jobs))

    def part(self, first: int, last: int, n_threads: int) -> "Preferences":
        """The preferences of queries first, ..., last - 1 alone; their rows must lie together."""
        layout = self.layout
        rows = slice(int(layout.starts[first]), int(layout.starts[last]))
        part = object.__new__(Preferences)
        part.engine = self.engine
        layout = Layout(
            starts=layout.starts[first : last + 1] - rows.start,
            rows=None,
            level=layout.level[rows],
            n_levels=layout.n_levels[first:last],
            weights=None if layout.weights is None else layout.weights[rows],
        )
        part._settle(layout, n_threads)
        return part

    def _settle(self, layout: Layout, n_threads: int) -> None:
        self.layout = layout
        self.n_threads = n_threads
        self.pairs = _engine(self.engine, layout, n_threads)

    def __len__(self) -> int:
        """The number of documents."""
        return self.layout.n_rows

    @property
    def any(self) -> bool:
        """Whether there is a preference pair at all."""
        layout = self.layout
        level = layout.level if layout.rows is None else layout.level[layout.rows]
        first = layout.starts[:-1]
        return bool(level.size and (np.minimum.reduceat(level, first) < np.maximum.reduceat(level, first)).any())

    def active(self, scores: Any, threshold: float = np.inf) -> PairGraph:
        """The graph of the pairs with scores[i] - scores[j] < threshold."""
        return self.ranked(_numbers(scores, "scores", len(self))).active(threshold)

    def ranked(self, scores: Floats) -> Ranking:
        """The documents sorted by score: `.active(threshold)` of it costs no further sort."""
        return self.pairs.ranked(scores)

    def centred(self, scores: Floats) -> Floats:
        """The scores less, in each query, that of one of its documents: differences of near scores stay exact."""
        starts, rows = self.layout.starts, self.layout.rows
        grouped = scores if rows is None else scores[rows]
        shifted: Floats = grouped - np.repeat(grouped[starts[:-1]], np.diff(starts))
        if rows is None:
            return shifted
        out = np.empty_like(shifted)
        out[rows] = shifted
        return out


def _engine(name: str, layout: Layout, n_threads: int) -> Engine:
    if name == "compiled":
        from rankwise.pairs import compiled

        return compiled.Engine(layout, n_threads)
    if name == "portable":
        from rankwise.pairs import portable

        return portable.Engine(layout, n_threads)
    raise ValueError(f"engine is {name!r}: there are 'compiled' and 'portable'")


def _numbers(given: Any, name: str, n: int | None = None) -> Floats:
    values = np.asarray(given, dtype=np.float64)
    if values.ndim != 1 or (n is not None and values.size != n):
        wanted = "one number a document" if n is None else f"one number for each of the {n} documents"
        raise ValueError(f"{name} must hold {wanted}, got an array of shape {values.shape}")
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"{name} must be finite: {name}[{row}] is {values[row]}")
    return values


def _weights(given: Any, n: int) -> Floats:
    weights = _numbers(given, "weights", n)
    if (weights < 0).any():
        row = int(np.flatnonzero(weights < 0)[0])
        raise ValueError(f"weights must not be negative: weights[{row}] is {weights[row]}")
    return weights


def _levels(labels: Array, queries: Queries) -> tuple[Ints, Ints]:
    """An int32 a row that orders the labels within a query, and for each query a bound above all of its own."""
    distinct = np.unique(labels)
    if distinct.size <= FEW_LABELS:
        level = np.searchsorted(distinct, labels).astype(np.int32)
        return level, np.full(len(queries), distinct.size, np.int32)
    order = np.lexsort((labels, queries.codes))
    rises = np.zeros(labels.size, np.int32)
    rises[1:] = labels[order[1:]] != labels[order[:-1]]
    rises[queries.starts[:-1]] = 0
    ranks = np.cumsum(rises, dtype=np.int32)
    ranks -= np.repeat(ranks[queries.starts[:-1]], queries.sizes)
    level = np.empty(labels.size, np.int32)
    level[order] = ranks
    return level, ranks[queries.starts[1:] - 1] + np.int32(1)
