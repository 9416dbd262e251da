"""Preference pairs drawn at random, without enumerating them.

    P(i, j) = ω_i ω_j / Σ ω ω   over all pairs of one query with level[i] > level[j]

With a query's documents sorted by level, those that i is preferred to are one run, from the query's first document up
to where i's level begins. So i is drawn by bisecting the running sum of (ω_i times the weight of its run), and then j
by bisecting the running sum of the weights inside the run. O(l log l) to build, O(l) memory, O(log l) per draw. With
adjacent levels only, the run is the level below that of i.
"""

import numpy as np

from rankwise.foundation.arrays import Floats, Ints
from rankwise.pairs.graph import Layout
from rankwise.pairs.levels import by_level


class PairSampler:
    """Draws pairs with probability proportional to their weight.

    n_pairs  the exact number of pairs; with weights, their total weight
    """

    n_pairs: int | float

    def __init__(self, layout: Layout, adjacent: bool = False) -> None:
        levels = by_level(layout)
        sizes, begins = np.diff(levels.starts), levels.starts[:-1]
        lowest = levels.starts[levels.groups[:-1]]
        if adjacent:
            first = np.concatenate((begins[:1], begins[:-1]))
            first[levels.groups[:-1]] = lowest
        else:
            first = np.repeat(lowest, np.diff(levels.groups))
        small = levels.rows.dtype
        self._rows = levels.rows
        self._first = np.repeat(first.astype(small), sizes)  # a document is preferred to those at [first, end)
        self._end = np.repeat(begins.astype(small), sizes)
        self._weights: Floats | None = None
        partners: Ints | Floats = self._end - self._first
        if layout.weights is None:
            self.n_pairs = sum((sizes * (begins - first)).tolist())  # Python's integers do not overflow
        else:
            self._weights = layout.weights[levels.rows]
            self._weight_before = np.append(0.0, np.cumsum(self._weights))
            partners = self._weights * (self._weight_before[self._end] - self._weight_before[self._first])
            self.n_pairs = float(partners.sum())
        self._pairs_up_to = np.cumsum(partners, dtype=np.float64)

    def draw(self, n: int, random: np.random.Generator) -> tuple[Ints, Ints]:
        """`n` independent pairs: the rows of the preferred documents, and the rows of those they are preferred to."""
        if not self.n_pairs:
            raise ValueError("there is no preference pair to draw: in every query all labels are equal")
        uniform = random.random((2, n))
        place = np.searchsorted(self._pairs_up_to, uniform[0] * self._pairs_up_to[-1], side="right")
        first, end = self._first[place], self._end[place]
        if self._weights is None:
            partner = first + (uniform[1] * (end - first)).astype(first.dtype)
        else:
            low, high = self._weight_before[first], self._weight_before[end]
            partner = np.searchsorted(self._weight_before, low + uniform[1] * (high - low), side="right") - 1
            partner = np.clip(partner, first, end - 1)  # rounding may lead past the end of the run
        return self._rows[place], self._rows[partner]

    def degree(self) -> Floats:
        """For each row, the number (or total weight) of the pairs that contain it."""
        n = self._rows.size
        weights = np.ones(n) if self._weights is None else self._weights
        begun, ended = np.bincount(self._first, weights, n + 1), np.bincount(self._end, weights, n + 1)
        above = weights * np.cumsum(begun - ended)[:-1]
        out = np.empty(n)
        out[self._rows] = above + np.diff(self._pairs_up_to, prepend=0.0)
        return out
