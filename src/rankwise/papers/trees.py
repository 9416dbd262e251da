"""The papers' sweeps with an order-statistic tree, O(l log k) per product (Lee and Lin, Airola et al.).

With z = -level, a pair (i, j) is active if s_i - s_j < t and z_i - z_j < 0. The documents are visited in descending
order of one of s and z, and those that satisfy its condition are inserted into a tree by the other; the sum for i is
over the keys that satisfy the other condition. Trees by label visit documents by score, the tree by score visits them
by label. `above` is the same in ascending order, with both differences negated.
"""

from functools import partial

import numpy as np

from rankwise.foundation.arrays import Floats
from rankwise.pairs import compiled
from rankwise.pairs.graph import Layout
from rankwise.pairs.swept import SweptGraph
from rankwise.papers.tree_kernels import AA, AVL, RED_BLACK, SELECTION, new_tree, sweep


class Engine:
    def __init__(self, layout: Layout, n_threads: int = 1, kind: int = RED_BLACK, by_score: bool = False) -> None:
        self.layout = layout
        self.n_threads = n_threads
        self.kind = kind
        self.sorter = compiled.Engine(layout, n_threads)
        self.z = -layout.level.astype(np.float64)
        self.by_label = self.sorter.ranked(self.z) if by_score else None

    def ranked(self, scores: Floats) -> "Ranking":
        return Ranking(self, scores)


class Ranking:
    """The documents of each query in the order of `places`, to be inserted into a tree by `keys`."""

    def __init__(self, engine: Engine, scores: Floats) -> None:
        self.engine = engine
        sorted_ = engine.sorter.ranked(scores) if engine.by_label is None else engine.by_label
        self.order, self.places, _ = sorted_.arrays
        self.keys = (engine.z if engine.by_label is None else scores)[self.order]

    def active(self, threshold: float) -> "Graph":
        return Graph(self, threshold)


class Graph(SweptGraph):
    def sweep(self, upward: bool, piece: tuple[int, int], v: Floats, out: Floats) -> None:
        layout, ranking, engine = self.layout, self.ranking, self.ranking.engine
        bounds = (self.threshold, 0.0) if engine.by_label is None else (0.0, self.threshold)
        starts, n_levels = layout.starts[piece[0] : piece[1] + 1], layout.n_levels[piece[0] : piece[1]]
        documents = (starts, n_levels, ranking.order, ranking.places, ranking.keys)
        capacity = 4 * n_levels.max() if engine.kind == SELECTION else np.diff(starts).max()
        sweep(new_tree(engine.kind, int(capacity), v.shape[1]), upward, bounds, documents, v, out)


red_black = partial(Engine, kind=RED_BLACK)
score_red_black = partial(Engine, kind=RED_BLACK, by_score=True)
selection = partial(Engine, kind=SELECTION)
avl = partial(Engine, kind=AVL)
aa = partial(Engine, kind=AA)
