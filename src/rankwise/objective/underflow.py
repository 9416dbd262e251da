"""Whether numbers that underflow took the digits of a gradient Xᵀs, all of them perhaps: tiny features, tiny weights.

Along a ray v, the derivative s·(Xv) is g·v for the gradient g. If v is long, Xv is of a usual size, however small X is,
so the left side keeps digits that g has lost. This takes a few passes over X, made only where a gradient is tiny or 0.
"""

from collections.abc import Callable
from math import sqrt

import numpy as np

from rankwise.foundation.devices import AnyFloats, inner, on_device_of

TINY = 1e-290  # sums of products that are smaller may have lost digits
USUAL = 1e40  # squared scores of a usual size, or larger
STEP, LONGEST = 200, 1000  # exponents of the lengths of v: no score jumps from less than a usual size to overflow
DIGITS = 1e-6  # relative error of a gradient that counts as lost digits
NOISE = 1e-12  # error of a sum, relative to the sizes of its terms, that is rounding and no underflow


def largest_of(v: AnyFloats) -> float:
    """max |v_j|; 0 if there is none."""
    return float(abs(v).max()) if v.shape[0] else 0.0


def loses_digits(
    gradient: AnyFloats,
    squared_sizes: Callable[[AnyFloats], float],
    derivative: Callable[[AnyFloats], float],
    total: float,
) -> bool:
    """Whether Xᵀs, as computed, differs by an underflow from what it is.

    squared_sizes  v to Σ (|x_i|·|v| + 1)² over the rows
    derivative     v to s·(Xv)
    total          at least Σ |s_i|
    """
    if not gradient.shape[0]:
        return False
    unit = np.arange(1, gradient.shape[0] + 1) * 0.6180339887498949 % 1 - 0.5  # pseudo-random, and nowhere 0
    for exponent in range(0, LONGEST + 1, STEP):
        v = on_device_of(gradient, 2.0**exponent * unit)
        squares = squared_sizes(v)
        if squares > USUAL:
            break
    if not squares < float("inf"):
        return False
    apart = abs(derivative(v) - inner(gradient, v))
    return bool(apart > DIGITS * inner(abs(gradient), abs(v)) + NOISE * sqrt(squares) * total)
