"""Shifts columns whose values are far larger than their differences within queries: offsets, ids, query features.

The risk depends on differences within a query only, and sums of squares of large values would lose small differences.
Such a column is shifted in each query by its value in the query's first row. The difference of two close numbers is not
rounded, so the shifted column has exactly the differences of the data.
"""

import numpy as np
import scipy

from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.devices import AnyArray, HostMatrix, SparseMatrix, is_sparse
from rankwise.foundation.jit import kernel
from rankwise.foundation.threads import share

RATIO = 128.0  # of the largest value to the largest difference within queries; above it squares lose too many digits
HARMLESS = 1e-7  # error that rounding may cause in the curvature of a column; that of the regulariser is 1
GROUP = 64  # columns of a sparse X that are converted to a dense array at a time
BLOCK_ROWS = 1 << 14


def shifted(X: HostMatrix, starts: Ints, n_threads: int = 1) -> HostMatrix:
    """X with such columns shifted, or X itself if there are none; queries begin at the rows `starts`."""
    enough = harmless_size(starts)
    return _shifted_sparse(X, starts, enough) if is_sparse(X) else _shifted_dense(X, starts, enough, n_threads)


def harmless_size(starts: Ints) -> float:
    """The absolute value below which rounding is harmless with that many pairs."""
    sizes = np.diff(starts).astype(np.float64)
    return float(np.sqrt(HARMLESS / (np.finfo(float).eps * max(float(sizes @ sizes), 1.0))))


def offsets(largest: AnyArray, spread: AnyArray, enough: float) -> AnyArray:
    """Which columns to shift, by their largest absolute values and their largest differences within queries."""
    return (largest > RATIO * spread) & (largest > enough)


def _shifted_dense(X: Array, starts: Ints, enough: float, n_threads: int) -> Array:
    if not X.size:
        return X
    firsts = np.unique(np.searchsorted(starts, np.arange(0, X.shape[0], BLOCK_ROWS), side="right") - 1)
    blocks = [starts[i : j + 1] for i, j in zip(firsts, np.append(firsts[1:], starts.size - 1), strict=True)]
    extents = np.array(share(lambda ends: _extents(X, ends), blocks, n_threads))
    largest, spread = extents.max(axis=0)
    columns = np.flatnonzero(offsets(largest, spread, enough))
    if not columns.size:
        return X
    part = X[:, columns].astype(np.float64)
    part -= part[np.repeat(starts[:-1], np.diff(starts))]
    exact = bool((part.astype(X.dtype) == part).all())  # float32 cannot represent every difference
    moved = X.copy() if exact else X.astype(np.float64)
    moved[:, columns] = part
    return moved


def _shifted_sparse(X: SparseMatrix, starts: Ints, enough: float) -> SparseMatrix:
    full = np.zeros(X.shape[1], bool)
    _mark_full(X.data, X.indices, X.indptr, starts, enough, full)
    candidates = np.flatnonzero(full)
    if not candidates.size:
        return X
    by_column, is_shifted = X.tocsc(), False
    for first in range(0, candidates.size, GROUP):
        group = candidates[first : first + GROUP]
        dense = by_column[:, group].toarray()
        moved = _shifted_dense(dense, starts, enough, 1)
        if moved is not dense:
            by_column = by_column.astype(moved.dtype, copy=False)
            by_column[:, group] = scipy.sparse.csc_array(moved)
            is_shifted = True
    if not is_shifted:
        return X
    rows = by_column.tocsr()
    rows.eliminate_zeros()
    rows.sort_indices()
    return rows


def _extents(X: Array, ends: Ints) -> Floats:
    """For each column, the largest absolute value and the largest difference to the first row of the query."""
    out = np.zeros((2, X.shape[1]))
    _add_extents(X, ends, out[0], out[1])
    return out


@kernel
def _add_extents(X: Array, ends: Ints, largest: Floats, spread: Floats) -> None:
    for q in range(ends.size - 1):
        first = ends[q]
        for i in range(first, ends[q + 1]):
            for j in range(X.shape[1]):
                value, origin = float(X[i, j]), float(X[first, j])
                largest[j] = max(largest[j], abs(value))
                spread[j] = max(spread[j], abs(value - origin))


@kernel
def _mark_full(values: Array, columns: Ints, ends: Ints, starts: Ints, enough: float, full: Array) -> None:
    """Mark the columns that store a value in every row of some query, one of them above `enough`.

    In a query with a row that stores none, the differences are as large as the values: no offset.
    """
    counts, largest = np.zeros(full.size, np.int64), np.zeros(full.size)
    for q in range(starts.size - 1):
        first, last = ends[starts[q]], ends[starts[q + 1]]
        for k in range(first, last):
            j = columns[k]
            counts[j] += 1
            largest[j] = max(largest[j], abs(values[k]))
        n_rows = starts[q + 1] - starts[q]
        for k in range(first, last):
            j = columns[k]
            if counts[j] == n_rows and largest[j] > enough:
                full[j] = True
            counts[j], largest[j] = 0, 0.0
