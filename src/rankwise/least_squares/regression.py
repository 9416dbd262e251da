"""RankRLS as ridge regression: with Z = RᵀX, t = Rᵀy and R Rᵀ = L (see `comparisons`),

    J(w) = (y - Xw)ᵀ L (y - Xw) + α|w|² = |t - Zw|² + α|w|²

Z is never stored: blocks of whole queries are computed when they are needed. Primal: ZᵀZ, d × d. Dual: ZZᵀ, n × n,
w = Zᵀa. Matrix-free: XᵀLX v by products with X alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.threads import one_blas_thread, share, thread_count
from rankwise.least_squares.comparisons import Comparisons, Shifts, compare
from rankwise.least_squares.twofold import TwofoldRows
from rankwise.least_squares.units import Units, largest_values
from rankwise.objective.rows import BLOCK_BYTES, MemoryRows, in_order, lanes
from rankwise.pairs.queries import Queries, cut

PRODUCTS = 200  # products with XᵀLX that conjugate gradients typically take
MATRIX_GAIN = 8  # how many times faster an operation is inside a matrix product
MOST_BYTES = 1 << 32  # that a d × d or n × n matrix may take


@dataclass(frozen=True)
class Rows:
    """Some whole queries: X beside y as float64, and the same after R: Z beside t."""

    place: slice
    Xy: Floats
    Zt: Floats


@dataclass(frozen=True)
class Block:
    """Some `rows` of the queries that `part` compares, which begin at row `low`."""

    part: Comparisons
    low: int
    rows: slice
    shifts: Shifts | None


class Expansion(NamedTuple):
    """What is known at w: gradient is half that of J, misfit is |t - Zw|², moved is |Zw|²."""

    point: Floats
    alpha: float
    gradient: Floats
    misfit: float
    moved: float

    @property
    def value(self) -> float:
        """J(w)."""
        return self.misfit + self.alpha * float(self.point @ self.point)


class Regression:
    """Rows X with labels y, the rows of a query together; query q owns rows starts[q], ..., starts[q + 1] - 1.

    largest  max |x_ij| of each feature
    degrees  norm and maximum of what documents are compared to
    targets  y less the first label of the query, in `units`
    units    powers of 2 by which X and y were multiplied so that no square of them overflows
    """

    def __init__(
        self,
        features: MemoryRows,
        labels: Floats,
        starts: Ints,
        comparisons: Comparisons,
        largest: Floats,
        units: Units,
    ) -> None:
        self.features = features
        self.labels = labels
        self.starts = starts
        self.comparisons = comparisons
        self.largest = largest
        self.units = units
        self.targets = labels * self.units.y
        self.targets -= np.repeat(self.targets[starts[:-1]], np.diff(starts))
        self.n_threads = features.n_threads
        self.n_rows, self.size = features.n_rows, features.n_features
        self.degrees = float(np.linalg.norm(comparisons.degree)), float(comparisons.degree.max(initial=0.0))
        # two float64 copies of a piece take as much memory as a block of X
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
        Xy[:, -1] = self.targets[place]
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
        """One block per piece; several if a query is much larger than a piece should be."""
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
        return total, self.comparisons.root(self.targets)

    def lifted(self, gram: Floats) -> Floats:
        """`gram`, with a large number in place of the eigenvalues that are 0 whatever X is.

        Their eigenvectors, to which Z and t are orthogonal: √ω of the documents of one query, and each document that is
        compared with no other.
        """
        lift = float(gram.diagonal().max(initial=0.0))
        roots = np.sqrt(self.comparisons.weights)
        for first, last in zip(self.starts[:-1], self.starts[1:], strict=True):
            root = roots[first:last] / max(float(np.linalg.norm(roots[first:last])), np.finfo(float).tiny)
            gram[first:last, first:last] += lift * np.outer(root, root)
        alone = np.flatnonzero(self.comparisons.degree == 0)
        gram[alone, alone] = lift
        return gram

    def compressed(self, first: int = 0, last: int | None = None) -> Floats:
        """Z beside t of queries first, ..., last - 1, or, if that is smaller, the triangle with the same squares."""
        parts: list[Floats] = []
        starts = self.starts[first : None if last is None else last + 1]
        for low, high in cut(starts - starts[0], self.piece_rows):
            parts = narrowed([*parts, self.rows((first + low, first + high)).Zt], 3)
        return narrowed(parts, 1)[0]

    def pull(self, first: int, last: int) -> Floats:
        """Zᵀt of queries first, ..., last - 1."""
        total, starts = np.zeros(self.size), self.starts[first : last + 1]
        for low, high in cut(starts - starts[0], self.piece_rows):
            Zt = self.rows((first + low, first + high)).Zt
            total += Zt[:, :-1].T @ Zt[:, -1]
        return total

    def product(self, v: Floats) -> Floats:
        """XᵀLX v."""
        return self.features.transposed_dot(self.comparisons.laplacian(self.features.dot(v)))

    def diagonal(self) -> Floats:
        """Near the diagonal of XᵀLX: for a sparse X means are neglected, since most values are 0."""
        if not sparse.issparse(self.features.X):
            return self.centred_diagonal()
        return self.features.squared_transposed_dot(self.comparisons.degree)

    def centred_diagonal(self) -> Floats:
        """The diagonal of XᵀLX."""
        total = np.zeros(self.size + 1)
        for block in self._blocks():
            total += np.square(self._rooted(block)).sum(axis=0)
        return total[:-1]

    def right(self) -> Floats:
        """XᵀLy."""
        return self.features.transposed_dot(self.comparisons.laplacian(self.targets))

    def at_zero(self) -> float:
        """J(0)."""
        return float(np.square(self.comparisons.root(self.targets)).sum())

    def at(self, w: Floats, alpha: float) -> Expansion:
        scores = self.features.dot(w)
        rooted = self.comparisons.root(np.column_stack((self.targets - scores, scores)))
        misfit, moved = np.square(rooted).sum(axis=0)
        pulled = self.comparisons.laplacian(self.targets - scores)
        return Expansion(w, alpha, alpha * w - self.features.transposed_dot(pulled), float(misfit), float(moved))

    def twofold_at(self, w: Floats, alpha: float) -> Expansion:
        """The same with sums in twice the precision."""
        return expansion(w, alpha, self.twofold_sums(w))

    def twofold_sums(self, w: Floats) -> Floats:
        """XᵀL(y - Xw), |t - Zw|² and |Zw|², as two rows that are to be added."""
        hi, lo = self._twofold.dot(w)
        moved = self.comparisons.twofold(hi, lo)[1]
        gaps = self.targets - hi
        drift = gaps - self.targets
        lo = (self.targets - (gaps - drift)) - (hi + drift) - lo
        pulled, misfit = self.comparisons.twofold(gaps, lo)
        return np.hstack((self._twofold.transposed_dot(pulled), [[misfit, moved], [0.0, 0.0]]))

    def dual(self, w: Floats, alpha: float) -> Floats:
        """a with w = Xᵀa, which is L(y - Xw) / α; of w and α in the units of the data."""
        hi, lo = self._twofold.dot(w / self.units.x)
        return self.comparisons.laplacian((self.targets / self.units.y - hi) - lo) / alpha

    def curvature(self, v: Floats) -> float:
        """|Zv|², in twice the precision."""
        return self.comparisons.twofold(*self._twofold.dot(v))[1]

    @cached_property
    def _twofold(self) -> TwofoldRows:
        return TwofoldRows(self.features, self.starts)


def expansion(w: Floats, alpha: float, sums: Floats) -> Expansion:
    """From sums as `Regression.twofold_sums` gives them."""
    gradient = (alpha * w - sums[0, :-2]) - sums[1, :-2]
    return Expansion(w, alpha, gradient, float(sums[0, -2]), float(sums[0, -1]))


def narrowed(parts: list[Floats], factor: int) -> list[Floats]:
    """All rows as one array, or, where they are more than `factor` times their columns, R of their QR factors."""
    rows = parts[0] if len(parts) == 1 else np.vstack(parts)
    if rows.shape[0] <= factor * rows.shape[1]:
        return [rows]
    with one_blas_thread():
        R: Floats = linalg.qr(rows, mode="r", check_finite=False)[0]
    return [R[: R.shape[1]]]


def regression(
    X: Any,
    labels: Floats,
    queries: Any,
    weights: Floats | None,
    *,
    ties: str,
    scaling: str,
    n_jobs: int | None,
    units: Units | None = None,
) -> Regression:
    """The problem of rows X, which are copied only to bring the rows of each query together, or to be scaled.

    units  None: chosen from the data
    """
    groups = Queries(queries, X.shape[0])
    if groups.rows is not None:
        X, labels = X[groups.rows], labels[groups.rows]
        weights = None if weights is None else weights[groups.rows]
        groups = groups.gathered()
    comparisons = compare(labels, groups, weights, ties, scaling)
    largest = largest_values(X)
    units = units or Units.of(largest, labels)
    if units.x != 1.0:
        X = X.astype(np.float64) * units.x
    return Regression(MemoryRows(X, thread_count(n_jobs)), labels, groups.starts, comparisons, largest * units.x, units)


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
