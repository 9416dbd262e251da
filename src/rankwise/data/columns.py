"""Tables of ranking data, one row per document: which column is what, and the checks that every table goes through."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.data.records import RankingData
from rankwise.foundation.arrays import Array
from rankwise.foundation.memory import check_dense_room
from rankwise.foundation.names import by_number, feature_names, numbered
from rankwise.pairs.queries import one_type

LABEL, QUERY, COMMENT = "label", "qid", "comment"
INDICES, VALUES = "indices", "values"  # sparse rows: two columns of lists
FILL_IN = "missing=0.0 in Python, or --missing 0 of `rankwise convert`, puts 0 for a missing feature"
_SHOWN = 8  # column names that a message shows
_LONGEST = 60  # characters of each


@dataclass(frozen=True)
class Reading:
    """What the caller of `read_data` asked for; see there."""

    n_features: int | None = None
    dense: bool | None = None
    dtype: Any = None
    missing: float | None = None
    zero_based: bool | None = None
    comments: bool = False
    n_jobs: int | None = None
    label: str = LABEL
    qid: str | None = QUERY
    features: Sequence[str] | None = None
    needs_labels: bool = True

    def __post_init__(self) -> None:
        check_missing(self.missing)
        if self.dtype is not None and np.dtype(self.dtype) not in (np.float32, np.float64):
            raise ValueError(f"dtype must be float32 or float64, got {np.dtype(self.dtype)}")
        if self.n_features is not None and self.n_features < 1:
            raise ValueError(f"n_features must be at least 1, got {self.n_features}")


def check_missing(missing: Any) -> None:
    """One sentence where what is to be put for a missing number is no number."""
    is_number = isinstance(missing, int | float | np.number) and not isinstance(missing, bool)
    if missing is not None and not (is_number and np.isfinite(missing)):
        raise ValueError(f"missing must be a finite number, got {missing!r}")


def largest_number(dtype: Any) -> float:
    """The largest double that does not become infinite in this type."""
    if np.dtype(dtype) == np.float32:
        return float(np.nextafter(2.0**128 - 2.0**103, 0))
    return float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Columns:
    """The places of the columns of a table; `names` is None where they only number the features from first_index on."""

    label: int | None
    qid: int | None
    comment: int | None
    features: tuple[int, ...]
    names: tuple[str, ...] | None
    first_index: int


def find_columns(header: Sequence[str], reading: Reading, where: str) -> Columns:
    """Which column is what; one sentence where one is missing."""
    places = {name: i for i, name in enumerate(header)}
    if len(places) < len(header):
        twice = next(name for name in header if list(header).count(name) > 1)
        raise ValueError(f"{where} has two columns called {twice!r}: every column needs a name of its own")
    label = places.get(reading.label)
    if label is None and reading.needs_labels:
        label = _place(places, reading.label, "label", "labels", where)
    qid = None if reading.qid is None else _place(places, reading.qid, "qid", "query ids", where)
    comment = places.get(COMMENT)
    if reading.features is None:
        features = tuple(i for i in range(len(header)) if i not in (label, qid, comment))
        if nameless := [i for i in features if not header[i].strip()]:
            raise ValueError(
                f"{where}: column {nameless[0] + 1} has no name, as an index has that pandas writes: "
                "write the table with to_csv(index=False), or name the column"
            )
    else:
        features = tuple(_place(places, name, "features", "a feature", where) for name in reading.features)
    names = [header[i] for i in features]
    order = by_number(names) if reading.features is None else None  # the caller's order is the caller's
    if order is not None:
        features, names = tuple(features[i] for i in order), [names[i] for i in order]
    kept, first_index = numbered(names)
    return Columns(label, qid, comment if reading.comments else None, features, kept, first_index)


def _place(places: dict[str, int], name: str, option: str, what: str, where: str) -> int:
    if name in places:
        return places[name]
    known = ", ".join(repr(one[:_LONGEST]) for one in list(places)[:_SHOWN]) + (", ..." if len(places) > _SHOWN else "")
    cure = f"say which by {option}=NAME, or --{option} NAME of `rankwise convert`"
    raise ValueError(f"{where} has no column {name!r} for {what} (its columns: {known}): {cure}")


def column_names(data: RankingData) -> list[str]:
    """The names of the columns of X in a table."""
    if data.names is None:
        return feature_names(data.n_features, data.first_index)
    taken = {LABEL, QUERY, COMMENT} & set(data.names)
    if nameless := [i for i, name in enumerate(data.names) if not name.strip()]:
        raise ValueError(f"the features cannot be columns of a table: column {nameless[0]} of X has no name")
    if taken or len(set(data.names)) < data.n_features:
        raise ValueError(f"the features cannot be columns of a table: {taken or 'a name'} would be there twice")
    return list(data.names)


def plain_ids(texts: Array) -> Array:
    """Ids read as texts: int64 where each is written as a plain integer that fits, as `read_letor` has it."""
    runs = np.concatenate(([True], texts[1:] != texts[:-1])) if texts.size else np.zeros(0, bool)
    ids = texts[runs].tolist()
    if not all(re.fullmatch(r"0|-?[1-9][0-9]{0,18}", one) and -(2**63) < int(one) < 2**63 for one in ids):
        return texts
    return np.repeat(np.array(ids, dtype=np.int64), np.diff(np.flatnonzero(runs), append=texts.size))


def check_finite(data: RankingData, where: str = "") -> None:
    """One sentence where a number is NaN or infinite: no writer takes it, as no reader would."""
    bad = np.flatnonzero(~np.isfinite(data.y))
    if bad.size:
        raise ValueError(f"y[{bad[0]}]{where} is {data.y[bad[0]]}: a label must be a finite number")
    values = data.X if isinstance(data.X, np.ndarray) else data.X.data
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):  # without an array of truths, nearly always
            return
    bad = np.flatnonzero(~np.isfinite(values))
    if not bad.size:
        return
    row = bad[0] // data.n_features if values is data.X else np.searchsorted(data.X.indptr, bad[0], side="right") - 1
    found = values.ravel()[bad[0]]
    raise ValueError(f"row {row} of X{where} holds {found}: every feature must be a finite number")


def finished(data: RankingData, reading: Reading, where: str) -> RankingData:
    """The data as they were asked for: type, density and width of X; no comments where all are empty."""
    from scipy import sparse

    X = data.X
    counts_from = None if reading.zero_based is None else 1 - reading.zero_based
    if data.names is None and counts_from not in (None, data.first_index):
        raise ValueError(f"{where} counts its features from {data.first_index}, expected from {counts_from}")
    wide = reading.n_features
    if wide is not None and wide != data.n_features:
        if not sparse.issparse(X) or wide < data.n_features:
            raise ValueError(f"{where} has {data.n_features} features, {wide} are expected")
        X = sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], wide))
    if reading.dtype is not None and X.dtype != reading.dtype:
        with np.errstate(over="ignore"):
            X = X.astype(reading.dtype)
        if not np.isfinite(X.data if sparse.issparse(X) else X).all():
            raise ValueError(f"{where} holds a number that {np.dtype(reading.dtype)} cannot hold: read it as float64")
    if reading.dense is True and sparse.issparse(X):
        check_dense_room(X.shape[0], X.shape[1], X.dtype.itemsize)
        X = X.toarray()
    elif reading.dense is False and not sparse.issparse(X):
        X = sparse.csr_array(X)
    comments = data.comments if reading.comments else None
    if comments is not None and not any(comments):
        comments = None
    names = data.names if X.shape[1] == data.n_features else None
    return RankingData(X, data.y, data.qid, comments, data.first_index, names)


def joined(blocks: list[RankingData]) -> RankingData:
    """The blocks, one after another, as one; empties the list, so that they need not all be there twice."""
    from scipy import sparse

    first = blocks[0]
    if len(blocks) == 1:
        return blocks.pop()
    y = np.concatenate([one.y for one in blocks])
    qid = np.concatenate(one_type([one.qid for one in blocks]))
    comments = None
    if first.comments is not None:
        comments = np.concatenate([np.asarray(one.comments, object) for one in blocks])
    if sparse.issparse(first.X):
        X = sparse.vstack([one.X for one in blocks], format="csr")
        blocks.clear()
        return RankingData(X, y, qid, comments, first.first_index, first.names)
    X = np.empty((y.size, first.n_features), np.result_type(*(one.X.dtype for one in blocks)))
    row = 0
    while blocks:
        block = blocks.pop(0)
        X[row : row + len(block)] = block.X
        row += len(block)
    return RankingData(X, y, qid, comments, first.first_index, first.names)
