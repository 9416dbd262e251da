"""The pair engine in array-API code, for any array library and device: no loop over documents or queries.

It uses two facts. Two levels written in base r differ first at one digit, so k levels make ceil(log_r k) problems, each
among the documents that share a query and the higher digits. If such a group is sorted by score and then, stably, by
the digit, the partners of a document with another value of the digit are one run, so a sum over them is a difference of
prefix sums. Sorting by a digit is one pass, in which the new ends of the runs are counted as well; with up to r levels
there is one digit. Prefix sums continue through all queries, and terms much smaller than those before them would lose
digits, so weights are scaled to be near 1 in every query.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from rankwise.foundation.devices import AnyArray, ArrayFunctions, device_of, library_of, namespace, on_cuda
from rankwise.pairs.digits import Digit, Fixed
from rankwise.pairs.graph import Layout, PairGraph

BLOCK = 256  # rows per block in the prefix sums of a matrix


class Engine:
    takes_devices = True

    def __init__(self, layout: Layout, n_threads: int = 1) -> None:
        self.layout = layout  # n_threads is not used: the array library has its own threads
        self._fixed: dict[tuple[object, str], Fixed] = {}  # by the device of the scores

    def ranked(self, scores: AnyArray) -> "Ranking":
        where = library_of(scores) or namespace(scores), str(device_of(scores))
        if where not in self._fixed:
            self._fixed[where] = Fixed(self.layout, scores)
        return Ranking(self._fixed[where], scores)


class Ranking:
    """The documents of each query in the order of their scores."""

    def __init__(self, fixed: Fixed, scores: AnyArray) -> None:
        xp = fixed.xp
        self.fixed = fixed
        grouped = fixed.grouped(scores)
        order = fixed.order(grouped)
        self.row = order if fixed.rows is None else xp.take(fixed.rows, order)
        self.scores = xp.take(grouped, order)
        self.level = xp.take(fixed.level, order)

    def active(self, threshold: float) -> "Graph":
        return Graph(self, float(threshold))

    @cached_property
    def in_digits(self) -> list[Digit]:
        """The sorts by each digit, the highest first; each starts from the order of the one before."""
        level = self.level
        digits = []
        for shift, bounds in zip(reversed(self.fixed.shifts), reversed(self.fixed.bounds), strict=True):
            digit = Digit.of(self.fixed, (level // shift) % self.fixed.base, bounds)
            digits.append(digit)
            level = self.fixed.xp.take(level, digit.moved)
        return digits

    @cached_property
    def sorted_rows(self) -> AnyArray:
        """The row numbers, sorted by the first digit."""
        return self.fixed.xp.take(self.row, self.in_digits[0].moved)

    @cached_property
    def place(self) -> AnyArray:
        """For each row, its place after the sorts by all digits."""
        row = self.sorted_rows
        for digit in self.in_digits[1:]:
            row = self.fixed.xp.take(row, digit.moved)
        return self.fixed.xp.astype(self.fixed.xp.argsort(row), self.fixed.ints)

    def bisect(self, threshold: float, upward: bool) -> AnyArray:
        """For each document, the first place in its query whose score exceeds its own minus the threshold, or, if
        `upward`, is at least its own plus the threshold.
        """
        xp, fixed, scores = self.fixed.xp, self.fixed, self.scores
        low, high, steps = fixed.first, fixed.last, fixed.longest.bit_length()
        if on_cuda(scores):
            from rankwise.pairs.device_kernels import bisect

            return bisect(scores, low, high, threshold, upward, steps)
        for _ in range(steps):
            middle = (low + high) // 2
            apart = xp.take(scores, xp.minimum(middle, fixed.last - 1)) - scores
            beyond = apart >= threshold if upward else -apart < threshold
            unsettled = low < high
            high = xp.where(unsettled & beyond, middle, high)
            low = xp.where(unsettled & ~beyond, middle + 1, low)
        return low


@dataclass(frozen=True)
class Runs:
    """For one digit, the runs of each document's partners: the j-th run is at the places [start[j], end[j]).

    Each other value of the digit has one run, and the documents are sorted by the digit. At places before bounds[j + 1]
    the digit of a document is at most j, and its j-th run has digit j + 1, so better partners; at later places the run
    has digit j, so worse partners.
    """

    start: AnyArray
    end: AnyArray
    bounds: list[int]


class Graph(PairGraph):
    """The parts of the ranking that sums need.

    rows   the row numbers, sorted by the first digit
    moves  for each digit, the permutation from the order of the digit before; None for the first
    place  for each row, its place after all digits
    """

    def __init__(self, ranking: Ranking, threshold: float) -> None:
        self.fixed = ranking.fixed
        self.layout, self.xp = self.fixed.layout, self.fixed.xp
        self.rows, self.place = ranking.sorted_rows, ranking.place
        self.moves = [None, *(digit.moved for digit in ranking.in_digits[1:])]
        self.runs = _runs(ranking, threshold)

    def below(self, v: AnyArray | None) -> AnyArray:
        return self._sums(v, lambda j, bounds: slice(bounds[j + 1], bounds[-1]))

    def above(self, v: AnyArray | None) -> AnyArray:
        return self._sums(v, lambda j, bounds: slice(0, bounds[j + 1]))

    def adjacency(self, v: AnyArray) -> AnyArray:
        return self._sums(v, None)

    def counted(self) -> tuple[AnyArray, AnyArray]:
        level = self.fixed.level
        ones = None if self.fixed.weights is None else self.xp.ones_like(level, dtype=self.xp.float64)
        return self.below(ones), self.above(ones)

    def _sums(self, v: AnyArray | None, part: Callable[[int, list[int]], slice] | None) -> AnyArray:
        """The sums of v over the runs of a `part` of the documents, or of all; without v, the lengths of the runs."""
        xp = self.xp
        before, after = self.fixed.weights or (None, None)
        values = prefix = None
        if v is None:
            total = xp.zeros_like(self.fixed.level, dtype=xp.float64)
        else:
            values = xp.take(_scaled(xp.astype(v, xp.float64, copy=False), before), self.rows, axis=0)
            total = xp.zeros_like(values)
        for moved, runs in zip(self.moves, self.runs, strict=True):
            if moved is not None:
                total = xp.take(total, moved, axis=0)
                values = None if values is None else xp.take(values, moved, axis=0)
            if values is not None:
                prefix = prefix_sums(xp, values)
            if part is None:
                _add_sums(xp, total, prefix, runs.start, runs.end)
            else:
                for j in range(runs.start.shape[0]):
                    some = part(j, runs.bounds)
                    _add_sums(xp, total[some, ...], prefix, runs.start[j : j + 1, some], runs.end[j : j + 1, some])
        return _scaled(xp.take(total, self.place, axis=0), None if v is None else after)


def _add_sums(xp: ArrayFunctions, total: AnyArray, prefix: AnyArray | None, start: AnyArray, end: AnyArray) -> None:
    """Add the sums over the runs to `total` in place; `start` and `end` have one row per run of a document."""
    if prefix is not None and on_cuda(total):
        from rankwise.pairs.device_kernels import add_differences

        add_differences(total, prefix, start, end)
        return
    for j in range(start.shape[0]):
        if prefix is None:
            total += xp.astype(end[j, :] - start[j, :], xp.float64)
        else:
            total += xp.take(prefix, end[j, :], axis=0) - xp.take(prefix, start[j, :], axis=0)


def _scaled(v: AnyArray, weights: AnyArray | None) -> AnyArray:
    if weights is None:
        return v
    return v * (weights if v.ndim == 1 else weights[:, None])


def _runs(ranking: Ranking, threshold: float) -> list[Runs]:
    """For each digit the runs of the documents' partners: worse ones begin at `low`, better ones end at `high`."""
    fixed, xp = ranking.fixed, ranking.fixed.xp
    first, last = fixed.first, fixed.last
    low, high = ranking.bisect(threshold, False), ranking.bisect(threshold, True)
    out = []
    for i, digit in enumerate(ranking.in_digits):
        first, last, low, high = (xp.take(ends, digit.moved) for ends in (first, last, low, high))
        shape = (fixed.base - 1, fixed.layout.n_rows)
        start, end = (xp.empty(shape, dtype=fixed.ints, device=device_of(first)) for _ in range(2))
        for j, bound in enumerate(digit.bounds[1:-1]):
            start[j, :bound], end[j, :bound] = (xp.take(digit.side(j + 1), ends[:bound]) for ends in (first, high))
            start[j, bound:], end[j, bound:] = (xp.take(digit.side(j), ends[bound:]) for ends in (low, last))
        out.append(Runs(start, end, digit.bounds))
        if i + 1 < len(fixed.shifts):
            own = xp.astype(xp.take(digit.digits, digit.moved), fixed.ints) * (digit.digits.shape[0] + 1)
            first, last, low, high = (xp.take(digit.to, own + ends) for ends in (first, last, low, high))
    return out


def prefix_sums(xp: ArrayFunctions, v: AnyArray) -> AnyArray:
    """0, v_0, v_0 + v_1, ... down the columns; the result may have further rows, which have no meaning.

    A matrix is summed in blocks of rows in parallel, and the totals of the blocks in the same way.
    """
    if v.ndim == 1:
        return xp.cumulative_sum(v, include_initial=True)
    n, width = v.shape
    blocks = -(-(n + 1) // BLOCK)
    padded = xp.empty((blocks * BLOCK, width), dtype=v.dtype, device=device_of(v))
    padded[:1, :], padded[1 : n + 1, :], padded[n + 1 :, :] = 0.0, v, 0.0
    sums = xp.cumulative_sum(xp.reshape(padded, (blocks, BLOCK, width)), axis=1)
    if blocks > 1:
        sums += prefix_sums(xp, sums[:, -1, :])[:blocks, None, :]
    return xp.reshape(sums, (-1, width))
