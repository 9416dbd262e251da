"""A first look at ranking text: how much room a chunk of whole lines takes, and where its ids and comments lie.

`count` looks at separators only: exact for every well-formed chunk, never too small for another.
"""

import numpy as np

from rankwise.data.tokens import (
    COLON,
    HASH,
    INDEX_DIGITS,
    LARGEST_INDEX,
    NEWLINE,
    ZERO,
    ends_features,
    is_digit,
    is_query,
    next_line,
    skip_space,
    token_end,
)
from rankwise.foundation.arrays import Array
from rankwise.foundation.jit import kernel

_BLOCK = 64  # bytes looked at together; below 256, so that a byte holds the count


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
    """The number of colons, -1 where the features end in this block. Byte sums and no exit: it is vectorised."""
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

    A chunk with more rows than there is room for is another one than was counted: then the number is one too many.
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
def mark_runs(text: Array, places: Array, begins: Array) -> None:
    """Whether text[start:end] of a place differs from that of the place before: a run of equal texts begins."""
    for row in range(places.shape[0]):
        length = places[row, 1] - places[row, 0]
        begins[row] = row == 0 or length != places[row - 1, 1] - places[row - 1, 0]
        i = 0
        while not begins[row] and i < length:
            begins[row] = text[places[row, 0] + i] != text[places[row - 1, 0] + i]
            i += 1
