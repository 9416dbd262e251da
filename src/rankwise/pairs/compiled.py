"""The pair engine on a CPU: one sort per point, two sweeps in score order per product, queries in parallel.

Go through a query's documents from the highest score down. The partners j of i with s_i - s_j < t are a run of
documents that only grows, so each enters once. The runs' lengths are found once per threshold. The values are summed by
level, in tables for few levels and in a Fenwick tree for many; `below` needs the sum over the levels below that of i.
`above` is the transpose: upward, adding where `below` reads and reading where `below` adds. O(l log l) per sort,
O(l log k) per product.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.jit import kernel
from rankwise.foundation.threads import share
from rankwise.pairs.graph import Layout
from rankwise.pairs.queries import cut
from rankwise.pairs.sorting import sort_queries
from rankwise.pairs.swept import PIECE, SweptGraph

FEW_LEVELS = 12  # up to this many levels a table of sums is faster than a Fenwick tree
LANES = 4  # levels that a table holds side by side, as many as a vector register
UNDER = np.array([[float(level < lane) for lane in range(LANES)] for level in range(-FEW_LEVELS, FEW_LEVELS)])
BLOCK = 256  # rows of a table


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

    def __init__(self, ranking: Ranking, threshold: float) -> None:
        super().__init__(ranking, threshold)
        order, scores, _ = ranking.arrays
        self.runs = np.empty((2, order.size), order.dtype)

        def find(piece: tuple[int, int]) -> None:
            starts = self.layout.starts[piece[0] : piece[1] + 1]
            find_runs(starts, scores, self.threshold, self.runs)

        share(find, cut(self.layout.starts, PIECE), self.n_threads)

    def sweep(self, upward: bool, piece: tuple[int, int], v: Floats, out: Floats) -> None:
        first, last = piece
        starts, n_levels = self.layout.starts[first : last + 1], self.layout.n_levels[first:last]
        low, high = starts[0], starts[-1]
        order, _, levels = self.ranking.arrays
        documents = (order[low:high], levels[low:high], self.runs[int(upward), low:high])
        (sweep if v.ndim == 1 else sweep_rows)(upward, starts - low, n_levels, documents, v, out)


@kernel
def find_runs(starts: Ints, scores: Floats, threshold: float, runs: Ints) -> None:
    """For each document, how many can be its partners: runs[0] from the highest score down, runs[1] from the lowest up.

    Scores are sorted within each query, and s_i - s_j < threshold asks for the last runs[0, i] documents of the query
    as j, or the first runs[1, j] as i.
    """
    for q in range(starts.size - 1):
        find_run(starts[q], starts[q + 1], scores, threshold, runs)


@kernel
def find_run(first: int, last: int, scores: Floats, threshold: float, runs: Ints) -> None:
    """The same for one query, by one walk for both directions."""
    j = first
    for i in range(first, last):
        while j < last and not scores[i] - scores[j] < threshold:
            runs[1, j] = i - first
            j += 1
        runs[0, i] = last - j
    for left in range(j, last):
        runs[1, left] = last - first


@kernel
def sweep(upward: bool, starts: Ints, n_levels: Ints, documents: Any, v: Floats, out: Floats) -> None:
    """Add above(v) if `upward`, else below(v), to out, for the queries between `starts`.

    The values are gathered in score order before the sweep, and the sums scattered afterwards: in separate loops the
    random memory accesses overlap, while within the sweep each would wait for the one before.
    """
    order, levels, run = documents
    copies, sums = buffers(starts, 2), room_for_sums(n_levels)
    values, results = copies[0], copies[1]
    for q in range(n_levels.size):
        first, last = starts[q], starts[q + 1]
        for p in range(first, last):
            values[p - first] = v[order[p]]
        sweep_query(upward, (first, last, n_levels[q]), levels, run, values, sums, results)
        for p in range(first, last):
            out[order[p]] += results[p - first]


@kernel
def buffers(starts: Ints, number: int) -> Floats:
    """So many vectors, long enough for any of these queries."""
    longest = 0
    for q in range(starts.size - 1):
        longest = max(longest, starts[q + 1] - starts[q])
    return np.empty((number, longest))


@kernel
def room_for_sums(n_levels: Ints) -> tuple[Floats, Floats]:
    """For any of these queries: a table for few levels, a Fenwick tree for many."""
    return np.empty((BLOCK + 1, LANES)), np.empty(n_levels.max())


@kernel
def sweep_query(upward: bool, query: Any, levels: Ints, run: Ints, v: Floats, sums: Any, out: Floats) -> None:
    """out = above(v) or below(v) for one query of k levels, whose documents first, ..., last - 1 are sorted by score.

    v and out begin with the first of them.
    """
    table, tree = sums
    if query[2] <= FEW_LEVELS:
        _sweep_few(upward, query, levels, run, v, table, out)
    else:
        _sweep_many(upward, query, levels, run, v, tree, out)


@kernel
def _sweep_few(upward: bool, query: Any, levels: Ints, run: Ints, v: Floats, table: Floats, out: Floats) -> None:
    """table[e, c]: the sum over the first e documents to enter, of those that are below the level base + c.

    Block by block, all enter first and then all look up their sums: in neither loop does the processor have to guess
    a branch from scores or levels, which would take longer than the arithmetic. Upwards, levels count from the top.
    """
    first, last, k = query
    n = last - first
    start, step, top = (0, 1, k - 1) if upward else (n - 1, -1, 0)
    for p in range(n):
        out[p] = 0.0
    for base in range(1, k, LANES):
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        here = 0
        for begin in range(0, n, BLOCK):
            end = min(begin + BLOCK, n)
            table[0, 0], table[0, 1], table[0, 2], table[0, 3] = a, b, c, d
            for entered in range(begin, end):
                p = start + step * entered
                level, row = top - step * levels[first + p] - base + FEW_LEVELS, entered + 1 - begin
                a += v[p] * UNDER[level, 0]
                b += v[p] * UNDER[level, 1]
                c += v[p] * UNDER[level, 2]
                d += v[p] * UNDER[level, 3]
                table[row, 0], table[row, 1], table[row, 2], table[row, 3] = a, b, c, d
            ready = n if end == n else here
            while ready < n and run[first + start + step * ready] <= end:
                ready += 1
            for reading in range(here, ready):
                p = start + step * reading
                lane = top - step * levels[first + p] - base
                found = table[run[first + p] - begin, lane % LANES]
                out[p] += found if lane // LANES == 0 else 0.0
            here = ready


@kernel
def _sweep_many(upward: bool, query: Any, levels: Ints, run: Ints, v: Floats, tree: Floats, out: Floats) -> None:
    """Each document waits for those that enter before it."""
    first, last, k = query
    start, step = (first, 1) if upward else (last - 1, -1)
    for node in range(k):
        tree[node] = 0.0
    entered = 0
    for p in range(start, start + step * (last - first), step):
        while entered < run[p]:
            entering = start + step * entered
            node = first_node(levels[entering], upward)
            while node > 0:
                tree[node - 1] += v[entering - first]
                node = next_node(node, k, False, upward)
            entered += 1
        total, node = 0.0, first_node(levels[p], not upward)
        while node > 0:
            total += tree[node - 1]
            node = next_node(node, k, False, not upward)
        out[p - first] = total


@kernel
def sweep_rows(upward: bool, starts: Ints, n_levels: Ints, documents: Any, v: Floats, out: Floats) -> None:
    """The same for the rows of a matrix, where they are: a row is long enough to be worth a branch."""
    order, levels, run = documents
    sums = np.empty((n_levels.max(), v.shape[1]))
    for q in range(n_levels.size):
        first, last, k = starts[q], starts[q + 1], n_levels[q]
        few = k <= FEW_LEVELS
        start, step = (first, 1) if upward else (last - 1, -1)
        sums[:k] = 0.0
        entered = 0
        for p in range(start, start + step * (last - first), step):
            while entered < run[p]:
                entering = start + step * entered
                node = first_node(levels[entering], upward)
                while node > 0:
                    _add(sums, node - 1, v, order[entering])
                    node = next_node(node, k, few, upward)
                entered += 1
            node = first_node(levels[p], not upward)
            while node > 0:
                _add(out, order[p], sums, node - 1)
                node = next_node(node, k, few, not upward)


@kernel
def _add(to: Floats, i: int, of: Floats, j: int) -> None:
    """to[i] += of[j], without the temporary that Numba makes for a row."""
    for c in range(of.shape[1]):
        to[i, c] += of[j, c]


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
