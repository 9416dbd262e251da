"""CSV and TSV in: a header, then one row per document. Numbers are read exactly as Python's float reads them.

A stream is read in pieces of whole lines, and the chunks of a piece side by side, so a cell cannot hold a line end.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from rankwise.data import csv_kernels as kernels
from rankwise.data.columns import FILL_IN, Columns, Reading, find_columns, largest_number, plain_ids
from rankwise.data.letor_strings import byte_runs
from rankwise.data.records import RankingData
from rankwise.data.streams import Chunk, streamed
from rankwise.foundation.arrays import Array, is_rounded_integer
from rankwise.foundation.threads import share, thread_count
from rankwise.pairs.queries import id_array

_SHOWN = 40  # bytes of a cell that a message shows
_EXPECTED = {
    kernels.NUMBER: "a finite number (features=[...] in Python, or --feature NAME once per column of `rankwise "
    "convert`, takes the columns named and leaves out the others)",
    kernels.MISSING: f"a number ({FILL_IN})",
    kernels.OPEN_QUOTE: "a quote that is closed on the same line",
    kernels.NO_QUERY: "a query id",
    kernels.INEXACT_LABEL: "a label that float64 holds exactly: an integer beyond 2^53 is rounded, and different "
    "labels could become equal (only their order within a query counts: write ranks instead)",
}


@dataclass(frozen=True)
class _Layout:
    """What the header and the caller say of every row."""

    header: list[str]
    columns: Columns
    rules: kernels.Rules
    n_threads: int


def csv_blocks(file: Any, name: str, reading: Reading, separator: str) -> Iterator[RankingData]:
    """The rows of an open file, of bytes or text, a piece at a time."""
    layout = None
    for text in streamed(file, name):
        if layout is None:
            end = text.data.find(b"\n", text.start) + 1 or len(text.data)
            layout = _layout(text.data[text.start : end], name, reading, separator)
            text = replace(text, start=end, first_line=text.first_line + 1)
        chunks = list(text.chunks())
        counts = share(lambda chunk: kernels.count_rows(chunk.load()), chunks, layout.n_threads)
        if sum(counts):
            _check_cells(chunks, sum(counts), layout)
            yield _read(chunks, counts, layout)


def _layout(line: bytes, name: str, reading: Reading, separator: str) -> _Layout:
    text = line.removesuffix(b"\n").removesuffix(b"\r").decode(errors="backslashreplace")
    if "\r" in text:
        raise ValueError(
            f"{name}, line 1: the header holds a line end CR, expected LF or CR LF at the end of every line"
        )
    try:
        header = next(csv.reader([text], delimiter=separator, strict=True), [])
    except csv.Error as error:
        raise ValueError(f"{name}, line 1: the header cannot be read: {error}") from None
    columns = find_columns(header, reading, name)
    roles = np.full(len(header), kernels.NOTHING)
    roles[list(columns.features)] = np.arange(len(columns.features))
    for place, role in (
        (columns.label, kernels.LABEL),
        (columns.qid, kernels.QUERY),
        (columns.comment, kernels.COMMENT),
    ):
        if place is not None:
            roles[place] = role
    missing = 0.0 if reading.missing is None else float(reading.missing)
    largest = largest_number(reading.dtype or np.float64)
    rules = kernels.Rules(roles, ord(separator), largest, missing, reading.missing is not None)
    return _Layout(header, columns, rules, thread_count(reading.n_jobs))


def _check_cells(chunks: list[Chunk], rows: int, layout: _Layout) -> None:
    """The error of a row with too few cells where there are so many that X could be far larger than the file."""
    if rows * len(layout.header) <= sum(chunk.size + 1 for chunk in chunks):  # a cell takes a byte at least
        return
    for chunk in chunks:
        most = chunk.size // len(layout.header) + 1  # rows before the first one that is too short
        if error := _fill(chunk, 0, _arrays(most, layout.columns), layout):
            raise error


def _arrays(rows: int, columns: Columns) -> kernels.Arrays:
    places = [np.zeros((rows if place is not None else 0, 2), np.int64) for place in (columns.qid, columns.comment)]
    labels = np.empty(rows) if columns.label is not None else np.zeros(rows)
    return kernels.Arrays(np.empty((rows, len(columns.features))), labels, *places)


def _read(chunks: list[Chunk], counts: list[int], layout: _Layout) -> RankingData:
    n, columns = sum(counts), layout.columns
    arrays = _arrays(n, columns)
    starts = np.cumsum([0, *counts]).tolist()
    work = list(zip(chunks, starts, strict=False))
    errors = share(lambda one: _fill(*one, arrays, layout), work, layout.n_threads)
    if first := next((error for error in errors if error), None):  # of the file, whichever thread was the first
        raise first
    qid, comments = np.zeros(n, np.int64), None
    spans = [slice(*both) for both in pairwise(starts)]
    if columns.qid is not None:
        texts, lengths = _texts(chunks, [arrays.queries[rows] for rows in spans])
        qid = plain_ids(np.repeat(id_array(texts), lengths))
    if columns.comment is not None:
        texts, lengths = _texts(chunks, [arrays.comments[rows] for rows in spans])
        comments = np.repeat(np.array(texts, dtype=object), lengths)
    return RankingData(arrays.X, arrays.y, qid, comments, columns.first_index, columns.names)


def _fill(chunk: Chunk, row: int, arrays: kernels.Arrays, layout: _Layout) -> ValueError | None:
    """Fill the chunk's rows; its first error, if there is one."""
    text = chunk.load()
    notes = np.empty(kernels.N_NOTES, np.int64)
    hard = np.empty((64, 4), np.int64)
    kernels.fill(text, row, arrays, layout.rules, hard, notes)
    if notes[kernels.N_HARD] > len(hard):
        hard = np.empty((notes[kernels.N_HARD], 4), np.int64)
        kernels.fill(text, row, arrays, layout.rules, hard, notes)
    for at, role, begin, end in hard[: notes[kernels.N_HARD]].tolist():
        written = text[begin:end].tobytes()
        value = float(written)
        inexact = role == kernels.LABEL and is_rounded_integer(written)
        largest = largest_number(np.float64) if role == kernels.LABEL else layout.rules.largest
        if inexact or abs(value) > largest:
            column = layout.rules.roles.tolist().index(role)
            kind = kernels.INEXACT_LABEL if inexact else kernels.TOO_LARGE
            return _error(chunk, begin, column, kind, layout)
        (arrays.y if role == kernels.LABEL else arrays.X[:, role])[at] = value
    if notes[kernels.FAULT] != kernels.NONE:
        place, column, kind = (int(notes[one]) for one in (kernels.PLACE, kernels.COLUMN, kernels.FAULT))
        return _error(chunk, place, column, kind, layout)
    return None


