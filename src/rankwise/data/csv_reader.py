"""CSV and TSV: a header, then one row per document. Numbers are read exactly as Python's float reads them.

A stream is read in pieces of whole rows, and the chunks of a piece in parallel. The kernels are at the end.
"""

import csv
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rankwise.data.columns import FILL_IN, Reading, largest_number, plain_ids
from rankwise.data.csv_rows import QUOTE, restored, whole_rows
from rankwise.data.header import Columns, find_columns, no_numbers
from rankwise.data.reading_kernels import (
    EXACT,
    HARD,
    NEWLINE,
    RETURN,
    SPACE,
    UNREADABLE,
    byte_runs,
    next_line,
    read_decimal,
)
from rankwise.data.records import RankingData
from rankwise.data.streams import Chunk, Source, name_of, opened, streamed
from rankwise.foundation.arrays import LARGEST_EXACT, Array, is_rounded_integer
from rankwise.foundation.jit import kernel
from rankwise.foundation.threads import share, thread_count
from rankwise.pairs.queries import id_array

# what a column is if it is not a feature
LABEL, WEIGHT, QUERY, DOCUMENT, COMMENT, NOTHING = range(-1, -7, -1)
# what `notes` holds
FAULT, PLACE, COLUMN, N_HARD, N_NOTES = range(5)
# kinds of fault
NONE, CELLS, NUMBER, MISSING, TOO_LARGE, OPEN_QUOTE, NO_ID, INEXACT_LABEL = range(-1, 7)

_SEPARATORS = ",;\t"
_N, _A, _U, _L, _O, _E = (ord(c) for c in "nauloe")
_SHOWN = 40  # bytes of a cell that a message shows
_EXPECTED = {
    MISSING: f"a number ({FILL_IN})",
    OPEN_QUOTE: "a quote that is closed at the end of a cell",
    NO_ID: "an id: every row needs one",
    INEXACT_LABEL: "a label that float64 holds exactly: an integer beyond 2^53 is rounded, and different "
    "labels could become equal (only their order within a query counts: write ranks instead)",
}


class Arrays(NamedTuple):
    """Where `fill` writes: features, labels, weights, and (begin, end) of ids and comments in the chunk."""

    X: Array
    y: Array
    weights: Array
    queries: Array
    documents: Array
    comments: Array


class Rules(NamedTuple):
    """The role of each column, the byte between cells, the largest number, the value that replaces a missing one, and
    whether features and labels may be missing.
    """

    roles: Array
    separator: int
    largest: float
    missing: float
    allow_missing: bool
    allow_unjudged: bool


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
                end = text.data.find(b"\n", text.start) + 1 or len(text.data)
                layout = _layout(text.data[text.start : end], name, reading, separator)
                text = replace(text, start=end, first_line=text.first_line + 1)
            text = whole_rows(text, texts, layout.rules.separator)
            chunks = list(text.chunks())
            counts = share(lambda chunk: _count_rows(chunk.load()), chunks, layout.n_threads)
            if sum(counts):
                _check_cells(chunks, sum(counts), layout)
                yield _read(chunks, counts, layout)


def _layout(line: bytes, name: str, reading: Reading, separator: str) -> _Layout:
    text = line.removesuffix(b"\n").removesuffix(b"\r").decode(errors="backslashreplace")
    if "\r" in text:
        raise ValueError(
            f"{name}, line 1: the header holds a line end CR, expected LF or CR LF at the end of every line"
        )
    separator = next((one for one in (separator, *_SEPARATORS) if _separates(one, text, reading)), separator)
    try:
        header = _cells(text, separator)
    except csv.Error as error:
        raise ValueError(f"{name}, line 1: the header cannot be read: {error}") from None
    columns = find_columns(header, reading, name)
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
    largest = largest_number(reading.dtype or np.float64)
    rules = Rules(roles, ord(separator), largest, missing, reading.filler is not None, reading.takes_unlabelled)
    return _Layout(header, columns, rules, thread_count(reading.n_jobs))


