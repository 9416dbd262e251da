"""CSV and TSV out: a header, then one row per document, each number in the fewest digits that read back to itself."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from rankwise.data.columns import COMMENT, LABEL, QUERY, check_finite, column_names
from rankwise.data.records import RankingData
from rankwise.data.text_rows import Entries, Strings, at_rows, id_runs, row_blocks, row_bytes, strings, write_text

_CELLS_A_VALUE = 20  # sparse data with more cells than this for each stored value would be nearly all zeros
_SMALL = 10**6  # cells that are no matter


def write_csv(target: Any, data: RankingData, separator: str) -> None:
    """Write a table; sparse data get a cell for every zero, and are refused where that is nearly all there is."""
    cells = len(data) * data.n_features
    if not isinstance(data.X, np.ndarray) and cells > max(_SMALL, _CELLS_A_VALUE * data.X.nnz):
        raise ValueError(
            f"CSV has a cell for every zero, here {cells:,} for {data.X.nnz:,} values: take Parquet, NPZ or LETOR text"
        )
    check_finite(data)
    ids, codes = id_runs(data.qid)
    befores = strings([separator + _quoted(one, separator, "qid") for one in ids], codes)
    afters = strings(["\n"], np.zeros(len(data), np.int64))
    header = [LABEL, QUERY, *column_names(data)]
    if data.comments is not None:
        header.append(COMMENT)
        texts = [f"{separator}{_quoted(one, separator, 'a comment')}\n" for one in data.comments]
        afters = strings(texts, np.arange(len(data)))
    first = separator.join(_quoted(name, separator, "a name") for name in header) + "\n"
    write_text(target, _blocks(data, befores, afters, separator), first.encode())


def _blocks(data: RankingData, befores: Strings, afters: Strings, separator: str) -> Iterator[Callable[[], bytes]]:
    for rows in row_blocks(data.X):

        def text(rows: slice = rows) -> bytes:
            block = data.X[rows]
            block = block if isinstance(block, np.ndarray) else block.toarray()
            values = np.ascontiguousarray(block, None if block.dtype in (np.float32, np.float64) else np.float64)
            ends = data.n_features * np.arange(1, len(values) + 1)
            entries = Entries(ends, np.empty(0, np.int64), values.ravel().view(f"u{values.itemsize}"))
            return row_bytes(data.y[rows], at_rows(befores, rows), entries, at_rows(afters, rows), separator)

        yield text


def _quoted(text: str, separator: str, what: str) -> str:
    if "\n" in text or "\r" in text or (what == "qid" and not text):
        raise ValueError(f"{what} {text!r} cannot be written to CSV: it is empty or holds a line end")
    if separator in text or '"' in text:
        return '"' + text.replace('"', '""') + '"'
    return text
