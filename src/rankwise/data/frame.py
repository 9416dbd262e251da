"""DataFrames, of pandas, Polars or any other library that speaks Arrow: a table of one row per document.

label, qid, f1, f2, ...  (or the features' own names), comment     dense
label, qid, indices, values, comment                               sparse: two lists a row, columns counted from 0
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rankwise.data.columns import (
    COMMENT,
    FILL_IN,
    INDICES,
    LABEL,
    QUERY,
    VALUES,
    Reading,
    check_finite,
    column_names,
    find_columns,
    finished,
)
from rankwise.data.records import RankingData
from rankwise.data.strict_json import is_count, parse_json
from rankwise.foundation.arrays import Array, exact
from rankwise.pairs.queries import one_column

_METADATA = b"rankwise"
_ROWS = 4096  # turned from columns into rows at a time, while both are in cache


def from_frame(
    frame: Any,
    *,
    label: str = LABEL,
    qid: str | None = QUERY,
    features: Sequence[str] | None = None,
    missing: float | None = None,
) -> RankingData:
    """RankingData of a DataFrame (pandas, Polars, an Arrow table, whatever speaks Arrow).

    label, qid  the columns of the labels and of the query ids; qid=None: all rows are one query
    features    the columns of X, in this order; None: all others, but for one called `comment`, kept as comments
    missing     the value to put for a feature that is missing; None: it is an error
    """
    reading = Reading(label=label, qid=qid, features=features, missing=missing, comments=True)
    table = arrow().table(frame)
    if not table.num_rows:
        raise ValueError("the frame: there are no rows to read")
    return finished(from_arrow(table, reading, "the frame"), reading, "the frame")


def to_frame(data: RankingData) -> Any:
    """A pandas DataFrame: label, qid, the features, and comment where there are any."""
    return arrow().Table.from_batches(list(to_arrow(data))).to_pandas()


def arrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ImportError("Parquet and DataFrames need a package: pip install 'rankwise[parquet]'") from None
    return pyarrow


def to_arrow(data: RankingData, rows: int = 1 << 20) -> Iterator[Any]:
    """Record batches of so many rows."""
    pa = arrow()
    check_finite(data)
    for start in range(0, max(len(data), 1), rows):
        yield _batch(pa, data.select(slice(start, start + rows)))


def _batch(pa: Any, data: RankingData) -> Any:
    ids = data.qid if data.qid.dtype.kind in "iuf" else pa.array([str(one) for one in data.qid.tolist()], pa.string())
    columns = {LABEL: data.y, QUERY: ids}
    metadata = None
    if isinstance(data.X, np.ndarray):
        by_column = np.ascontiguousarray(data.X.T)
        columns |= dict(zip(column_names(data), by_column, strict=True))
    else:
        X = data.canonical
        columns[INDICES] = pa.LargeListArray.from_arrays(X.indptr.astype(np.int64), X.indices.astype(np.int32))
        columns[VALUES] = pa.LargeListArray.from_arrays(X.indptr.astype(np.int64), X.data)
        known: dict[str, Any] = {"n_features": data.n_features, "first_index": data.first_index}
        known |= {} if data.names is None else {"names": list(data.names)}
        metadata = {_METADATA: json.dumps(known).encode()}
    if data.comments is not None:
        columns[COMMENT] = pa.array(list(data.comments), pa.string())
    return pa.record_batch(columns, metadata=metadata)


def from_arrow(table: Any, reading: Reading, where: str) -> RankingData:
    """RankingData of a table or record batch."""
    pa = arrow()
    kept = [reading.label, reading.qid, COMMENT]
    index = (table.schema.pandas_metadata or {}).get("index_columns", [])
    header = [name for name in table.column_names if name not in index or name in kept]
    table = table.select(header)
    sparse = all(name in header and pa.types.is_nested(table.schema.field(name).type) for name in (INDICES, VALUES))
    columns = find_columns(header, replace(reading, features=()) if sparse else reading, where)
    y = np.zeros(table.num_rows)
    if columns.label is not None:
        y = _labels(pa, table.column(columns.label), f"{where}, column {reading.label!r}")
    qid = np.zeros(len(y), np.int64)
    if columns.qid is not None:
        qid = _ids(pa, table.column(columns.qid), f"{where}, column {reading.qid!r}")
    comments = None
    if columns.comment is not None:
        comments = np.array([one or "" for one in table.column(columns.comment).to_pylist()], dtype=object)
    if sparse:
        X, known = _sparse(pa, table, reading, where)
        return RankingData(X, y, qid, comments, known.get("first_index", 1), known.get("names"))
    X = _dense(pa, table, columns.features, reading, where)
    return RankingData(X, y, qid, comments, columns.first_index, columns.names)


def _labels(pa: Any, column: Any, where: str) -> Array:
    if column.null_count:
        raise ValueError(f"{where}: row {_first(column.is_null())} has no label: every row needs one")
    labels = _numbers(pa, column, None, where)
    if pa.types.is_integer(column.type):
        exact(column.to_numpy(), where)
    return labels


def _dense(pa: Any, table: Any, features: Sequence[int], reading: Reading, where: str) -> Array:
    types = [table.schema.field(i).type for i in features]
    single = bool(types) and all(pa.types.is_float32(one) or pa.types.is_float16(one) for one in types)
    X = np.empty((table.num_rows, len(features)), np.float32 if single else np.float64)
    columns = [
        _numbers(pa, table.column(i), reading.missing, f"{where}, column {table.column_names[i]!r}", X.dtype)
        for i in features
    ]
    for start in range(0, table.num_rows, _ROWS):
        rows = slice(start, start + _ROWS)
        for j, column in enumerate(columns):
            X[rows, j] = column[rows]
    return X


def _sparse(pa: Any, table: Any, reading: Reading, where: str) -> tuple[Any, dict[str, Any]]:
    from scipy.sparse import csr_array

    known = _known(table, where)
    indices, values = (_flat(pa, table.column(name), f"{where}, column {name!r}") for name in (INDICES, VALUES))
    if not np.array_equal(indices[0], values[0]):
        raise ValueError(f"{where}: {INDICES!r} and {VALUES!r} must hold lists of equal length, row by row")
    place = f"{where}, column {VALUES!r}"
    single = pa.types.is_float32(values[1].type)
    numbers = _numbers(pa, values[1], reading.missing, place, np.dtype(np.float32 if single else np.float64))
    columns = indices[1].to_numpy(zero_copy_only=False)
    n_features = known.get("n_features", reading.n_features or int(columns.max(initial=-1)) + 1)
    if columns.size and not 0 <= columns.min() <= columns.max() < n_features:
        found = f"{columns.min()} to {columns.max()}"
        raise ValueError(f"{where}, column {INDICES!r}: found {found}, expected 0 to {n_features - 1}")
    matrix = csr_array((numbers, columns.astype(np.int32), indices[0]), shape=(table.num_rows, n_features))
    matrix.sum_duplicates()
    return matrix, known


def _known(table: Any, where: str) -> dict[str, Any]:
    """What the file says of all its rows."""
    try:
        known = parse_json((table.schema.metadata or {}).get(_METADATA, b"{}"))
    except ValueError as error:
        raise ValueError(f"{where}: its metadata are damaged: {error}") from None
    names = known.get("names") if isinstance(known, dict) else 0
    texts = names is None or (isinstance(names, list) and all(isinstance(one, str) for one in names))
    if not texts or not is_count(known.get("n_features", 0)) or not is_count(known.get("first_index", 1), 1):
        raise ValueError(f"{where}: its metadata are damaged")
    return known  # type: ignore[no-any-return]


def _flat(pa: Any, column: Any, where: str) -> tuple[Array, Any]:
    """(where each row's list begins, and the last one's end; all lists end to end)."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if whole.null_count:
        raise ValueError(f"{where}: a row has no list (an empty one is a row of zeros)")
    offsets = whole.offsets.to_numpy()
    return offsets - offsets[0], whole.flatten()


