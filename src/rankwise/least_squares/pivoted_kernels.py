"""Householder's QR factors of a matrix whose columns differ in scale, the largest column first.

Norms are roots of sums of squares: a column below about 1e-160 counts as 0. In `units.Units` α is at least 1e-308,
compared to which the squares of such a column are negligible.
"""

import numpy as np

from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.jit import kernel
from rankwise.solvers.spectral_kernels import dot


@kernel
def triangularise(
    columns: Floats, order: Ints, whole: Floats, left: Floats, first: int, last: int, rounding: float
) -> int:
    """Steps first, ..., last - 1; returns their number so far, or the rank if no column is left. In place:

    columns  one per row, become those of R. As many as `order` has are sorted by the size of their remainders;
             those after them are only transformed
    order    the column of each step
    whole    the norms of the columns, and of what is `left` of them

    A column of which at most `rounding` of its norm is left depends on those before it: its remainder is set to 0,
    because otherwise rounding errors of a large column could be mistaken for values of a small one.
    """
    for k in range(first, last):
        best = k
        for j in range(k, order.size):
            if left[j] <= rounding * whole[j]:
                left[j] = 0.0
                columns[j, k:] = 0.0
            if left[j] > left[best]:
                best = j
        if left[best] == 0.0:
            return k
        if best != k:
            kept = columns[k].copy()
            columns[k], columns[best] = columns[best], kept
            order[k], order[best] = order[best], order[k]
            whole[k], whole[best] = whole[best], whole[k]
            left[k], left[best] = left[best], left[k]
        reflect(columns, k, left)
    return last


@kernel
def norms(columns: Floats, out: Floats) -> None:
    """The norms of the first rows of `columns`, as many as `out` has."""
    for j in range(out.size):
        out[j] = norm(columns[j])


@kernel
def reflect(columns: Floats, k: int, left: Floats) -> None:
    """Make column k zero below row k, reflect later columns likewise, and update what is `left` of them."""
    v = columns[k, k:].copy()
    length = norm(v)
    head = -length if v[0] > 0.0 else length
    v[0] -= head
    v /= norm(v)
    columns[k, k] = head
    columns[k, k + 1 :] = 0.0
    for j in range(k + 1, columns.shape[0]):
        if j >= left.size or left[j] > 0.0:
            column = columns[j, k:]
            along = 2.0 * dot(v, column)
            for i in range(v.size):
                column[i] -= along * v[i]
            if j < left.size:
                left[j] = norm(column[1:])


@kernel
def norm(v: Floats) -> float:
    return float(np.sqrt(dot(v, v)))
