"""Rows of numbers and texts written out, in Numba."""

import numpy as np

from rankwise.data.shortest import DOUBLE, LONGEST, SINGLE, write_decimal, write_integer
from rankwise.data.text_rows import Entries, Strings
from rankwise.foundation.arrays import Array
from rankwise.foundation.jit import kernel

_COLON = ord(":")
_INDEX_BYTES = 12  # separator, index, colon


def most_bytes(n_labels: int, n_entries: int) -> int:
    """Room for so many numbers, each at its longest."""
    return LONGEST * n_labels + (LONGEST + _INDEX_BYTES) * n_entries


@kernel
def write_rows(labels: Array, befores: Strings, entries: Entries, afters: Strings, separator: int, out: Array) -> int:
    """The rows as bytes in `out`; where they end."""
    stored = SINGLE if entries.bits.itemsize == 4 else DOUBLE
    at, entry = 0, 0
    for row in range(labels.size):
        at = write_decimal(labels[row], DOUBLE, out, at)
        at = _copy(befores, row, out, at)
        while entry < entries.ends[row]:
            out[at] = separator
            at += 1
            if entries.columns.size:
                at = write_integer(np.uint64(entries.columns[entry]), out, at)
                out[at] = _COLON
                at += 1
            at = write_decimal(np.uint64(entries.bits[entry]), stored, out, at)
            entry += 1
        at = _copy(afters, row, out, at)
    return at


@kernel
def _copy(texts: Strings, row: int, out: Array, at: int) -> int:
    code = texts.codes[row]
    for i in range(texts.ends[code], texts.ends[code + 1]):
        out[at] = texts.letters[i]
        at += 1
    return at
