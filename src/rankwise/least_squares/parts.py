"""Some whole queries as matrices: [X y], and [Z t] = Rᵀ [X y] (see `comparisons`).

Direct solvers need the result of a function of every part; an executor combines the results of all parts. Z is never
stored: blocks of it are computed when they are needed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy

from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.devices import is_sparse
from rankwise.foundation.threads import one_blas_thread, share
from rankwise.least_squares.comparisons import Comparisons, Shifts
from rankwise.least_squares.squared_gaps import SquaredGapExpansion, SquaredGapRisk
from rankwise.least_squares.twofold import TwofoldRows
from rankwise.least_squares.units import largest_values
from rankwise.objective.chunks import ChunkExpansion, PlainChunk
from rankwise.objective.rows import BLOCK_BYTES, MemoryRows, in_order, lanes
from rankwise.pairs.queries import cut

LEAST, AT_ONCE = 2, 6  # most pieces of rows per block, if all threads work on a part together, and if one does
HEIGHT = 3  # an array of rows of Z that is higher than this many times its width is reduced to a triangle


class Matrices(NamedTuple):
    """Some whole queries: [X y] as float64, and [Z t]."""

    place: slice
    Xy: Floats
    Zt: Floats


@dataclass(frozen=True)
class Block:
    """Some `rows` of the queries of `comparisons`, which begin at row `low`."""

    comparisons: Comparisons
    low: int
    rows: slice
    shifts: Shifts | None


class Facts(NamedTuple):
    """largest: max |x_ij| of each feature; degrees: squared norm and maximum of `degree` over the documents."""

    largest: Floats
    degrees: tuple[float, float]
    n_rows: int

    def with_those_of(self, other: "Facts") -> "Facts":
        degrees = self.degrees[0] + other.degrees[0], max(self.degrees[1], other.degrees[1])
        return Facts(np.maximum(self.largest, other.largest), degrees, self.n_rows + other.n_rows)


@dataclass(frozen=True)
class Part:
    """large: whether all threads work on it together."""

    rows: MemoryRows
    risk: SquaredGapRisk
    large: bool

    @property
    def comparisons(self) -> Comparisons:
        return self.risk.comparisons

    @property
    def starts(self) -> Ints:
        return self.risk.starts

    @property
    def width(self) -> int:
        return self.rows.n_features + 1

    @property
    def piece_rows(self) -> int:
        """The number of rows of which two float64 copies take as much memory as a block of X."""
        return max(1, BLOCK_BYTES // (16 * self.width))

    @cached_property
    def pieces(self) -> list[tuple[int, int]]:
        """Runs of whole queries (first, last)."""
        return cut(self.starts, self.piece_rows)

    def facts(self) -> Facts:
        degree = self.comparisons.degree
        degrees = float(degree @ degree), float(degree.max(initial=0.0))
        return Facts(largest_values(self.rows.loaded().X), degrees, self.rows.n_rows)

    def matrices(self, first: int, last: int) -> Matrices:
        """The matrices of queries first, ..., last - 1."""
        place = slice(int(self.starts[first]), int(self.starts[last]))
        Xy = self._beside(place)
        return Matrices(place, Xy, self.comparisons.select(slice(first, last), place).root(Xy))

    def _beside(self, place: slice) -> Floats:
        Xy = np.empty((place.stop - place.start, self.width))
        X = self.rows.select(place, 1).loaded().X
        Xy[:, :-1] = X.toarray() if is_sparse(X) else X
        Xy[:, -1] = self.risk.targets[place]
        return Xy

    def normal_matrix(self) -> Floats:
        """[[ZᵀZ, Zᵀt], [tᵀZ, tᵀt]]."""

        def add_up(lane: list[Block]) -> Floats:
            total = _square(self._rooted(lane[0]))
            for block in lane[1:]:
                total += _square(self._rooted(block))
            return total

        blocks = list(self._blocks())
        runs = lanes(blocks, 8 * self.rows.n_rows * self.width, self.width**2) if self.large else [blocks]
        return in_order(share(add_up, runs, self.rows.n_threads))

    def _blocks(self) -> Iterator[Block]:
        """Blocks of whole queries, or of some rows of a query that is much larger than a block."""
        step, n_queries = self.piece_rows, self.starts.size - 1
        most = (LEAST if self.large else AT_ONCE) * step
        pieces = self.pieces if self.rows.n_rows > most else [(0, n_queries)]
        for first, last in pieces:
            low, high = int(self.starts[first]), int(self.starts[last])
            whole = high - low == self.rows.n_rows
            comparisons = self.comparisons if whole else self.comparisons.select(slice(first, last), slice(low, high))
            if high - low <= most:
                yield Block(comparisons, low, slice(0, high - low), None)
                continue
            rows = [slice(i, min(i + step, high - low)) for i in range(0, high - low, step)]
            values = ((one, self._beside(slice(low + one.start, low + one.stop))) for one in rows)
            shifts = comparisons.root_shifts(values, self.width)
            yield from (Block(comparisons, low, one, shifts) for one in rows)

    def _rooted(self, block: Block) -> Floats:
        """[Z t]."""
        Xy = self._beside(slice(block.low + block.rows.start, block.low + block.rows.stop))
        shifts = block.shifts or block.comparisons.root_shifts([(block.rows, Xy)], Xy.shape[1])
        return block.comparisons.rooted(Xy, block.rows, shifts)

    def diagonal(self) -> Floats:
        """The diagonal of ZᵀZ, approximated if X is sparse: means are neglected, because most values are 0."""
        rows = self.rows.loaded()
        if not is_sparse(rows.X):
            return self.centred_diagonal()
        return rows.squared_transposed_dot(self.comparisons.degree)

    def centred_diagonal(self) -> Floats:
        """The diagonal of ZᵀZ."""
        total = np.zeros(self.width)
        for block in self._blocks():
            total += np.square(self._rooted(block)).sum(axis=0)
        return total[:-1]

    def compressed(self, first: int = 0, last: int | None = None) -> Floats:
        """[Z t] of queries first, ..., last - 1, or, if smaller, a triangle with the same squares."""
        parts: list[Floats] = []
        starts = self.starts[first : None if last is None else last + 1]
        for low, high in cut(starts - starts[0], self.piece_rows):
            parts = [narrowed([*parts, self.matrices(first + low, first + high).Zt], HEIGHT)]
        return parts[0]

    def pull(self, first: int, last: int) -> Floats:
        """Zᵀt of queries first, ..., last - 1."""
        total, starts = np.zeros(self.width - 1), self.starts[first : last + 1]
        for low, high in cut(starts - starts[0], self.piece_rows):
            Zt = self.matrices(first + low, first + high).Zt
            total += Zt[:, :-1].T @ Zt[:, -1]
        return total

    def twofold_sums(self, w: Floats, dense: bool) -> Floats:
        """XᵀL(y - Xw), |t - Zw|² and |Zw|², each as a sum of two rows, in twice the precision."""
        rows, targets = TwofoldRows(self.rows.loaded(), self.starts, dense), self.risk.targets
        hi, lo = rows.dot(w)
        moved = self.comparisons.twofold(hi, lo)[1]
        gaps = targets - hi
        drift = gaps - targets
        lo = (targets - (gaps - drift)) - (hi + drift) - lo
        pulled, misfit = self.comparisons.twofold(gaps, lo)
        return np.hstack((rows.transposed_dot(pulled), [[misfit, moved], [0.0, 0.0]]))

    def curvature(self, v: Floats, dense: bool) -> Array:
        """|Zv|², in twice the precision."""
        rows = TwofoldRows(self.rows.loaded(), self.starts, dense)
        return np.array(self.comparisons.twofold(*rows.dot(v))[1])


def part_of(chunk: PlainChunk) -> Part:
    rows, risk = chunk.rows, chunk.risk
    assert isinstance(rows, MemoryRows)
    assert isinstance(risk, SquaredGapRisk)
    return Part(rows, risk, chunk.large)


def moved_of(chunk: ChunkExpansion) -> Array:
    """|Zw|²."""
    assert isinstance(chunk.risk, SquaredGapExpansion)
    return np.array(chunk.risk.moved)


def stacked(Zt: Floats, other: Floats) -> Floats:
    return narrowed([Zt, other], HEIGHT)


def narrowed(parts: list[Floats], factor: int = 1) -> Floats:
    """All rows as one array, or, if there are more than `factor` times the columns, R of their QR factors."""
    rows = parts[0] if len(parts) == 1 else np.vstack(parts)
    if rows.shape[0] <= factor * rows.shape[1]:
        return rows
    with one_blas_thread():
        R: Floats = scipy.linalg.qr(rows, mode="r", check_finite=False)[0]
    return R[: R.shape[1]]


def _square(Zt: Floats) -> Floats:
    square: Floats = Zt.T @ Zt
    return square
