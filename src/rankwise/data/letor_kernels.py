"""Ranking text into arrays, a chunk of whole lines at a time, in Numba. A chunk ends with a line end.

`count` looks at separators only: exact for every well-formed chunk, never too small for another. Arrays are allocated
by it. `fill` writes a chunk's rows straight into their place in these arrays. It checks every byte, stops at the first
fault and stores the kind and the place of the fault in `notes`.
"""

from typing import NamedTuple

import numpy as np

from rankwise.data.reading_kernels import (
    COLON,
    FAULTY,
    HARD,
    HASH,
    INDEX_DIGITS,
    LARGEST_INDEX,
    NEWLINE,
    NOT_UTF8,
    TEXT,
    UNREADABLE,
    ZERO,
    ends_features,
    ends_token,
    holds_blank,
    is_digit,
    is_missing,
    is_query,
    next_line,
    read_decimal,
    read_query,
    skip_space,
    token_end,
)
from rankwise.foundation.arrays import LARGEST_EXACT, Array
from rankwise.foundation.jit import kernel

_BLOCK = 64  # bytes of which the colons are counted together; below 256, so that a byte holds the count
# what `notes` holds: places in the chunk, -1 if there is none; the numbers left to Python, the rows, the entries
FAULT, PLACE, N_HARD, WITHOUT_QUERY, WITH_QUERY, TEXT_QUERY, ROWS, ENTRIES, N_NOTES = range(9)
# kinds of fault
NONE, LABEL, QUERY, FEATURE, MISSING, OUT_OF_RANGE, NOT_ASCENDING, BEYOND, CHANGED = range(-1, 8)
INDEX_ZERO, INEXACT_LABEL, QUERY_ENCODING, QUERY_BLANK = range(8, 12)

Place = tuple[int, int]  # row and entry


class Arrays(NamedTuple):
    """Where `fill` writes: CSR's three arrays, or the dense matrix laid flat with empty columns and starts."""

    values: Array
    columns: Array
    starts: Array
    labels: Array
    queries: Array


class Rules(NamedTuple):
    """The rules of `fill`: the index of the first column is `base`; beyond `last_column` or `largest` is a fault,
    and so is a number other than 0 up to `lost`, which would become 0.
    """

    dense: bool
    base: int
    n_features: int
    last_column: int
    largest: float
    lost: float
    missing: float
    allow_missing: bool


@kernel
def count(text: Array) -> tuple[int, np.int64, int, bool]:
    """(rows, entries, largest index or -1, whether an index 0 occurs)."""
    rows, entries, largest, zero = 0, np.int64(0), -1, False
    at = 0
    while at < text.size:
        at = skip_space(text, at)
        if not ends_features(text[at]):
            rows += 1
            at = skip_space(text, token_end(text, at))
            if is_query(text, at):
                at = skip_space(text, token_end(text, at))
            zero |= _index_is_zero(text, at)
            colons, at = _count_colons(text, at)
            entries += colons
            if colons:
                largest = max(largest, _last_index(text, at))
        at = next_line(text, at)
    return rows, entries, largest, zero


@kernel
def _count_colons(text: Array, at: int) -> tuple[np.int64, int]:
    """(colons up to the comment or the end of the line, where that is)."""
    colons = np.int64(0)
    while at + _BLOCK <= text.size:
        inside = _colons_in_block(text[at : at + _BLOCK])
        if inside < 0:
            break
        colons += inside
        at += _BLOCK
    while not ends_features(text[at]):
        colons += text[at] == COLON
        at += 1
    return colons, at


@kernel
def _colons_in_block(block: Array) -> np.int64:
    """The number of colons, -1 if the features end in this block. Byte sums, no early exit: it is vectorised."""
    colons, ends = np.uint8(0), np.uint8(0)
    for byte in block:
        colons += np.uint8(byte == COLON)
        ends |= np.uint8((byte == NEWLINE) | (byte == HASH))
    return np.int64(-1) if ends else np.int64(colons)


@kernel
def _index_is_zero(text: Array, at: int) -> bool:
    first = at
    while text[at] == ZERO:
        at += 1
    return at > first and text[at] == COLON


@kernel
def _last_index(text: Array, at: int) -> int:
    """The index before the last colon before `at`, -1 where `fill` will refuse it."""
    while text[at] != COLON:
        at -= 1
    colon = at
    index, scale = 0, 1
    while at > 0 and is_digit(text[at - 1]) and colon - at < INDEX_DIGITS:
        at -= 1
        index += scale * (text[at] - ZERO)
        scale *= 10
    return index if at < colon and index <= LARGEST_INDEX else -1


@kernel
def spans(text: Array, queries: Array, comments: Array) -> int:
    """For each row of a well-formed chunk, where its query id and its comment begin and end; the number of rows.

    A chunk with more rows than `queries` has changed since it was counted: the number returned is then one too large.
    """
    row, at = 0, 0
    while at < text.size:
        at = skip_space(text, at)
        if not ends_features(text[at]):
            if row == queries.shape[0]:
                return row + 1
            at = skip_space(text, token_end(text, at))
            queries[row, 0] = queries[row, 1] = at
            if is_query(text, at):
                queries[row, 0] = at + 4
                queries[row, 1] = at = token_end(text, at)
            while not ends_features(text[at]):
                at += 1
            comments[row, 0] = at + (text[at] == HASH)
            comments[row, 1] = next_line(text, at) - 1
            row += 1
        at = next_line(text, at)
    return row


