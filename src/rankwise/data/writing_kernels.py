"""Numbers and rows written out as text, in Numba. A float becomes the shortest decimal that reads back to it.

    m·10^k with the fewest digits of m inside the interval that rounds to c·2^q, and of those the nearest
    (Giulietti's Schubfach)

Everything is scaled by a power of ten, rounded up to 128 bits; products are rounded to odd, so that comparing them with
multiples of 4 is exact. The result is what Python's repr writes, but a whole number has no ".0".
"""

from typing import NamedTuple

import numpy as np

from rankwise.data.reading_kernels import EXACT_TENS, multiply
from rankwise.foundation.arrays import Array
from rankwise.foundation.jit import kernel

LONGEST = 24  # bytes of the longest number, as in -2.2250738585072014e-308
SINGLE, DOUBLE = 23, 52  # bits stored of the significand
_LEAST, _MOST = -292, 324  # the powers of ten that doubles need
_ZERO, _MINUS, _PLUS, _POINT, _E = (ord(c) for c in "0-+.e")
_PAIRS = np.frombuffer("".join(f"{i:02}" for i in range(100)).encode(), np.uint8)
_COLON = ord(":")
_ZEROS = ((8, 10**8), (4, 10**4), (2, 10**2))
_INDEX_BYTES = 12  # separator, index, colon


class Strings(NamedTuple):
    """Texts joined end to end in `letters`; row i has text number codes[i], which ends at ends[codes[i] + 1]."""

    letters: Array
    ends: Array
    codes: Array


class Entries(NamedTuple):
    """The numbers of a run of rows, as bits; without columns no index is written before a number."""

    ends: Array
    columns: Array
    bits: Array


def most_bytes(n_labels: int, n_entries: int) -> int:
    """The bytes that these numbers take at most."""
    return LONGEST * n_labels + (LONGEST + _INDEX_BYTES) * n_entries


@kernel
def write_rows(labels: Array, befores: Strings, entries: Entries, afters: Strings, separator: int, out: Array) -> int:
    """Write the rows into `out`; returns where they end."""
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


