"""DataFrames, of pandas, Polars or any other library that speaks Arrow, and Parquet files."""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from rankwise.data.columns import Reading, finished
from rankwise.data.records import (
    ATTRIBUTES,
    COMMENT,
    DOCUMENT,
    INDICES,
    LABEL,
    QUERY,
    VALUES,
    WEIGHT,
    RankingData,
    check_finite,
    column_names,
    common_to_rows,
    table_ids,
)
from rankwise.data.streams import unchanged
from rankwise.data.tables import Numbers, PandasTable, Table, from_table
from rankwise.foundation.arrays import Array
from rankwise.foundation.outputs import FileName, written_beside
from rankwise.pairs.queries import id_array

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa

_GROUP = 1 << 24  # values of a row group of a Parquet file
_BATCH = 1 << 16  # rows read from a Parquet file at a time


def from_frame(
    frame: object,
    *,
    label: str = LABEL,
    qid: str | None = QUERY,
    docid: str | None = None,
    weight: str | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    missing: float | None = None,
    keep_missing: bool = False,
) -> RankingData:
    """RankingData of a DataFrame: of pandas, or with pyarrow of Polars and any other library that speaks Arrow.

    label, qid  the columns of the labels and of the query ids; qid=None: all rows are one query
    docid       the column of the document ids; None: one called `docid`, if there is one
    weight      the column of the documents' weights in a fit; None: one called `sample_weight`, if there is one
    features    the columns of X, in this order, by name or by patterns such as "bm25_*"; None: all others, except one
                called `comment`, which becomes comments
    ignore      columns to leave out, likewise
    missing     the value that replaces a missing feature; None: a missing feature is an error
    keep_missing  missing features and labels are NaN instead of an error, so that `rankwise.check` can count them

    Examples
    --------
    >>> import pandas as pd
    >>> from rankwise import from_frame
    >>> frame = pd.DataFrame({"query": ["tea", "tea"], "grade": [2, 0], "bm25": [7.5, 3.2]})
    >>> from_frame(frame, label="grade", qid="query")
    RankingData(2 rows, 1 feature, 1 query, dense float64)
    """
    if isinstance(frame, str | Path):
        raise TypeError(f"frame is a text or a path, {str(frame)!r}: read files by rankwise.read_data")
    reading = Reading(
        label=label,
        qid=qid,
        docid=docid,
        weight=weight,
        features=features,
        ignore=ignore,
        missing=missing,
        comments=True,
        keep_missing=keep_missing,
    )
    pandas = sys.modules.get("pandas")
    table: Table
    if pandas is not None and isinstance(frame, pandas.DataFrame):
        table = PandasTable.of(frame, reading)
    else:
        table = ArrowTable.of(_arrow_table(frame), reading)
    if not table.n_rows:
        raise ValueError("the frame: there are no rows to read")
    return finished(from_table(table, reading, "the frame"), reading, "the frame")


def to_frame(data: RankingData) -> "pandas.DataFrame":
    """A pandas DataFrame, as `RankingData.to_frame` makes it.

    Examples
    --------
    >>> from rankwise import load_sample, to_frame
    >>> to_frame(load_sample()).columns[:4].tolist()
    ['label', 'qid', 'docid', 'title_match']
    """
    return data.to_frame()


def _arrow_table(frame: object) -> "pa.Table":
    try:
        import pyarrow as pa
    except ImportError:
        raise ImportError("DataFrames other than pandas' need a package: pip install pyarrow") from None
    return pa.table(frame)


@dataclass(frozen=True)
class ArrowTable:
    """The columns of an Arrow table, without those that hold the index of a pandas DataFrame."""

    table: "pa.Table | pa.RecordBatch"
    first_row: int = 0

    @classmethod
    def of(cls, table: "pa.Table | pa.RecordBatch", reading: Reading, first_row: int = 0) -> "ArrowTable":
        kept = reading.besides
        index = (table.schema.pandas_metadata or {}).get("index_columns", [])
        places = [i for i, name in enumerate(table.column_names) if name not in index or name in kept]
        return cls(table.select(places), first_row)  # by place: a name that is there twice is told as in other tables

    @property
    def header(self) -> list[str]:
        return list(self.table.column_names)

    @property
    def n_rows(self) -> int:
        return int(self.table.num_rows)

    def place(self, row: int) -> str:
        return f"row {self.first_row + row}"

    @property
    def known(self) -> bytes:
        metadata: dict[bytes, bytes] = self.table.schema.metadata or {}
        return metadata.get(ATTRIBUTES.encode(), b"{}")

    def numbers(self, i: int) -> Numbers:
        return _arrow_numbers(self.table.column(i))

    def ids(self, i: int) -> tuple[ArrayLike, Array | None]:
        import pyarrow as pa

        column = self.table.column(i)
        if column.null_count:
            return [], _mask(column)
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            return column.to_numpy(), None
        if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
            column = _as_texts(column, self.header[i])
        coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
        distinct = id_array([str(one) for one in coded.dictionary.to_pylist()] or [""])
        return distinct[coded.indices.to_numpy()], None

    def texts(self, i: int) -> list[str]:
        return [one or "" for one in self.table.column(i).to_pylist()]

    def is_lists(self, i: int) -> bool:
        import pyarrow as pa

        return bool(pa.types.is_nested(self.table.schema.field(i).type))

    def lists(self, i: int) -> tuple[Array, Numbers] | None:
        import pyarrow as pa

        column = self.table.column(i)
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if whole.null_count:
            return None
        offsets = whole.offsets.to_numpy()
        return offsets - offsets[0], _arrow_numbers(whole.flatten())


