"""Every preference pair listed once, and looked at in every sum: PRSVM's way, O(pairs) in time and memory.

The simplest scheme, for small data, for costs that differ from pair to pair, and for the dual.
"""

import numpy as np

from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.jit import kernel
from rankwise.foundation.memory import memory_at_hand
from rankwise.pairs.graph import Layout
from rankwise.pairs.levels import Levels, by_level
from rankwise.pairs.swept import SweptGraph


def list_pairs(layout: Layout, beside: int = 0) -> tuple[Ints, Ints]:
    """(better, worse): the row numbers of every preference pair, query after query.

    Refused before anything of that size is allocated where the two arrays would not fit the memory at hand, together
    with the bytes a pair that the caller will hold beside them.
    """
    return _listed(by_level(layout), beside)


def _listed(levels: Levels, beside: int = 0) -> tuple[Ints, Ints]:
    n_pairs = sum(levels.pairs.tolist())  # Python's integers do not overflow
    n_bytes, at_hand = n_pairs * (2 * levels.rows.itemsize + beside), memory_at_hand()
    if n_bytes > at_hand:
        raise ValueError(
            f"listing all {n_pairs:,} preference pairs takes {n_bytes / 1e9:,.1f} GB and {at_hand / 1e9:,.1f} GB of "
            'memory are at hand: use pairs="auto" and a solver other than "dual", which list none'
        )
    better, worse = np.empty(n_pairs, levels.rows.dtype), np.empty(n_pairs, levels.rows.dtype)
    _list(levels.rows, levels.starts, levels.groups, better, worse)
    return better, worse


class Engine:
    def __init__(self, layout: Layout, n_threads: int = 1) -> None:
        self.layout = layout
        self.n_threads = n_threads
        levels = by_level(layout)
        self.better, self.worse = _listed(levels)
        self.starts = np.append(0, np.cumsum(levels.pairs))[levels.groups]

    def ranked(self, scores: Floats) -> "Ranking":
        return Ranking(self, scores)


class Ranking:
    """The pairs at given scores; nothing needs sorting."""

    def __init__(self, engine: Engine, scores: Floats) -> None:
        self.engine = engine
        self.scores = scores

    def active(self, threshold: float) -> "Graph":
        return Graph(self, threshold)


class Graph(SweptGraph):
    def sweep(self, upward: bool, piece: tuple[int, int], v: Floats, out: Floats) -> None:
        engine = self.ranking.engine
        pairs = slice(engine.starts[piece[0]], engine.starts[piece[1]])
        _sweep(upward, engine.better[pairs], engine.worse[pairs], self.ranking.scores, self.threshold, v, out)


@kernel
def _list(rows: Ints, starts: Ints, groups: Ints, better: Ints, worse: Ints) -> None:
    """A document is preferred to all those of its query before its level."""
    to = 0
    for q in range(groups.size - 1):
        first = starts[groups[q]]
        for g in range(groups[q], groups[q + 1]):
            for i in range(starts[g], starts[g + 1]):
                for j in range(first, starts[g]):
                    better[to], worse[to] = rows[i], rows[j]
                    to += 1


@kernel
def _sweep(upward: bool, better: Ints, worse: Ints, scores: Floats, threshold: float, v: Floats, out: Floats) -> None:
    for pair in range(better.size):
        i, j = better[pair], worse[pair]
        if scores[i] - scores[j] < threshold:
            to, of = (j, i) if upward else (i, j)
            for c in range(v.shape[1]):
                out[to, c] += v[of, c]
