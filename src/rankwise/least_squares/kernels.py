"""Sums and shifts of rows by group. A slot is a group of rows; rows may lie in any order."""

from rankwise.arrays import Array, Floats, Ints
from rankwise.jit import kernel


@kernel
def add_by_slot(V: Array, slot: Ints, weights: Floats, sums: Floats) -> None:
    """sums[slot[i]] += weights[i] V[i]."""
    for i in range(V.shape[0]):
        for j in range(V.shape[1]):
            sums[slot[i], j] += weights[i] * V[i, j]


@kernel
def shift_by_slot(V: Array, slot: Ints, shift: Floats, scale: Floats, out: Floats) -> None:
    """out[i] = scale[i] (V[i] - shift[slot[i]]); `out` may be V."""
    for i in range(V.shape[0]):
        for j in range(V.shape[1]):
            out[i, j] = scale[i] * (V[i, j] - shift[slot[i], j])
