"""Powers of 2 by which X and y are multiplied so that no square of them overflows or underflows in float64."""

from typing import NamedTuple

import numpy as np

from rankwise.foundation.arrays import Floats
from rankwise.foundation.devices import HostMatrix, is_sparse

WITHIN = 200  # the largest |x| and |y| are within 2^±WITHIN
LEAST_ALPHA, MOST_ALPHA = float(np.finfo(float).tiny), float(np.finfo(float).max)


class Units(NamedTuple):
    """The factors of X and y: w is w' · x / y for the solution w' of the scaled problem.

    Products are computed factor by factor, because the square of a unit can overflow.
    """

    x: float
    y: float

    @classmethod
    def of(cls, largest: Floats, labels: Floats) -> "Units":
        """largest: max |x_ij| of each feature."""
        highest = max(labels.max(initial=0.0), -labels.min(initial=0.0))
        return cls(_unit(float(largest.max(initial=0.0))), _unit(float(highest)))

    def alpha(self, alpha: float | Floats) -> Floats:
        """α x², the α of the scaled problem, within the range of float64."""
        scaled: Floats = np.clip(alpha * self.x * self.x, LEAST_ALPHA, MOST_ALPHA)
        return scaled

    def weights(self, w: Floats) -> Floats:
        return w * self.x / self.y

    def value(self, value: float) -> float:
        """The objective, in the units of the data."""
        return float(value) / self.y / self.y

    def dual(self, a: Floats) -> Floats:
        """a with w = Xᵀa, in the units of the data."""
        return a * self.x / self.y * self.x


def _unit(largest: float) -> float:
    exponent = int(np.frexp(largest)[1]) if largest > 0 else 0
    return float(2.0 ** (min(max(exponent, -WITHIN), WITHIN) - exponent))


def largest_values(X: HostMatrix) -> Floats:
    """max |x_ij| of each feature."""
    from rankwise.least_squares import kernels

    out = np.zeros(X.shape[1])
    if is_sparse(X):
        kernels.largest(X.data, X.indices, out)
    else:
        kernels.largest_dense(X, out)
    return out