@kernel
def fill(text: Array, place: Place, arrays: Arrays, rules: Rules, hard: Array, notes: Array) -> None:
    """Read a chunk into the rows and entries from `place` on.

    `hard` takes (slot, start, end) of the numbers left to Python; a label's slot is -1 - row. Where it is too short,
    `notes[N_HARD]` says the length needed.
    """
    notes[:] = -1
    notes[N_HARD] = 0
    row, entry = place
    at = 0
    while at < text.size:
        at = skip_space(text, at)
        if not ends_features(text[at]):
            if row >= arrays.labels.size:
                _fault(notes, CHANGED, at)
                return
            label, has_query = at, False
            at = _fill_label(text, at, row, arrays.labels, hard, notes)
            if notes[FAULT] == NONE:
                at, has_query = _fill_query(text, at, row, arrays.queries, notes)
            if notes[FAULT] == NONE:
                at, entry = _fill_features(text, at, (row, entry), arrays, rules, hard, notes)
            if notes[FAULT] != NONE:
                return
            if not has_query and notes[WITHOUT_QUERY] < 0:
                notes[WITHOUT_QUERY] = label
            row += 1
        at = next_line(text, at)
    notes[ROWS], notes[ENTRIES] = row - place[0], entry - place[1]


@kernel
def _fill_label(text: Array, at: int, row: int, labels: Array, hard: Array, notes: Array) -> int:
    end: int
    value, end, status = read_decimal(text, at)
    labels[row] = value
    if status == UNREADABLE or not ends_token(text[end]):
        _fault(notes, LABEL, at)
    elif status == HARD or abs(value) >= LARGEST_EXACT:
        _leave_to_python(hard, notes, -1 - row, at, end)
    return end


@kernel
def _fill_query(text: Array, at: int, row: int, queries: Array, notes: Array) -> tuple[int, bool]:
    at = skip_space(text, at)
    if not is_query(text, at):
        queries[row] = 0
        return at, False
    if notes[WITH_QUERY] < 0:
        notes[WITH_QUERY] = at
    end: int
    queries[row], end, kind = read_query(text, at + 4)
    if kind == FAULTY:
        _fault(notes, QUERY, at)
    elif kind == NOT_UTF8:
        _fault(notes, QUERY_ENCODING, at)
    elif kind == TEXT:
        notes[TEXT_QUERY] = at
        if holds_blank(text, at + 4, end):
            _fault(notes, QUERY_BLANK, at)
    return end, True


@kernel
def _fill_features(
    text: Array, at: int, place: Place, arrays: Arrays, rules: Rules, hard: Array, notes: Array
) -> tuple[int, int]:
    row, entry = place
    previous = -1
    at = skip_space(text, at)
    while not ends_features(text[at]):
        token = at
        index = 0
        while is_digit(text[at]):
            index = index * 10 + (text[at] - ZERO)
            at += 1
        if text[at] != COLON or at == token or at - token > INDEX_DIGITS or index > LARGEST_INDEX:
            _fault(notes, FEATURE, token)
            break
        number = at + 1
        value, at, status = read_decimal(text, number)
        if status == UNREADABLE or not ends_token(text[at]):
            at = token_end(text, at)
            value = rules.missing
            fault = FEATURE if not is_missing(text, number) else NONE if rules.allow_missing else MISSING
        else:
            lost = status != HARD and 0 < abs(value) <= rules.lost
            fault = OUT_OF_RANGE if lost or abs(value) > rules.largest else NONE
        column = index - rules.base
        if column <= previous or column > rules.last_column:
            fault = BEYOND if column > previous else INDEX_ZERO if previous < 0 else NOT_ASCENDING
        slot = row * rules.n_features + column if rules.dense else entry
        if fault != NONE:
            _fault(notes, fault, token)
            break
        if slot < arrays.values.size:
            arrays.values[slot] = value
            if not rules.dense:
                arrays.columns[slot] = column
        if status == HARD:
            _leave_to_python(hard, notes, slot, number, at)
        entry += 1
        previous = column
        at = skip_space(text, at)
    if not rules.dense:
        arrays.starts[row + 1] = entry
    # `count` uses the last index of a line: room is too small only for a malformed line, refused above, or another text
    if notes[FAULT] == NONE and (previous >= rules.n_features or (entry > arrays.values.size and not rules.dense)):
        _fault(notes, CHANGED, at)
    return at, entry


@kernel
def _fault(notes: Array, kind: int, place: int) -> None:
    notes[FAULT] = kind
    notes[PLACE] = place


@kernel
def _leave_to_python(hard: Array, notes: Array, slot: int, start: int, end: int) -> None:
    known = notes[N_HARD]
    if known < hard.shape[0]:
        hard[known, 0], hard[known, 1], hard[known, 2] = slot, start, end
    notes[N_HARD] = known + 1
