"""Dense X of torch or CuPy and its two products, computed on its device; the counterpart of `rows.MemoryRows`.

float32 values are stored as float32 and summed in float64: by a kernel with torch on a GPU, otherwise block by block.
"""

from functools import cached_property
from typing import Self

import numpy as np

from rankwise.foundation.arrays import Array, Ints
from rankwise.foundation.devices import (
    ArrayFunctions,
    DeviceArray,
    Selection,
    device_of,
    memory_left,
    namespace,
    on_cuda,
    on_device_of,
)

PART_BYTES = 1 << 33  # bytes of X per chunk
BLOCK_BYTES = 1 << 26  # bytes of X that are converted to float64 at a time
COPIES = 10  # copies of a group of columns that exist while their sums over pairs are computed
MEMORY_SHARE = 0.5  # share of the free memory for these copies


class DeviceRows:
    """What dense and sparse rows have in common; `X` is one of their arrays, which tells the library and the device."""

    n_threads = 1
    X: DeviceArray

    def __init__(self, n_rows: int, n_features: int, nbytes: int) -> None:
        self.n_rows, self.n_features, self.nbytes = n_rows, n_features, nbytes
        self.block_rows = max(1, PART_BYTES * n_rows // max(nbytes, 1))

    @property
    def xp(self) -> ArrayFunctions:
        return namespace(self.X)

    @property
    def zero(self) -> DeviceArray:
        """A vector of weights, all 0."""
        return self.xp.zeros(self.n_features, dtype=self.xp.float64, device=device_of(self.X))

    @property
    def arrays(self) -> tuple[Array, ...]:
        raise TypeError("compiled kernels take arrays of NumPy only")

    @cached_property
    def width(self) -> int:
        """How many columns sums over pairs take at a time, so that they fit into memory."""
        return max(8, int(MEMORY_SHARE * memory_left(self.X)) // (8 * COPIES * max(self.n_rows, 1)))

    def loaded(self) -> Self:
        return self

    def select(self, rows: Selection, n_threads: int = 1) -> Self:
        """Some of the rows; a slice is not copied."""
        raise NotImplementedError

    def centred(self, starts: Ints) -> Self:
        """Rows with the same differences within queries, without large common offsets; queries begin at `starts`."""
        return self

    def dot(self, v: DeviceArray) -> DeviceArray:
        """X v, for a vector or a matrix of columns."""
        raise NotImplementedError

    def scores(self, w: DeviceArray) -> DeviceArray:
        """X w."""
        return self.dot(w)


class DenseRows(DeviceRows):
    """X, an (n, d) array of float32 or float64."""

    def __init__(self, X: DeviceArray) -> None:
        self.X = X
        self._wide = X.dtype == namespace(X).float64
        n, d = map(int, X.shape)
        super().__init__(n, d, n * d * (8 if self._wide else 4))

    def select(self, rows: Selection, n_threads: int = 1) -> "DenseRows":
        return DenseRows(self.X[rows] if isinstance(rows, slice) else self.xp.take(self.X, on_device_of(self.X, rows)))

    def centred(self, starts: Ints) -> "DenseRows":
        from rankwise.objective.centring import harmless_size, offsets

        xp, X = self.xp, self.X
        first = on_device_of(X, np.repeat(starts[:-1], np.diff(starts)))
        extents = [self._extents(rows, first) for rows in self.blocks()]
        largest, spread = (xp.amax(xp.stack(each), 0) for each in zip(*extents, strict=True))
        columns = xp.nonzero(offsets(largest, spread, harmless_size(starts)))[0]
        if not columns.shape[0]:
            return self
        part = xp.astype(X[:, columns], xp.float64)
        part = part - xp.take(part, first)
        exact = bool((xp.astype(part, X.dtype) == part).all())  # float32 cannot represent every difference
        moved = xp.astype(X, X.dtype if exact else xp.float64, copy=True)
        moved[:, columns] = xp.astype(part, moved.dtype)
        return DenseRows(moved)

    def _extents(self, rows: slice, first: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
        """For each column, the largest absolute value and the largest difference to the first row of the query."""
        xp, block = self.xp, self._block(rows)
        origin = xp.astype(xp.take(self.X, first[rows]), xp.float64)
        return xp.amax(abs(block), 0), xp.amax(abs(block - origin), 0)

    def dot(self, v: DeviceArray) -> DeviceArray:
        """X v, for a vector or a matrix of columns."""
        if self._wide:
            return self.X @ v
        if self._fused(v):
            from rankwise.pairs.device_kernels import dot

            return dot(self.X, v)
        return self.xp.concat([self._block(rows) @ v for rows in self.blocks()])

    def transposed_dot(self, g: DeviceArray) -> DeviceArray:
        """Xᵀ g, for a vector or a matrix of columns."""
        if self._fused(g):
            from rankwise.pairs.device_kernels import transposed_dot

            return transposed_dot(self.X, g)
        return sum(self._block(rows).T @ g[rows] for rows in self.blocks())

    def squared_transposed_dot(self, g: DeviceArray) -> DeviceArray:
        """(X ∘ X)ᵀ g."""
        return sum((self._block(rows) ** 2).T @ g[rows] for rows in self.blocks())

    def absolute_dot(self, v: DeviceArray) -> DeviceArray:
        """|X| v, where |X| has the absolute values of X."""
        return self.xp.concat([abs(self._block(rows)) @ v for rows in self.blocks()])

    def absolute_transposed_dot(self, g: DeviceArray) -> DeviceArray:
        """|X|ᵀ g."""
        return sum(abs(self._block(rows)).T @ g[rows] for rows in self.blocks())

    def columns(self, first: int, last: int) -> DeviceArray:
        """Columns first, ..., last - 1 in float64."""
        return self.xp.astype(self.X[:, first:last], self.xp.float64)

    def _fused(self, v: DeviceArray) -> bool:
        return v.ndim == 1 and not self._wide and on_cuda(self.X)

    def _block(self, rows: slice) -> DeviceArray:
        return self.X[rows] if self._wide else self.xp.astype(self.X[rows], self.xp.float64)

    def blocks(self) -> list[slice]:
        step = self.n_rows if self._wide else max(1, BLOCK_BYTES * self.n_rows // max(self.nbytes, 1))
        return [slice(first, min(first + step, self.n_rows)) for first in range(0, self.n_rows, max(step, 1))]
