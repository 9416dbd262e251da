"""RankRLS as ridge regression: with Z = RᵀX, t = Rᵀy and R Rᵀ = L (see `comparisons`),

    J(w) = (y - Xw)ᵀ L (y - Xw) + α|w|² = |t - Zw|² + α|w|²

Z is made a block of whole queries at a time and forgotten. Primal: ZᵀZ, d × d. Dual: ZZᵀ, n × n, w = Zᵀa. Matrix-free:
XᵀLX v by products with X alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.arrays import Floats, Ints
from rankwise.features import BLOCK_BYTES, Features, in_order, lanes
from rankwise.least_squares.comparisons import Comparisons, compare
from rankwise.queries import Queries, cut
from rankwise.solvers.spectral import Spectrum, decompose
from rankwise.threads import one_blas_thread, share, thread_count

PRODUCTS = 200  # products with XᵀLX that conjugate gradients typically take
MATRIX_GAIN = 8  # how much cheaper an operation is inside a matrix product
MOST_BYTES = 1 << 32  # of a d × d or n × n matrix


@dataclass(frozen=True)
class Rows:
    """Some whole queries: X beside y as float64, and the same after R: Z beside t."""

    place: slice
    Xy: Floats
    Zt: Floats


@dataclass(frozen=True)
class Block:
    """Some `rows` of the queries that `part` speaks of, which begin at row `low`."""

    part: Comparisons
    low: int
    rows: slice
    shifts: Floats | None


class Regression:
    """Rows X with labels y, the rows of a query together; query q owns rows starts[q], ..., starts[q + 1] - 1."""

    def __init__(self, features: Features, labels: Floats, starts: Ints, comparisons: Comparisons) -> None:
        self.features = features
        self.labels = labels
        self.starts = starts
        self.comparisons = comparisons
        self.n_threads = features.n_threads
        self.size = features.n_features
        # float64 copies of a block, twice, are to fit where a block of X does
        self.piece_rows = max(1, BLOCK_BYTES // (16 * (self.size + 1)))
        self.pieces = cut(starts, self.piece_rows)

    def rows(self, piece: tuple[int, int]) -> Rows:
        first, last = piece
        place = slice(int(self.starts[first]), int(self.starts[last]))
        Xy = self._beside(place)
        return Rows(place, Xy, self.comparisons.part(first, last, place).root(Xy))

    def _beside(self, place: slice) -> Floats:
        Xy = np.empty((place.stop - place.start, self.size + 1))
        X = self.features.X[place]
        Xy[:, :-1] = X.toarray() if sparse.issparse(X) else X
        Xy[:, -1] = self.labels[place]
        return Xy

    def normal_matrix(self) -> Floats:
        """[[ZᵀZ, Zᵀt], [tᵀZ, tᵀt]]."""

        def add_up(lane: list[Block]) -> Floats:
            total = np.zeros((self.size + 1, self.size + 1))
            for block in lane:
                Zt = self._rooted(block)
                total += Zt.T @ Zt
            return total

        with one_blas_thread():
            runs = lanes(list(self._blocks()), 8 * self.labels.size * self.size, (self.size + 1) ** 2)
            return in_order(share(add_up, runs, self.n_threads))

    def _blocks(self) -> Iterator[Block]:
        """A block a piece, or, where a query is much larger than a piece should be, several."""
        for first, last in self.pieces:
            low, high = int(self.starts[first]), int(self.starts[last])
            part, step = self.comparisons.part(first, last, slice(low, high)), self.piece_rows
            if high - low <= 2 * step:
                yield Block(part, low, slice(0, high - low), None)
                continue
            rows = [slice(i, min(i + step, high - low)) for i in range(0, high - low, step)]
            values = ((one, self._beside(slice(low + one.start, low + one.stop))) for one in rows)
            shifts = part.root_shifts(values, self.size + 1)
            yield from (Block(part, low, one, shifts) for one in rows)

    def _rooted(self, block: Block) -> Floats:
        """Z beside t."""
        Xy = self._beside(slice(block.low + block.rows.start, block.low + block.rows.stop))
        shifts = block.part.root_shifts([(block.rows, Xy)], Xy.shape[1]) if block.shifts is None else block.shifts
        return block.part.rooted(Xy, block.rows, shifts)

    def gram(self) -> tuple[Floats, Floats]:
        """ZZᵀ and t, a block of columns at a time."""
        n, d = self.labels.size, self.size
        width = max(8, BLOCK_BYTES // (8 * n))
        groups = [(j, min(j + width, d)) for j in range(0, d, width)]

        def add_up(lane: list[tuple[int, int]]) -> Floats:
            total = np.zeros((n, n))
            for group in lane:
                Z = self.comparisons.root(self.features.columns(*group))
                total += Z @ Z.T
            return total

        with one_blas_thread():
            total = in_order(share(add_up, lanes(groups, 8 * n * d, n * n), self.n_threads))
        return total, self.comparisons.root(self.labels)

    def dual_spectrum(self) -> Spectrum:
        """The spectrum of ZᵀZ by that of ZZᵀ = U Λ Uᵀ: its eigenvectors are ZᵀU / √Λ."""
        small = decompose(*self.gram())
        known = small.values > 0
        roots = np.sqrt(small.values[known])
        basis = self.features.transposed_dot(self.comparisons.transposed_root(small.basis[:, known])) / roots
        return Spectrum(small.values[known], basis, small.right[known] * roots)

    def product(self, v: Floats) -> Floats:
        """XᵀLX v."""
        return self.features.transposed_dot(self.comparisons.laplacian(self.features.dot(v)))

    def diagonal(self) -> Floats:
        """Near the diagonal of XᵀLX, for one pass over X."""
        return self.features.squared_transposed_dot(self.comparisons.degree)

    def right(self) -> Floats:
        """XᵀLy."""
        return self.features.transposed_dot(self.comparisons.laplacian(self.labels))

    def at(self, w: Floats, alpha: float) -> tuple[float, Floats]:
        """J(w) and its gradient."""
        gaps = self.labels - self.features.dot(w)
        pulled = self.comparisons.laplacian(gaps)
        value = float(gaps @ pulled) + alpha * float(w @ w)
        return value, 2.0 * (alpha * w - self.features.transposed_dot(pulled))


def regression(
    X: Any, labels: Floats, queries: Any, weights: Floats | None, *, ties: str, scaling: str, n_jobs: int | None
) -> Regression:
    """The problem of rows X; they are copied only where a query's rows do not lie together."""
    groups = Queries(queries, X.shape[0])
    if groups.rows is not None:
        X, labels = X[groups.rows], labels[groups.rows]
        weights = None if weights is None else weights[groups.rows]
        groups = groups.gathered()
    comparisons = compare(labels, groups, weights, ties, scaling)
    return Regression(Features(X, thread_count(n_jobs)), labels, groups.starts, comparisons)


def cheapest(n_rows: int, n_features: int, n_stored: int) -> str:
    """ "primal" for few features, "dual" for few documents, "cg" for many of both or a sparse X: what costs least.

    Primal takes n d² + d³/3 operations and dual n² d + n³/3, in matrix products; conjugate gradients some `PRODUCTS`
    products of 4 operations for every stored value of X.
    """
    n, d = float(n_rows), float(n_features)
    costs = {"cg": 4.0 * PRODUCTS * n_stored}
    if 8 * d * d <= MOST_BYTES:
        costs["primal"] = (n * d * d + d**3 / 3) / MATRIX_GAIN
    if 8 * n * n <= MOST_BYTES:
        costs["dual"] = (n * n * d + n**3 / 3) / MATRIX_GAIN
    return min(costs, key=lambda name: costs[name])
