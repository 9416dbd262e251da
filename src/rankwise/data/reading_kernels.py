"""Tokens and numbers in text, in Numba. The last byte of a text is a line end, so no loop needs another guard.

Numbers are read exactly as Python's float reads them. A number is m·10^q with an integer m. Three ways to the nearest
double, each exact or else leaving the number to the next:
  m ≤ 2^53 and |q| ≤ 22   one multiplication or division of exact doubles (nearly every number in real files)
  m < 2^64                m·5^q to 128 bits from a table of powers of five: decides the rounding unless the
                          tail is within a unit of one half (Eisel and Lemire's idea)
  more digits             the first 19 digits, rounded down and up: decided if both give the same double
The rest (ties, subnormals, overflow) is marked HARD, and the caller uses Python's float.
"""

import numpy as np

from rankwise.foundation.arrays import Array
from rankwise.foundation.jit import kernel

TAB, NEWLINE, RETURN, SPACE, HASH, COLON, MINUS, PLUS, ZERO = (ord(c) for c in "\t\n\r #:-+0")
LARGEST_INDEX = 2**31 - 1
INDEX_DIGITS = 18  # with leading zeros; more could overflow
INTEGER, TEXT, FAULTY, NOT_UTF8 = 0, 1, 2, 3  # kinds of query ids
_DELETE = 127
_POINT, _E, _Q, _I, _D, _N, _A, _U, _L = (ord(c) for c in ".eqidnaul")
EXACT, HARD, UNREADABLE = 0, 1, 2  # what became of a number
_SAFE_DIGITS = 18  # 10^18 < 2^63
_LEAST, _MOST = -342, 308  # beyond these powers of ten every 64-bit m gives 0 or infinity, or nearly
EXACT_TENS = np.array([float(10**k) for k in range(23)])


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
    """Whether `qid:` begins at `at`; a line end stops the comparison, so that no byte after it is read."""
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
    """Whether text[at:end] is UTF-8: no byte is missing, no character is overlong or a surrogate."""
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

    It is invisible, and no feature would begin after it.
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
    """Whether the token at `at` is nan, na or null, in upper or lower case; C's printf also writes -nan."""
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


@kernel
def mark_runs(text: Array, places: Array, begins: Array) -> None:
    """Mark the rows whose text[start:end] differs from that of the row before: there a run of equal texts begins."""
    for row in range(places.shape[0]):
        length = places[row, 1] - places[row, 0]
        begins[row] = row == 0 or length != places[row - 1, 1] - places[row - 1, 0]
        i = 0
        while not begins[row] and i < length:
            begins[row] = text[places[row, 0] + i] != text[places[row - 1, 0] + i]
            i += 1


def byte_runs(data: Array, places: Array) -> tuple[list[bytes], Array]:
    """Merge consecutive rows with equal bytes at their (begin, end): the bytes of each run, and its first row."""
    begins = np.empty(len(places), bool)
    mark_runs(data, places, begins)
    first = np.flatnonzero(begins)
    letters = data.tobytes()
    return [letters[start:end] for start, end in places[first].tolist()], first


def _powers_of_five() -> tuple[Array, Array]:
    """The first 128 bits of 5^q, cut not rounded, as two words: `words[q - _LEAST]`."""
    high, low = [], []
    for q in range(_LEAST, _MOST + 1):
        power = 5 ** abs(q)
        if q >= 0:
            bits = power << 128 >> power.bit_length()
        else:
            shift = 127 + power.bit_length()
            bits = (1 << shift) // power
            if bits >> 128:
                bits >>= 1
        high.append(bits >> 64)
        low.append(bits & (2**64 - 1))
    return np.array(high, np.uint64), np.array(low, np.uint64)


_FIVES_HIGH, _FIVES_LOW = _powers_of_five()


@kernel
def read_decimal(text: Array, at: int) -> tuple[float, int, int]:
    """The number beginning at `at` -> (value, where it ends, EXACT, HARD or UNREADABLE).

    `text` must hold a byte that is no part of a number after `at`: a line end will do.
    """
    negative = text[at] == MINUS
    if negative or text[at] == PLUS:
        at += 1
    first = at
    mantissa = 0
    while np.uint8(text[at] - ZERO) <= 9:
        mantissa = mantissa * 10 + (text[at] - ZERO)
        at += 1
    digits = at - first
    decimals = 0
    if text[at] == _POINT:
        point = at
        at += 1
        while np.uint8(text[at] - ZERO) <= 9:
            mantissa = mantissa * 10 + (text[at] - ZERO)
            at += 1
        decimals = at - point - 1
        digits += decimals
    if digits == 0:
        return 0.0, at, UNREADABLE
    if digits > _SAFE_DIGITS or (text[at] | 32) == _E:
        value, at, status = _read_long(text, first)
    elif mantissa <= 1 << 53:
        value, status = mantissa / EXACT_TENS[decimals], EXACT
    else:
        value, status = _nearest(np.uint64(mantissa), -decimals)
    return (-value if negative else value), at, status