def _separates(separator: str, header: str, reading: Reading) -> bool:
    """Whether the header, cut by this separator, has one of the columns that are no features."""
    try:
        return bool(set(_cells(header, separator)) & set(reading.besides))
    except csv.Error:
        return False


def _cells(line: str, separator: str) -> list[str]:
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
        if inexact or abs(value) > largest:
            column = layout.rules.roles.tolist().index(role)
            kind = INEXACT_LABEL if inexact else TOO_LARGE
            return _error(chunk, begin, column, kind, layout)
        (arrays.y if role == LABEL else arrays.weights if role == WEIGHT else arrays.X[:, role])[at] = value
    if notes[FAULT] != NONE:
        place, column, kind = (int(notes[one]) for one in (PLACE, COLUMN, FAULT))
        return _error(chunk, place, column, kind, layout)
    return None


def _error(chunk: Chunk, place: int, column: int, kind: int, layout: _Layout) -> ValueError:
    number, begin, line = chunk.text.line_at(chunk.offset + place)
    before = chunk.text.data[chunk.text.start : begin]
    number += restored(chunk.text, before).count(b"\n") - before.count(b"\n")
    line = restored(chunk.text, line)
    where = f"{chunk.text.name}, line {number}"
    separator = chr(layout.rules.separator)
    if kind == CELLS:
        n_cells = _count_cells(line.decode(errors="replace"), separator)
        return ValueError(f"{where}: found {n_cells} cells, expected {len(layout.header)}, as in the header")
    cell = line[chunk.offset + place - begin :].split(separator.encode())[0].strip()[:_SHOWN]
    what = {layout.columns.label: "label", layout.columns.weight: "weight"}.get(column)
    if kind == TOO_LARGE:
        is_single = layout.rules.largest < largest_number(np.float64) and what is None
        expected = f"a number that {'float32' if is_single else 'float64'} can hold"
    else:
        expected = _EXPECTED.get(kind, f"a finite number: {no_numbers(layout.header[column])}")
        if what is not None and kind in (NUMBER, MISSING):
            expected = f"a {what}: a finite number"
    found_text = cell.decode(errors="backslashreplace")
    return ValueError(f"{where}, column {layout.header[column]!r}: found {found_text!r}, expected {expected}")


def _count_cells(line: str, separator: str) -> int:
    try:
        return len(next(csv.reader([line.replace("\r", " ")], delimiter=separator), []))
    except csv.Error:  # a cell longer than the module allows
        return line.count(separator) + 1


def _texts(chunks: list[Chunk], places: list[Array]) -> tuple[list[str], Array]:
    """One text per run of rows with equal texts, and the lengths of the runs."""
    texts: list[str] = []
    lengths: list[Array] = []
    for chunk, of_rows in zip(chunks, places, strict=True):
        codes, first = byte_runs(chunk.load(), of_rows)
        texts += [restored(chunk.text, one).decode(errors="backslashreplace") for one in codes]
        lengths.append(np.diff(first, append=len(of_rows)))
    return [_unquoted(one) if one[:1] == '"' else one for one in texts], np.concatenate(lengths)


def _unquoted(text: str) -> str:
    return text[1:-1].replace('""', '"') if len(text) > 1 and text[-1] == '"' else text


@kernel
def _count_rows(text: Array) -> int:
    """The lines that are not blank."""
    rows, at = 0, 0
    while at < text.size:
        rows += not _is_blank(text, at)
        at = next_line(text, at)
    return rows


@kernel
def _is_blank(text: Array, at: int) -> bool:
    while text[at] == SPACE or text[at] == RETURN:
        at += 1
    return bool(text[at] == NEWLINE)


