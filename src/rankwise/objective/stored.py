"""Rows of X that lie on disk and are read, part by part, whenever a pass over them gets there.

A part's rows are read once for scores, pair sums and the way back to features, and forgotten: what a solver keeps of a
point is a few numbers per document. Where the rows come from is the source's business (see `rankwise.data.chunks`).
"""

from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import scipy

from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.devices import HostMatrix, Matrix, Selection, is_sparse
from rankwise.objective.rows import MemoryRows


@runtime_checkable
class Source(Protocol):
    """Rows on disk."""

    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def size(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def load(self, low: int, high: int) -> HostMatrix:
        """Rows low, ..., high - 1, in arrays that the next load of the same thread may use again."""
        ...


Features: TypeAlias = Matrix | Source  # wherever it is stored


def is_stored(X: object) -> bool:
    """Whether X is rows on disk, as `rankwise.open_chunks` gives them."""
    return isinstance(X, Source)


class StoredRows(MemoryRows):
    """Rows low, ..., high - 1 of a source; or, of these, the ones that `picked` numbers, from low on and in order.

    starts  of queries, whose common offsets are taken off when rows are loaded
    """

    def __init__(
        self,
        source: Source,
        low: int,
        high: int,
        n_threads: int,
        starts: Ints | None = None,
        picked: Ints | None = None,
    ) -> None:
        self.source, self.low, self.high = source, low, high
        self.starts, self.picked = starts, picked
        total, n_features = source.shape
        n_rows = high - low if picked is None else picked.size
        self._settle((n_rows, n_features), source.nbytes * n_rows // max(total, 1), n_threads)

    @property
    def X(self) -> HostMatrix:
        rows = self.source.load(self.low, self.high)
        return rows if self.picked is None else rows[self.picked]

    def centred(self, starts: Ints) -> MemoryRows:
        return StoredRows(self.source, self.low, self.high, self.n_threads, starts, self.picked)

    def loaded(self) -> MemoryRows:
        rows = MemoryRows(self.X, self.n_threads)
        return rows if self.starts is None else rows.centred(self.starts)

    def select(self, rows: Selection, n_threads: int) -> MemoryRows:
        """Some of the rows: a slice of them stays on disk, single ones are read."""
        if not isinstance(rows, slice):
            return MemoryRows(self._read(rows), n_threads)
        first, last, _ = rows.indices(self.n_rows)
        starts = self._starts_within(first, last)
        if self.picked is None:
            return StoredRows(self.source, self.low + first, self.low + last, n_threads, starts)
        return self._picking(self.picked[first:last], n_threads, starts)

    def subset(self, rows: Ints, n_threads: int) -> MemoryRows:
        """Some of the rows, in order, which stay on disk."""
        return self._picking(rows if self.picked is None else self.picked[rows], n_threads, None)

    def _picking(self, picked: Ints, n_threads: int, starts: Ints | None) -> MemoryRows:
        first, last = (int(picked[0]), int(picked[-1]) + 1) if picked.size else (0, 0)
        span = self.low + first, self.low + last
        return StoredRows(self.source, *span, n_threads, starts, picked - first)

    def scores(self, w: Floats) -> Floats:
        parts = [slice(i, i + self.block_rows) for i in range(0, self.n_rows, self.block_rows)]
        return np.concatenate([self.select(rows, 1).loaded().scores(w) for rows in parts])

    def _read(self, rows: Ints) -> HostMatrix:
        """Rows by their numbers, run after run of neighbours."""
        rows = rows if self.picked is None else self.picked[rows]
        begins = np.flatnonzero(np.diff(rows, prepend=-2) != 1)
        ends = np.append(begins[1:], rows.size)
        runs = [
            self.source.load(*self._span(rows[i], rows[j - 1] + 1)).copy() for i, j in zip(begins, ends, strict=True)
        ]
        return scipy.sparse.vstack(runs, format="csr") if is_sparse(runs[0]) else np.concatenate(runs)

    def _starts_within(self, first: int, last: int) -> Ints | None:
        if self.starts is None:
            return None
        inside = self.starts[(self.starts > first) & (self.starts < last)] - first
        return np.concatenate(([0], inside, [last - first]))

    def _span(self, first: int, last: int) -> tuple[int, int]:
        return int(self.low + first), int(self.low + last)
