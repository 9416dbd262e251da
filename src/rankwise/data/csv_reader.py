"""CSV and TSV: a header, then one row per document. Numbers are read exactly as Python's float reads them.

A stream is read in pieces of whole rows, and the chunks of a piece in parallel.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from rankwise.data.columns import FILL_IN, Reading, largest_lost, largest_number, plain_ids
from rankwise.data.csv_kernels import (
    CELLS,
    COLUMN,
    COMMENT,
    DOCUMENT,
    FAULT,
    ID_ENCODING,
    INEXACT_LABEL,
    LABEL,
    MISSING,
    N_HARD,
    N_NOTES,
    NO_ID,
    NONE,
    NOTHING,
    NUMBER,
    OPEN_QUOTE,
    OUT_OF_RANGE,
    PLACE,
    QUERY,
    WEIGHT,
    Arrays,
    Rules,
    count_rows,
    fill,
)
from rankwise.data.csv_rows import first_row, given_bytes, whole_rows
from rankwise.data.header import Columns, TextColumnsError, find_columns
from rankwise.data.reading_kernels import byte_runs
from rankwise.data.records import RankingData
from rankwise.data.streams import Chunk, Source, Text, name_of, opened, streamed
from rankwise.foundation.arrays import Array, is_rounded_integer, read_number
from rankwise.foundation.strict_json import is_text
from rankwise.foundation.texts import visible
from rankwise.foundation.threads import share, thread_count
from rankwise.pairs.queries import id_array

_SEPARATORS = ",;\t"
_SEPARATOR_LINE = re.compile(rb'("?)sep=([,;\t|])\1')  # with which Excel may begin a table
_DECIMAL_COMMA = re.compile(rb"[+-]?[0-9.]*,[0-9]+")
_MISSING = (b"", b"na", b"nan", b"null", b"none")  # as csv_kernels finds them
_LIKE_MISSING = (b"-", b"--", b"?", b".", b"n/a", b"n.a.", b"#n/a", b"<na>", b"missing", b"unknown")
_TRUE_FALSE = {b"true": "true and false", b"false": "true and false", b"yes": "yes and no", b"no": "yes and no"}
_SHOWN = 40  # bytes of a cell that a message shows
_EXPECTED = {
    MISSING: f"a number ({FILL_IN})",
    OPEN_QUOTE: "a quote that is closed at the end of a cell",
    NO_ID: "an id: every row needs one",
    ID_ENCODING: "an id in UTF-8: convert the file first",
    INEXACT_LABEL: "a label that float64 holds exactly: an integer beyond 2^53 is rounded, and different "
    "labels could become equal (only their order within a query counts: write ranks instead)",
}


@dataclass(frozen=True)
class _Layout:
    """What the header and the options say about every row."""

    header: list[str]
    columns: Columns
    rules: Rules
    n_threads: int


def csv_blocks(source: Source, reading: Reading, separator: str) -> Iterator[RankingData]:
    """The rows of a table, a piece at a time; `separator` is the usual one, and the header may show another."""
    layout, name = None, name_of(source)
    with ExitStack() as closing:
        texts = streamed(opened(source, closing), name)
        for text in texts:
            if layout is None:
                text, told = _from_header(text, texts)
                separators = [told] if told else [separator, *_SEPARATORS]
                text, end, separator = _header_end(text, texts, reading, separators)
                layout = _layout(_row_text(text, end), text, reading, separator)
                n_lines = text.data[text.start : end].count(b"\n")
                text = replace(text, start=end, first_line=text.first_line + n_lines)
            text = whole_rows(text, texts, layout.rules.separator)
            chunks = list(text.chunks())
            counts = share(lambda chunk: count_rows(chunk.load()), chunks, layout.n_threads)
            if sum(counts):
                _check_cells(chunks, sum(counts), layout)
                yield _read(chunks, counts, layout)


def _from_header(text: Text, following: Iterator[Text]) -> tuple[Text, str | None]:
    """The text without blank lines and a line `sep=;` before the header, and the separator that this line names."""
    separator = None
    while True:
        end = text.data.find(b"\n", text.start) + 1 or len(text.data)
        line = text.data[text.start : end].strip(b" \r\n")
        if named := _SEPARATOR_LINE.fullmatch(line):
            separator = named[2].decode()
        elif line:
            return text, separator
        if end < len(text.data):
            text = replace(text, start=end, first_line=text.first_line + 1)
        elif more := next(following, None):
            text = more
        else:
            raise ValueError(f"{text.name}: there are no rows to read")


def _header_end(
    text: Text, following: Iterator[Text], reading: Reading, separators: Sequence[str]
) -> tuple[Text, int, str]:
    """The text, where its header ends, and the separator, on which it depends whether a quoted cell has ended.

    The first separator that gives a known column; if none does, the one that gives the most cells.
    """
    n_cells: dict[str, int] = {}
    for separator in separators:
        text, end = first_row(text, following, ord(separator))
        header = _names(separator, _row_text(text, end))
        if set(header) & set(reading.besides):
            return text, end, separator
        n_cells[separator] = len(header) or 1  # a header that cannot be cut is one cell
    most = max(n_cells, key=n_cells.__getitem__)  # the first among equals
    return *first_row(text, following, ord(most)), most


def _row_text(text: Text, end: int) -> str:
    """The first row of the text, which ends there, without its line end."""
    row = text.data[text.start : end]
    return row.removesuffix(b"\n").removesuffix(b"\r").decode(errors="surrogateescape")


def _layout(line: str, text: Text, reading: Reading, separator: str) -> _Layout:
    where = f"{text.name}, line {text.first_line}: the header"
    if not is_text(line):
        raise ValueError(f"{where} is not UTF-8: convert the file first")
    try:
        header = _cells(line, separator)
    except csv.Error as error:
        what = f"cannot be read: {error}"
        if "\r" in re.sub(r'"([^"]|"")*"', "", line):  # outside of quotes
            what = "holds a line end CR, expected LF or CR LF at the end of every line"
        raise ValueError(f"{where} {what}") from None
    columns = find_columns(header, reading, text.name)
    roles = np.full(len(header), NOTHING)
    roles[list(columns.features)] = np.arange(len(columns.features))
    for place, role in (
        (columns.label, LABEL),
        (columns.weight, WEIGHT),
        (columns.qid, QUERY),
        (columns.docid, DOCUMENT),
        (columns.comment, COMMENT),
    ):
        if place is not None:
            roles[place] = role
    missing = 0.0 if reading.filler is None else float(reading.filler)
    dtype = reading.dtype or np.float64
    range_of_X = largest_number(dtype), largest_lost(dtype)
    rules = Rules(roles, ord(separator), *range_of_X, missing, reading.filler is not None, reading.takes_unlabelled)
    return _Layout(header, columns, rules, thread_count(reading.n_jobs))


def _names(separator: str, header: str) -> list[str]:
    """The header cut by this separator; no names if it cannot be."""
    try:
        return _cells(header, separator)
    except csv.Error:
        return []


def _cells(line: str, separator: str) -> list[str]:
    if line.endswith("\r"):  # csv would drop it; elsewhere outside of quotes it is an error of csv
        raise csv.Error("a line end CR")
    return next(csv.reader([line], delimiter=separator, strict=True), [])


def _check_cells(chunks: list[Chunk], rows: int, layout: _Layout) -> None:
    """Raise the error of a row with too few cells if X, as wide as the header, could be far larger than the file."""
    if rows * len(layout.header) <= sum(chunk.size + 1 for chunk in chunks):  # a cell takes at least one byte
        return
    for chunk in chunks:
        most = chunk.size // len(layout.header) + 1  # rows before the first one that is too short
        if error := _fill_chunk(chunk, 0, _arrays(most, layout.columns), layout):
            raise error


def _arrays(rows: int, columns: Columns) -> Arrays:
    places = [
        np.zeros((rows if place is not None else 0, 2), np.int64)
        for place in (columns.qid, columns.docid, columns.comment)
    ]
    labels = np.empty(rows) if columns.label is not None else np.zeros(rows)
    weights = np.empty(rows if columns.weight is not None else 0)
    return Arrays(np.empty((rows, len(columns.features))), labels, weights, *places)


def _read(chunks: list[Chunk], counts: list[int], layout: _Layout) -> RankingData:
    n, columns = sum(counts), layout.columns
    arrays = _arrays(n, columns)
    starts = np.cumsum([0, *counts]).tolist()
    work = list(zip(chunks, starts, strict=False))
    errors = share(lambda one: _fill_chunk(*one, arrays, layout), work, layout.n_threads)
    if first := next((error for error in errors if error), None):  # the first in the file, whatever thread met it
        raise first
    qid, docid, comments = np.zeros(n, np.int64), None, None
    spans = [slice(*both) for both in pairwise(starts)]
    if columns.qid is not None:
        texts, lengths = _texts(chunks, [arrays.queries[rows] for rows in spans])
        qid = plain_ids(np.repeat(id_array(texts), lengths))
    if columns.docid is not None:
        texts, lengths = _texts(chunks, [arrays.documents[rows] for rows in spans])
        docid = plain_ids(np.repeat(id_array(texts), lengths))
    if columns.comment is not None:
        texts, lengths = _texts(chunks, [arrays.comments[rows] for rows in spans])
        comments = np.repeat(np.array(texts, dtype=object), lengths)
    weight = None if columns.weight is None else arrays.weights
    return RankingData(arrays.X, arrays.y, qid, comments, columns.first_index, columns.names, docid, weight)


def _fill_chunk(chunk: Chunk, row: int, arrays: Arrays, layout: _Layout) -> ValueError | None:
    """Fill the chunk's rows; returns its first error, if there is one."""
    text = chunk.load()
    notes = np.empty(N_NOTES, np.int64)
    hard = np.empty((64, 4), np.int64)
    fill(text, row, arrays, layout.rules, hard, notes)
    if notes[N_HARD] > len(hard):
        hard = np.empty((notes[N_HARD], 4), np.int64)
        fill(text, row, arrays, layout.rules, hard, notes)
    for at, role, begin, end in hard[: notes[N_HARD]].tolist():
        written = text[begin:end].tobytes()
        value = float(written)
        inexact = role == LABEL and is_rounded_integer(written)
        largest = largest_number(np.float64) if role < 0 else layout.rules.largest
        negative = role == WEIGHT and value < 0
        is_lost = role >= 0 and 0 < abs(value) <= layout.rules.lost
        if inexact or negative or is_lost or abs(value) > largest:
            column = layout.rules.roles.tolist().index(role)
            kind = INEXACT_LABEL if inexact else NUMBER if negative else OUT_OF_RANGE
            return _error(chunk, begin, column, kind, layout)
        (arrays.y if role == LABEL else arrays.weights if role == WEIGHT else arrays.X[:, role])[at] = value
    if notes[FAULT] != NONE:
        place, column, kind = (int(notes[one]) for one in (PLACE, COLUMN, FAULT))
        return _error(chunk, place, column, kind, layout)
    return None


