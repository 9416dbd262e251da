"""X v and Xᵀ g for a block of rows, summed in float64 whatever X holds."""

from rankwise.arrays import Array, Floats, Ints
from rankwise.jit import kernel

# Sums may be reordered, or the compiler could not use vector instructions; the order is fixed once compiled.
REORDER = {"reassoc", "contract"}


@kernel(fastmath=REORDER)
def dense_dot(X: Array, v: Floats, out: Floats) -> None:
    for i in range(X.shape[0]):
        total = 0.0
        for j in range(X.shape[1]):
            total += X[i, j] * v[j]
        out[i] = total


@kernel(fastmath=REORDER)
def dense_add_transposed(X: Array, g: Floats, out: Floats) -> None:
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            out[j] += g[i] * X[i, j]


@kernel
def csr_dot(data: Array, indices: Ints, indptr: Ints, v: Floats, out: Floats) -> None:
    for i in range(out.size):
        total = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            total += data[e] * v[indices[e]]
        out[i] = total


@kernel
def csr_add_transposed(data: Array, indices: Ints, indptr: Ints, g: Floats, out: Floats) -> None:
    for i in range(g.size):
        for e in range(indptr[i], indptr[i + 1]):
            out[indices[e]] += g[i] * data[e]