def _error(chunk: Chunk, place: int, column: int, kind: int, layout: _Layout) -> ValueError:
    number, begin, line = chunk.text.line_at(chunk.offset + place)
    where = f"{chunk.text.name}, line {number}"
    separator = chr(layout.rules.separator)
    if kind == kernels.CELLS:
        found = _count_cells(line.decode(errors="replace"), separator)
        return ValueError(f"{where}: found {found} cells, expected {len(layout.header)}, as in the header")
    cell = line[chunk.offset + place - begin :].split(separator.encode())[0].strip()[:_SHOWN]
    is_label = column == layout.columns.label and kind in (kernels.NUMBER, kernels.MISSING)
    if kind == kernels.TOO_LARGE:
        is_single = layout.rules.largest < largest_number(np.float64) and column != layout.columns.label
        expected = f"a number that {'float32' if is_single else 'float64'} can hold"
    else:
        expected = "a label: a finite number" if is_label else _EXPECTED[kind]
    found_text = cell.decode(errors="backslashreplace")
    return ValueError(f"{where}, column {layout.header[column]!r}: found {found_text!r}, expected {expected}")


def _count_cells(line: str, separator: str) -> int:
    try:
        return len(next(csv.reader([line.replace("\r", " ")], delimiter=separator), []))
    except csv.Error:  # a cell longer than the module allows
        return line.count(separator) + 1


def _texts(chunks: list[Chunk], places: list[Array]) -> tuple[list[str], Array]:
    """One text for each run of rows with equal ones, and how long the runs are."""
    texts: list[str] = []
    lengths: list[Array] = []
    for chunk, of_rows in zip(chunks, places, strict=True):
        codes, first = byte_runs(chunk.load(), of_rows)
        texts += [one.decode(errors="backslashreplace") for one in codes]
        lengths.append(np.diff(first, append=len(of_rows)))
    return [_unquoted(one) if one[:1] == '"' else one for one in texts], np.concatenate(lengths)


def _unquoted(text: str) -> str:
    return text[1:-1].replace('""', '"') if len(text) > 1 and text[-1] == '"' else text