def _error(chunk: Chunk, place: int, column: int, kind: int, layout: _Layout) -> ValueError:
    _, begin, row = chunk.text.line_at(chunk.offset + place)
    given = given_bytes(chunk.text)
    number = chunk.text.first_line + given.count(b"\n", chunk.text.start, begin)
    line = given[begin : begin + len(row)]
    where = f"{chunk.text.name}, line {number}"
    separator = chr(layout.rules.separator)
    if kind == CELLS:
        n_cells = _count_cells(line.decode(errors="replace"), separator)
        return ValueError(f"{where}: found {n_cells} cells, expected {len(layout.header)}, as in the header")
    cell, goes_on = _first_cell(line[chunk.offset + place - begin :], separator.encode())
    shown = visible(cell.decode(errors="backslashreplace"))
    found = f"{where}, column {layout.header[column]!r}: found '{shown}'"
    what = {
        layout.columns.label: "a label: a finite number",
        layout.columns.weight: "a weight: a finite number, 0 or more",
    }.get(column)
    if kind == NUMBER and goes_on:
        expected = _EXPECTED[OPEN_QUOTE]
    elif kind == OUT_OF_RANGE:
        is_single = layout.rules.largest < largest_number(np.float64) and what is None
        expected = f"a number that {'float32' if is_single else 'float64'} can hold"
    elif what is not None and kind in (NUMBER, MISSING):
        expected = what
    elif kind == NUMBER and _DECIMAL_COMMA.fullmatch(cell):
        expected = "a number with a decimal point: a decimal comma is not read"
    elif kind == NUMBER:
        instead = _instead(cell)
        names = _text_columns(line, column, layout) if instead is None else [layout.header[column]]
        has_ids = layout.columns.docid is not None
        return TextColumnsError(f"{found}, expected a finite number", names, has_ids, instead)
    else:
        expected = _EXPECTED[kind]
    return ValueError(f"{found}, expected {expected}")


