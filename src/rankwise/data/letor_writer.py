"""Ranking text out: each number in the fewest digits that read back to itself."""

import io
import os
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from rankwise.arrays import Array
from rankwise.data.records import RankingData
from rankwise.data.streams import written_beside

_ROWS = 1024  # formatted at a time
_NOT_IN_IDS = re.compile(r"[\x00-\x20\x7f#]")


def write_letor(target: Any, data: Any, y: Any = None, qid: Any = None, comments: Any = None) -> None:
    """Write ranking text that `read_letor` reads back to the same numbers.

    target         a path (.gz, .bz2, .xz, .zst: compressed), which is replaced only when all is written; "-" for
                   standard output; or an open file, of bytes or of text
    data           RankingData, or X with its y and, where there are any, qid and comments

    Of a dense X the zeros are left out, of a sparse one what is not stored; but the first row always holds the last
    column, so that the number of features survives. Without qid the lines have none. Comments lose outer spaces.
    """
    if isinstance(data, RankingData):
        if y is not None or qid is not None or comments is not None:
            raise TypeError("RankingData holds its own y, qid and comments: give them only beside a plain X")
        record, has_qid = data, True
    else:
        record, has_qid = _record(data, y, qid, comments), qid is not None
    if not len(record):
        raise ValueError("there are no rows to write")
    heads, tails = _heads(record, has_qid), _tails(record)
    if isinstance(target, str | os.PathLike):
        with written_beside(target) as file:
            for block in _blocks(record.X, heads, tails):
                file.write(block.encode())
    else:
        is_text = isinstance(target, io.TextIOBase)
        for block in _blocks(record.X, heads, tails):
            target.write(block if is_text else block.encode())


def _record(X: Any, y: Any, qid: Any, comments: Any) -> RankingData:
    if y is None:
        raise TypeError("y is missing: a line of ranking text begins with its label")
    matrix = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
    return RankingData(matrix, y, np.zeros(matrix.shape[0], np.int64) if qid is None else qid, comments)


def _heads(record: RankingData, has_qid: bool) -> list[str]:
    """Label and query id of each row."""
    bad = np.flatnonzero(~np.isfinite(record.y))
    if bad.size:
        raise ValueError(f"y[{bad[0]}] is {record.y[bad[0]]}: a label must be a finite number")
    labels = _shortest(record.y)
    if not has_qid:
        return labels
    if record.qid.dtype.kind not in "iuUOT":
        raise ValueError(f"qid must hold integers or strings, got {record.qid.dtype}")
    ids = [str(one) for one in record.qid.tolist()]
    for one in dict.fromkeys(ids):
        if not one or _NOT_IN_IDS.search(one):
            raise ValueError(
                f"qid {one!r} cannot be written: an id is not empty and holds no space, control character or #"
            )
    return [f"{label} qid:{one}" for label, one in zip(labels, ids, strict=True)]


def _tails(record: RankingData) -> list[str]:
    """What follows the features: the comment, where there is one, and the line end."""
    if record.comments is None:
        return ["\n"] * len(record)
    for row, one in enumerate(record.comments):
        if "\n" in one or "\r" in one:
            raise ValueError(f"comments[{row}] holds a line end, which would begin a new row")
    return [f" # {one}\n" if one else "\n" for one in record.comments]


def _blocks(X: Any, heads: list[str], tails: list[str]) -> Iterator[str]:
    for start in range(0, len(heads), _ROWS):
        stop = min(start + _ROWS, len(heads))
        ends, columns, values = _entries(X[start:stop], keep_last=start == 0)
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            row = start + int(np.searchsorted(ends, bad[0], side="right"))
            raise ValueError(f"X[{row}, {columns[bad[0]]}] is {values[bad[0]]}: only finite numbers can be written")
        entries = [
            f" {column}:{value}" for column, value in zip((columns + 1).tolist(), _shortest(values), strict=True)
        ]
        first = 0
        lines = []
        for row, end in zip(range(start, stop), ends.tolist(), strict=True):
            lines.append(f"{heads[row]}{''.join(entries[first:end])}{tails[row]}")
            first = end
        yield "".join(lines)


def _entries(block: Any, keep_last: bool) -> tuple[Array, Array, Array]:
    """(where each row's entries end, columns, values) of what is written; `keep_last`: see write_letor."""
    n_rows, n_columns = block.shape
    if isinstance(block, np.ndarray):
        block = np.ascontiguousarray(block, None if block.dtype in (np.float32, np.float64) else np.float64)
        written = (block != 0) | np.signbit(block)
        written[0, n_columns - 1 :] |= keep_last
        rows, columns = np.nonzero(written)
        return np.cumsum(np.bincount(rows, minlength=n_rows)), columns, block[rows, columns]
    block = block.copy() if not block.has_canonical_format else block
    block.sum_duplicates()
    ends, columns, values = block.indptr[1:], block.indices, block.data
    if keep_last and n_columns and n_columns - 1 not in columns[: ends[0]]:
        columns, values = np.insert(columns, ends[0], n_columns - 1), np.insert(values, ends[0], 0)
        ends = ends + 1
    return ends, columns, values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def _shortest(values: Array) -> list[str]:
    written = map(repr, values.tolist()) if values.dtype == np.float64 else values.astype("U32").tolist()
    return [one.removesuffix(".0") for one in written]
