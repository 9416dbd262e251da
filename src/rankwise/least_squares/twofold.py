"""Products with X in twice the usual precision: results are sums of two rows of doubles."""

from functools import cached_property

import numpy as np

from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.devices import is_sparse
from rankwise.foundation.threads import share
from rankwise.objective.rows import MemoryRows, lanes

DENSE_BYTES = 1 << 28  # up to this size a sparse X is converted to dense


class TwofoldRows:
    """The rows X of queries that begin at the rows `starts`; minus the first row of their query, if X is dense.

    dense  whether a sparse X is converted to dense, so that an offset costs no digits
    """

    def __init__(self, features: MemoryRows, starts: Ints, dense: bool) -> None:
        self.features = features
        self.dense = dense
        self.bases = np.repeat(starts[:-1], np.diff(starts))  # for each row, the first of its query

    @cached_property
    def rows(self) -> tuple[Array, ...]:
        """X as `twofold_kernels` take it."""
        X = self.features.X
        return (X.toarray(),) if self.dense and is_sparse(X) else self.features.arrays

    def dot(self, w: Floats) -> tuple[Floats, Floats]:
        """X w."""
        from rankwise.least_squares.twofold_kernels import dot

        rows, features = self.rows, self.features
        hi, lo = np.empty(features.n_rows), np.empty(features.n_rows)

        def multiply(block: slice) -> None:
            dot(rows, self.bases, block.start, block.stop, w, hi, lo)

        share(multiply, features.blocks(), features.n_threads)
        return hi, lo

    def transposed_dot(self, g: Floats) -> Floats:
        """Xᵀ (g[0] + g[1])."""
        from rankwise.least_squares.twofold_kernels import add_to, add_transposed

        rows, features = self.rows, self.features

        def add_up(lane: list[slice]) -> Floats:
            total = np.zeros((2, features.n_features))
            for block in lane:
                add_transposed(rows, self.bases, block.start, block.stop, g[0], g[1], total[0], total[1])
            return total

        runs = lanes(features.blocks(), features.nbytes, 2 * features.n_features)
        total, *others = share(add_up, runs, features.n_threads)
        for other in others:
            add_to(total, other)
        return total
