"""Shortest decimals: the digits are those of Python's repr, and of NumPy for single precision."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from rankwise.data.writing_kernels import DOUBLE, LONGEST, SINGLE, write_decimal, write_integer


def text(value):
    single = isinstance(value, np.float32)
    out = np.empty(LONGEST, np.uint8)
    bits = np.uint64(value.view(np.uint32)) if single else np.float64(value).view(np.uint64)
    return out[: write_decimal(bits, SINGLE if single else DOUBLE, out, 0)].tobytes().decode()


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(5e-324)
@example(-2.2250738585072014e-308)
@example(1.7976931348623157e308)
@example(9007199254740993.0)
@example(2.0**-44)
@example(9e15)
@example(1e16)
@example(0.0001)
@example(0.00001)
@example(-0.0)
def test_doubles_as_repr_writes_them(value):
    assert text(value) == repr(value).removesuffix(".0")


@given(st.integers(1, 10**17), st.integers(-25, 30), st.integers(-1, 1))
@example(999_999_999_999_999, 15, 0)
@example(10**15 - 1, 22, 0)
@example(10**15 - 1, 22, 1)
def test_short_decimals_and_their_neighbours(digits, places, ulps):
    value = float(f"{digits}e{-places}")
    value += ulps * np.spacing(value)
    assert text(value) == repr(float(value)).removesuffix(".0")


def test_powers_of_two_and_their_neighbours():
    """A power of two has a nearer neighbour below than above."""
    powers = 2.0 ** np.arange(-1074, 1024)
    for value in np.concatenate((powers, np.nextafter(powers, 0)[1:], np.nextafter(powers, np.inf)[:-1])).tolist():
        assert text(value) == repr(value).removesuffix(".0")


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
@example(3.4028234663852886e38)
@example(1.401298464324817e-45)
@example(16777216.0)
def test_singles_read_back_in_as_few_digits_as_numpy_needs(value):
    value = np.float32(value)
    written = text(value)
    assert np.float32(written).tobytes() == value.tobytes()
    needed = np.format_float_scientific(value, trim="-")
    assert len(significant(written)) <= len(significant(needed))


def significant(written):
    return written.lower().split("e")[0].replace("-", "").replace(".", "").strip("0")


@given(st.integers(0, 2**64 - 1) | st.integers(0, 1000))
def test_integers(number):
    out = np.empty(20, np.uint8)
    assert out[: write_integer(np.uint64(number), out, 0)].tobytes().decode() == str(number)
