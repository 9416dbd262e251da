"""CSR X of torch or CuPy and its two products, computed on its device.

Xᵀ is stored as a CSR matrix too, so that both products sum row by row, in a fixed order. Values are float64.
"""

from dataclasses import dataclass
from functools import cached_property

from rankwise.foundation.arrays import Ints
from rankwise.foundation.devices import (
    DeviceArray,
    Selection,
    SparseMatrix,
    device_of,
    is_sparse,
    library_of,
    namespace,
    on_device_of,
    to_host,
    torch_csr,
)
from rankwise.objective.device_rows import DenseRows, DeviceRows


@dataclass(frozen=True)
class Csr:
    """A CSR matrix as three arrays; row i owns values[ends[i]:ends[i + 1]]."""

    values: DeviceArray
    columns: DeviceArray
    ends: DeviceArray
    shape: tuple[int, int]

    @cached_property
    def matrix(self) -> SparseMatrix | DeviceArray:
        """The library's own sparse matrix, for products."""
        if library_of(self.values) == "torch":
            return torch_csr(self.ends, self.columns, self.values, self.shape)
        if library_of(self.values) == "cupy":
            from cupyx.scipy.sparse import csr_matrix
        else:
            from scipy.sparse import csr_array as csr_matrix
        return csr_matrix((self.values, self.columns, self.ends), shape=self.shape)

    @cached_property
    def rows(self) -> DeviceArray:
        """The row of each value."""
        xp = namespace(self.values)
        numbers = xp.arange(self.shape[0], dtype=self.columns.dtype, device=device_of(self.values))
        return xp.repeat(numbers, self.ends[1:] - self.ends[:-1])

    def transposed(self) -> "Csr":
        xp = namespace(self.values)
        order = xp.argsort(self.columns, stable=True)
        columns = xp.take(self.columns, order)
        bounds = xp.arange(self.shape[1] + 1, dtype=columns.dtype, device=device_of(columns))
        ends = xp.astype(xp.searchsorted(columns, bounds), self.ends.dtype)
        return Csr(xp.take(self.values, order), xp.take(self.rows, order), ends, self.shape[::-1])

    def some_rows(self, chosen: Selection) -> "Csr":
        """The rows of a slice, or those whose numbers are in an array."""
        if isinstance(chosen, slice):
            first, last, _ = chosen.indices(self.shape[0])
            low, high = int(self.ends[first]), int(self.ends[last])
            ends = self.ends[first : last + 1] - low
            return Csr(self.values[low:high], self.columns[low:high], ends, (last - first, self.shape[1]))
        xp = namespace(self.values)
        chosen = on_device_of(self.values, chosen)
        begin = xp.take(self.ends, chosen)
        ends = xp.cumulative_sum(xp.take(self.ends, chosen + 1) - begin, include_initial=True)
        stored = xp.arange(int(ends[-1]), dtype=ends.dtype, device=device_of(ends))
        stored = stored + xp.repeat(begin - ends[:-1], ends[1:] - ends[:-1])
        return Csr(xp.take(self.values, stored), xp.take(self.columns, stored), ends, (chosen.shape[0], self.shape[1]))


class SparseRows(DeviceRows):
    def __init__(self, csr: Csr) -> None:
        self.csr = csr
        self.X = csr.values
        super().__init__(*csr.shape, 24 * csr.values.shape[0])

    @cached_property
    def transposed(self) -> Csr:
        return self.csr.transposed()

    def select(self, rows: Selection, n_threads: int = 1) -> "SparseRows":
        return SparseRows(self.csr.some_rows(rows))

    def centred(self, starts: Ints) -> "SparseRows":
        from scipy.sparse import csr_array

        from rankwise.objective.centring import harmless_size, shifted

        stored = self.csr.values
        if not stored.shape[0] or not float(abs(stored).max()) > harmless_size(starts):
            return self
        parts = tuple(to_host(one) for one in (stored, self.csr.columns, self.csr.ends))
        rows = csr_array(parts, shape=self.csr.shape)
        moved: SparseMatrix = shifted(rows, starts)
        if moved is rows:
            return self
        values, columns, ends = (on_device_of(stored, one) for one in (moved.data, moved.indices, moved.indptr))
        xp = self.xp
        columns, ends = (xp.astype(one, xp.int64) for one in (columns, ends))
        return SparseRows(Csr(values, columns, ends, self.csr.shape))

    def dot(self, v: DeviceArray) -> DeviceArray:
        """X v, for a vector or a matrix of columns."""
        return self.csr.matrix @ v

    def transposed_dot(self, g: DeviceArray) -> DeviceArray:
        """Xᵀ g, for a vector or a matrix of columns."""
        return self.transposed.matrix @ g

    def squared_transposed_dot(self, g: DeviceArray) -> DeviceArray:
        """(X ∘ X)ᵀ g."""
        t = self.transposed
        return Csr(t.values**2, t.columns, t.ends, t.shape).matrix @ g

    def absolute_dot(self, v: DeviceArray) -> DeviceArray:
        """|X| v, where |X| has the absolute values of X."""
        return _absolute(self.csr).matrix @ v

    def absolute_transposed_dot(self, g: DeviceArray) -> DeviceArray:
        """|X|ᵀ g."""
        return _absolute(self.transposed).matrix @ g

    def columns(self, first: int, last: int) -> DeviceArray:
        """Columns first, ..., last - 1 as a dense array."""
        xp, part = self.xp, self.transposed.some_rows(slice(first, last))
        dense = xp.zeros((last - first) * self.n_rows, dtype=xp.float64, device=device_of(self.X))
        dense[part.columns * (last - first) + part.rows] = part.values
        return xp.reshape(dense, (self.n_rows, last - first))


def _absolute(csr: Csr) -> Csr:
    return Csr(abs(csr.values), csr.columns, csr.ends, csr.shape)


def rows_on_device(X: DeviceArray) -> DenseRows | SparseRows:
    """X, dense or sparse, and its products on its device."""
    return SparseRows(csr_of(X)) if is_sparse(X) else DenseRows(X)


def csr_of(X: SparseMatrix | DeviceArray) -> Csr:
    """X, a sparse matrix of torch, CuPy or SciPy, in float64."""
    if library_of(X) == "torch":
        X = X.to_sparse_csr()
        parts = X.values(), X.col_indices(), X.crow_indices()
    else:
        X = X.tocsr()
        X.sum_duplicates()
        parts = X.data, X.indices, X.indptr
    xp = namespace(parts[0])
    values, columns, ends = parts
    columns, ends = (xp.astype(one, xp.int64, copy=False) for one in (columns, ends))
    return Csr(xp.astype(values, xp.float64, copy=False), columns, ends, (int(X.shape[0]), int(X.shape[1])))
