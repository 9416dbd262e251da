"""Rows that occur several times: X v and Xᵀ g are computed with each different row once.

X = S Z, where Z has the different rows, and S a single 1 per row. So X v = S (Z v), which repeats scores, and
Xᵀ g = Zᵀ (Sᵀ g), which first adds up what belongs to one row. Only sums over pairs see a row as often as it occurs.
Each chunk has the rows of Z that its queries need, so that queries with rows in common should be adjacent.
"""

from functools import cached_property

import numpy as np
import scipy

from rankwise.data.repeated import RepeatedRows
from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.devices import HostMatrix, Selection
from rankwise.objective.rows import MemoryRows
from rankwise.objective.stored import StoredRows

BYTES = 100  # that a row of the sums over pairs takes, about


class SharedRows(StoredRows):
    """The rows of a `RepeatedRows`."""

    def __init__(self, source: RepeatedRows, n_threads: int) -> None:
        self.repeated = source
        self.different = MemoryRows(source.X, n_threads)
        self._settle(source.shape, self.different.nbytes + BYTES * source.shape[0], n_threads)

    @property
    def X(self) -> HostMatrix:
        return self.repeated.load(0, self.n_rows)

    def loaded(self) -> "SharedRows":
        return self

    def select(self, rows: Selection, n_threads: int) -> "SharedRows":
        return SharedRows(self.repeated[rows].compact(), n_threads)

    def centred(self, starts: Ints) -> "SharedRows":
        """Rows of X that occur in one query, or are connected by others, are shifted alike."""
        from rankwise.objective.centring import shifted  # imports Numba, so not before it is needed

        n_different, queries = self.different.n_rows, np.repeat(np.arange(starts.size - 1), np.diff(starts))
        nodes = n_different + starts.size - 1
        edges = np.ones(self.n_rows, np.int8), (self.repeated.rows, n_different + queries)
        graph = scipy.sparse.coo_array(edges, shape=(nodes, nodes))
        part = scipy.sparse.csgraph.connected_components(graph, directed=False)[1][:n_different]
        order = np.argsort(part, kind="stable")
        X = self.repeated.X[order]
        moved = shifted(X, np.append(np.flatnonzero(np.diff(part[order], prepend=-1)), n_different), self.n_threads)
        if moved is X:
            return self
        place = np.empty(n_different, np.int64)
        place[order] = np.arange(n_different)
        return SharedRows(RepeatedRows(moved, place[self.repeated.rows]), self.n_threads)

    @cached_property
    def _places(self) -> "scipy.sparse.csr_array":
        """S."""
        ends = np.arange(self.n_rows + 1, dtype=np.int32 if self.n_rows < 2**31 - 1 else np.int64)
        stored = np.ones(self.n_rows), self.repeated.rows.astype(ends.dtype), ends  # kernels for int32 exist already
        return scipy.sparse.csr_array(stored, shape=(self.n_rows, self.different.n_rows))

    @property
    def factor(self) -> tuple[Array, ...]:
        return self._places.data, self._places.indices, self._places.indptr

    def inner(self, v: Floats) -> Floats:
        return self.different.dot(v)

    def outer(self, g: Floats) -> Floats:
        return self.different.transposed_dot(g)

    def _repeated(self, values: Array) -> Floats:
        return np.take(values, self.repeated.rows, axis=0)

    def _gathered(self, g: Array) -> Floats:
        sums: Floats = self._places.T @ g
        return sums

    def dot(self, v: Array) -> Floats:
        return self._repeated(self.different.dot(v))

    def scores(self, w: Floats) -> Floats:
        return self._repeated(self.different.scores(w))

    def absolute_dot(self, v: Floats) -> Floats:
        return self._repeated(self.different.absolute_dot(v))

    def columns(self, first: int, last: int) -> Floats:
        return self._repeated(self.different.columns(first, last))

    def transposed_dot(self, g: Array) -> Floats:
        return self.different.transposed_dot(self._gathered(g))

    def squared_transposed_dot(self, g: Floats) -> Floats:
        return self.different.squared_transposed_dot(self._gathered(g))

    def absolute_transposed_dot(self, g: Floats) -> Floats:
        return self.different.absolute_transposed_dot(self._gathered(g))
