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


@kernel
def quadratic_form(
    v: Array, slot: Ints, starts: Ints, weights: Floats, factor: Floats, own: Floats, against: Floats, out: Floats
) -> float:
    """out = L v, and vᵀ L v as a sum of squares: `comparisons.Comparisons` of one vector, in one pass."""
    n_slots = own.size
    query, base, sums = np.empty(n_slots, np.int64), np.full(factor.size, np.nan), np.zeros(n_slots)
    for q in range(factor.size):
        query[starts[q] : starts[q + 1]] = q
    for i in range(v.size):
        q = query[slot[i]]
        if np.isnan(base[q]):
            base[q] = v[i]
        sums[slot[i]] += weights[i] * (v[i] - base[q])
    shift, root_shift, scale, squares = np.empty(n_slots), np.empty(n_slots), np.empty(n_slots), np.zeros(factor.size)
    for q in range(factor.size):
        first, last = starts[q], starts[q + 1]
        total = own[first:last].sum()
        mean = sums[first:last].sum() / total if total > 0 else 0.0
        for k in range(first, last):
            from_mean = sums[k] / own[k] - mean if own[k] > 0 and last - first > 1 else 0.0
            pull, root_pull = (own[k] / against[k], np.sqrt(total / against[k]) - 1.0) if against[k] > 0 else (0.0, 0.0)
            shift[k], root_shift[k] = mean - pull * from_mean, mean - root_pull * from_mean
            scale[k] = factor[q] * against[k]
    for i in range(v.size):
        k = slot[i]
        moved, weight = v[i] - base[query[k]], weights[i] * scale[k]
        out[i] = weight * (moved - shift[k])
        squares[query[k]] += weight * (moved - root_shift[k]) ** 2
    form: float = squares.sum()
    return form
