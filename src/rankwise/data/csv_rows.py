"""Texts of CSV as whole rows: line ends within quoted cells are hidden, so that every line is a row.

A line end in a cell becomes a byte that UTF-8 does not have. Where a text has this byte of its own, it is written as
the escape that decoding would make of it.
"""

from collections.abc import Iterator

import numpy as np

from rankwise.data.reading_kernels import NEWLINE, RETURN
from rankwise.data.streams import Text
from rankwise.foundation.arrays import Array
from rankwise.foundation.jit import kernel

QUOTE = ord('"')
_HIDDEN, _HIDDEN_BYTE, _ESCAPED = 0xFF, b"\xff", b"\\xff"
_LONGEST = 1 << 20  # bytes of a cell of several lines: a quote that is never closed does not take in the whole file


class RowText(Text):
    """A text in which the line ends of quoted cells are hidden."""


def restored(text: Text, letters: bytes) -> bytes:
    """Letters of the text with their line ends."""
    return letters.replace(_HIDDEN_BYTE, b"\n") if isinstance(text, RowText) else letters


def whole_rows(text: Text, following: Iterator[Text], separator: int) -> Text:
    """The text as whole rows: it is prolonged by the following ones until its last cell ends."""
    given = text.data[text.start :]
    if b'"' not in given:
        return text
    while True:
        letters = bytearray(given.replace(_HIDDEN_BYTE, _ESCAPED))
        opened_at = hide_line_ends(np.frombuffer(letters, np.uint8), separator)
        is_open = opened_at >= 0 and len(letters) - opened_at <= _LONGEST
        more = next(following, None) if is_open else None
        if more is None:
            return RowText(text.name, bytes(letters), 0, text.first_line)
        given += more.data[:]


@kernel
def hide_line_ends(text: Array, separator: int) -> int:
    """Hide the line ends within quoted cells; returns where a cell begins that does not end, or -1."""
    at, begins = 0, True
    while at < text.size:
        if begins and text[at] == QUOTE:
            end = at + 1
            while end < text.size and (text[end] != QUOTE or (end + 1 < text.size and text[end + 1] == QUOTE)):
                end += 2 if text[end] == QUOTE else 1
            if end >= text.size:
                return at
            if end + 1 == text.size or text[end + 1] in (separator, NEWLINE, RETURN):
                for i in range(at, end):
                    if text[i] == NEWLINE:
                        text[i] = _HIDDEN
                at = end
        begins = text[at] in (separator, NEWLINE)
        at += 1
    return -1
