"""Householder's QR factors of a matrix whose columns differ in scale by any amount, the largest column first."""

import numpy as np

from rankwise.arrays import Floats, Ints
from rankwise.jit import REORDER, kernel


@kernel
def triangularise(columns: Floats, n_pivots: int, rounding: float) -> tuple[Ints, int]:
    """The order in which the columns were taken and their rank; `columns`, one per row, become those of R in place.

    The first `n_pivots` columns are taken by the size of what is left of them, the others only carried along. A column
    of which no more than `rounding` of its norm is left depends on those before it: what is left of it is set to 0, for
    else the rounding errors of a large column would pass for the values of a small one.
    """
    n_rows = columns.shape[1]
    order = np.arange(n_pivots)
    whole = np.empty(n_pivots)
    left = np.empty(n_pivots)
    for j in range(n_pivots):
        whole[j] = left[j] = norm(columns[j])
    for k in range(min(n_rows, n_pivots)):
        best = k
        for j in range(k, n_pivots):
            if left[j] <= rounding * whole[j]:
                left[j] = 0.0
                columns[j, k:] = 0.0
            if left[j] > left[best]:
                best = j
        if left[best] == 0.0:
            return order, k
        if best != k:
            kept = columns[k].copy()
            columns[k], columns[best] = columns[best], kept
            order[k], order[best] = order[best], order[k]
            whole[k], whole[best] = whole[best], whole[k]
            left[k], left[best] = left[best], left[k]
        reflect(columns, k, left)
    return order, min(n_rows, n_pivots)


@kernel
def reflect(columns: Floats, k: int, left: Floats) -> None:
    """Column k gets zeros below row k; later columns are reflected likewise, and what is `left` of them measured."""
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
            along = 2.0 * product(v, column)
            for i in range(v.size):
                column[i] -= along * v[i]
            if j < left.size:
                left[j] = norm(column[1:])


@kernel(fastmath=REORDER)
def product(a: Floats, b: Floats) -> float:
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@kernel
def norm(v: Floats) -> float:
    return float(np.sqrt(product(v, v)))