@kernel
def fill(text: Array, row: int, arrays: Arrays, rules: Rules, hard: Array, notes: Array) -> None:
    """Read a chunk into the rows from `row` on; `hard` takes (row, column or LABEL, begin, end) left to Python."""
    notes[:] = -1
    notes[N_HARD] = 0
    at = 0
    while at < text.size:
        if not _is_blank(text, at):
            for column in range(rules.roles.size):
                begin, role = at, rules.roles[column]
                if role >= 0 and column < rules.roles.size - 1:  # nearly all cells: a plain number, and not the last
                    value, at, status = read_decimal(text, begin)
                    if status == EXACT and text[at] == rules.separator and abs(value) <= rules.largest:
                        arrays.X[row, role] = value
                        at += 1
                        continue
                end, at = _cell(text, begin, rules.separator)
                if end < 0:
                    notes[FAULT] = OPEN_QUOTE
                elif (text[at] == NEWLINE) != (column == rules.roles.size - 1):
                    notes[FAULT] = CELLS
                else:
                    _keep(text, begin, end, row, role, arrays, rules, hard, notes)
                if notes[FAULT] != NONE:
                    notes[PLACE], notes[COLUMN] = begin, column
                    return
                at += 1
            row += 1
        else:
            at = next_line(text, at)


@kernel
def _cell(text: Array, at: int, separator: int) -> tuple[int, int]:
    """(end of the cell, place of the separator or line end after it); the end is -1 if a quote is not closed."""
    if text[at] == QUOTE:
        at += 1
        while text[at] != QUOTE or text[at + 1] == QUOTE:
            if text[at] == NEWLINE:
                return -1, at
            at += 2 if text[at] == QUOTE else 1
        at += 1
    while text[at] != separator and text[at] != NEWLINE:
        at += 1
    end = at
    if text[at] == NEWLINE and end > 0 and text[end - 1] == RETURN:
        end -= 1
    return end, at


@kernel
def _keep(
    text: Array, begin: int, end: int, row: int, role: int, arrays: Arrays, rules: Rules, hard: Array, notes: Array
) -> None:
    if role in (QUERY, DOCUMENT):
        places = arrays.queries if role == QUERY else arrays.documents
        places[row, 0], places[row, 1] = begin, end
        if begin == end:
            notes[FAULT] = NO_ID
    elif role == COMMENT:
        arrays.comments[row, 0], arrays.comments[row, 1] = begin, end
    elif role != NOTHING:
        begin, end = _inside(text, begin, end)
        value, stop, status = (0.0, begin, UNREADABLE) if begin == end else read_decimal(text, begin)
        if status == UNREADABLE or stop != end:
            missing = _is_missing(text, begin, end)
            value = rules.missing
            if not missing:
                notes[FAULT] = NUMBER
            elif role == LABEL and rules.allow_unjudged:
                value = np.nan
            elif not rules.allow_missing or role < 0:
                notes[FAULT] = MISSING
        elif status == HARD or (role == LABEL and abs(value) >= LARGEST_EXACT):
            known = notes[N_HARD]
            if known < hard.shape[0]:
                hard[known, 0], hard[known, 1], hard[known, 2], hard[known, 3] = row, role, begin, end
            notes[N_HARD] = known + 1
        elif role >= 0 and abs(value) > rules.largest:
            notes[FAULT] = TOO_LARGE
        if role == LABEL:
            arrays.y[row] = value
        elif role == WEIGHT:
            arrays.weights[row] = value
        else:
            arrays.X[row, role] = value


@kernel
def _inside(text: Array, begin: int, end: int) -> tuple[int, int]:
    """A number's cell without quotes and spaces."""
    if end - begin >= 2 and text[begin] == QUOTE and text[end - 1] == QUOTE:
        begin, end = begin + 1, end - 1
    while begin < end and text[begin] == SPACE:
        begin += 1
    while begin < end and text[end - 1] == SPACE:
        end -= 1
    return begin, end


@kernel
def _is_missing(text: Array, begin: int, end: int) -> bool:
    """Whether the cell is empty or says na, nan, null or none, in capitals or not."""
    if begin == end:
        return True
    if end - begin > 4 or end - begin < 2 or (text[begin] | 32) != _N:
        return False
    second, last = text[begin + 1] | 32, text[end - 1] | 32
    if end - begin == 2:
        return bool(second == _A)
    third = text[begin + 2] | 32
    if end - begin == 3:
        return bool(second == _A and third == _N)
    return bool((second == _U and third == _L and last == _L) or (second == _O and third == _N and last == _E))
