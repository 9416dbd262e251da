"""Rows of X on disk, which are read chunk by chunk in every pass.

The rows of a chunk are read once for scores, pair sums and the product with Xᵀ, and then released; the expansion at a
point keeps a few numbers per document. The source of the rows is any object with the protocol `Source` (see
`rankwise.data.chunks`).
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
        """Rows low, ..., high - 1, in arrays that the next load by the same thread may overwrite."""
        ...


Features: TypeAlias = Matrix | Source  # wherever it is stored


def is_stored(X: object) -> bool:
    """Whether X is rows on disk, as returned by `rankwise.open_chunks`."""
    return not isinstance(X, np.ndarray) and isinstance(X, Source)  # comparing with a protocol takes a while


class StoredRows(MemoryRows):
    """Rows low, ..., high - 1 of a source.

    starts  the first rows of queries, for `centred` when rows are loaded
    """

    def __init__(self, source: Source, low: int, high: int, n_threads: int, starts: Ints | None = None) -> None:
        self.source, self.low, self.high, self.starts = source, low, high, starts
        total, n_features = source.shape
        n_rows = high - low
        self._settle((n_rows, n_features), source.nbytes * n_rows // max(total, 1), n_threads)

    @property
    def X(self) -> HostMatrix:
        return self.source.load(self.low, self.high)

    def centred(self, starts: Ints) -> MemoryRows:
        return StoredRows(self.source, self.low, self.high, self.n_threads, starts)

    def loaded(self) -> MemoryRows:
        rows = MemoryRows(self.X, self.n_threads)
        return rows if self.starts is None else rows.centred(self.starts)

    def select(self, rows: Selection, n_threads: int) -> MemoryRows:
        """Some of the rows: a slice stays on disk, single rows are read into memory."""
        if not isinstance(rows, slice):
            return MemoryRows(self._read(rows), n_threads)
        first, last, _ = rows.indices(self.n_rows)
        return StoredRows(self.source, *self._span(first, last), n_threads, self._starts_within(first, last))

    def scores(self, w: Floats) -> Floats:
        parts = [slice(i, i + self.block_rows) for i in range(0, self.n_rows, self.block_rows)]
        return np.concatenate([self.select(rows, 1).loaded().scores(w) for rows in parts])

    def _read(self, rows: Ints) -> HostMatrix:
        """Rows by their numbers; consecutive rows are read together."""
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
