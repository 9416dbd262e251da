"""RankingData: the rows of a ranking problem, as files and generators hand them over."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.foundation.arrays import Array, Floats, exact
from rankwise.pairs.queries import Queries, one_column


@dataclass(frozen=True, eq=False, repr=False)
class RankingData:
    """One row per document.

    X         features: a C-ordered array, or a SciPy CSR matrix or array
    y         labels, float64
    qid       query ids: int64 where every id is an integer that fits, else strings
    comments  None, or one string per row
    first_index  the number that the first column of X has in a file: 1, or 0
    names     None, or the names of the columns of X
    """

    X: Any
    y: Floats
    qid: Array
    comments: Sequence[str] | Array | None = None
    first_index: int = 1
    names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "y", np.asarray(exact(self.y, "y"), dtype=np.float64))
        if len(self.X.shape) != 2:
            raise ValueError(f"X must have rows and columns, got the shape {self.X.shape}")
        kind = getattr(getattr(self.qid, "dtype", None), "kind", "")  # of a list none, which NumPy could round
        is_unsure = kind in ("", "f", "c", "m", "M") and np.shape(self.qid) == (len(self),)
        object.__setattr__(self, "qid", one_column(self.qid, len(self)) if is_unsure else np.asarray(self.qid))
        for name, column in (("y", self.y), ("qid", self.qid), ("comments", self.comments)):
            if column is not None and np.shape(column) != (len(self),):
                found = np.shape(column)
                raise ValueError(f"{name} must hold one entry for each of the {len(self)} rows of X, got {found}")
        if self.names is not None and len(self.names) != self.n_features:
            raise ValueError(f"names must name each of the {self.n_features} columns of X, got {len(self.names)} names")

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def n_queries(self) -> int:
        return len(Queries(self.qid, len(self)))

    def select(self, rows: Any) -> "RankingData":
        """The rows of the given numbers, or where a mask is true, in that order."""
        chosen = rows if isinstance(rows, slice) else np.asarray(rows)
        comments = None if self.comments is None else np.asarray(self.comments, dtype=object)[chosen]
        return RankingData(self.X[chosen], self.y[chosen], self.qid[chosen], comments, self.first_index, self.names)

    @property
    def canonical(self) -> Any:
        """A sparse X with its columns in order and none twice."""
        X = self.X if self.X.has_canonical_format else self.X.copy()
        X.sum_duplicates()
        return X

    def __repr__(self) -> str:
        shape = f"{len(self)} rows, {self.n_features} features, {self.n_queries} queries"
        kind = "dense" if isinstance(self.X, np.ndarray) else "sparse"
        return f"RankingData({shape}, {kind} {self.X.dtype})"
