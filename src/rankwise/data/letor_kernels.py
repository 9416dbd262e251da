"""Ranking text into arrays, a chunk of whole lines at a time.

`fill` writes a chunk's rows straight into their place in the final arrays. It checks every byte, stops at the first
fault and leaves its kind and place in `notes`. A chunk is an array of bytes whose last is a line end.
"""

from typing import Any, NamedTuple

from rankwise.data.decimals import HARD, UNREADABLE, read_decimal
from rankwise.data.tokens import (
    COLON,
    FAULTY,
    INDEX_DIGITS,
    LARGEST_INDEX,
    NOT_UTF8,
    TEXT,
    ZERO,
    ends_features,
    ends_token,
    holds_blank,
    is_digit,
    is_missing,
    is_query,
    next_line,
    read_query,
    skip_space,
    token_end,
)
from rankwise.foundation.arrays import LARGEST_EXACT, Array
from rankwise.foundation.jit import kernel

# what `notes` holds: places in the chunk, -1 where there is none; how many numbers are left to Python, rows and entries
FAULT, PLACE, N_HARD, WITHOUT_QUERY, WITH_QUERY, TEXT_QUERY, ROWS, ENTRIES, N_NOTES = range(9)
# kinds of fault
NONE, LABEL, QUERY, FEATURE, MISSING, TOO_LARGE, NOT_ASCENDING, BEYOND, CHANGED = range(-1, 8)
INDEX_ZERO, INEXACT_LABEL, QUERY_ENCODING, QUERY_BLANK = range(8, 12)

Place = tuple[int, int]  # row and entry


class Arrays(NamedTuple):
    """Where `fill` writes: CSR's three arrays, or the dense matrix laid flat with empty columns and starts."""

    values: Any
    columns: Any
    starts: Any
    labels: Any
    queries: Any


class Rules(NamedTuple):
    """What `fill` goes by: the index of the first column is `base`; beyond `last_column` or `largest` is a fault."""

    dense: bool
    base: int
    n_features: int
    last_column: int
    largest: float
    missing: float
    allow_missing: bool


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
            fault = TOO_LARGE if abs(value) > rules.largest else NONE
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
    # `count` goes by the last index of a line: only a fault, found above, or another text leaves too little room
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
