"""Products with X and the Laplacian in twice the usual precision: a number is the unevaluated sum of two doubles.

Rounding errors of sums and products are doubles themselves and are carried along (Dekker 1971), so sums that cancel
sixteen digits still have sixteen left. `rows` is X as in `row_kernels`.
"""

from typing import Any

import numpy as np

from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.jit import kernel
from rankwise.objective.row_kernels import columns, feature, values

SPLIT = 134217729.0  # 2^27 + 1: splits a double into two halves whose products are exact


@kernel
def add(hi: float, lo: float, more: float, rest: float) -> tuple[float, float]:
    """hi + lo + more + rest."""
    total = hi + more
    part = total - hi
    error = (hi - (total - part)) + (more - part)
    error += lo + rest
    rounded = total + error
    return rounded, error - (rounded - total)


@kernel
def multiply(a: float, hi: float, lo: float) -> tuple[float, float]:
    """a (hi + lo)."""
    product = a * hi
    t = SPLIT * a
    a_hi = t - (t - a)
    a_lo = a - a_hi
    t = SPLIT * hi
    b_hi = t - (t - hi)
    b_lo = hi - b_hi
    error = ((a_hi * b_hi - product) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo
    return product, error + a * lo


@kernel
def difference(rows: Any, i: int, base: int, m: int) -> tuple[float, float]:
    """The m-th value of row i minus that of row `base`; for a CSR matrix, with its many zeros, the value itself."""
    x = np.float64(values(rows, i)[m])
    if len(rows) == 1:
        return add(x, 0.0, -np.float64(values(rows, base)[m]), 0.0)
    return x, 0.0


@kernel
def dot(rows: Any, bases: Ints, first: int, last: int, w: Floats, hi: Floats, lo: Floats) -> None:
    """hi + lo = X w for rows first, ..., last - 1, each minus the row `bases` of its query if X is dense."""
    for i in range(first, last):
        at = columns(rows, i)
        total, rest = 0.0, 0.0
        for m in range(values(rows, i).size):
            x, x_lo = difference(rows, i, bases[i], m)
            product, error = multiply(w[feature(at, m)], x, x_lo)
            total, rest = add(total, rest, product, error)
        hi[i], lo[i] = total, rest


@kernel
def add_transposed(
    rows: Any, bases: Ints, first: int, last: int, g: Floats, g_lo: Floats, hi: Floats, lo: Floats
) -> None:
    """hi + lo += Xᵀ (g + g_lo) over rows first, ..., last - 1, which are read as by `dot`."""
    for i in range(first, last):
        at = columns(rows, i)
        for m in range(values(rows, i).size):
            j = feature(at, m)
            x, x_lo = difference(rows, i, bases[i], m)
            product, error = multiply(x, g[i], g_lo[i])
            hi[j], lo[j] = add(hi[j], lo[j], product, error + x_lo * g[i])


@kernel
def laplacian(
    slot: Ints, starts: Ints, tied: Array, weights: Floats, factor: Floats, hi: Floats, lo: Floats, out: Floats
) -> float:
    """out[0] + out[1] = L (hi + lo), and the value of the quadratic form: Σ over the pairs of ω_i ω_j (v_i - v_j)².

    starts  query q owns the slots starts[q], ..., starts[q + 1] - 1
    tied    whether the documents of a slot are compared with each other too
    """
    n_slots = starts[-1]
    own, sums = np.zeros((n_slots, 2)), np.zeros((n_slots, 2))
    query = np.empty(n_slots, np.int64)
    for i in range(slot.size):
        k = slot[i]
        product, error = multiply(weights[i], hi[i], lo[i])
        sums[k, 0], sums[k, 1] = add(sums[k, 0], sums[k, 1], product, error)
        own[k, 0], own[k, 1] = add(own[k, 0], own[k, 1], weights[i], 0.0)
    own_all, sums_all = np.zeros((starts.size - 1, 2)), np.zeros((starts.size - 1, 2))
    for q in range(starts.size - 1):
        for k in range(starts[q], starts[q + 1]):
            query[k] = q
            own_all[q, 0], own_all[q, 1] = add(own_all[q, 0], own_all[q, 1], own[k, 0], own[k, 1])
            sums_all[q, 0], sums_all[q, 1] = add(sums_all[q, 0], sums_all[q, 1], sums[k, 0], sums[k, 1])
    form, form_lo = 0.0, 0.0
    for i in range(slot.size):
        k = slot[i]
        q = query[k]
        against, against_lo, s, s_lo = own_all[q, 0], own_all[q, 1], sums_all[q, 0], sums_all[q, 1]
        if not tied[k]:
            against, against_lo = add(against, against_lo, -own[k, 0], -own[k, 1])
            s, s_lo = add(s, s_lo, -sums[k, 0], -sums[k, 1])
        pulled, pulled_lo = multiply(hi[i], against, against_lo)
        pulled, pulled_lo = add(pulled, pulled_lo + lo[i] * against, -s, -s_lo)
        pulled, pulled_lo = multiply(weights[i], pulled, pulled_lo)
        pulled, pulled_lo = multiply(factor[q], pulled, pulled_lo)
        out[0, i], out[1, i] = pulled, pulled_lo
        product, error = multiply(hi[i], pulled, pulled_lo)
        form, form_lo = add(form, form_lo, product, error + lo[i] * pulled)
    return form


@kernel
def add_to(total: Floats, other: Floats) -> None:
    """total += other; both have a row of doubles and a row of their corrections."""
    for j in range(total.shape[1]):
        total[0, j], total[1, j] = add(total[0, j], total[1, j], other[0, j], other[1, j])
