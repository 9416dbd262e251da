"""Rows of features, dense or CSR, float32 or float64, and the two products a linear model needs: X v and Xᵀ g.

float32 values are stored as float32 and summed in float64. A large matrix is processed in blocks of rows that do not
depend on the number of threads.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np
import scipy

from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.devices import AnyFloats, HostMatrix, Selection, is_sparse
from rankwise.foundation.threads import share

Block = TypeVar("Block")

BLOCK_BYTES = 1 << 22  # of the largest block of rows, which should fit into the cache
LEAST_BLOCK = 1 << 19  # of the smallest, so that the overhead per call is small; between these, an eighth of X
WIDE = 32  # bytes of rows per feature, up to which a block grows: each has its own gradient
LANES = 4, 64  # least and greatest number of partial sums


class Rows(Protocol):
    """X, wherever it is stored: two products, and bounds on their rounding errors."""

    @property
    def n_rows(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def n_threads(self) -> int: ...
    @property
    def block_rows(self) -> int:
        """How many rows a chunk should have."""
        ...

    @property
    def width(self) -> int:
        """How many columns sums over pairs should take at a time."""
        ...

    @property
    def arrays(self) -> tuple[Array, ...]:
        """X for compiled kernels: the array, or the values, columns and ends of rows of a CSR matrix."""
        ...

    @property
    def zero(self) -> AnyFloats:
        """A vector of weights, all 0."""
        ...

    def loaded(self) -> "Rows":
        """The same rows, read into memory."""
        ...

    def select(self, rows: Selection, n_threads: int) -> "Rows":
        """Some of the rows; a slice is not copied."""
        ...

    def centred(self, starts: Ints) -> "Rows":
        """Rows with the same differences within queries, without large common offsets; queries begin at `starts`."""
        ...

    def dot(self, v: AnyFloats) -> AnyFloats:
        """X v, for a vector or a matrix of columns."""
        ...

    def transposed_dot(self, g: AnyFloats) -> AnyFloats:
        """Xᵀ g, for a vector or a matrix of columns."""
        ...

    def squared_transposed_dot(self, g: AnyFloats) -> AnyFloats:
        """(X ∘ X)ᵀ g."""
        ...

    def absolute_dot(self, v: AnyFloats) -> AnyFloats:
        """|X| v, where |X| has the absolute values of X."""
        ...

    def absolute_transposed_dot(self, g: AnyFloats) -> AnyFloats:
        """|X|ᵀ g."""
        ...

    def columns(self, first: int, last: int) -> AnyFloats:
        """Columns first, ..., last - 1 as a dense float64 array."""
        ...

    def scores(self, w: AnyFloats) -> AnyFloats:
        """X w, computed row by row, so that equal rows get equal scores."""
        ...


class MemoryRows:
    """X, an (n, d) C-ordered ndarray or CSR matrix of float32 or float64."""

    def __init__(self, X: HostMatrix, n_threads: int = 1) -> None:
        self._X = X
        nbytes = X.data.nbytes + X.indices.nbytes if is_sparse(X) else X.nbytes
        self._settle(X.shape, int(nbytes), n_threads)

    def _settle(self, shape: tuple[int, int], nbytes: int, n_threads: int) -> None:
        self.n_rows, self.n_features = map(int, shape)
        self.nbytes = nbytes
        self.n_threads = n_threads
        block = min(max(BLOCK_BYTES, WIDE * self.n_features), max(LEAST_BLOCK, self.nbytes // 8))
        self.block_rows = max(1, block * self.n_rows // max(self.nbytes, 1))
        self.width = max(8, BLOCK_BYTES // (2 * max(self.n_rows, 1)))

    @property
    def X(self) -> HostMatrix:
        return self._X

    @property
    def arrays(self) -> tuple[Array, ...]:
        return (self.X.data, self.X.indices, self.X.indptr) if is_sparse(self.X) else (self.X,)

    @property
    def factor(self) -> tuple[Array, ...]:
        """A matrix F, as in `arrays`, such that X = F Z: X v = F inner(v), and Xᵀ g = outer(Fᵀ g). Here Z = 1."""
        return self.arrays

    def inner(self, v: Floats) -> Floats:
        """Z v."""
        return v

    def outer(self, g: Floats) -> Floats:
        """Zᵀ g."""
        return g

    @property
    def zero(self) -> Floats:
        return np.zeros(self.n_features)

    def loaded(self) -> "MemoryRows":
        return self

    def select(self, rows: Selection, n_threads: int) -> "MemoryRows":
        return MemoryRows(_slice(self.X, rows) if isinstance(rows, slice) else self.X[rows], n_threads)

    def centred(self, starts: Ints) -> "MemoryRows":
        from rankwise.objective.centring import shifted

        moved = shifted(self.X, starts, self.n_threads)
        return self if moved is self.X else MemoryRows(moved, self.n_threads)

    def dot(self, v: Array) -> Floats:
        from rankwise.objective import row_kernels

        v = np.ascontiguousarray(v, np.float64)
        out = np.empty((self.n_rows, *v.shape[1:]))

        def multiply(rows: slice) -> None:
            if v.ndim == 2:
                out[rows] = self.X[rows] @ v
            else:
                row_kernels.dot(self.arrays, rows.start, rows.stop, v, out)

        share(multiply, self.blocks(), self.n_threads)
        return out

    def transposed_dot(self, g: Array) -> Floats:
        from rankwise.objective import row_kernels

        def add_up(blocks: list[slice]) -> Floats:
            total = np.zeros((self.n_features, *g.shape[1:]))
            for rows in blocks:
                if g.ndim == 2:
                    X = self.X[rows]
                    total += (X if is_sparse(X) else _dense(X)).T @ g[rows]
                else:
                    row_kernels.add_transposed(self.arrays, rows.start, rows.stop, g, total)
            return total

        return in_order(share(add_up, lanes(self.blocks(), self.nbytes, g[:1].size * self.n_features), self.n_threads))

    def scores(self, w: Floats) -> Floats:
        """X w, computed row by row, so that equal rows get equal scores; BLAS does not guarantee this."""
        scores: Floats = self.X @ w if is_sparse(self.X) else np.einsum("ij,j->i", self.X, w)
        return scores

    def squared_transposed_dot(self, g: Floats) -> Floats:
        from rankwise.objective.row_kernels import add_squared

        return self._added_up(add_squared, g)

    def absolute_dot(self, v: Floats) -> Floats:
        from rankwise.objective.row_kernels import absolute_dot

        out = np.empty(self.n_rows)
        share(lambda rows: absolute_dot(self.arrays, rows.start, rows.stop, v, out), self.blocks(), self.n_threads)
        return out

    def absolute_transposed_dot(self, g: Floats) -> Floats:
        from rankwise.objective.row_kernels import add_absolute

        return self._added_up(add_absolute, g)

    def _added_up(self, add: Callable[[tuple[Array, ...], int, int, Floats, Floats], None], g: Floats) -> Floats:
        """The sum over all rows of what the kernel `add` adds per row."""

        def add_up(blocks: list[slice]) -> Floats:
            total = np.zeros(self.n_features)
            for rows in blocks:
                add(self.arrays, rows.start, rows.stop, g, total)
            return total

        return in_order(share(add_up, lanes(self.blocks(), self.nbytes, self.n_features), self.n_threads))

    def columns(self, first: int, last: int) -> Floats:
        """Columns first, ..., last - 1 as a float64 array."""
        return _dense(self.X[:, first:last])

    def blocks(self) -> list[slice]:
        """The rows, divided into blocks that do not depend on the number of threads."""
        step = self.block_rows
        return [slice(first, min(first + step, self.n_rows)) for first in range(0, self.n_rows, step)]


def lanes(blocks: list[Block], nbytes: int, size: int) -> list[list[Block]]:
    """The blocks divided into runs, each with a partial sum of `size` numbers; these take little memory beside X."""
    fewest, most = LANES
    most = min(max(nbytes // (32 * max(size, 1)), fewest), most)
    step = max(1, -(-len(blocks) // most))
    return [blocks[i : i + step] for i in range(0, len(blocks), step)]


def in_order(parts: list[Floats]) -> Floats:
    """The sum of the parts, added from first to last."""
    if len(parts) == 1:
        return parts[0]
    total = parts[0] + parts[1]
    for part in parts[2:]:
        total += part
    return total


def _slice(X: HostMatrix, rows: slice) -> HostMatrix:
    """X[rows], a view for CSR too."""
    if not is_sparse(X):
        return X[rows]
    first, last, _ = rows.indices(X.shape[0])
    start, end = X.indptr[first], X.indptr[last]
    stored = (X.data[start:end], X.indices[start:end], X.indptr[first : last + 1] - start)
    return scipy.sparse.csr_array(stored, shape=(last - first, X.shape[1]), copy=False)


def _dense(X: HostMatrix) -> Floats:
    return np.ascontiguousarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
