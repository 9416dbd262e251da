"""Compiled passes over features: a summary per column, and a hash per row.

A column is a run `values[starts[j]:starts[j + 1]]`; `rows` holds the row numbers of its entries, all other rows are 0.
For dense columns `rows` is empty and every row has an entry.
"""

import math
from typing import Any

import numpy as np

from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.jit import kernel

MISSING, INFINITE, N_LOW, N_HIGH, VARIES = range(5)  # columns of the counts
LOW, NEXT_LOW, HIGH, NEXT_HIGH, MEAN, DEVIATION, FIRST_KEY, SECOND_KEY = range(8)  # columns of the numbers
N_COUNTS, N_NUMBERS = 5, 8


@kernel
def summarise(
    values: Array, starts: Ints, rows: Ints, codes: Ints, sizes: Ints, directions: Floats, counts: Ints, numbers: Floats
) -> None:
    """Fill a row of `counts` and of `numbers` per column; values that are not finite are counted, then left out.

    codes, sizes  the query of each row, the documents of each query
    directions    two random vectors, each with its sum at the end. The keys are the inner products of a column, centred
                  and of norm 1, with them, up to a common sign: columns with correlation 1 or -1 have equal keys
    """
    n_rows = codes.size
    first = np.zeros(sizes.size)
    seen = np.zeros(sizes.size, np.int64)
    owner = np.full(sizes.size, -1)
    for j in range(starts.size - 1):
        column = values[starts[j] : starts[j + 1]]
        own_rows = rows[starts[j] : starts[j + 1]] if rows.size else rows
        _extremes(column, n_rows, counts[j], numbers[j])
        _moments(column, own_rows, n_rows, directions, numbers[j])
        counts[j, VARIES] = _varies(j, column, own_rows, codes, sizes, first, seen, owner)


@kernel
def _extremes(column: Array, n_rows: int, counts: Ints, numbers: Floats) -> None:
    """The lowest and the highest value, how often each occurs, and the values next to them."""
    low = next_low = np.inf
    high = next_high = -np.inf
    n_low = n_high = missing = infinite = 0
    for k in range(column.size + 1):
        value, times = 0.0, n_rows - column.size  # after the entries, the zeros that are not stored
        if k < column.size:
            value, times = np.float64(column[k]), 1
        if math.isnan(value):
            missing += 1
        elif math.isinf(value):
            infinite += 1
        elif times > 0:
            if value < low:
                low, next_low, n_low = value, low, times
            elif value == low:
                n_low += times
            elif value < next_low:
                next_low = value
            if value > high:
                high, next_high, n_high = value, high, times
            elif value == high:
                n_high += times
            elif value > next_high:
                next_high = value
    counts[MISSING], counts[INFINITE], counts[N_LOW], counts[N_HIGH] = missing, infinite, n_low, n_high
    numbers[LOW], numbers[NEXT_LOW], numbers[HIGH], numbers[NEXT_HIGH] = low, next_low, high, next_high


@kernel
def _moments(column: Array, rows: Ints, n_rows: int, directions: Floats, numbers: Floats) -> None:
    """Mean, root mean square deviation and keys, computed with the range scaled to 1: squares must not overflow."""
    low = numbers[LOW]
    half_range = numbers[HIGH] / 2 - low / 2
    numbers[MEAN], numbers[DEVIATION], numbers[FIRST_KEY], numbers[SECOND_KEY] = low, 0.0, 0.0, 0.0
    if not half_range > 0:
        return
    zeros = n_rows - column.size
    zero = _scaled(0.0, low, half_range) if zeros else 0.0
    n, total = zeros, zeros * zero
    for value in column:
        if math.isfinite(value):
            n += 1
            total += _scaled(value, low, half_range)
    mean = total / n
    shared = zero - mean if zeros else 0.0  # the deviation of the rows without an entry
    squares = zeros * shared * shared
    first, second = shared * directions[0, n_rows], shared * directions[1, n_rows]
    for k in range(column.size):
        row = rows[k] if rows.size else k
        deviation = _scaled(column[k], low, half_range) - mean if math.isfinite(column[k]) else 0.0
        squares += deviation * deviation
        first += (deviation - shared) * directions[0, row]
        second += (deviation - shared) * directions[1, row]
    norm = math.copysign(math.sqrt(squares), first)
    numbers[MEAN], numbers[DEVIATION] = 2 * (low / 2 + mean * half_range), 2 * math.sqrt(squares / n) * half_range
    numbers[FIRST_KEY], numbers[SECOND_KEY] = first / norm, second / norm


@kernel
def _scaled(value: float, low: float, half_range: float) -> float:
    return (np.float64(value) / 2 - low / 2) / half_range


@kernel
def _varies(
    j: int, column: Array, rows: Ints, codes: Ints, sizes: Ints, first: Floats, seen: Ints, owner: Ints
) -> bool:
    """Whether a query has two different values; `first`, `seen` and `owner` are room for one entry per query."""
    for k in range(column.size):
        query = codes[rows[k] if rows.size else k]
        if owner[query] != j:
            owner[query], first[query], seen[query] = j, np.nan, 0
        seen[query] += 1
        if math.isfinite(column[k]):
            if math.isnan(first[query]):
                first[query] = column[k]
            elif column[k] != first[query]:
                return True
    for k in range(column.size if rows.size else 0):
        query = codes[rows[k]]
        if seen[query] < sizes[query] and first[query] != 0 and not math.isnan(first[query]):  # beside a zero
            return True
    return False


@kernel
def _mixed(bits: Any) -> Any:
    """A uint64 whose bits depend on all bits of the argument (the finaliser of SplitMix64)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@kernel
def hash_rows(values: Array, starts: Ints, columns: Ints, salts: Array, out: Array) -> None:
    """A hash per row: the sum over its non-zero values, so that it is the same for dense and sparse rows.

    values   row i is values[starts[i]:starts[i + 1]], in `columns`; for dense rows `columns` is empty
    salts    a uint64 per column; columns with the salt 0 are left out
    """
    for i in range(out.size):
        total = np.uint64(0)
        for k in range(starts[i], starts[i + 1]):
            salt = salts[columns[k] if columns.size else k - starts[i]]
            value = np.float64(values[k])
            if value != 0 and salt != 0:
                bits = value.view(np.uint64) if value == value else np.uint64(0x7FF8000000000000)
                total += _mixed(_mixed(bits) ^ salt)
        out[i] = total
