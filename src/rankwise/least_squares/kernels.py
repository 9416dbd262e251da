"""Sums and shifts of rows by group. A slot is a group of rows; rows may be in any order."""

import numpy as np

from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.jit import kernel


@kernel
def add_by_slot(V: Array, slot: Ints, weights: Floats, bases: Floats, sums: Floats) -> None:
    """sums[slot[i]] += weights[i] (V[i] - bases[slot[i]])."""
    for i in range(V.shape[0]):
        row, base, total, weight = V[i], bases[slot[i]], sums[slot[i]], weights[i]
        for j in range(row.size):
            total[j] += weight * (row[j] - base[j])


@kernel
def shift_by_slot(V: Array, slot: Ints, bases: Floats, shift: Floats, scale: Floats, out: Floats) -> None:
    """out[i] = scale[i] (V[i] - bases[slot[i]] - shift[slot[i]]); `out` may be V."""
    for i in range(V.shape[0]):
        row, base, mean, to, by = V[i], bases[slot[i]], shift[slot[i]], out[i], scale[i]
        for j in range(row.size):
            to[j] = by * ((row[j] - base[j]) - mean[j])


@kernel
def largest(values: Array, features: Ints, out: Floats) -> None:
    """out[j] = max |x_ij|, of the values that a CSR matrix stores."""
    for m in range(values.size):
        out[features[m]] = max(out[features[m]], abs(np.float64(values[m])))


@kernel
def largest_dense(X: Array, out: Floats) -> None:
    """out[j] = max |x_ij|."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            out[j] = max(out[j], abs(np.float64(X[i, j])))