def _first_cell(line: bytes, separator: bytes) -> tuple[bytes, bool]:
    """The beginning of a line's first cell, without quotes that enclose it, and whether it goes on after them."""
    quoted = re.match(rb'"((?:[^"]|"")*)"([^%b\r\n]*)' % re.escape(separator), line)
    if quoted and quoted[2]:
        return quoted[0].strip()[:_SHOWN], True
    cell = quoted[1].replace(b'""', b'"') if quoted else line.split(separator)[0]
    return cell.strip()[:_SHOWN], False


def _text_columns(line: bytes, column: int, layout: _Layout) -> list[str]:
    """The features that are texts in a row in which that of `column` is one, so that one message names them all."""
    try:
        cells = _cells(line.decode(errors="replace").rstrip("\r\n"), chr(layout.rules.separator))
    except csv.Error:  # a cell longer than the module allows
        cells = []
    texts = {i for i, cell in enumerate(cells) if _is_text(cell.strip().encode())}
    return [layout.header[i] for i in sorted(layout.columns.features) if i == column or i in texts]


def _is_text(cell: bytes) -> bool:
    is_number = not np.isnan(read_number(cell)) or _DECIMAL_COMMA.fullmatch(cell)
    return not is_number and cell.lower() not in _MISSING and _instead(cell) is None


