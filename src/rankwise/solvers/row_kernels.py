"""Single rows of X, dense or CSR: their product with a vector, and adding them to one, in float64 whatever X holds.

`rows` is what `row_arrays` makes of X: (X,) when dense, (data, indices, indptr) when CSR. Which of the two it is is
decided when a kernel is compiled, so one piece of code serves both.
"""

from typing import Any

from scipy import sparse

from rankwise.arrays import Array, Floats, Ints
from rankwise.feature_kernels import REORDER
from rankwise.jit import kernel


def row_arrays(X: Any) -> tuple[Array, ...]:
    return (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)


@kernel(fastmath=REORDER)
def row_dot(rows: Any, i: int, v: Floats) -> float:
    """x_i · v."""
    total = 0.0
    if len(rows) == 1:
        for k in range(v.size):
            total += rows[0][i, k] * v[k]
    else:
        for e in range(rows[2][i], rows[2][i + 1]):
            total += rows[0][e] * v[rows[1][e]]
    return total


@kernel(fastmath=REORDER)
def add_row(rows: Any, i: int, scale: float, v: Floats) -> None:
    """v += scale x_i."""
    if len(rows) == 1:
        for k in range(v.size):
            v[k] += scale * rows[0][i, k]
    else:
        for e in range(rows[2][i], rows[2][i + 1]):
            v[rows[1][e]] += scale * rows[0][e]


@kernel
def square_and_clear(rows: Any, i: int, v: Floats) -> float:
    """The sum of v_k² over the k that row i stores; those v_k become 0."""
    total = 0.0
    if len(rows) == 1:
        for k in range(v.size):
            total += v[k] * v[k]
            v[k] = 0.0
    else:
        for e in range(rows[2][i], rows[2][i + 1]):
            k = rows[1][e]
            total += v[k] * v[k]
            v[k] = 0.0
    return total


@kernel
def squared_distances(rows: Any, better: Ints, worse: Ints, zeros: Floats, out: Floats) -> None:
    """|x_i - x_j|² for each pair, from the differences themselves: |x_i|² + |x_j|² - 2 x_i · x_j would cancel."""
    for pair in range(better.size):
        i, j = better[pair], worse[pair]
        add_row(rows, i, 1.0, zeros)
        add_row(rows, j, -1.0, zeros)
        out[pair] = square_and_clear(rows, i, zeros) + square_and_clear(rows, j, zeros)
