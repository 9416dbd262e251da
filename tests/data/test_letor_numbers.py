"""Numbers exactly as Python's float reads them, in every spelling."""

import io

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rankwise.data.letor import read_letor
from rankwise.data.reading_kernels import EXACT, HARD, UNREADABLE, read_decimal
from rankwise.data.streams import LetorError

FINITE = st.floats(-1.79e308, 1.79e308)  # rounded to few digits still finite
WRITERS = [repr, "{:.17g}".format, "{:.6f}".format, "{:.25g}".format, "{:+.3e}".format, "{:.40f}".format]


def read_values(spellings):
    labels = [one if set(one) & set(".e") else one + "e0" for one in spellings]  # a rounded integer is no label
    text = "".join(f"{label} 1:{one}\n" for label, one in zip(labels, spellings, strict=True)).encode()
    read = read_letor(io.BytesIO(text), dense=True)
    assert read.X[:, 0].tobytes() == read.y.tobytes()
    return read.y


def check(spellings):
    expected = np.array([float(one) for one in spellings])
    assert read_values(spellings).tobytes() == expected.tobytes()


@given(st.lists(FINITE, min_size=1, max_size=30), st.sampled_from(WRITERS))
@settings(max_examples=300)
def test_any_double_in_any_spelling(values, write):
    check([write(value) for value in values])


@given(st.lists(st.tuples(st.integers(0, 10**25), st.integers(-400, 280)), min_size=1, max_size=30))
@settings(max_examples=300)
def test_any_digits_with_any_exponent(pairs):
    check([f"{digits}e{power}" for digits, power in pairs])


@given(st.integers(-1074, 971), st.integers(2**52, 2**53 - 1), st.integers(-1, 1))
@example(971, 2**53 - 1, 0)
@settings(max_examples=300)
def test_halfway_between_two_doubles_and_beside_it(power, m, nudge):
    """(m + 1/2)·2^power in all its digits, of which there may be 767, and one digit more to decide."""
    tie = 2 * m + 1
    if power >= 1:
        digits, tens = tie << (power - 1), 0
    else:
        digits, tens = tie * 5 ** (1 - power), power - 1
    spelling = f"{digits * 10 + nudge}e{tens - 1}"
    if np.isinf(float(spelling)):  # halfway beyond the largest double
        with pytest.raises(LetorError, match="a number that the chosen float type can hold"):
            read_values([spelling])
    else:
        check([spelling])


def test_borders_of_the_doubles():
    check(["2.2250738585072014e-308", "2.2250738585072011e-308", "4.9406564584124654e-324", "1e-400"])
    check(["2.4703282292062327e-324", "2.4703282292062328e-324", "1.7976931348623157e308", "1.7976931348623158e308"])
    check(["9007199254740993", "0e999999999999999999999", "-0.0", "0" * 50 + "1"])
    check(["0." + "0" * 400 + "1e401", "1" + "0" * 400 + "e-400"])


def read_one(token):
    return read_decimal(np.frombuffer(token + b"\n", np.uint8), 0)


@pytest.mark.parametrize("token", [b"", b"+", b"-", b".", b"e5", b"1e", b"1e-", b"+-1", b"nan", b"inf"])
def test_what_is_no_number(token):
    assert read_one(token)[2] == UNREADABLE


def test_numbers_are_decided_without_python():
    """Only ties, subnormals and what overflows may be left over, or text of 17 digits would be slow."""
    random = np.random.default_rng(0)
    for value in random.normal(size=2000) * 10.0 ** random.integers(-250, 250, 2000):
        assert read_one(repr(float(value)).encode()) == (value, len(repr(float(value))), EXACT)
    for token in (b"9007199254740993", b"1e-310", b"1e309"):
        assert read_one(token)[2] == HARD


def test_many_numbers_left_to_python_in_one_chunk():
    spellings = ["9007199254740993", "1e-310", "0.5"] * 100
    check(spellings)
