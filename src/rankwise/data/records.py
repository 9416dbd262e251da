"""RankingData: the rows of a ranking problem, as readers and generators return them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from rankwise.foundation.arrays import Array, Floats, exact
from rankwise.foundation.devices import HostMatrix, is_sparse
from rankwise.foundation.names import feature_names
from rankwise.foundation.texts import counted, visible
from rankwise.pairs.queries import Queries, one_column, one_type

if TYPE_CHECKING:
    from pandas import DataFrame
    from scipy.sparse import csr_array

    from rankwise.data.repeated import SharedData

LABEL, QUERY, DOCUMENT, WEIGHT, COMMENT = BESIDES = "label", "qid", "docid", "sample_weight", "comment"
"""Columns of a table besides the features, by the names that are taken if no others are given."""
INDICES, VALUES = "indices", "values"  # columns of a table of sparse rows: two lists per row
ATTRIBUTES = "rankwise"  # where tables of sparse rows store what `common_to_rows` tells
_ROWS_SHOWN, _COLUMNS_SHOWN = 5, 8  # in a notebook


@dataclass(frozen=True, eq=False, repr=False)
class RankingData:
    """One row per document.

    X         features: a C-ordered array, or a SciPy CSR matrix or array
    y         labels, float64
    qid       query ids: int64 if every id is an integer that fits, else strings
    comments  None, or one string per row
    first_index  the number of the first column of X in a file: 1, or 0
    names     None, or the names of the columns of X
    docid     None, or ids of the documents, of the same types as qid
    weight    None, or the weights of the documents in a fit, float64: a pair weighs the product of its two
    groups    None, or ids, of the same types, of what a query is part of: folds never divide the queries of a group

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankingData
    >>> X = np.array([[7.5, 4], [3.2, 1], [1.0, 2]])
    >>> data = RankingData(X, np.array([2, 0, 1]), np.array(["tea", "tea", "mug"]), names=["bm25", "clicks"])
    >>> data
    RankingData(3 rows, 2 features, 2 queries, dense float64)
    >>> data.select(data.qid == "tea").y
    array([2., 0.])
    """

    X: HostMatrix
    y: Floats
    qid: Array
    comments: Sequence[str] | Array | None = None
    first_index: int = 1
    names: Sequence[str] | None = None
    docid: Array | None = None
    weight: Floats | None = None
    groups: Array | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "y", np.asarray(exact(self.y, "y"), dtype=np.float64))
        if len(self.X.shape) != 2:
            raise ValueError(f"X must have rows and columns, got the shape {self.X.shape}")
        object.__setattr__(self, "qid", _ids(self.qid, len(self), "qid"))
        for name in ("docid", "groups"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _ids(getattr(self, name), len(self), name))
        if self.weight is not None:
            object.__setattr__(self, "weight", np.asarray(self.weight, dtype=np.float64))
        for name in ("y", "qid", "comments", "docid", "weight", "groups"):
            column = getattr(self, name)
            if column is not None and np.shape(column) != (len(self),):
                shape = np.shape(column)
                raise ValueError(f"{name} must hold one entry for each of the {len(self)} rows of X, got {shape}")
        if self.weight is not None and not (np.isfinite(self.weight) & (self.weight >= 0)).all():
            row = int(np.flatnonzero(~(np.isfinite(self.weight) & (self.weight >= 0)))[0])
            raise ValueError(f"weight[{row}] is {self.weight[row]}: a weight must be a finite number, 0 or more")
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

    def select(self, rows: ArrayLike | slice) -> "RankingData":
        """The rows with the given numbers, in that order; or those where a mask is true."""
        chosen = rows if isinstance(rows, slice) else np.asarray(rows)
        docid, weight, groups = (None if one is None else one[chosen] for one in (self.docid, self.weight, self.groups))
        comments = None if self.comments is None else np.asarray(self.comments, dtype=object)[chosen]
        return replace(
            self,
            X=self.X[chosen],
            y=self.y[chosen],
            qid=self.qid[chosen],
            comments=comments,
            docid=docid,
            weight=weight,
            groups=groups,
        )

    @property
    def canonical(self) -> "csr_array":
        """A sparse X with sorted columns and without duplicates."""
        X: csr_array = self.X
        X = X if X.has_canonical_format else X.copy()
        X.sum_duplicates()
        return X

    def to_frame(self) -> "DataFrame":
        """A pandas DataFrame: label, qid, docid and sample_weight if there are any, the features, and comment likewise.

        The features of a sparse X become two columns of arrays: indices, counted from 0, and values.
        """
        try:
            from pandas import DataFrame
        except ImportError:
            raise ImportError("a DataFrame needs pandas: pip install pandas") from None
        check_finite(self)
        check_no_groups(self)
        columns: dict[str, ArrayLike] = {LABEL: self.y, QUERY: table_ids(self.qid)}
        if self.docid is not None:
            columns[DOCUMENT] = table_ids(self.docid)
        if self.weight is not None:
            columns[WEIGHT] = self.weight
        if isinstance(self.X, np.ndarray):
            columns |= dict(zip(column_names(self), self.X.T, strict=True))
        else:
            X = self.canonical
            for name, stored in ((INDICES, X.indices.astype(np.int32)), (VALUES, X.data)):
                columns[name] = np.split(stored, X.indptr[1:-1])
        if self.comments is not None:
            columns[COMMENT] = list(self.comments)
        frame = DataFrame(columns)
        if not isinstance(self.X, np.ndarray):
            frame.attrs[ATTRIBUTES] = common_to_rows(self)
        return frame

    def __repr__(self) -> str:
        return f"RankingData({self._summary()})"

    def _summary(self) -> str:
        shape = ((len(self), "rows"), (self.n_features, "features"), (self.n_queries, "queries"))
        kind = "dense" if isinstance(self.X, np.ndarray) else "sparse"
        return f"{', '.join(counted(n, what) for n, what in shape)}, {kind} {self.X.dtype}"

    def _repr_html_(self) -> str:
        """The first rows and columns as a table, for notebooks."""
        names = feature_names(self.n_features, self.first_index) if self.names is None else self.names
        header = [LABEL, QUERY, *map(str, names[:_COLUMNS_SHOWN])]
        X = self.X[:_ROWS_SHOWN][:, :_COLUMNS_SHOWN]
        block = X if isinstance(X, np.ndarray) else X.toarray()
        rows = [
            [f"{label:g}", str(query), *(f"{value:.6g}" for value in values)]
            for label, query, values in zip(self.y.tolist(), self.qid.tolist(), block, strict=False)
        ]
        if self.n_features > _COLUMNS_SHOWN:
            header, rows = [*header, "…"], [[*row, "…"] for row in rows]
        lines = ["".join(f"<td>{escape(visible(cell))}</td>" for cell in row) for row in rows]
        if len(self) > _ROWS_SHOWN:
            lines.append(f"<td>…</td>{'<td></td>' * (len(header) - 1)}")
        head = "".join(f"<th>{escape(visible(name))}</th>" for name in header)
        body = "".join(f"<tr>{line}</tr>" for line in lines)
        return f"<p>RankingData: {self._summary()}</p><table><tr>{head}</tr>{body}</table>"


def column_names(data: RankingData) -> list[str]:
    """The names of the columns of X in a table."""
    if data.names is None:
        return feature_names(data.n_features, data.first_index)
    taken = [name for name in data.names if name in BESIDES]
    if nameless := [i for i, name in enumerate(data.names) if not name.strip()]:
        raise ValueError(f"the features cannot be columns of a table: column {nameless[0]} of X has no name")
    if taken:
        raise ValueError(
            f"the features cannot be columns of a table: one is called {taken[0]!r}, which is no feature in a table"
        )
    if len(set(data.names)) < data.n_features:
        raise ValueError("the features cannot be columns of a table: a name would occur twice")
    return list(data.names)


def table_ids(ids: Array) -> Array | list[str]:
    """Ids as a table has them: numbers or texts."""
    return ids if ids.dtype.kind in "iuf" else [str(one) for one in ids.tolist()]


def _ids(given: Array, n_rows: int, name: str) -> Array:
    kind = getattr(getattr(given, "dtype", None), "kind", "")  # a list has none, and NumPy could round its ids
    is_unsure = kind in ("", "f", "c", "m", "M") and np.shape(given) == (n_rows,)
    return one_column(given, n_rows, name) if is_unsure else np.asarray(given)


def common_to_rows(data: RankingData) -> dict[str, int | list[str]]:
    """What a table of sparse rows cannot say in its columns."""
    common: dict[str, int | list[str]] = {"n_features": data.n_features, "first_index": data.first_index}
    return common if data.names is None else common | {"names": list(data.names)}


def check_finite(data: "RankingData | SharedData", where: str = "") -> None:
    """Raise an error if a number is NaN or infinite: writers refuse such data, as readers would."""
    bad = np.flatnonzero(~np.isfinite(data.y))
    if bad.size:
        raise ValueError(f"y[{bad[0]}]{where} is {data.y[bad[0]]}: a label must be a finite number")
    X = data.X
    values = X.data if is_sparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):  # nearly always, and it needs no array of truth values
            return
    bad = np.flatnonzero(~np.isfinite(values))
    if not bad.size:
        return
    row = np.searchsorted(X.indptr, bad[0], side="right") - 1 if is_sparse(X) else bad[0] // data.n_features
    raise ValueError(f"row {row} of X{where} holds {values.ravel()[bad[0]]}: every feature must be a finite number")


def check_copied(data: object) -> None:
    """Raise an error for data whose X is not one row per document, such as `SharedData`: writers would mix up rows."""
    if not isinstance(data, RankingData):
        copied = ": give data.read()" if hasattr(data, "read") and hasattr(data, "y") else ""
        raise TypeError(f"data must be RankingData; got {type(data).__name__}{copied}")


def check_no_groups(data: RankingData) -> None:
    """Raise an error if there are groups, which most formats cannot hold: without them folds would be others."""
    if data.groups is not None:
        raise ValueError(
            "a table or text has no place for groups: write NPZ or chunks, or leave them out by "
            "dataclasses.replace(data, groups=None)"
        )


def joined(blocks: list[RankingData]) -> RankingData:
    """Concatenate the blocks. Empties the list, so that not all of them are in memory twice."""
    first = blocks[0]
    if len(blocks) == 1:
        return blocks.pop()
    y = np.concatenate([one.y for one in blocks])
    qid = np.concatenate(one_type([one.qid for one in blocks]))
    docid = comments = weight = groups = None  # ids and comments are kept if every block has them
    if all(one.docid is not None for one in blocks):
        docid = np.concatenate(one_type([one.docid for one in blocks if one.docid is not None]))
    if all(one.comments is not None for one in blocks):
        comments = np.concatenate([np.asarray(one.comments, object) for one in blocks])
    if all(one.groups is not None for one in blocks):
        groups = np.concatenate(one_type([one.groups for one in blocks if one.groups is not None]))
    elif any(one.groups is not None for one in blocks):
        raise ValueError("some of the files have groups, and others have none: give groups to all or to none")
    weights = [one.weight for one in blocks if one.weight is not None]
    if weights:
        if len(weights) < len(blocks):
            raise ValueError("some of the files have weights, and others have none: give weights to all or to none")
        weight = np.concatenate(weights)
    X = _stacked(blocks, first.n_features)
    return RankingData(X, y, qid, comments, first.first_index, first.names, docid, weight, groups)


def _stacked(blocks: list[RankingData], n_features: int) -> HostMatrix:
    """The rows of all blocks. Empties the list."""
    if hasattr(blocks[0].X, "tocsr"):
        from scipy.sparse import vstack

        stacked = vstack([one.X for one in blocks], format="csr")
        blocks.clear()
        return stacked
    X = np.empty((sum(map(len, blocks)), n_features), np.result_type(*(one.X.dtype for one in blocks)))
    row = 0
    while blocks:
        block = blocks.pop(0)
        X[row : row + len(block)] = block.X
        row += len(block)
    return X
