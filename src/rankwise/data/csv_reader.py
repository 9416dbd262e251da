"""CSV and TSV in: a header, then one row a document. Numbers are read exactly as Python's float reads them.

A stream is read in pieces of whole lines, and the chunks of a piece side by side, so a cell cannot hold a line end.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from rankwise.arrays import Array
from rankwise.data import csv_kernels as kernels
from rankwise.data.columns import Columns, Reading, find_columns, plain_ids
from rankwise.data.letor_strings import byte_runs
from rankwise.data.records import RankingData
from rankwise.data.streams import Chunk, streamed
from rankwise.threads import share, thread_count

_SHOWN = 40  # bytes of a cell that a message shows
_EXPECTED = {
    kernels.NUMBER: "a finite number",
    kernels.MISSING: "a number (in Python, missing=0.0 says what to put for a missing feature)",
    kernels.TOO_LARGE: "a number that float64 can hold",
    kernels.OPEN_QUOTE: "a quote that is closed on the same line",
    kernels.NO_QUERY: "a query id",
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
        counts = share(lambda chunk: kernels.count_rows(chunk.data), chunks, layout.n_threads)
        if sum(counts):
            yield _read(chunks, counts, layout)


def _layout(line: bytes, name: str, reading: Reading, separator: str) -> _Layout:
    header = next(csv.reader([line.decode(errors="backslashreplace")], delimiter=separator), [])
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
    largest = float(np.finfo(np.float64).max)
    rules = kernels.Rules(roles, ord(separator), largest, missing, reading.missing is not None)
    return _Layout(header, columns, rules, thread_count(reading.n_jobs))


def _read(chunks: list[Chunk], counts: list[int], layout: _Layout) -> RankingData:
    n, columns = sum(counts), layout.columns
    places = [
        np.zeros((n, 2), np.int64) if place is not None else np.zeros((0, 2), np.int64)
        for place in (columns.qid, columns.comment)
    ]
    arrays = kernels.Arrays(np.empty((n, len(columns.features))), np.empty(n), *places)
    starts = np.cumsum([0, *counts]).tolist()
    share(lambda one: _fill(*one, arrays, layout), list(zip(chunks, starts, strict=False)), layout.n_threads)
    qid, comments = np.zeros(n, np.int64), None
    spans = [slice(*both) for both in pairwise(starts)]
    if columns.qid is not None:
        runs = [_texts(chunk, arrays.queries[rows]) for chunk, rows in zip(chunks, spans, strict=True)]
        qid = plain_ids(np.concatenate(runs))
    if columns.comment is not None:
        runs = [_texts(chunk, arrays.comments[rows]) for chunk, rows in zip(chunks, spans, strict=True)]
        comments = np.concatenate(runs).astype(object)
    return RankingData(arrays.X, arrays.y, qid, comments, columns.first_index, columns.names)


def _fill(chunk: Chunk, row: int, arrays: kernels.Arrays, layout: _Layout) -> None:
    notes = np.empty(kernels.N_NOTES, np.int64)
    hard = np.empty((64, 4), np.int64)
    kernels.fill(chunk.data, row, arrays, layout.rules, hard, notes)
    if notes[kernels.N_HARD] > len(hard):
        hard = np.empty((notes[kernels.N_HARD], 4), np.int64)
        kernels.fill(chunk.data, row, arrays, layout.rules, hard, notes)
    for at, role, begin, end in hard[: notes[kernels.N_HARD]].tolist():
        value = float(chunk.data[begin:end].tobytes())
        if not np.isfinite(value):
            column = layout.rules.roles.tolist().index(role)
            raise _error(chunk, begin, column, kernels.TOO_LARGE, layout)
        (arrays.y if role == kernels.LABEL else arrays.X[:, role])[at] = value
    if notes[kernels.FAULT] != kernels.NONE:
        place, column, kind = (int(notes[one]) for one in (kernels.PLACE, kernels.COLUMN, kernels.FAULT))
        raise _error(chunk, place, column, kind, layout)


def _error(chunk: Chunk, place: int, column: int, kind: int, layout: _Layout) -> ValueError:
    number, begin, line = chunk.text.line_at(chunk.offset + place)
    where = f"{chunk.text.name}, line {number}"
    separator = chr(layout.rules.separator)
    if kind == kernels.CELLS:
        found = len(next(csv.reader([line.decode(errors="replace")], delimiter=separator), []))
        return ValueError(f"{where}: found {found} cells, expected {len(layout.header)}, as in the header")
    cell = line[chunk.offset + place - begin :].split(separator.encode())[0].strip()[:_SHOWN]
    found_text = cell.decode(errors="backslashreplace")
    return ValueError(f"{where}, column {layout.header[column]!r}: found {found_text!r}, expected {_EXPECTED[kind]}")


def _texts(chunk: Chunk, places: Array) -> Array:
    """One text a row, decoded once for each run of equal ones."""
    if not len(places):
        return np.empty(0, "U1")
    codes, first = byte_runs(chunk.data, places)
    texts = [_unquoted(one.decode(errors="backslashreplace")) for one in codes.tolist()]
    return np.repeat(np.array(texts), np.diff(first, append=len(places)))


def _unquoted(text: str) -> str:
    return text[1:-1].replace('""', '"') if len(text) > 1 and text[0] == text[-1] == '"' else text
