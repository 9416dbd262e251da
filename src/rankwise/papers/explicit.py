"""All preference pairs in a list, which every sum goes through: PRSVM's scheme, O(pairs) in time and memory."""

import numpy as np

from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.jit import kernel
from rankwise.pairs.graph import Layout
from rankwise.pairs.levels import by_level
from rankwise.pairs.listing import list_pairs
from rankwise.pairs.swept import SweptGraph


class Engine:
    def __init__(self, layout: Layout, n_threads: int = 1) -> None:
        self.layout = layout
        self.n_threads = n_threads
        self.better, self.worse = list_pairs(layout)
        levels = by_level(layout)
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
def _sweep(upward: bool, better: Ints, worse: Ints, scores: Floats, threshold: float, v: Floats, out: Floats) -> None:
    for pair in range(better.size):
        i, j = better[pair], worse[pair]
        if scores[i] - scores[j] < threshold:
            to, of = (j, i) if upward else (i, j)
            for c in range(v.shape[1]):
                out[to, c] += v[of, c]
