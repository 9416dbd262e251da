"""Rows as text: LETOR text and tables of CSV or TSV.

A row is its label, its query id, its entries and what follows them. Each number is written in the fewest digits that
read back to it. Blocks of rows are converted in parallel and written in order.
"""

import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from os import PathLike
from typing import IO, TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from rankwise.data.document_ids import comments_with_ids
from rankwise.data.records import (
    COMMENT,
    DOCUMENT,
    LABEL,
    QUERY,
    WEIGHT,
    RankingData,
    check_finite,
    check_no_groups,
    column_names,
)
from rankwise.data.streams import Target
from rankwise.data.writing_kernels import Entries, Strings, most_bytes, write_rows
from rankwise.foundation.arrays import Array
from rankwise.foundation.outputs import written_beside
from rankwise.foundation.threads import share, thread_count

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_BLOCK = 1 << 17  # entries that one thread converts at a time
_NOT_IN_IDS = re.compile(r"[\x00-\x20\x7f#]|\s")  # \s: the blanks of other scripts too
_CELLS_PER_VALUE = 20  # sparse data with more cells than this per stored value would be nearly all zeros in a table
_SMALL = 10**6  # cells that are always accepted

Block = Callable[[], bytes]


def write_text(target: Target, blocks: Iterable[Block], first: bytes = b"") -> None:
    """Write `first` and then the blocks, which are made in parallel, to a path, "-" or an open file."""
    n_threads = thread_count()
    with ExitStack() as closing:
        file = closing.enter_context(written_beside(target)) if isinstance(target, str | PathLike) else target
        is_text = isinstance(file, io.TextIOBase)

        def write(text: bytes) -> None:
            cast(IO[bytes], file).write(cast(bytes, text.decode()) if is_text else text)

        write(first)
        remaining = iter(blocks)
        while group := list(islice(remaining, 4 * n_threads)):
            for text in share(lambda block: block(), group, n_threads):
                write(text)


