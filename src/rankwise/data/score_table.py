"""Scores beside the ids of queries and documents, as a table: CSV, TSV, JSON lines or Parquet."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, TypeAlias

import numpy as np

from rankwise.data.records import DOCUMENT, QUERY, table_ids
from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.outputs import FileName, written_beside
from rankwise.pairs.queries import one_type

SCORE = "score"
HEADER = (QUERY, DOCUMENT, SCORE)
SEPARATORS = {"csv": ",", "tsv": "\t"}
TABLES = (*SEPARATORS, "jsonl", "parquet")
Row: TypeAlias = tuple[object, object, float]
Add: TypeAlias = Callable[[Array, Array, Floats], None]  # query ids, document ids, scores


@contextmanager
def scores_written(target: FileName, format: str) -> Iterator[Add]:
    """A function that adds rows to the table, which are written at once, except to Parquet."""
    with written_beside(target) as file:
        if format == "parquet":
            parts: list[tuple[Array, Array, Floats]] = []
            yield lambda qid, docid, scores: parts.append((qid, docid, scores))
            _write_parquet(file, parts)
            return
        lines = _json_lines if format == "jsonl" else _cells(SEPARATORS[format])

        def add(qid: Array, docid: Array, scores: Floats) -> None:
            file.write(lines(zip(qid.tolist(), docid.tolist(), scores.tolist(), strict=True)).encode())
            file.flush()

        if format in SEPARATORS:
            file.write((SEPARATORS[format].join(HEADER) + "\n").encode())
        yield add


def _cells(separator: str) -> Callable[[Iterable[Row]], str]:
    def lines(rows: Iterable[Row]) -> str:
        text = io.StringIO()
        csv.writer(text, delimiter=separator, lineterminator="\n").writerows(rows)
        return text.getvalue()

    return lines


def _json_lines(rows: Iterable[Row]) -> str:
    return "".join(json.dumps(dict(zip(HEADER, row, strict=True))) + "\n" for row in rows)


def _write_parquet(file: BinaryIO, parts: list[tuple[Array, Array, Floats]]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    qid, docid, scores = ([part[i] for part in parts] for i in range(3))
    columns = [table_ids(np.concatenate(one_type(one))) for one in (qid, docid)]
    table = pa.table(dict(zip(HEADER, [*columns, np.concatenate(scores)], strict=True)))
    parquet.write_table(table, file, write_page_checksum=True)
