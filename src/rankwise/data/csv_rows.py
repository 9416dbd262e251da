"""Texts of CSV as whole rows: line ends within quoted cells are hidden, so that every line is a row.

A line end in a cell becomes a byte that is no part of a number. The text as it was given is kept beside it, for ids,
comments and messages.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rankwise.data.reading_kernels import NEWLINE, RETURN
from rankwise.data.streams import Text
from rankwise.foundation.arrays import Array
from rankwise.foundation.jit import kernel

QUOTE = ord('"')
_HIDDEN = 0
_LONGEST = 1 << 20  # bytes of a cell of several lines: a quote that is never closed does not take in the whole file


@dataclass(frozen=True)
class RowText(Text):
    """A text in which the line ends of quoted cells are hidden, and the bytes `given`, in which they are not."""

    given: bytes = b""


def given_bytes(text: Text) -> bytes:
    """The bytes of the text, place by place, with the line ends that `data` hides."""
    return text.given if isinstance(text, RowText) else text.data[:]


def whole_rows(text: Text, following: Iterator[Text], separator: int) -> Text:
    """The text as whole rows: it is prolonged by the following ones until its last cell ends."""
    given = text.data[text.start :]
    if b'"' not in given:
        return text
    while True:
        letters = bytearray(given)
        opened_at = hide_line_ends(np.frombuffer(letters, np.uint8), separator)
        is_open = opened_at >= 0 and len(letters) - opened_at <= _LONGEST
        more = next(following, None) if is_open else None
        if more is None:
            return RowText(text.name, bytes(letters), 0, text.first_line, given)
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
