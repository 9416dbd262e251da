"""Columns of DataFrames into ranking data. `PandasTable` reads those of pandas, `frame.ArrowTable` those of Arrow.

label, qid, f1, f2, ...  (or the features' own names)     dense
label, qid, indices, values                               sparse: two lists per row, columns counted from 0

and docid, sample_weight, comment if there are any.
"""

import json
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike

from rankwise.data.columns import FILL_IN, Reading
from rankwise.data.header import Columns, TextColumnsError, find_columns
from rankwise.data.records import ATTRIBUTES, INDICES, VALUES, RankingData
from rankwise.foundation.arrays import Array, Floats, exact
from rankwise.foundation.strict_json import Rule, check_object, is_count, is_list_of, is_text, parse_json
from rankwise.pairs.queries import one_column

if TYPE_CHECKING:
    from pandas import DataFrame
    from scipy.sparse import csr_array

_SHOWN = 40  # characters of an id that a message shows
_ROWS = 4096  # transposed from columns into rows at a time, while both are in cache


@dataclass(frozen=True)
class Numbers:
    """The numbers of a column.

    values      the numbers, arbitrary for missing ones
    missing     a mask of the missing ones, None if there are none
    kind        the type, as the library of the frame calls it, for messages
    is_numeric  whether the column holds numbers at all
    """

    values: Array
    missing: Array | None
    kind: str
    is_numeric: bool = True


class Table(Protocol):
    """The columns of a DataFrame, by their number."""

    @property
    def header(self) -> list[str]: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def known(self) -> bytes: ...  # what was stored with a table of sparse rows, as JSON
    def place(self, row: int) -> str: ...  # of a row, for messages
    def numbers(self, i: int) -> Numbers: ...
    def ids(self, i: int) -> tuple[ArrayLike, Array | None]: ...
    def texts(self, i: int) -> list[str]: ...
    def is_lists(self, i: int) -> bool: ...
    def lists(self, i: int) -> tuple[Array, Numbers] | None: ...


def from_table(table: Table, reading: Reading, where: str) -> RankingData:
    """RankingData of a table; `where` names it in messages."""
    header = table.header
    sparse = all(name in header and table.is_lists(header.index(name)) for name in (INDICES, VALUES))
    if sparse and reading.features is not None:
        raise ValueError(f"{where} holds sparse rows, whose features cannot be chosen: leave out features (--features)")
    columns = find_columns(header, replace(reading, features=()) if sparse else reading, where)
    y = np.zeros(table.n_rows)
    if columns.label is not None:
        y = _labels(table, columns.label, reading, where)
    qid = np.zeros(len(y), np.int64)
    if columns.qid is not None:
        qid = _ids(table, columns.qid, where, "query id")
    docid = weight = comments = None
    if columns.docid is not None:
        docid = _ids(table, columns.docid, where, "document id")
    if columns.weight is not None:
        weight = _weights(table, columns.weight, where)
    if columns.comment is not None:
        comments = np.array(table.texts(columns.comment), dtype=object)
    if sparse:
        known = _known(table.known, where)
        X = _sparse(table, known.n_features, reading, where)
        return RankingData(X, y, qid, comments, known.first_index, known.names, docid, weight)
    X = _dense(table, columns, reading, where)
    return RankingData(X, y, qid, comments, columns.first_index, columns.names, docid, weight)


def _labels(table: Table, i: int, reading: Reading, where: str) -> Floats:
    """Labels. With `unjudged` missing ones are NaN; with `keep_missing` these are, and infinite ones are kept."""
    column = table.numbers(i)
    if reading.keep_missing:
        return _filled(column, np.nan, table, i, where, np.dtype(np.float64))
    if not reading.unjudged or not column.is_numeric:
        return _complete(column, table, i, where, "label")
    lacking = column.values != column.values
    lacking = lacking if column.missing is None else lacking | column.missing
    present = replace(column, values=np.where(lacking, 0, column.values), missing=None)
    return np.where(lacking, np.nan, _complete(present, table, i, where, "label"))


def _weights(table: Table, i: int, where: str) -> Floats:
    weights = _complete(table.numbers(i), table, i, where, "weight")
    if (weights < 0).any():
        row = _first(weights < 0)
        found = f"{table.place(row)} holds {weights[row]}"
        raise ValueError(f"{where}, column {table.header[i]!r}: {found}, expected a weight: a finite number, 0 or more")
    return weights


def _complete(column: Numbers, table: Table, i: int, where: str, what: str) -> Floats:
    """Labels or weights, of which none may be missing."""
    _refuse_missing(column.missing, table, i, where, what)
    numbers = _filled(column, None, table, i, where, np.dtype(np.float64))
    exact(column.values, f"{where}, column {table.header[i]!r}")
    return numbers


