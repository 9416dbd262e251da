"""The columns of X, dense or sparse: summaries of all by one compiled pass, and single ones when they are needed."""

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rankwise.checking import kernels
from rankwise.data.columns import names_of
from rankwise.data.records import RankingData
from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.threads import share, thread_count
from rankwise.pairs.queries import Queries

if TYPE_CHECKING:
    from scipy.sparse import csc_array

BLOCK = 1 << 26  # bytes of dense columns that a thread holds at a time
MOST_THREADS = 4  # each holds a block
PIECE = 1 << 14  # rows that a thread hashes at a time


class Features:
    """The features of some rows.

    names  of the columns, f1, f2, ... if the data have none
    """

    def __init__(self, data: RankingData, queries: Queries, n_jobs: int | None = None) -> None:
        X = data.X if isinstance(data.X, np.ndarray) else data.canonical
        self.X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
        self.names = names_of(data)
        self.queries = queries
        self.n_threads = thread_count(n_jobs)
        self.n_rows, self.n_features = len(data), data.n_features
        self.counts = np.zeros((self.n_features, kernels.N_COUNTS), np.int64)
        self.numbers = np.zeros((self.n_features, kernels.N_NUMBERS))
        self._summarise()

    @cached_property
    def by_column(self) -> "csc_array":
        """A sparse X, column after column, without zeros."""
        assert not isinstance(self.X, np.ndarray)
        matrix = self.X.tocsc()  # a copy
        matrix.eliminate_zeros()
        return matrix

    @cached_property
    def varies(self) -> Array:
        """Whether each column has two different values."""
        return np.asarray(self.numbers[:, kernels.LOW] < self.numbers[:, kernels.HIGH])

    @cached_property
    def support(self) -> Ints:
        """The number of rows whose value is not the lowest, or not the highest if more rows have that."""
        present = self.n_rows - self.counts[:, kernels.MISSING] - self.counts[:, kernels.INFINITE]
        return np.asarray(present - self.counts[:, [kernels.N_LOW, kernels.N_HIGH]].max(axis=1))

    @cached_property
    def ranges(self) -> Floats:
        """The highest value of each column less the lowest, at most the largest number."""
        with np.errstate(over="ignore"):
            ranges = self.numbers[:, kernels.HIGH] - self.numbers[:, kernels.LOW]
        return np.asarray(np.minimum(ranges, np.finfo(np.float64).max))

    def column(self, j: int, rows: Ints | slice = slice(None)) -> Floats:
        """The values of a column in all rows, or in some."""
        if isinstance(self.X, np.ndarray):
            return np.asarray(self.X[rows, j], dtype=np.float64)
        out = np.zeros(self.n_rows)
        out[self._places(j)] = self.entries(j)
        return out[rows]

    def entries(self, j: int) -> Array:
        """The values of a column; of a sparse one, those that are not 0."""
        return self.X[:, j] if isinstance(self.X, np.ndarray) else self.by_column.data[self._stored(j)]

    def are_equal(self, i: int, j: int) -> bool:
        """Whether two columns have equal values in all rows."""
        is_same = np.array_equal(self.entries(i), self.entries(j), equal_nan=True)
        return is_same and (isinstance(self.X, np.ndarray) or np.array_equal(self._places(i), self._places(j)))

    def _stored(self, j: int) -> slice:
        return slice(*self.by_column.indptr[j : j + 2])

    def _places(self, j: int) -> Ints:
        """The rows of the entries of a sparse column."""
        return np.asarray(self.by_column.indices[self._stored(j)])

    def named(self, columns: Array) -> list[str]:
        """The names of columns, given by their numbers or by a mask."""
        return [self.names[j] for j in np.arange(self.n_features)[columns].tolist()]

    def _summarise(self) -> None:
        directions = np.random.default_rng(0).standard_normal((2, self.n_rows))
        directions = np.hstack([directions, directions.sum(axis=1, keepdims=True)])
        codes, sizes = self.queries.codes, self.queries.sizes
        no_rows = np.zeros(0, np.int32)

        def work(columns: range) -> None:
            part = slice(columns.start, columns.stop)
            if isinstance(self.X, np.ndarray):
                values = np.ascontiguousarray(self.X[:, part].T).ravel()
                starts, rows = np.arange(len(columns) + 1) * self.n_rows, no_rows
            else:
                ends = self.by_column.indptr[columns.start : columns.stop + 1].astype(np.int64)
                entries = slice(ends[0], ends[-1])
                values, rows, starts = self.by_column.data[entries], self.by_column.indices[entries], ends - ends[0]
            kernels.summarise(values, starts, rows, codes, sizes, directions, self.counts[part], self.numbers[part])

        stored = self.X.size // max(self.n_features, 1) + 1  # per column
        width = max(1, BLOCK // (stored * self.X.dtype.itemsize))
        blocks = [range(j, min(j + width, self.n_features)) for j in range(0, self.n_features, width)]
        share(work, blocks, min(self.n_threads, MOST_THREADS))

    def row_hashes(self, places: Ints | None = None) -> Array:
        """A hash per row, equal for rows with equal features.

        places  the number of each column, the same for the same feature in other data; -1: it is left out
        """
        places = np.arange(self.n_features) if places is None else places
        salts = np.where(places < 0, 0, (places.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))
        salts = salts.astype(np.uint64)
        out = np.empty(self.n_rows, np.uint64)
        no_columns = np.zeros(0, np.int32)

        def work(first: int) -> None:
            rows = slice(first, min(first + PIECE, self.n_rows))
            if isinstance(self.X, np.ndarray):
                values, columns = np.ascontiguousarray(self.X[rows]).ravel(), no_columns
                starts = np.arange(rows.stop - rows.start + 1) * self.n_features
            else:
                starts = self.X.indptr[rows.start : rows.stop + 1].astype(np.int64)
                values, columns = self.X.data, self.X.indices
            kernels.hash_rows(values, starts, columns, salts, out[rows])

        share(work, range(0, self.n_rows, PIECE), self.n_threads)
        return out
