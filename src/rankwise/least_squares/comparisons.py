"""Which pairs of documents are compared, and the Laplacian L of their graph, never formed.

Two documents of one query are compared, with weight ω_i ω_j; with ties excluded, only if their labels differ. A
*slot* is a query, or with ties excluded one label of a query. Let W and m be a query's weight and weighted mean, W_k
and m_k a slot's, and a = W, or W - W_k with ties excluded: the total weight that a document is compared to. Then

    L v  = ω a (v - m) + ω W_k (m_k - m)               (second terms with ties excluded only)
    Rᵀ v = √(ω a) (v - m) + √ω (√W - √a) (m_k - m),    R Rᵀ = L

Both shift every row by an amount of its slot, then scale it: O(n) for a column, and squares of Rᵀ v never cancel.
Means are computed from differences to the query's first document, so a large offset costs no digits.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.devices import Selection
from rankwise.foundation.names import one_of
from rankwise.pairs.queries import Queries

TIES = ("include", "exclude")
SCALINGS = ("pairs", "query")


class Shifts(NamedTuple):
    """For each slot, the first row of its query, and what is subtracted from rows after that row is subtracted."""

    bases: Floats
    shifts: Floats


@dataclass(frozen=True)
class Comparisons:
    """Made by `compare`. V below is a vector, or a matrix of columns, with one row per document.

    slot     the slot of each row; slots are numbered query by query
    starts   query q owns the slots starts[q], ..., starts[q + 1] - 1
    weights  ω of each row
    factor   for each query, the factor of its pairs
    own      W_k of each slot
    against  a of each slot
    """

    slot: Ints
    starts: Ints
    weights: Floats
    factor: Floats
    own: Floats
    against: Floats

    def select(self, queries: Selection, rows: Selection) -> "Comparisons":
        """The comparisons of some queries, whose documents are `rows`: two slices, or two arrays of numbers."""
        if isinstance(queries, slice):
            first, last, _ = queries.indices(self.factor.size)
            low = int(self.starts[first])
            slots: Selection = slice(low, int(self.starts[last]))
            slot, starts = self.slot[rows] - low, self.starts[first : last + 1] - low
        else:
            counts = np.diff(self.starts)[queries]
            starts = np.concatenate(([0], np.cumsum(counts)))
            slots = np.arange(starts[-1]) + np.repeat(self.starts[queries] - starts[:-1], counts)
            place = np.zeros(self.own.size, np.int32)
            place[slots] = np.arange(starts[-1])
            slot = place[self.slot[rows]]
        weights = self.weights[rows]
        return Comparisons(slot, starts, weights, self.factor[queries], self.own[slots], self.against[slots])

    def scaled(self, scales: Floats) -> "Comparisons":
        """With each document's weight multiplied by `scales`; the factors of pairs stay."""
        weights = self.weights * scales
        own: Floats = np.bincount(self.slot, weights, self.own.size).astype(np.float64)
        total = np.add.reduceat(own, self.starts[:-1])[self._query]
        return Comparisons(self.slot, self.starts, weights, self.factor, own, np.where(self._tied, total, total - own))

    def laplacian(self, V: Array) -> Floats:
        """L V."""
        if V.ndim == 1:
            return self.form(V)[0]
        return self._columns(V, _ratio(self.own, self.against), self.degree)

    def form(self, v: Array) -> tuple[Floats, float]:
        """L v and vᵀ L v of a vector, by a kernel of its own, because solvers need it in every step."""
        from rankwise.least_squares.kernels import quadratic_form

        out = np.empty(v.size)
        parts = self.slot, self.starts, self.weights, self.factor, self.own, self.against
        return out, float(quadratic_form(v, *parts, out))

    def root(self, V: Array) -> Floats:
        """Rᵀ V."""
        return self._columns(V, self._root_pull, self._root_scale)

    def transposed_root(self, V: Array) -> Floats:
        """R V; Rᵀ is a symmetric matrix times √ω."""
        half = np.sqrt(self.weights) if V.ndim == 1 else np.sqrt(self.weights)[:, None]
        return half * self.root(_ratio(V, half))

    @cached_property
    def degree(self) -> Floats:
        """ω a of each row: the weight that it is compared to, including itself if ties are included."""
        return self.weights * (self.factor[self._query] * self.against)[self.slot]

    @cached_property
    def pairs_by_query(self) -> Floats:
        """For each query, the weight of its pairs."""
        itself = np.where(self._tied, 1.0, 0.0)[self.slot] * self.weights
        twice = self.degree - (self.factor[self._query])[self.slot] * self.weights * itself
        return np.bincount(self._query[self.slot], twice, self.factor.size) / 2

    def root_shifts(self, blocks: Iterable[tuple[slice, Array]], width: int) -> Shifts:
        """What `rooted` subtracts from the rows of each slot; `blocks` are (rows, their values), together all rows."""
        return self._shifts(blocks, width, self._root_pull)

    def rooted(self, V: Floats, rows: slice, shifts: Shifts) -> Floats:
        """Those rows of Rᵀ V, in place of V."""
        from rankwise.least_squares.kernels import shift_by_slot

        shift_by_slot(V, self.slot[rows], *shifts, self._root_scale[rows], V)
        return V

    def twofold(self, hi: Floats, lo: Floats) -> tuple[Floats, float]:
        """L (hi + lo) as the sum of two rows, and the quadratic form of L, all in twice the precision."""
        from rankwise.least_squares.twofold_kernels import laplacian

        out = np.empty((2, hi.size))
        return out, float(laplacian(self.slot, self.starts, self._tied, self.weights, self.factor, hi, lo, out))

    def _columns(self, V: Array, pull: Floats, scale: Floats) -> Floats:
        from rankwise.least_squares.kernels import shift_by_slot

        columns = V.reshape(V.shape[0], -1)
        out = np.empty(columns.shape)
        shifts = self._shifts([(slice(0, columns.shape[0]), columns)], columns.shape[1], pull)
        shift_by_slot(columns, self.slot, *shifts, scale, out)
        return out.reshape(V.shape)

    def _shifts(self, blocks: Iterable[tuple[slice, Array]], width: int, pull: Floats) -> Shifts:
        """m - pull (m_k - m) of each slot, relative to the first row of its query, so that offsets cost no digits."""
        from rankwise.least_squares.kernels import add_by_slot

        bases, sums = np.zeros((self.own.size, width)), np.zeros((self.own.size, width))
        for rows, V in blocks:
            begun = np.flatnonzero((self._first >= rows.start) & (self._first < rows.stop))
            bases[begun] = V[self._first[begun] - rows.start]
            add_by_slot(V, self.slot[rows], self.weights[rows], bases, sums)
        means = _ratio(np.add.reduceat(sums, self.starts[:-1], axis=0), self._total[:, None])
        if self.own.size == self._total.size:  # one slot per query
            return Shifts(bases, means)
        means = means[self._query]
        return Shifts(bases, means - pull[:, None] * (_ratio(sums, self.own[:, None]) - means))

    @cached_property
    def _first(self) -> Ints:
        """For each slot, the first row of its query."""
        first = np.zeros(self.factor.size, np.int64)
        first[self._query[self.slot[::-1]]] = np.arange(self.slot.size)[::-1]
        return first[self._query]

    @cached_property
    def _root_scale(self) -> Floats:
        return np.sqrt(self.degree)

    @cached_property
    def _root_pull(self) -> Floats:
        return np.sqrt(_ratio(self._total[self._query], self.against)) - 1.0

    @cached_property
    def _query(self) -> Ints:
        return np.repeat(np.arange(self.factor.size), np.diff(self.starts))

    @cached_property
    def _tied(self) -> Array:
        """For each slot, whether its documents are compared to each other."""
        tied: Array = self.against == self._total[self._query]
        return tied

    @cached_property
    def _total(self) -> Floats:
        return np.add.reduceat(self.own, self.starts[:-1])


