"""The tokens of ranking text, in Numba. The last byte of `text` is a line end, so no loop needs another guard."""

import numpy as np

from rankwise.foundation.arrays import Array
from rankwise.foundation.jit import kernel

TAB, NEWLINE, RETURN, SPACE, HASH, COLON, MINUS, PLUS, ZERO = (ord(c) for c in "\t\n\r #:-+0")
LARGEST_INDEX = 2**31 - 1
INDEX_DIGITS = 18  # with leading zeros; more could overflow
INTEGER, TEXT, FAULTY, NOT_UTF8 = 0, 1, 2, 3  # kinds of query ids
_DELETE = 127
_Q, _I, _D, _N, _A, _U, _L = (ord(c) for c in "qidnaul")


@kernel
def is_space(byte: int) -> bool:
    return byte == SPACE or (byte != NEWLINE and TAB <= byte <= RETURN)


@kernel
def ends_features(byte: int) -> bool:
    return (byte == NEWLINE) | (byte == HASH)


@kernel
def ends_token(byte: int) -> bool:
    return ends_features(byte) or is_space(byte)


@kernel
def is_digit(byte: int) -> bool:
    return bool(np.uint8(byte - ZERO) <= 9)


@kernel
def skip_space(text: Array, at: int) -> int:
    while is_space(text[at]):
        at += 1
    return at


@kernel
def token_end(text: Array, at: int) -> int:
    while not ends_token(text[at]):
        at += 1
    return at


@kernel
def next_line(text: Array, at: int) -> int:
    while text[at] != NEWLINE:
        at += 1
    return at + 1


@kernel
def is_query(text: Array, at: int) -> bool:
    """Whether `qid:` stands here; the line end stops the comparison, as no byte behind it is looked at."""
    return bool(text[at] == _Q and text[at + 1] == _I and text[at + 2] == _D and text[at + 3] == COLON)


@kernel
def read_query(text: Array, at: int) -> tuple[np.int64, int, int]:
    """(number, end, kind): INTEGER for an id written as str() writes an int64, TEXT for every other id."""
    start = at
    negative = text[at] == MINUS
    at += negative
    first = at
    number = np.uint64(0)
    while is_digit(text[at]):
        number = number * np.uint64(10) + np.uint64(text[at] - ZERO)
        at += 1
    digits = at - first
    if is_space(text[at]) or text[at] == NEWLINE:
        plain = digits == 1 or (1 < digits <= 19 and text[first] != ZERO)
        if plain and number <= np.uint64(2**63 - 1) and not (negative and number == 0):
            return (-np.int64(number) if negative else np.int64(number)), at, INTEGER
    while text[at] > SPACE and text[at] != HASH and text[at] != _DELETE:
        at += 1
    if at == start or not (is_space(text[at]) or text[at] == NEWLINE):
        return np.int64(0), at, FAULTY
    return np.int64(0), at, (TEXT if is_utf8(text, start, at) else NOT_UTF8)


@kernel
def is_utf8(text: Array, at: int, end: int) -> bool:
    """Whether text[at:end] is UTF-8: no byte is missing, no character is written longer than need be or a surrogate."""
    while at < end:
        lead = text[at]
        length = 1 if lead < 0x80 else 2 if 0xC2 <= lead < 0xE0 else 3 if 0xE0 <= lead < 0xF0 else 4
        if (0x80 <= lead < 0xC2) or lead > 0xF4 or at + length > end:
            return False
        for i in range(at + 1, at + length):
            if text[i] < 0x80 or text[i] > 0xBF:
                return False
        if length > 2:
            second = text[at + 1]
            if (lead == 0xE0 and second < 0xA0) or (lead == 0xED and second > 0x9F):
                return False
            if (lead == 0xF0 and second < 0x90) or (lead == 0xF4 and second > 0x8F):
                return False
        at += length
    return True


@kernel
def holds_blank(text: Array, at: int, end: int) -> bool:
    """Whether text[at:end], in UTF-8, holds a blank that is not ASCII: the no-break space, or any other of Unicode's.

    Nobody sees it, and no feature would begin behind it.
    """
    while at < end:
        lead = text[at]
        if lead >= 0xC2:
            second, third = text[at + 1], text[at + 2]
            if lead == 0xC2 and (second == 0x85 or second == 0xA0):
                return True
            if lead == 0xE1 and second == 0x9A and third == 0x80:
                return True
            if lead == 0xE2 and second == 0x80 and (third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF):
                return True
            if (lead == 0xE2 and second == 0x81 and third == 0x9F) or (lead == 0xE3 and second == third == 0x80):
                return True
        at += 1
    return False


@kernel
def is_missing(text: Array, at: int) -> bool:
    """Whether nan, na or null stands here, in capitals or not; C's printf also writes -nan."""
    if text[at] == MINUS or text[at] == PLUS:
        at += 1
    if (text[at] | 32) != _N:
        return False
    second = text[at + 1] | 32
    if second == _A:
        at += 3 if (text[at + 2] | 32) == _N else 2
    elif second == _U and (text[at + 2] | 32) == _L and (text[at + 3] | 32) == _L:
        at += 4
    else:
        return False
    return bool(ends_token(text[at]))
