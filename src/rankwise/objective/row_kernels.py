"""Kernels on rows of X, dense or CSR: products with a vector, and adding rows to a vector, always in float64.

`rows` is (X,), or (values, columns, ends of rows) of a CSR matrix. `values(rows, i)` are the stored values of row i;
the m-th of them belongs to the feature `feature(columns(rows, i), m)`. Whether X is dense is decided when a kernel is
compiled, so the same code serves both at full speed.
"""

from typing import Any

from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.jit import REORDER, kernel


@kernel
def values(rows: Any, i: int) -> Any:
    if len(rows) == 1:
        return rows[0][i]
    return rows[0][rows[2][i] : rows[2][i + 1]]


@kernel
def columns(rows: Any, i: int) -> Any:
    """The feature numbers of a CSR row; None for a dense row."""
    if len(rows) == 1:
        return None
    return rows[1][rows[2][i] : rows[2][i + 1]]


@kernel
def feature(columns: Any, m: int) -> Any:
    if columns is None:
        return m
    return columns[m]


@kernel(fastmath=REORDER)
def row_dot(rows: Any, i: int, v: Floats) -> float:
    """x_i · v."""
    total = 0.0
    x, stored = values(rows, i), columns(rows, i)
    for m in range(x.size):
        total += x[m] * v[feature(stored, m)]
    return total


@kernel(fastmath=REORDER)
def add_row(rows: Any, i: int, scale: float, v: Floats) -> None:
    """v += scale · x_i."""
    x, stored = values(rows, i), columns(rows, i)
    for m in range(x.size):
        v[feature(stored, m)] += scale * x[m]


@kernel
def dot(rows: Any, first: int, last: int, v: Floats, out: Floats) -> None:
    """out_i = x_i · v for the rows first, ..., last - 1."""
    for i in range(first, last):
        out[i] = row_dot(rows, i, v)


@kernel(fastmath=REORDER)
def add_transposed(rows: Any, first: int, last: int, g: Floats, out: Floats) -> None:
    """out += Σ g_i x_i over the rows first, ..., last - 1; four dense rows at a time, to read and write `out` less."""
    i = first
    if len(rows) == 1:
        X = rows[0]
        while i + 4 <= last:
            a, b, c, d = g[i], g[i + 1], g[i + 2], g[i + 3]
            for j in range(X.shape[1]):
                out[j] += (a * X[i, j] + b * X[i + 1, j]) + (c * X[i + 2, j] + d * X[i + 3, j])
            i += 4
    for left in range(i, last):
        add_row(rows, left, g[left], out)


@kernel(fastmath=REORDER)
def absolute_dot(rows: Any, first: int, last: int, v: Floats, out: Floats) -> None:
    """out_i = |x_i| · v, where |x_i| has the absolute values of x_i."""
    for i in range(first, last):
        x, stored = values(rows, i), columns(rows, i)
        total = 0.0
        for m in range(x.size):
            total += abs(x[m]) * v[feature(stored, m)]
        out[i] = total


@kernel(fastmath=REORDER)
def add_absolute(rows: Any, first: int, last: int, g: Floats, out: Floats) -> None:
    """out += Σ g_i |x_i| over the rows first, ..., last - 1."""
    for i in range(first, last):
        x, stored = values(rows, i), columns(rows, i)
        for m in range(x.size):
            out[feature(stored, m)] += g[i] * abs(x[m])


@kernel(fastmath=REORDER)
def add_squared(rows: Any, first: int, last: int, g: Floats, out: Floats) -> None:
    """out += Σ g_i x_i² over the rows first, ..., last - 1."""
    for i in range(first, last):
        x, stored = values(rows, i), columns(rows, i)
        for m in range(x.size):
            value = float(x[m])
            out[feature(stored, m)] += g[i] * value * value


@kernel
def squared_distances(rows: Any, better: Ints, worse: Ints, zeros: Floats, out: Floats) -> None:
    """|x_i - x_j|² for each pair, from the differences themselves: |x_i|² + |x_j|² - 2 x_i · x_j would cancel."""
    for pair in range(better.size):
        i, j = better[pair], worse[pair]
        add_row(rows, i, 1.0, zeros)
        add_row(rows, j, -1.0, zeros)
        out[pair] = square_and_clear(rows, i, zeros) + square_and_clear(rows, j, zeros)


@kernel
def square_and_clear(rows: Any, i: int, v: Floats) -> float:
    """The sum of v_k² over the features k that row i stores; these v_k become 0."""
    total = 0.0
    x, stored = values(rows, i), columns(rows, i)
    for m in range(x.size):
        k = feature(stored, m)
        total += v[k] * v[k]
        v[k] = 0.0
    return total
