"""Decimal text to the nearest double, exactly as Python's float reads it, in Numba.

A number is m·10^q with an integer m. Three ways, each exact or else handed on:
  m ≤ 2^53 and |q| ≤ 22   one multiplication or division of exact doubles (nearly every number in real files)
  m < 2^64                m·5^q to 128 bits from a table of powers of five: decides the rounding unless the
                          tail lies within a unit of one half (Eisel and Lemire's idea)
  more digits             the first 19 digits, rounded down and up: decided where both give the same double
What remains (ties, subnormals, overflow) is marked HARD, and the caller asks Python's float.
"""

import numpy as np

from rankwise.foundation.arrays import Array
from rankwise.foundation.jit import kernel

EXACT, HARD, UNREADABLE = 0, 1, 2

_ZERO, _PLUS, _MINUS, _POINT, _E = ord("0"), ord("+"), ord("-"), ord("."), ord("e")
_SAFE_DIGITS = 18  # 10^18 < 2^63
_LEAST, _MOST = -342, 308  # beyond these powers of ten every 64-bit m gives 0 or infinity, or nearly
_EXACT_TENS = np.array([float(10**k) for k in range(23)])


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
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += 1
    first = at
    mantissa = 0
    while np.uint8(text[at] - _ZERO) <= 9:
        mantissa = mantissa * 10 + (text[at] - _ZERO)
        at += 1
    digits = at - first
    decimals = 0
    if text[at] == _POINT:
        point = at
        at += 1
        while np.uint8(text[at] - _ZERO) <= 9:
            mantissa = mantissa * 10 + (text[at] - _ZERO)
            at += 1
        decimals = at - point - 1
        digits += decimals
    if digits == 0:
        return 0.0, at, UNREADABLE
    if digits > _SAFE_DIGITS or (text[at] | 32) == _E:
        value, at, status = _read_long(text, first)
    elif mantissa <= 1 << 53:
        value, status = mantissa / _EXACT_TENS[decimals], EXACT
    else:
        value, status = _nearest(np.uint64(mantissa), -decimals)
    return (-value if negative else value), at, status


@kernel
def _read_long(text: Array, at: int) -> tuple[float, int, int]:
    """An unsigned number of many digits or with an exponent; `text[at]` is its first byte."""
    mantissa, kept, dropped, power, at = _significant_digits(text, at)
    if (text[at] | 32) == _E:
        at += 1
        downwards = text[at] == _MINUS
        if downwards or text[at] == _PLUS:
            at += 1
        first = at
        exponent = 0
        while np.uint8(text[at] - _ZERO) <= 9:
            exponent = min(exponent * 10 + (text[at] - _ZERO), 1 << 40)
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
        digit = np.uint8(text[at] - _ZERO)
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
        tens = _EXACT_TENS[abs(power)]
        return (mantissa * tens if power >= 0 else mantissa / tens), EXACT
    if power < _LEAST or power > _MOST:
        return 0.0, HARD
    shift = _leading_zeros(mantissa)
    high, low = _product(mantissa << np.uint64(shift), power - _LEAST)
    # The true product lies in [P, P + 2), P = high·2^64 + low; P has 127 or 128 bits, of which 53 are kept.
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
