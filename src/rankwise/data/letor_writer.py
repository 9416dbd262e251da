"""Ranking text out: each number in the fewest digits that read back to itself."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from rankwise.data.records import RankingData
from rankwise.data.text_rows import Entries, Strings, at_rows, id_runs, row_blocks, row_bytes, strings, write_text
from rankwise.foundation.arrays import Array

_NOT_IN_IDS = re.compile(r"[\x00-\x20\x7f#]|\s")  # \s: the blanks of other scripts too


def write_letor(target: Any, data: Any, y: Any = None, qid: Any = None, comments: Any = None) -> None:
    """Write ranking text that `read_letor` reads back to the same numbers.

    target         a path (.gz, .bz2, .xz, .zst: compressed), which is replaced only when all is written; "-" for
                   standard output; or an open file, of bytes or of text
    data           RankingData, or X with its y and, where there are any, qid and comments

    Zeros of a dense X are left out; stored zeros of a sparse X are written. The first row always holds the last column,
    so that the number of features survives, and, where indices count from 0, the first column. Without qid the lines
    have none. Comments lose outer spaces.
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
    write_text(target, _blocks(record, heads, tails))


def _record(X: Any, y: Any, qid: Any, comments: Any) -> RankingData:
    if y is None:
        raise TypeError("y is missing: a line of ranking text begins with its label")
    matrix = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
    return RankingData(matrix, y, np.zeros(matrix.shape[0], np.int64) if qid is None else qid, comments)


def _heads(record: RankingData, has_qid: bool) -> Strings:
    """The query id of each row; consecutive rows of one id share a text."""
    bad = np.flatnonzero(~np.isfinite(record.y))
    if bad.size:
        raise ValueError(f"y[{bad[0]}] is {record.y[bad[0]]}: a label must be a finite number")
    if not has_qid:
        return strings([""], np.zeros(len(record), np.int64))
    if record.qid.dtype.kind not in "iuUOT":
        raise ValueError(f"qid must hold integers or strings, got {record.qid.dtype}")
    ids, codes = id_runs(record.qid)
    for one in dict.fromkeys(ids):
        if not one or _NOT_IN_IDS.search(one):
            raise ValueError(
                f"qid {one!r} cannot be written: an id is not empty and holds no space, control character or #"
            )
    return strings([f" qid:{one}" for one in ids], codes)


def _tails(record: RankingData) -> Strings:
    """What follows the features: the comment, where there is one, and the line end."""
    if record.comments is None:
        return strings(["\n"], np.zeros(len(record), np.int64))
    for row, one in enumerate(record.comments):
        if "\n" in one or "\r" in one:
            raise ValueError(f"comments[{row}] holds a line end, which would begin a new row")
    return strings([f" # {one}\n" if one else "\n" for one in record.comments], np.arange(len(record)))


def _blocks(record: RankingData, heads: Strings, tails: Strings) -> Iterator[Callable[[], bytes]]:
    X = record.X if isinstance(record.X, np.ndarray) else record.canonical
    for rows in row_blocks(X):

        def text(rows: slice = rows) -> bytes:
            ends, columns, values = _entries(X[rows], record.first_index if rows.start == 0 else None)
            bad = np.flatnonzero(~np.isfinite(values))
            if bad.size:
                row = rows.start + int(np.searchsorted(ends, bad[0], side="right"))
                raise ValueError(f"X[{row}, {columns[bad[0]]}] is {values[bad[0]]}: only finite numbers can be written")
            entries = Entries(ends, columns + record.first_index, values.view(f"u{values.itemsize}"))
            return row_bytes(record.y[rows], at_rows(heads, rows), entries, at_rows(tails, rows), " ")

        yield text


def _entries(block: Any, base: int | None) -> tuple[Array, Array, Array]:
    """(where each row's entries end, columns, values) of what is written; the first block of a file knows its base."""
    n_rows, n_columns = block.shape
    kept = _kept(n_columns, base)
    if isinstance(block, np.ndarray):
        block = np.ascontiguousarray(block, None if block.dtype in (np.float32, np.float64) else np.float64)
        written = (block != 0) | np.signbit(block)
        written[0, kept] = True
        rows, columns = np.nonzero(written)
        return np.cumsum(np.bincount(rows, minlength=n_rows)), columns, block[rows, columns]
    ends, columns, values = block.indptr[1:], block.indices, block.data
    missing = np.setdiff1d(kept, columns[: ends[0]])
    if missing.size:
        places = np.searchsorted(columns[: ends[0]], missing)
        columns, values = np.insert(columns, places, missing), np.insert(values, places, 0)
        ends = ends + missing.size
    return ends, columns, values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def _kept(n_columns: int, base: int | None) -> Array:
    """The columns that the first row writes even where they are 0: see write_letor."""
    kept = [] if base is None or not n_columns else [0, n_columns - 1] if base == 0 else [n_columns - 1]
    return np.unique(np.array(kept, np.int64))