def _row_blocks(X: "Array | csr_array") -> Iterator[slice]:
    """Runs of rows that one thread converts together."""
    n_rows = X.shape[0]
    step = max(1, _BLOCK * n_rows // max(X.size, 1))
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def _id_runs(qid: Array) -> tuple[list[str], Array]:
    """Query ids as texts, one per run of rows with equal ids, and the number of each row's run."""
    begins = np.concatenate(([True], qid[1:] != qid[:-1]))
    return [str(one) for one in qid[begins].tolist()], np.cumsum(begins) - 1


def _at_rows(texts: Strings, rows: slice) -> Strings:
    return texts._replace(codes=texts.codes[rows])


def _strings(texts: list[str], codes: Array) -> Strings:
    encoded = [one.encode() for one in texts]
    ends = np.cumsum([0, *map(len, encoded)])
    return Strings(np.frombuffer(b"".join(encoded), np.uint8), ends, codes)


def _row_bytes(labels: Array, befores: Strings, entries: Entries, afters: Strings, separator: str) -> bytes:
    """The rows, each as `label before entries after`."""
    texts = sum(int(np.diff(one.ends)[one.codes].sum()) for one in (befores, afters))
    out = np.empty(texts + most_bytes(labels.size, entries.bits.size), np.uint8)
    end = write_rows(labels.view(np.uint64), befores, entries, afters, ord(separator), out)
    return out[:end].tobytes()


def write_letor(
    target: Target,
    data: "RankingData | csr_array | ArrayLike",
    y: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    comments: Sequence[str] | None = None,
) -> None:
    """Write ranking text that `read_letor` reads back to the same numbers.

    target         a path (.gz, .bz2, .xz, .zst: compressed), which is replaced only when all is written; "-" for
                   standard output; or an open file, of bytes or of text
    data           RankingData, or X with its y and, if there are any, qid and comments

    Zeros of a dense X are left out; stored zeros of a sparse X are written. The first row always holds the last column,
    so that the number of features is preserved, and the first column if indices count from 0. Without `qid` the lines
    have none. Spaces at both ends of comments are removed. Document ids are written into the comments, as `docid = ID`.

    Examples
    --------
    >>> from rankwise import load_sample, read_letor, write_letor
    >>> data = load_sample()
    >>> write_letor("books.txt", data.X, data.y, data.qid)
    >>> bool((read_letor("books.txt", dense=True).X == data.X).all())
    True
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
    write_text(target, _letor_blocks(record, heads, tails))


def _record(
    X: "csr_array | ArrayLike", y: ArrayLike | None, qid: ArrayLike | None, comments: Sequence[str] | None
) -> RankingData:
    if y is None:
        raise TypeError("y is missing: a line of ranking text begins with its label")
    matrix = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
    ids = np.zeros(matrix.shape[0], np.int64) if qid is None else qid
    return RankingData(matrix, cast(Array, y), cast(Array, ids), comments)


def _heads(record: RankingData, has_qid: bool) -> Strings:
    """The query id of each row; consecutive rows with one id share a text."""
    bad = np.flatnonzero(~np.isfinite(record.y))
    if bad.size:
        raise ValueError(f"y[{bad[0]}] is {record.y[bad[0]]}: a label must be a finite number")
    if not has_qid:
        return _strings([""], np.zeros(len(record), np.int64))
    if record.qid.dtype.kind not in "iuUOT":
        raise ValueError(f"qid must hold integers or strings, got {record.qid.dtype}")
    ids, codes = _id_runs(record.qid)
    for one in dict.fromkeys(ids):
        if not one or _NOT_IN_IDS.search(one):
            raise ValueError(
                f"qid {one!r} cannot be written: in this text an id is not empty and has no space, control character "
                "or #; CSV, JSON lines, Parquet and NPZ take such ids"
            )
    return _strings([f" qid:{one}" for one in ids], codes)


def _tails(record: RankingData) -> Strings:
    """What follows the features: the comment, if there is one, and the line end."""
    check_no_groups(record)
    if record.weight is not None:
        raise ValueError("this text has no place for weights: write CSV, Parquet or NPZ, or leave the weights out")
    comments = record.comments
    if record.docid is not None:
        comments = comments_with_ids(record.docid, comments, record.qid)
    if comments is None:
        return _strings(["\n"], np.zeros(len(record), np.int64))
    for row, one in enumerate(comments):
        if "\n" in one or "\r" in one:
            raise ValueError(f"comments[{row}] holds a line end, which would begin a new row")
    return _strings([f" # {one}\n" if one else "\n" for one in comments], np.arange(len(record)))


def _letor_blocks(record: RankingData, heads: Strings, tails: Strings) -> Iterator[Block]:
    X = record.X if isinstance(record.X, np.ndarray) else record.canonical
    for rows in _row_blocks(X):

        def text(rows: slice = rows) -> bytes:
            ends, columns, values = _entries(X[rows], record.first_index if rows.start == 0 else None)
            bad = np.flatnonzero(~np.isfinite(values))
            if bad.size:
                row = rows.start + int(np.searchsorted(ends, bad[0], side="right"))
                raise ValueError(f"X[{row}, {columns[bad[0]]}] is {values[bad[0]]}: only finite numbers can be written")
            entries = Entries(ends, columns + record.first_index, values.view(f"u{values.itemsize}"))
            return _row_bytes(record.y[rows], _at_rows(heads, rows), entries, _at_rows(tails, rows), " ")

        yield text


def _entries(block: "Array | csr_array", base: int | None) -> tuple[Array, Array, Array]:
    """(where each row's entries end, columns, values) of what is written; `base` is None after the first block."""
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
    """The columns that the first row writes even if they are 0: see write_letor."""
    kept = [] if base is None or not n_columns else [0, n_columns - 1] if base == 0 else [n_columns - 1]
    return np.unique(np.array(kept, np.int64))


def write_csv(target: Target, data: RankingData, separator: str) -> None:
    """Write a table. Sparse data get a cell for every zero; they are refused if nearly all cells would be zeros."""
    refuse_zeros(data, "CSV")
    check_finite(data)
    besides, befores = _before_features(data, separator)
    afters = _strings(["\n"], np.zeros(len(data), np.int64))
    header = [LABEL, *besides, *column_names(data)]
    if data.comments is not None:
        header.append(COMMENT)
        texts = [f"{separator}{_quoted(one, separator, 'a comment')}\n" for one in data.comments]
        afters = _strings(texts, np.arange(len(data)))
    first = separator.join(_quoted(name, separator, "a name") for name in header) + "\n"
    write_text(target, _table_blocks(data, befores, afters, separator), first.encode())


def refuse_zeros(data: RankingData, format: str) -> None:
    """Raise an error if the data are sparse and would be nearly all zeros in a format that writes them."""
    cells = len(data) * data.n_features
    if not isinstance(data.X, np.ndarray) and cells > max(_SMALL, _CELLS_PER_VALUE * data.X.nnz):
        raise ValueError(
            f"{format} has a cell for every zero, here {cells:,} for {data.X.nnz:,} values: "
            "write Parquet, NPZ or LETOR text"
        )


def _before_features(data: RankingData, separator: str) -> tuple[list[str], Strings]:
    """The columns between the label and the features, and their cells: query ids, document ids and weights."""
    ids, codes = _id_runs(data.qid)
    cells = [separator + _quoted(one, separator, "qid") for one in ids]
    if data.docid is None and data.weight is None:
        return [QUERY], _strings(cells, codes)
    names, rows = [QUERY], [cells[code] for code in codes.tolist()]
    if data.docid is not None:
        names.append(DOCUMENT)
        documents = (_quoted(str(one), separator, "docid") for one in data.docid.tolist())
        rows = [row + separator + one for row, one in zip(rows, documents, strict=True)]
    if data.weight is not None:
        names.append(WEIGHT)
        rows = [f"{row}{separator}{one!r}" for row, one in zip(rows, data.weight.tolist(), strict=True)]
    return names, _strings(rows, np.arange(len(data)))


def _table_blocks(data: RankingData, befores: Strings, afters: Strings, separator: str) -> Iterator[Block]:
    for rows in _row_blocks(data.X):

        def text(rows: slice = rows) -> bytes:
            block = data.X[rows]
            block = block if isinstance(block, np.ndarray) else block.toarray()
            values = np.ascontiguousarray(block, None if block.dtype in (np.float32, np.float64) else np.float64)
            ends = data.n_features * np.arange(1, len(values) + 1)
            entries = Entries(ends, np.empty(0, np.int64), values.ravel().view(f"u{values.itemsize}"))
            return _row_bytes(data.y[rows], _at_rows(befores, rows), entries, _at_rows(afters, rows), separator)

        yield text


def _quoted(text: str, separator: str, what: str) -> str:
    if what in ("qid", "docid") and not text:
        raise ValueError(f"{what} '' cannot be written to CSV: every row needs an id that is not empty")
    if any(sign in text for sign in (separator, '"', "\n", "\r")):
        return '"' + text.replace('"', '""') + '"'
    return text