def _refuse_missing(missing: Array | None, table: Table, i: int, where: str, what: str) -> None:
    if missing is not None:
        row = table.place(_first(missing))
        raise ValueError(f"{where}, column {table.header[i]!r}: {row} has no {what}: every row needs one")


def _dense(table: Table, columns: Columns, reading: Reading, where: str) -> Array:
    features = {i: table.numbers(i) for i in columns.features}
    if texts := [i for i, one in features.items() if not one.is_numeric]:
        names = [table.header[i] for i in texts]
        fault = f"{where}, column {names[0]!r} holds {features[texts[0]].kind}, expected numbers"
        raise TextColumnsError(fault, names, has_ids=columns.docid is not None)
    single = bool(features) and all(one.values.dtype in (np.float32, np.float16) for one in features.values())
    X = np.empty((table.n_rows, len(features)), np.float32 if single else np.float64)
    filled = [_filled(one, reading.filler, table, i, where, X.dtype) for i, one in features.items()]
    for start in range(0, table.n_rows, _ROWS):
        rows = slice(start, start + _ROWS)
        for j, column in enumerate(filled):
            X[rows, j] = column[rows]
    return X


def _sparse(table: Table, known_width: int | None, reading: Reading, where: str) -> "csr_array":
    from scipy.sparse import csr_array

    parts = {}
    for name in (INDICES, VALUES):
        lists = table.lists(table.header.index(name))
        if lists is None:
            raise ValueError(f"{where}, column {name!r}: a row has no list (an empty one is a row of zeros)")
        parts[name] = lists
    (starts, indices), (value_starts, values) = parts[INDICES], parts[VALUES]
    if not np.array_equal(starts, value_starts):
        raise ValueError(f"{where}: {INDICES!r} and {VALUES!r} must hold lists of equal length, row by row")
    dtype = np.dtype(np.float32 if values.values.dtype == np.float32 else np.float64)
    numbers = _filled(values, reading.filler, table, table.header.index(VALUES), where, dtype)
    columns = indices.values
    if columns.dtype.kind not in "iu" or indices.missing is not None:
        raise ValueError(f"{where}, column {INDICES!r} holds {indices.kind}, expected whole numbers")
    n_features = known_width or reading.n_features or int(columns.max(initial=-1)) + 1
    if columns.size and not 0 <= columns.min() <= columns.max() < n_features:
        span = f"{columns.min()} to {columns.max()}"
        raise ValueError(f"{where}, column {INDICES!r}: found {span}, expected 0 to {n_features - 1}")
    matrix = csr_array((numbers, columns.astype(np.int32), starts), shape=(table.n_rows, n_features))
    matrix.sum_duplicates()
    return matrix


def _filled(column: Numbers, missing: float | None, table: Table, i: int, where: str, dtype: np.dtype) -> Array:
    """The numbers in this type, missing ones replaced; an error if one is not finite or missing without replacement.

    If NaN replaces missing ones, no number is an error.
    """
    where = f"{where}, column {table.header[i]!r}"
    if not column.is_numeric:
        raise ValueError(f"{where} holds {column.kind}, expected numbers")
    if column.missing is not None and missing is None:
        raise ValueError(f"{where}: {table.place(_first(column.missing))} has no number: {FILL_IN}")
    numbers: Array = np.asarray(column.values, dtype)
    if missing is not None:
        lacking = np.isnan(numbers) if column.missing is None else column.missing | np.isnan(numbers)
        numbers = np.where(lacking, dtype.type(missing), numbers) if lacking.any() else numbers
    if not (np.isfinite(numbers).all() or (missing is not None and np.isnan(missing))):
        row = _first(~np.isfinite(numbers))
        raise ValueError(f"{where}: {table.place(row)} holds {numbers[row]}, expected a finite number")
    return numbers


def _ids(table: Table, i: int, where: str, what: str) -> Array:
    given, missing = table.ids(i)
    _refuse_missing(missing, table, i, where, what)
    if isinstance(given, list):  # of JSON lines, whose escapes can write any text
        _refuse_unfit(given, table, i, where, what)
    try:
        ids = one_column(given, table.n_rows, table.header[i])
    except ValueError as error:
        raise ValueError(f"{where}, column {table.header[i]!r}: {error}") from None
    fits = ids.dtype.kind in "iu" and not (ids.dtype == np.uint64 and ids.size and ids.max() > 2**63 - 1)
    return ids.astype(np.int64) if fits else ids


