"""The pair engine on a CPU: one sort a point, then two sweeps in score order a product, queries side by side.

Go through a query's documents from the highest score down. The partners j of i with s_i - s_j < t are a run of the
documents that only grows, so each enters once. They are kept summed by level, in a table while the levels are few and
in a Fenwick tree else; what i needs is the sum over the levels below its own. `above` is the transpose: upward, adding
where `below` reads and reading where `below` adds. O(l log l) a sort, O(l log k) a product.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rankwise.arrays import Floats, Ints
from rankwise.jit import kernel
from rankwise.pairs.graph import Layout
from rankwise.pairs.swept import PIECE, SweptGraph
from rankwise.queries import cut
from rankwise.threads import share

FEW_LEVELS = 12  # up to here a plain table of levels is faster than a Fenwick tree
RUN = 24  # runs sorted by insertion before merging


class Engine:
    def __init__(self, layout: Layout, n_threads: int = 1) -> None:
        self.layout = layout
        self.n_threads = n_threads

    def ranked(self, scores: Floats) -> "Ranking":
        layout = self.layout
        ranking = Ranking.empty(self)
        identity = layout.rows is None
        rows = np.zeros(0, np.int32) if layout.rows is None else layout.rows

        def sort(piece: tuple[int, int]) -> None:
            starts = layout.starts[piece[0] : piece[1] + 1]
            sort_queries(starts, identity, rows, scores, layout.level, ranking.arrays)

        share(sort, cut(layout.starts, PIECE), self.n_threads)
        return ranking


@dataclass(frozen=True)
class Ranking:
    """The documents of each query in the order of their scores."""

    engine: Engine
    arrays: tuple[Ints, Floats, Ints]  # row numbers, scores, levels

    @classmethod
    def empty(cls, engine: Engine) -> Self:
        n = engine.layout.n_rows
        return cls(engine, (np.empty(n, np.int32 if n < 2**31 else np.int64), np.empty(n), np.empty(n, np.int32)))

    def active(self, threshold: float) -> "Graph":
        return Graph(self, threshold)


class Graph(SweptGraph):
    vectors = True

    def sweep(self, upward: bool, piece: tuple[int, int], v: Floats, out: Floats) -> None:
        first, last = piece
        starts, n_levels = self.layout.starts[first : last + 1], self.layout.n_levels[first:last]
        sweep(upward, self.threshold, starts, n_levels, self.ranking.arrays, v, out)


@kernel
def sweep(upward: bool, threshold: float, starts: Ints, n_levels: Ints, ranking: Any, v: Floats, out: Floats) -> None:
    """Add above(v) if `upward`, else below(v), to out, for the queries between `starts`."""
    order, scores, levels = ranking
    sums = np.empty((n_levels.max(), *v.shape[1:]))
    sign, step = (-1.0, 1) if upward else (1.0, -1)
    for q in range(n_levels.size):
        k = n_levels[q]
        few = k <= FEW_LEVELS
        sums[:k] = 0.0
        first, last = starts[q], starts[q + 1]
        here, end = (first, last) if upward else (last - 1, first - 1)
        entering = here
        while here != end:
            while entering != end and sign * (scores[here] - scores[entering]) < threshold:
                node = _first_node(levels[entering], upward)
                while node > 0:
                    _add(sums, node - 1, v, order[entering])
                    node = _next_node(node, k, few, upward)
                entering += step
            node = _first_node(levels[here], not upward)
            while node > 0:
                _add(out, order[here], sums, node - 1)
                node = _next_node(node, k, few, not upward)
            here += step


@kernel
def _add(to: Floats, i: int, of: Floats, j: int) -> None:
    """to[i] += of[j], without the temporary that Numba makes for a row."""
    if of.ndim == 1:  # decided when compiling
        to[i] += of[j]
    else:
        for c in range(of.shape[1]):
            to[i, c] += of[j, c]


@kernel
def _first_node(level: int, under: bool) -> int:
    """Nodes count from 1. `under`: those that together hold the levels below this one; else those that hold it."""
    return level if under else level + 1


@kernel
def _next_node(node: int, k: int, few: bool, under: bool) -> int:
    """The node after this one, 0 after the last. In a table (`few`) a node is a level, in a Fenwick tree a range."""
    if under:
        return node - 1 if few else node & (node - 1)
    after = k + 1 if few else node + (node & -node)
    return after if after <= k else 0


@kernel
def sort_queries(starts: Ints, identity: bool, rows: Ints, scores: Floats, level: Ints, ranking: Any) -> None:
    """Stable merge sort by score within each query; passes over what is in order already."""
    order, sorted_scores, sorted_levels = ranking
    longest = 0
    for q in range(starts.size - 1):
        longest = max(longest, starts[q + 1] - starts[q])
    spare_order, spare_scores = np.empty(longest, order.dtype), np.empty(longest)
    for q in range(starts.size - 1):
        first, last = starts[q], starts[q + 1]
        for i in range(first, last):
            order[i] = i if identity else rows[i]
            sorted_scores[i] = scores[order[i]]
        _merge_sort(sorted_scores[first:last], order[first:last], spare_scores, spare_order)
        for i in range(first, last):
            sorted_levels[i] = level[order[i]]


@kernel
def _merge_sort(keys: Floats, items: Ints, spare_keys: Floats, spare_items: Ints) -> None:
    n = keys.size
    for low in range(0, n, RUN):
        for i in range(low + 1, min(low + RUN, n)):
            key, item = keys[i], items[i]
            j = i
            while j > low and keys[j - 1] > key:
                keys[j], items[j] = keys[j - 1], items[j - 1]
                j -= 1
            keys[j], items[j] = key, item
    width = RUN
    while width < n:
        for low in range(0, n - width, 2 * width):
            middle, high = low + width, min(low + 2 * width, n)
            if keys[middle - 1] > keys[middle]:
                _merge(keys, items, low, middle, high, spare_keys, spare_items)
        width *= 2


@kernel
def _merge(keys: Floats, items: Ints, low: int, middle: int, high: int, spare_keys: Floats, spare_items: Ints) -> None:
    """Merge keys[low:middle] and keys[middle:high] in place; only the left half is set aside."""
    width = middle - low
    for i in range(width):
        spare_keys[i], spare_items[i] = keys[low + i], items[low + i]
    left, right, to = 0, middle, low
    while left < width:
        if right < high and keys[right] < spare_keys[left]:
            keys[to], items[to] = keys[right], items[right]
            right += 1
        else:
            keys[to], items[to] = spare_keys[left], spare_items[left]
            left += 1
        to += 1