def _powers_of_ten() -> tuple[Array, Array]:
    """10^k to 128 bits, rounded up, as two words: `words[k - _LEAST]`."""
    high, low = [], []
    for k in range(_LEAST, _MOST + 1):
        power = 10 ** abs(k)
        if k >= 0:
            shift = power.bit_length() - 128
            bits = -(-power >> shift) if shift > 0 else power << -shift
        else:
            bits = -(-(1 << (127 + power.bit_length())) // power)
        high.append(bits >> 64)
        low.append(bits & (2**64 - 1))
    return np.array(high, np.uint64), np.array(low, np.uint64)


_TENS_HIGH, _TENS_LOW = _powers_of_ten()


@kernel
def write_decimal(bits: np.uint64, stored: int, out: Array, at: int) -> int:
    """Write the finite float with these bits at out[at:], `stored` being SINGLE or DOUBLE; returns where it ends."""
    width = 8 if stored == SINGLE else 11
    fraction = bits & ((np.uint64(1) << np.uint64(stored)) - np.uint64(1))
    exponent = np.int64((bits >> np.uint64(stored)) & np.uint64((1 << width) - 1))
    if bits >> np.uint64(stored + width):
        out[at] = _MINUS
        at += 1
    if exponent == 0 and fraction == 0:
        out[at] = _ZERO
        return at + 1
    bias = (1 << (width - 1)) - 1 + stored
    c, q = fraction, max(int(exponent), 1) - bias
    if exponent:
        c |= np.uint64(1) << np.uint64(stored)
    if -stored <= q <= 0 and (c >> np.uint64(-q)) << np.uint64(-q) == c:
        return write_integer(c >> np.uint64(-q), out, at)
    digits, power = np.uint64(0), 0
    if stored == DOUBLE:
        digits, power = _few_digits(abs(np.uint64(bits).view(np.float64)), q)
    if digits == 0:
        digits, power = _shortest(c, q, bool(fraction == 0 and exponent > 1))
    return _set_out(digits, power, out, at)


@kernel
def _few_digits(value: float, q: int) -> tuple[np.uint64, int]:
    """(m, k) for value = c·2^q, if m has at most 15 digits and 10^-k is exact, as most numbers in files; else (0, 0).

    m / 10^-k is then the double nearest to m·10^k, and of all decimals of 15 digits no other one is read as it.
    """
    places = 14 - (((q + DOUBLE + 1) * 1233) >> 12)  # value·10^places is below 10^15
    if places < 0 or places >= EXACT_TENS.size:
        return np.uint64(0), 0
    digits = np.uint64(value * EXACT_TENS[places] + 0.5)
    if np.float64(digits) / EXACT_TENS[places] != value:
        return np.uint64(0), 0
    for zeros, bound in _ZEROS:
        if digits % np.uint64(bound) == 0:
            digits //= np.uint64(bound)
            places -= zeros
    return digits, -places


@kernel
def _shortest(c: np.uint64, q: int, lower_is_nearer: bool) -> tuple[np.uint64, int]:
    """(m, k) for c·2^q; a power of two has a nearer neighbour below than above."""
    two, four = np.uint64(2), np.uint64(4)
    k = (q * 1262611 - (524031 if lower_is_nearer else 0)) >> 22  # floor(log10(2^q or 3/4·2^q))
    shift = np.uint64(q + ((-k * 1741647) >> 19) + 1)
    place = -k - _LEAST
    odd = c & np.uint64(1)
    lower = _scaled((four * c - two + np.uint64(lower_is_nearer)) << shift, place) + odd
    middle = _scaled((four * c) << shift, place)
    upper = _scaled((four * c + two) << shift, place) - odd
    s = middle >> two
    if s >= np.uint64(10):
        tens = s // np.uint64(10)
        down = lower <= np.uint64(40) * tens
        up = np.uint64(40) * (tens + np.uint64(1)) <= upper
        if down != up:
            return tens + np.uint64(up), k + 1
    down = lower <= four * s
    up = four * (s + np.uint64(1)) <= upper
    if down != up:
        return s + np.uint64(up), k
    half = four * s + two
    return s + np.uint64(middle > half or (middle == half and s & np.uint64(1))), k


@kernel
def _scaled(word: np.uint64, place: int) -> np.uint64:
    """The upper 64 of the 192 bits of word·10^k, the last of them 1 where anything was lost."""
    carried, _ = multiply(word, _TENS_LOW[place])
    high, low = multiply(word, _TENS_HIGH[place])
    total = low + carried
    high += np.uint64(total < low)
    return high | np.uint64(total > np.uint64(1))


@kernel
def _set_out(digits: np.uint64, power: int, out: Array, at: int) -> int:
    while digits % np.uint64(10) == 0:
        digits //= np.uint64(10)
        power += 1
    n = _width(digits)
    before = n + power  # digits before the point
    if before > 16 or before < -3:
        _put(digits, out, at, at + n)
        return _set_exponent(n, before - 1, out, at)
    if before >= n:
        _put(digits, out, at, at + n)
        for i in range(at + n, at + before):
            out[i] = _ZERO
        return at + before
    if before <= 0:
        for i in range(at, at + 2 - before):
            out[i] = _ZERO
        out[at + 1] = _POINT
        end = at + 2 - before + n
        _put(digits, out, end - n, end)
        return end
    end = at + 1 + n
    _put(digits, out, at + 1, end)
    for i in range(at, at + before):
        out[i] = out[i + 1]
    out[at + before] = _POINT
    return end


@kernel
def _set_exponent(n: int, exponent: int, out: Array, at: int) -> int:
    """d.ddde+XX of the n digits at out[at:]."""
    end = at + n
    if n > 1:
        for i in range(end - 1, at, -1):
            out[i + 1] = out[i]
        out[at + 1] = _POINT
        end += 1
    out[end] = _E
    out[end + 1] = _MINUS if exponent < 0 else _PLUS
    if abs(exponent) < 10:
        out[end + 2] = _ZERO
        return write_integer(np.uint64(abs(exponent)), out, end + 3)
    return write_integer(np.uint64(abs(exponent)), out, end + 2)


@kernel
def write_integer(number: np.uint64, out: Array, at: int) -> int:
    """Write a whole number at out[at:]; returns where it ends."""
    end = at + _width(number)
    _put(number, out, at, end)
    return end


@kernel
def _width(number: np.uint64) -> int:
    """The number of its digits."""
    n, bound = 1, np.uint64(10)
    while number >= bound:
        n += 1
        bound *= np.uint64(10)
        if n == 20:
            break  # the bound has overflowed
    return n


@kernel
def _put(number: np.uint64, out: Array, at: int, end: int) -> None:
    """Write a whole number of as many digits at out[at:end]."""
    i = end
    while number >= np.uint64(10):
        i -= 2
        pair = 2 * np.int64(number % np.uint64(100))
        number //= np.uint64(100)
        out[i], out[i + 1] = _PAIRS[pair], _PAIRS[pair + 1]
    if i > at:
        out[at] = _ZERO + np.uint8(number)
