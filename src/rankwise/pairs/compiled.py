"""The pair engine on a CPU: one sort per point, two sweeps in score order per product, queries in parallel.

Go through a query's documents from the highest score down. The partners j of i with s_i - s_j < t are a run of
documents that only grows, so each enters once. Their values are summed by level, in a table for few levels and in a
Fenwick tree for many; `below` needs the sum over the levels below that of i. `above` is the transpose: upward, adding
where `below` reads and reading where `below` adds. O(l log l) per sort, O(l log k) per product.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.jit import kernel
from rankwise.foundation.threads import share
from rankwise.pairs.graph import Layout
from rankwise.pairs.queries import cut
from rankwise.pairs.swept import PIECE, SweptGraph

FEW_LEVELS = 12  # up to this many levels a table of sums is faster than a Fenwick tree
SHORT = 64  # up to this many documents insertion sort is faster than radix sort


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
    """Add above(v) if `upward`, else below(v), to out, for the queries between `starts`.

    The values are gathered in score order before the sweep, and the sums scattered afterwards: in separate loops the
    random memory accesses overlap, while within the sweep each would wait for the one before.
    """
    order, scores, levels = ranking
    longest, most = 0, 0
    for q in range(n_levels.size):
        longest, most = max(longest, starts[q + 1] - starts[q]), max(most, n_levels[q])
    values, results = np.empty((longest, *v.shape[1:])), np.empty((longest, *v.shape[1:]))
    table = np.empty((most, *v.shape[1:]))
    for q in range(n_levels.size):
        first, last = starts[q], starts[q + 1]
        rows, query = order[first:last], (scores[first:last], levels[first:last])
        sums = table[: n_levels[q]]
        sums[:] = 0.0
        for p in range(rows.size):
            _set(values, p, v, rows[p])
        _sweep_query(upward, sums.shape[0] <= FEW_LEVELS, threshold, query, values, sums, results)
        for p in range(rows.size):
            _add(out, rows[p], results, p)


@kernel
def _sweep_query(upward: bool, few: bool, threshold: float, query: Any, v: Floats, sums: Floats, out: Floats) -> None:
    """The sums of one query, whose documents are in score order; `sums` is the table or tree by level."""
    scores, levels = query
    n, k = scores.size, sums.shape[0]
    sign, step = (-1.0, 1) if upward else (1.0, -1)
    current, end = (0, n) if upward else (n - 1, -1)
    entering = current
    while current != end:
        while entering != end and sign * (scores[current] - scores[entering]) < threshold:
            node = first_node(levels[entering], upward)
            while node > 0:
                _add(sums, node - 1, v, entering)
                node = next_node(node, k, few, upward)
            entering += step
        node = first_node(levels[current], not upward)
        _clear(out, current)
        while node > 0:
            _add(out, current, sums, node - 1)
            node = next_node(node, k, few, not upward)
        current += step


@kernel
def _set(to: Floats, i: int, of: Floats, j: int) -> None:
    """to[i] = of[j]."""
    if of.ndim == 1:  # decided when compiling
        to[i] = of[j]
    else:
        for c in range(of.shape[1]):
            to[i, c] = of[j, c]


@kernel
def _add(to: Floats, i: int, of: Floats, j: int) -> None:
    """to[i] += of[j], without the temporary that Numba makes for a row."""
    if of.ndim == 1:
        to[i] += of[j]
    else:
        for c in range(of.shape[1]):
            to[i, c] += of[j, c]


@kernel
def _clear(to: Floats, i: int) -> None:
    """to[i] = 0."""
    if to.ndim == 1:
        to[i] = 0.0
    else:
        for c in range(to.shape[1]):
            to[i, c] = 0.0


@kernel
def first_node(level: int, under: bool) -> int:
    """The first of the nodes that cover the levels below this one (`under`), or of those that contain this level.

    Nodes are numbered from 1.
    """
    return level if under else level + 1


@kernel
def next_node(node: int, k: int, few: bool, under: bool) -> int:
    """The node after this one, 0 after the last. In a table (`few`) a node is a level, in a Fenwick tree a range."""
    if under:
        return node - 1 if few else node & (node - 1)
    after = k + 1 if few else node + (node & -node)
    return after if after <= k else 0


@kernel
def sort_queries(starts: Ints, identity: bool, rows: Ints, scores: Floats, level: Ints, ranking: Any) -> None:
    """Stable sort by score within each query: insertion sort for short queries, radix sort for others."""
    order, sorted_scores, sorted_levels = ranking
    longest = 0
    for q in range(starts.size - 1):
        longest = max(longest, starts[q + 1] - starts[q])
    spare_items, spare_keys = np.empty(longest, order.dtype), np.empty(longest, np.uint64)
    for q in range(starts.size - 1):
        first, last = starts[q], starts[q + 1]
        for i in range(first, last):
            order[i] = i if identity else rows[i]
            sorted_scores[i] = scores[order[i]] + 0.0  # turns -0.0 into 0.0
        if last - first <= SHORT:
            _insertion_sort(sorted_scores[first:last], order[first:last])
        else:
            _radix_sort(sorted_scores[first:last].view(np.uint64), order[first:last], spare_keys, spare_items)
        for i in range(first, last):
            sorted_levels[i] = level[order[i]]


@kernel
def _insertion_sort(keys: Floats, items: Ints) -> None:
    for i in range(1, keys.size):
        key, item = keys[i], items[i]
        j = i
        while j > 0 and keys[j - 1] > key:
            keys[j], items[j] = keys[j - 1], items[j - 1]
            j -= 1
        keys[j], items[j] = key, item


@kernel
def _radix_sort(keys: Ints, items: Ints, spare_keys: Ints, spare_items: Ints) -> None:
    """Sort by one byte after another, lowest first.

    The bits of floats sort like integers if those of negative floats are inverted and the sign bit of others is set.
    """
    n, negative = keys.size, np.uint64(1 << 63)
    counts = np.zeros((8, 256), np.int64)
    for i in range(n):
        key = ~keys[i] if keys[i] & negative else keys[i] | negative
        keys[i] = key
        for byte in range(8):
            counts[byte, (key >> np.uint64(8 * byte)) & np.uint64(255)] += 1
    source, target = (keys, items), (spare_keys[:n], spare_items[:n])
    for byte in range(8):
        shift, places = np.uint64(8 * byte), counts[byte]
        if places[(keys[0] >> shift) & np.uint64(255)] == n:
            continue  # all bytes are equal
        place = 0
        for digit in range(256):
            place, places[digit] = place + places[digit], place
        for i in range(n):
            digit = (source[0][i] >> shift) & np.uint64(255)
            target[0][places[digit]], target[1][places[digit]] = source[0][i], source[1][i]
            places[digit] += 1
        source, target = target, source
    for i in range(n):
        key = source[0][i]
        keys[i], items[i] = key ^ negative if key & negative else ~key, source[1][i]


@kernel
def number_few(labels: Floats, most: int, level: Ints) -> int:
    """Number the distinct labels in ascending order, into `level`; return their number, or 0 if it exceeds `most`."""
    values = np.empty(most + 1)
    n_distinct = 0
    for label in labels:
        place = _place(values, n_distinct, label)
        if place == n_distinct or values[place] != label:
            if n_distinct == most:
                return 0
            for later in range(n_distinct, place, -1):
                values[later] = values[later - 1]
            values[place] = label
            n_distinct += 1
    for i in range(labels.size):
        level[i] = _place(values, n_distinct, labels[i])
    return n_distinct


@kernel
def _place(values: Floats, n: int, label: float) -> int:
    """How many of the first n values, which ascend, are below the label."""
    place = 0
    while place < n and values[place] < label:
        place += 1
    return place
