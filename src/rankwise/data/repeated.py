"""Rows that occur several times, stored once: `RepeatedRows`, and `SharedData`, ranking data with such rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankwise.data.records import RankingData, check_finite
from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.devices import HostMatrix, is_sparse
from rankwise.foundation.texts import counted
from rankwise.pairs.queries import Queries


@dataclass(frozen=True, eq=False, repr=False)
class RepeatedRows:
    """A matrix whose row i is row rows[i] of X; `size` and `nbytes` are those of a copy.

    To rankers it is a source of rows like one on disk; `objective.shared` computes with each row of X once.
    """

    X: HostMatrix
    rows: Ints

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.rows.size), int(self.X.shape[1])

    @property
    def size(self) -> int:
        return int(np.diff(self.X.indptr)[self.rows].sum()) if is_sparse(self.X) else self.shape[0] * self.shape[1]

    @property
    def nbytes(self) -> int:
        return self.size * int(self.X.dtype.itemsize + (self.X.indices.itemsize if is_sparse(self.X) else 0))

    def load(self, low: int, high: int) -> HostMatrix:
        """A copy of the rows low, ..., high - 1."""
        return self.X[self.rows[low:high]]

    def __getitem__(self, rows: Array | slice) -> "RepeatedRows":
        return RepeatedRows(self.X, self.rows[rows])

    def compact(self) -> "RepeatedRows":
        """The same rows, without those of X that do not occur."""
        used, rows = np.unique(self.rows, return_inverse=True)
        return RepeatedRows(self.X[used], rows)


@dataclass(frozen=True, eq=False, repr=False)
class SharedData(RepeatedRows):
    """Ranking data in which documents share rows of X: columns as of `RankingData`, and `rows` as of `RepeatedRows`.

    RankSVM, RankSVMCV, RankRLS and `cross_validate` take it like data on disk; `read` copies it for everything else.
    """

    y: Floats
    qid: Array
    first_index: int = 1
    names: Sequence[str] | None = None
    docid: Array | None = None
    weight: Floats | None = None
    groups: Array | None = None

    def __post_init__(self) -> None:
        n = self.rows.size
        if self.rows.dtype.kind not in "iu" or (n and not 0 <= self.rows.min() <= self.rows.max() < self.X.shape[0]):
            raise ValueError(f"rows must hold numbers of the {self.X.shape[0]} rows of X, from 0 on")
        for name in ("y", "qid", "docid", "weight", "groups"):
            column = getattr(self, name)
            if column is not None and np.shape(column) != (n,):
                raise ValueError(
                    f"{name} must have one entry for each of the {n} rows; got the shape {np.shape(column)}"
                )
        check_finite(self)

    def __len__(self) -> int:
        return int(self.rows.size)

    @property
    def n_features(self) -> int:
        return self.shape[1]

    @property
    def n_queries(self) -> int:
        return len(Queries(self.qid, len(self)))

    def read(self) -> RankingData:
        """The data with a row of X for each document."""
        besides = self.docid, self.weight, self.groups
        return RankingData(self.X[self.rows], self.y, self.qid, None, self.first_index, self.names, *besides)

    def __repr__(self) -> str:
        sizes = ((len(self), "rows"), (self.n_features, "features"), (self.n_queries, "queries"))
        kind = "sparse" if is_sparse(self.X) else "dense"
        different = counted(self.X.shape[0], "different rows")
        return f"SharedData({', '.join(counted(n, what) for n, what in sizes)}, {kind} {self.X.dtype}, {different})"
