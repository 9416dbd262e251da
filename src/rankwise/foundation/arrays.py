"""The array types used in signatures, and the validation of vectors that users pass."""

import re
from datetime import date, timedelta
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.foundation.devices import AnyFloats, Numbers, is_device_array, namespace, to_host

Array = NDArray[Any]  # a NumPy array of any dtype; for other libraries see `rankwise.foundation.devices`
Floats = NDArray[np.float64]
Ints = NDArray[Any]  # int32 or int64

_DECIMAL = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
LARGEST_EXACT = 2**53  # float64 represents every integer up to this one exactly


def exact(given: Numbers, name: str, by_order: bool = False) -> Numbers:
    """Numbers whose integers float64 represents exactly; fractions are rounded as usual.

    Integers above 2^53, such as times in nanoseconds, could become equal when rounded. With `by_order`, if only their
    order matters, they are replaced by their ranks; otherwise they are an error. Dates are accepted only with
    `by_order`, because their values depend on their unit.
    """
    if isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given):
        row = int(np.flatnonzero(np.ma.getmaskarray(given))[0])
        raise ValueError(f"{name} must be finite: {name}[{row}] is masked")
    numbers = _numbers(given, name, by_order)
    if numbers is None:
        return given
    large = numbers[(numbers > LARGEST_EXACT) | (numbers < -LARGEST_EXACT)]
    rounded = next((one for one in large.tolist() if _is_rounded(one)), None)
    if rounded is None:
        return numbers.astype(np.float64)
    if by_order:
        return np.unique(numbers, return_inverse=True)[1].astype(np.float64)
    raise ValueError(
        f"{name} holds {str(rounded)[:40]}, which float64 rounds, so that different numbers could become equal: "
        "subtract the smallest, or give ranks"
    )


def _numbers(given: Numbers, name: str, by_order: bool) -> Array | None:
    """The numbers without rounding (integers of any size), if float64 might round some of them; else None."""
    if is_device_array(given) and "int" not in str(given.dtype):  # floats stay on their device
        return None
    try:
        array = to_host(given)
    except ValueError:  # rows of different lengths: `finite` reports the error
        return None
    kind = array.dtype.kind
    if array.ndim != 1 or not array.size:
        return None
    if kind in "mM" or (kind == "O" and all(isinstance(one, date | timedelta) for one in array.tolist())):
        return _dates(array, name, by_order)
    if kind in "iu":
        return array if max(-int(array.min()), int(array.max())) > LARGEST_EXACT else None
    if kind == "f" and not hasattr(given, "dtype") and (np.abs(array) >= LARGEST_EXACT).any():
        array = np.array(given, dtype=object)  # NumPy may have converted integers to floats
    if array.dtype.kind != "O" or not all(isinstance(one, Integral | float) for one in array.tolist()):
        return None
    return array if all(-np.inf < one < np.inf for one in array.tolist()) else None


def _dates(array: Array, name: str, by_order: bool) -> Array:
    """Integers in the order of dates or times: NumPy's, or objects, as those with a time zone are."""
    if (array != array).any():
        raise ValueError(f"{name} must be finite: {name}[{int(np.flatnonzero(array != array)[0])}] is NaT")
    if not by_order:
        raise ValueError(f"{name} holds dates or times, whose values depend on their unit: give numbers")
    if array.dtype.kind in "mM":
        return array.astype(np.int64)
    try:
        return np.unique(array, return_inverse=True)[1]
    except TypeError:
        raise ValueError(f"{name} holds dates that cannot be compared: only some have a time zone, perhaps") from None


def read_number(written: bytes) -> float:
    """Parse a decimal number; nan if it is not one.

    Python's float also accepts 1_0, digits of other scripts and infinity, which are not valid numbers in a file.
    """
    return float(written) if _DECIMAL.fullmatch(written) else np.nan


def is_rounded_integer(written: bytes) -> bool:
    """Whether the text is an integer that float64 rounds, so that different integers could become equal."""
    digits = written.lstrip(b"+-").lstrip(b"0")
    value = abs(float(written))
    return digits.isdigit() and bool(LARGEST_EXACT <= value < np.inf) and int(digits) != value


def _is_rounded(number: object) -> bool:
    try:
        return isinstance(number, Integral) and int(float(number)) != number
    except OverflowError:
        return True


def finite(given: Numbers, name: str, n: int | None = None) -> AnyFloats:
    """`given` as a float64 vector on its own device; an error if it is not finite, or if its length is not n."""
    xp = namespace(given) if is_device_array(given) else np
    given = exact(given, name)
    if xp is np and np.iscomplexobj(given):
        raise ValueError(f"{name} must hold one real number per document; got complex ones")
    try:
        plain = np.asarray(given) if xp is np else given  # pandas would convert dates with a time zone to numbers
        values: AnyFloats = xp.asarray(plain, dtype=xp.float64)
    except (TypeError, ValueError, OverflowError):
        what = "an array" if isinstance(given, np.ndarray) else f"a {type(given).__name__}"
        raise ValueError(f"{name} must hold one number per document; got {what} of other objects") from None
    if values.ndim != 1 or (n is not None and values.shape[0] != n):
        wanted = "one number per document" if n is None else f"one number for each of the {n} documents"
        raise ValueError(f"{name} must hold {wanted}; got an array of shape {tuple(values.shape)}")
    if not xp.isfinite(values).all():
        row = int(xp.nonzero(~xp.isfinite(values))[0][0])
        raise ValueError(f"{name} must be finite: {name}[{row}] is {float(values[row])}")
    return values