@kernel
def _read_long(text: Array, at: int) -> tuple[float, int, int]:
    """An unsigned number of many digits or with an exponent; `text[at]` is its first byte."""
    mantissa, kept, dropped, power, at = _significant_digits(text, at)
    if (text[at] | 32) == _E:
        at += 1
        downwards = text[at] == MINUS
        if downwards or text[at] == PLUS:
            at += 1
        first = at
        exponent = 0
        while np.uint8(text[at] - ZERO) <= 9:
            exponent = min(exponent * 10 + (text[at] - ZERO), 1 << 40)
            at += 1
        if at == first:
            return 0.0, at, UNREADABLE
        power += -exponent if downwards else exponent
    if kept == 0:
        return 0.0, at, EXACT
    value, status = _nearest(mantissa, power)
    if dropped:
        above, status_above = _nearest(mantissa + np.uint64(1), power)
        if status_above == HARD or above != value:
            status = HARD
    return value, at, status


@kernel
def _significant_digits(text: Array, at: int) -> tuple[np.uint64, int, bool, int, int]:
    """(first 19 digits that count, how many, whether others than 0 were dropped, power of ten, end)."""
    mantissa, kept, power = np.uint64(0), 0, 0
    dropped, after_point = False, False
    while True:
        digit = np.uint8(text[at] - ZERO)
        if digit <= 9:
            if kept == 19:
                dropped |= digit != 0
                power += 1
            elif kept or digit:
                mantissa = mantissa * np.uint64(10) + np.uint64(digit)
                kept += 1
            power -= after_point
        elif text[at] == _POINT and not after_point:
            after_point = True
        else:
            return mantissa, kept, dropped, power, at
        at += 1


@kernel
def _nearest(mantissa: np.uint64, power: int) -> tuple[float, int]:
    """The double nearest to mantissa·10^power, mantissa > 0 -> (value, EXACT or HARD)."""
    if mantissa <= np.uint64(1 << 53) and -22 <= power <= 22:
        tens = EXACT_TENS[abs(power)]
        return (mantissa * tens if power >= 0 else mantissa / tens), EXACT
    if power < _LEAST or power > _MOST:
        return 0.0, HARD
    shift = _leading_zeros(mantissa)
    high, low = _product(mantissa << np.uint64(shift), power - _LEAST)
    # The true product is in [P, P + 2), P = high·2^64 + low; P has 127 or 128 bits, of which 53 are kept.
    upper = np.int64(high >> np.uint64(63))
    cut = np.uint64(10 + upper)
    half = np.uint64(1) << (cut - np.uint64(1))
    rest = high & ((half << np.uint64(1)) - np.uint64(1))
    if (rest == half and low == 0) or (rest == half - np.uint64(1) and low == ~np.uint64(0)):
        return 0.0, HARD
    significand = (high >> cut) + np.uint64(rest >= half)
    # 217706/65536 = log2(10) closely enough for the floor over the whole table
    exponent = ((217706 * power) >> 16) + upper - shift + 63 + 1023
    if exponent < 1 or exponent > 2045:  # 2046 may still round up to infinity
        return 0.0, HARD
    bits = (np.uint64(exponent - 1) << np.uint64(52)) + significand  # its leading 1 adds one
    return np.uint64(bits).view(np.float64), EXACT


@kernel
def _leading_zeros(word: np.uint64) -> int:
    zeros = 0
    for step in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(64 - step) == 0:
            word <<= np.uint64(step)
            zeros += step
    return zeros


@kernel
def _product(word: np.uint64, place: int) -> tuple[np.uint64, np.uint64]:
    """The upper 128 of the 192 bits of word·5^q, as two words."""
    high, middle = multiply(word, _FIVES_HIGH[place])
    carried, _ = multiply(word, _FIVES_LOW[place])
    low = middle + carried
    return high + np.uint64(low < middle), low


@kernel
def multiply(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The 128 bits of a·b as two words."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    a_high, a_low, b_high, b_low = a >> half, a & mask, b >> half, b & mask
    inner = a_high * b_low + (a_low * b_low >> half)
    outer = a_low * b_high + (inner & mask)
    return a_high * b_high + (inner >> half) + (outer >> half), a * b