def _numbers(pa: Any, column: Any, missing: float | None, where: str, dtype: Any = np.float64) -> Array:
    types = pa.types
    kind = column.type
    if not (types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind) or types.is_decimal(kind)):
        raise ValueError(f"{where} holds {kind}, expected numbers: leave it out, or make numbers of it")
    if column.null_count and missing is None:
        raise ValueError(f"{where}: row {_first(column.is_null())} has no number: {FILL_IN}")
    if column.null_count:
        column = column.fill_null(missing if types.is_floating(kind) else int(missing or 0))
    if types.is_boolean(kind) or types.is_decimal(kind):
        column = column.cast(pa.float64())
    plain = column.to_numpy() if isinstance(column, pa.ChunkedArray) else column.to_numpy(zero_copy_only=False)
    numbers: Array = np.asarray(plain, dtype)
    if missing is not None and np.isnan(numbers).any():
        numbers = np.where(np.isnan(numbers), np.dtype(dtype).type(missing), numbers)
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise ValueError(f"{where}: row {row} holds {numbers[row]}, expected a finite number")
    return numbers


def _ids(pa: Any, column: Any, where: str) -> Array:
    if column.null_count:
        raise ValueError(f"{where}: row {_first(column.is_null())} has no query id")
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        try:
            ids = one_column(column.to_numpy(), len(column))
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
        fits = ids.dtype.kind in "iu" and not (ids.dtype == np.uint64 and ids.size and ids.max() > 2**63 - 1)
        return ids.astype(np.int64) if fits else ids
    coded = column if pa.types.is_dictionary(kind) else column.dictionary_encode()
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    texts = np.array([str(one) for one in coded.dictionary.to_pylist()] or [""])
    return np.asarray(texts[coded.indices.to_numpy()])


def _first(mask: Any) -> int:
    return int(np.flatnonzero(mask.to_numpy(zero_copy_only=False) if hasattr(mask, "buffers") else mask.to_numpy())[0])
