"""Sums of each level against all higher ones, by two pointers: PRSVM+ and direct counting, O(l k) per product.

Levels are processed from the lowest up. With the level and all higher documents sorted by score, go down the higher
documents: their partners in the level, with s_i - s_j < t, are a run from its top that only grows. `above` goes up the
level instead. Then the level is removed, and the next one is the lowest.
"""

import numpy as np

from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.jit import kernel
from rankwise.pairs import compiled
from rankwise.pairs.graph import Layout
from rankwise.pairs.swept import SweptGraph


class Engine:
    def __init__(self, layout: Layout, n_threads: int = 1) -> None:
        self.layout = layout
        self.n_threads = n_threads
        self.sorter = compiled.Engine(layout, n_threads)

    def ranked(self, scores: Floats) -> "Ranking":
        return Ranking(self, scores)


class Ranking:
    """The documents of each query in the order of their scores."""

    def __init__(self, engine: Engine, scores: Floats) -> None:
        self.engine = engine
        self.by_score = engine.sorter.ranked(scores)

    def active(self, threshold: float) -> "Graph":
        return Graph(self, threshold)


class Graph(SweptGraph):
    def sweep(self, upward: bool, piece: tuple[int, int], v: Floats, out: Floats) -> None:
        starts = self.layout.starts[piece[0] : piece[1] + 1]
        _sweep(upward, self.threshold, (starts, *self.ranking.by_score.arrays), v, out)


@kernel
def _sweep(upward: bool, threshold: float, documents: tuple[Ints, Ints, Floats, Ints], v: Floats, out: Floats) -> None:
    starts, order, scores, levels = documents
    for q in range(starts.size - 1):
        query = slice(starts[q], starts[q + 1])
        rows, query_scores, query_levels = order[query], scores[query], levels[query]
        values = v[rows]
        sums = np.zeros_like(values)
        higher, lowest = np.arange(rows.size), query_levels.min()
        while higher.size:
            level, higher, lowest = _split(higher, query_levels, lowest)
            if upward:
                _meet(-1.0, threshold, query_scores, level, higher, values, sums)
            else:
                _meet(1.0, threshold, query_scores, higher[::-1], level[::-1], values, sums)
        for i in range(rows.size):
            out[rows[i]] = sums[i]


@kernel
def _split(places: Ints, levels: Ints, lowest: int) -> tuple[Ints, Ints, int]:
    """The places of the lowest level; the others, moved to the front of `places`; the lowest level of these."""
    level = np.empty(places.size, places.dtype)
    n_level = n_higher = 0
    next_lowest = np.iinfo(np.int32).max
    for place in places:
        if levels[place] == lowest:
            level[n_level] = place
            n_level += 1
        else:
            places[n_higher] = place
            n_higher += 1
            next_lowest = min(next_lowest, levels[place])
    return level[:n_level], places[:n_higher], next_lowest


@kernel
def _meet(
    sign: float, threshold: float, scores: Floats, mine: Ints, theirs: Ints, values: Floats, sums: Floats
) -> None:
    """For each of `mine`, add the values of its active partners among `theirs` to its sums."""
    total = np.zeros(values.shape[1])
    entering = 0
    for place in mine:
        while entering < theirs.size and sign * (scores[place] - scores[theirs[entering]]) < threshold:
            for c in range(total.size):
                total[c] += values[theirs[entering], c]
            entering += 1
        for c in range(total.size):
            sums[place, c] += total[c]