def _instead(cell: bytes) -> str | None:
    """How to write a cell that stands for a missing number, or for true or false."""
    if cell.lower() in _LIKE_MISSING:
        return "write an empty cell, NA, nan, null or none for a missing number"
    if both := _TRUE_FALSE.get(cell.lower()):
        return f"write 1 and 0 for {both}"
    return None


def _count_cells(line: str, separator: str) -> int:
    try:
        return len(next(csv.reader([line.replace("\r", " ")], delimiter=separator), []))
    except csv.Error:  # a cell longer than the module allows
        return line.count(separator) + 1


def _texts(chunks: list[Chunk], places: list[Array]) -> tuple[list[str], Array]:
    """One text per run of rows with equal texts, and the lengths of the runs; comments need not be UTF-8."""
    texts: list[str] = []
    lengths: list[Array] = []
    for chunk, of_rows in zip(chunks, places, strict=True):
        given = np.frombuffer(given_bytes(chunk.text), np.uint8, chunk.size, chunk.offset)
        codes, first = byte_runs(given, of_rows)
        texts += [code.decode(errors="backslashreplace") for code in codes]
        lengths.append(np.diff(first, append=len(of_rows)))
    return [_unquoted(one) if one[:1] == '"' else one for one in texts], np.concatenate(lengths)


def _unquoted(text: str) -> str:
    return text[1:-1].replace('""', '"') if len(text) > 1 and text[-1] == '"' else text