def _arrow_numbers(column: "pa.Array | pa.ChunkedArray") -> Numbers:
    import pyarrow as pa

    types, kind = pa.types, column.type
    if types.is_boolean(kind) or types.is_decimal(kind):
        column = column.cast(pa.float64())
    elif not (types.is_floating(kind) or types.is_integer(kind)):
        return Numbers(np.zeros(0), _mask(column), str(kind), is_numeric=False)
    missing = _mask(column)
    plain = column if missing is None else column.fill_null(0)
    is_chunked = isinstance(plain, pa.ChunkedArray)
    return Numbers(plain.to_numpy() if is_chunked else plain.to_numpy(zero_copy_only=False), missing, str(kind))


def _as_texts(column: "pa.ChunkedArray", name: str) -> "pa.ChunkedArray":
    """Bytes, which some writers store in place of texts."""
    import pyarrow as pa

    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        raise ValueError(f"the column {name!r} holds bytes that are no text in UTF-8, expected ids") from None


def _mask(column: "pa.Array | pa.ChunkedArray") -> Array | None:
    if not column.null_count:
        return None
    nulls = column.is_null()
    return np.asarray(nulls.to_numpy(zero_copy_only=False) if hasattr(nulls, "buffers") else nulls.to_numpy())


def parquet_files(path: Path) -> list[Path]:
    """The file itself, or the files of a folder: part-2 before part-10."""
    if not path.is_dir():
        return [path]
    files = sorted(
        path.glob("*.parquet"), key=lambda one: [int(n) if n.isdigit() else n for n in re.split(r"(\d+)", one.name)]
    )
    if not files:
        raise ValueError(f"{path} is a folder without .parquet files and without a manifest of chunks")
    return files


def parquet_blocks(source: FileName, reading: Reading) -> Iterator[RankingData]:
    """The rows of a file or folder, in batches, so that only one batch at a time is in memory twice."""
    import pyarrow as pa
    from pyarrow import parquet

    for path in parquet_files(Path(source)):
        path.stat()  # a missing file is an error of the system, which is shorter than Arrow's
        try:
            with unchanged(path), parquet.ParquetFile(path, page_checksum_verification=True) as file:
                row = 0
                for batch in file.iter_batches(batch_size=_BATCH):
                    whole = batch.replace_schema_metadata(file.schema_arrow.metadata)
                    yield from_table(ArrowTable.of(whole, reading, row), reading, str(path))
                    row += batch.num_rows
                if row != file.metadata.num_rows:
                    raise pa.ArrowInvalid(f"it has {row} rows, and its end says {file.metadata.num_rows}")
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeDecodeError, OSError) as error:
            if getattr(error, "errno", None) is not None:  # of the system; Arrow raises OSError without a number
                raise
            reason = str(error).partition("\n")[0]
            raise ValueError(f"{path} is not a Parquet file, or is damaged: {reason}") from None


def write_parquet(target: FileName, data: RankingData) -> None:
    from pyarrow import parquet

    check_finite(data)
    rows = max(1, _GROUP * len(data) // max(data.X.size, 1))
    batches = (_batch(data.select(slice(start, start + rows))) for start in range(0, max(len(data), 1), rows))
    first = next(batches)
    how = {"compression": "zstd", "write_page_checksum": True}
    with written_beside(target) as file, parquet.ParquetWriter(file, first.schema, **how) as writer:
        for batch in chain([first], batches):
            writer.write_batch(batch)


def _batch(data: RankingData) -> "pa.RecordBatch":
    import pyarrow as pa

    columns = {LABEL: data.y}
    for name, given in ((QUERY, data.qid), (DOCUMENT, data.docid)):
        if given is not None:
            ids = table_ids(given)
            columns[name] = ids if isinstance(ids, np.ndarray) else pa.array(ids, pa.string())
    if data.weight is not None:
        columns[WEIGHT] = data.weight
    metadata = None
    if isinstance(data.X, np.ndarray):
        columns |= dict(zip(column_names(data), np.ascontiguousarray(data.X.T), strict=True))
    else:
        X = data.canonical
        starts = X.indptr.astype(np.int64)
        columns[INDICES] = pa.LargeListArray.from_arrays(starts, X.indices.astype(np.int32))
        columns[VALUES] = pa.LargeListArray.from_arrays(starts, X.data)
        metadata = {ATTRIBUTES: json.dumps(common_to_rows(data))}
    if data.comments is not None:
        columns[COMMENT] = pa.array(list(data.comments), pa.string())
    return pa.record_batch(columns, metadata=metadata)
