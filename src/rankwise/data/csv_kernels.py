"""Numba kernels that read the rows of CSV: every cell by the role of its column."""

from typing import NamedTuple

import numpy as np

from rankwise.data.csv_rows import QUOTE
from rankwise.data.reading_kernels import (
    EXACT,
    HARD,
    NEWLINE,
    RETURN,
    SPACE,
    UNREADABLE,
    is_utf8,
    next_line,
    read_decimal,
)
from rankwise.foundation.arrays import LARGEST_EXACT, Array
from rankwise.foundation.jit import kernel

# what a column is if it is not a feature
LABEL, WEIGHT, QUERY, DOCUMENT, COMMENT, NOTHING = range(-1, -7, -1)
# what `notes` holds
FAULT, PLACE, COLUMN, N_HARD, N_NOTES = range(5)
# kinds of fault
NONE, CELLS, NUMBER, MISSING, OUT_OF_RANGE, OPEN_QUOTE, NO_ID, ID_ENCODING, INEXACT_LABEL = range(-1, 8)

_N, _A, _U, _L, _O, _E = (ord(c) for c in "nauloe")


class Arrays(NamedTuple):
    """Where `fill` writes: features, labels, weights, and (begin, end) of ids and comments in the chunk."""

    X: Array
    y: Array
    weights: Array
    queries: Array
    documents: Array
    comments: Array


class Rules(NamedTuple):
    """The role of each column, the byte between cells, the largest number, the largest that would become 0, the value
    that replaces a missing one, and whether features and labels may be missing.
    """

    roles: Array
    separator: int
    largest: float
    lost: float
    missing: float
    allow_missing: bool
    allow_unjudged: bool


@kernel
def count_rows(text: Array) -> int:
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
                    if status == EXACT and text[at] == rules.separator and _fits(value, rules):
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
        elif not is_utf8(text, begin, end):
            notes[FAULT] = ID_ENCODING
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
        elif role >= 0 and not _fits(value, rules):
            notes[FAULT] = OUT_OF_RANGE
        elif role == WEIGHT and value < 0:
            notes[FAULT] = NUMBER
        if role == LABEL:
            arrays.y[row] = value
        elif role == WEIGHT:
            arrays.weights[row] = value
        else:
            arrays.X[row, role] = value


@kernel
def _fits(value: float, rules: Rules) -> bool:
    return abs(value) <= rules.largest and (abs(value) > rules.lost or value == 0)


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
