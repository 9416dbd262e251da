"""Texts of CSV as whole rows: line ends within quoted cells are hidden, so that every line is a row.

A line end in a cell becomes a byte that is no part of a number. The text as it was given is kept beside it, for ids,
comments and messages.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

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
        letters, opened_at = _hidden(given, separator)
        more = next(following, None) if opened_at >= 0 else None
        if more is None:
            return RowText(text.name, letters, 0, text.first_line, given)
        given += more.data[:]


def first_row(text: Text, following: Iterator[Text], separator: int) -> tuple[Text, int]:
    """The text, prolonged by the following ones until its first row ends, and where the next row begins in it."""
    end = text.data.find(b"\n", text.start) + 1 or len(text.data)
    if b'"' not in text.data[text.start : end]:
        return text, end
    while True:
        letters, opened_at = _hidden(text.data[text.start :], separator)
        end = letters.find(b"\n") + 1 or len(letters)
        more = next(following, None) if 0 <= opened_at < end else None
        if more is None:
            return text, text.start + end
        text = replace(text, data=text.data[:] + more.data[:])


def _hidden(given: bytes, separator: int) -> tuple[bytes, int]:
    """The bytes with the line ends in quoted cells hidden, and where a cell begins that could end in the next text."""
    letters = bytearray(given)
    opened_at = hide_line_ends(np.frombuffer(letters, np.uint8), separator)
    return bytes(letters), opened_at if len(letters) - opened_at <= _LONGEST else -1


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