def compare(labels: Floats, queries: Queries, weights: Floats | None, ties: str, scaling: str) -> Comparisons:
    """ties     "include": all pairs of one query; "exclude": those of different labels
    scaling  "pairs": all pairs have weight 1; "query": those of a query have 1 / the weight of its documents
    """
    check_options(ties, scaling)
    omega = np.ones(labels.size) if weights is None else weights
    if ties == "include":
        slot, starts = queries.codes, np.arange(len(queries) + 1)
    else:
        level = np.unique(labels, return_inverse=True)[1]
        distinct, slot = np.unique(queries.codes * np.int64(labels.size) + level, return_inverse=True)
        starts = np.searchsorted(distinct, np.arange(len(queries) + 1) * np.int64(labels.size))
    own: Floats = np.bincount(slot, omega, int(starts[-1])).astype(np.float64)
    total = np.add.reduceat(own, starts[:-1])
    against = np.repeat(total, np.diff(starts))
    if ties == "exclude":
        against = against - own
    factor = np.ones(len(queries)) if scaling == "pairs" else _ratio(np.ones(len(queries)), total)
    return Comparisons(slot.astype(np.int32), starts, omega, factor, own, against)


def check_options(ties: str, scaling: str) -> None:
    one_of("ties", ties, TIES)
    one_of("scaling", scaling, SCALINGS)


def _ratio(part: Floats, whole: Floats) -> Floats:
    """part / whole, 0 if whole is 0."""
    return np.divide(part, whole, out=np.zeros(np.broadcast_shapes(part.shape, whole.shape)), where=whole != 0)