def _refuse_unfit(ids: list[object], table: Table, i: int, where: str, what: str) -> None:
    """Raise an error if an id is no number or text, has a NUL, which NumPy drops at its end, or cannot be UTF-8."""
    for row, one in enumerate(ids):
        if isinstance(one, list | dict | bool):
            expected = "a number or a text"
        elif isinstance(one, str) and "\0" in one:
            expected = f"a {what} without NUL"
        elif isinstance(one, str) and not is_text(one):
            expected = f"a {what} in UTF-8"
        else:
            continue
        shown = repr(one)[:_SHOWN]
        raise ValueError(f"{where}, column {table.header[i]!r}: {table.place(row)} holds {shown}, expected {expected}")


def _first(mask: Array) -> int:
    return int(np.flatnonzero(mask)[0])


@dataclass(frozen=True)
class _Known:
    """What is stored with a table of sparse rows."""

    n_features: int | None = None
    first_index: int = 1
    names: list[str] | None = None


_KNOWN_RULES: dict[str, Rule] = {
    "n_features": (is_count, "a whole number"),
    "first_index": (partial(is_count, most=1), "0 or 1"),
    "names": (partial(is_list_of, is_text), "a list of texts"),
}


def _known(text: bytes, where: str) -> _Known:
    try:
        given = check_object(parse_json(text), _KNOWN_RULES, optional=_KNOWN_RULES)
    except ValueError as error:
        raise ValueError(f"{where}: its metadata are damaged: {error}") from None
    return _Known(**given)


@dataclass(frozen=True)
class PandasTable:
    """The columns of a pandas DataFrame."""

    frame: "DataFrame"
    header: list[str]

    @classmethod
    def of(cls, frame: "DataFrame", reading: Reading) -> "PandasTable":
        """With the levels of the index that hold labels, ids, weights or comments as columns."""
        levels = {*reading.besides} - {None, *frame.columns}
        for name in levels.intersection(frame.index.names):
            frame = frame.assign(**{str(name): frame.index.get_level_values(name)})
        return cls(frame, [str(name) for name in frame.columns])

    @property
    def n_rows(self) -> int:
        return len(self.frame)

    def place(self, row: int) -> str:
        return f"row {row}"

    @property
    def known(self) -> bytes:
        return json.dumps(self.frame.attrs.get(ATTRIBUTES, {})).encode()

    def numbers(self, i: int) -> Numbers:
        column = self.frame.iloc[:, i]
        kind = "category" if str(column.dtype) == "category" else getattr(column.dtype, "kind", "O")
        mask = column.isna().to_numpy(bool)
        missing = mask if mask.any() else None
        if kind in "iufb":
            stored = np.dtype(kind if kind == "b" else f"{kind}{getattr(column.dtype, 'itemsize', 8)}")
            plain = isinstance(column.dtype, np.dtype)
            values = column.to_numpy() if plain else column.array.to_numpy(stored, na_value=stored.type(0))
            return Numbers(values, missing, str(column.dtype))
        present = column[~mask].tolist()
        if kind != "O" or not all(isinstance(one, Real | Decimal) for one in present):
            named = "string" if kind == "O" and isinstance(present[0], str) else str(column.dtype)
            return Numbers(np.zeros(0), missing, named, is_numeric=False)
        whole = missing is None and not any(isinstance(one, Decimal) for one in present)
        values = np.zeros(len(column), object if whole else np.float64)
        values[~mask] = present if whole else list(map(float, present))
        return Numbers(values, missing, "object")

    def ids(self, i: int) -> tuple[ArrayLike, Array | None]:
        column = self.frame.iloc[:, i]
        mask = column.isna().to_numpy(bool)
        if mask.any():
            return [], mask
        if getattr(column.dtype, "kind", "O") in "iuf" and str(column.dtype) != "category":
            return self.numbers(i).values, None
        codes, distinct = column.factorize()
        texts = np.array(distinct.tolist() or [""], object)
        ids = np.asarray(texts.tolist()) if all(type(one) is int for one in texts) else one_column(texts, texts.size)
        return ids[codes], None

    def texts(self, i: int) -> list[str]:
        column = self.frame.iloc[:, i]
        return ["" if lacks else str(one) for one, lacks in zip(column.tolist(), column.isna(), strict=True)]

    def is_lists(self, i: int) -> bool:
        column = self.frame.iloc[:, i]
        return len(column) > 0 and isinstance(column.iloc[0], list | tuple | np.ndarray)

    def lists(self, i: int) -> tuple[Array, Numbers] | None:
        column = self.frame.iloc[:, i].tolist()
        if not all(isinstance(one, list | tuple | np.ndarray) for one in column):
            return None
        values = np.concatenate([np.asarray(one) for one in column if len(one)] or [np.zeros(0, np.int64)])
        starts = np.concatenate(([0], np.cumsum([len(one) for one in column])))
        return starts, Numbers(values, None, str(values.dtype), values.dtype.kind in "iufb")
