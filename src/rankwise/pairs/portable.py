"""The pair engine in array-API code: no loop over documents or queries, so it runs wherever arrays do.

Two facts carry it. Levels written in base r first differ at one digit, so k levels are ceil(log_r k) problems of r
sides, each among the documents that share a query and the higher digits. And with such a group in the order of its
scores and then sorted by the digit, stably, the partners that a document has on one side are one run, so a sum over
them is a difference of prefix sums. Sorting a digit is one pass, and where a run's ends go to is counted on the way;
up to r levels there is nothing else. Prefix sums go through all queries: of a sum with much smaller terms than those
before it they lose digits, so weights are scaled to be near 1 in every query.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rankwise.device import device_of, fused, library_of, namespace
from rankwise.pairs.digits import Digit, Fixed
from rankwise.pairs.graph import Layout, PairGraph

BLOCK = 256  # rows of a matrix whose prefix sums are made one after another


class Engine:
    def __init__(self, layout: Layout, n_threads: int = 1) -> None:
        self.layout = layout  # threads are the array library's own
        self._fixed: dict[Any, Fixed] = {}  # by where the scores lie

    def ranked(self, scores: Any) -> "Ranking":
        where = library_of(scores) or namespace(scores), str(device_of(scores))
        if where not in self._fixed:
            self._fixed[where] = Fixed(self.layout, scores)
        return Ranking(self._fixed[where], scores)


class Ranking:
    """The documents of each query in the order of their scores."""

    def __init__(self, fixed: Fixed, scores: Any) -> None:
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
        """The digits, the highest first: each moves the documents once more."""
        level = self.level
        digits = []
        for shift, bounds in zip(reversed(self.fixed.shifts), reversed(self.fixed.bounds), strict=True):
            digit = Digit.of(self.fixed, (level // shift) % self.fixed.base, bounds)
            digits.append(digit)
            level = self.fixed.xp.take(level, digit.moved)
        return digits

    @cached_property
    def sorted_rows(self) -> Any:
        """The rows as the first digit sorts them."""
        return self.fixed.xp.take(self.row, self.in_digits[0].moved)

    @cached_property
    def place(self) -> Any:
        """For each row, where the digits have moved it to."""
        row = self.sorted_rows
        for digit in self.in_digits[1:]:
            row = self.fixed.xp.take(row, digit.moved)
        return self.fixed.xp.astype(self.fixed.xp.argsort(row), self.fixed.ints)

    def bisect(self, threshold: float, upward: bool) -> Any:
        """For each document, the first place in its query whose score is more than its own less the threshold, or, if
        `upward`, as much as its own and the threshold.
        """
        xp, fixed, scores = self.fixed.xp, self.fixed, self.scores
        low, high, steps = fixed.first, fixed.last, fixed.longest.bit_length()
        if fused(scores):
            from rankwise.device_kernels import bisect

            return bisect(scores, low, high, threshold, upward, steps)
        for _ in range(steps):
            middle = (low + high) // 2
            apart = xp.take(scores, xp.minimum(middle, fixed.last - 1)) - scores
            there = apart >= threshold if upward else -apart < threshold
            unsettled = low < high
            high = xp.where(unsettled & there, middle, high)
            low = xp.where(unsettled & ~there, middle + 1, low)
        return low


@dataclass(frozen=True)
class Run:
    """Documents at the places [first, last) have the partners at the places [start, end), one such run each."""

    first: int
    last: int
    start: Any
    end: Any


class Graph(PairGraph):
    """Only what sums need is kept of the ranking.

    rows, moves, place  the rows as the first digit sorts them, how the others move them on, and the way back
    runs                for each digit, the runs of the worse and of the better partners
    """

    def __init__(self, ranking: Ranking, threshold: float) -> None:
        self.fixed = ranking.fixed
        self.layout, self.xp = self.fixed.layout, self.fixed.xp
        self.rows, self.place = ranking.sorted_rows, ranking.place
        self.moves = [None, *(digit.moved for digit in ranking.in_digits[1:])]
        self.runs = _runs(ranking, threshold)

    def below(self, v: Any) -> Any:
        return self._sums(v, [worse for worse, _ in self.runs])

    def above(self, v: Any) -> Any:
        return self._sums(v, [better for _, better in self.runs])

    def adjacency(self, v: Any) -> Any:
        return self._sums(v, [worse + better for worse, better in self.runs])

    def counted(self) -> tuple[Any, Any]:
        level = self.fixed.level
        ones = None if self.fixed.weights is None else self.xp.ones_like(level, dtype=self.xp.float64)
        return self.below(ones), self.above(ones)

    def _sums(self, v: Any, runs: list[list[Run]]) -> Any:
        """The sums of v over the runs, by row; without v, the numbers of documents in them."""
        xp = self.xp
        before, after = self.fixed.weights or (None, None)
        here = prefix = None
        if v is None:
            total = xp.zeros_like(self.fixed.level, dtype=xp.float64)
        else:
            here = xp.take(_scaled(xp.astype(v, xp.float64, copy=False), before), self.rows, axis=0)
            total = xp.zeros_like(here)
        for moved, of_digit in zip(self.moves, runs, strict=True):
            if moved is not None:
                total = xp.take(total, moved, axis=0)
                here = None if here is None else xp.take(here, moved, axis=0)
            if here is not None:
                prefix = prefix_sums(xp, here)
            for run in of_digit:
                _add_sums(xp, total[run.first : run.last, ...], prefix, run)
        return _scaled(xp.take(total, self.place, axis=0), None if v is None else after)


def _add_sums(xp: Any, total: Any, prefix: Any, run: Run) -> None:
    """Add the sums over the run to `total`, a view."""
    if prefix is None:
        total += xp.astype(run.end - run.start, xp.float64)
    elif fused(total):
        from rankwise.device_kernels import add_differences

        add_differences(total, prefix, run.start, run.end)
    else:
        total += xp.take(prefix, run.end, axis=0) - xp.take(prefix, run.start, axis=0)


def _scaled(v: Any, weights: Any) -> Any:
    if weights is None:
        return v
    return v * (weights if v.ndim == 1 else weights[:, None])


def _runs(ranking: Ranking, threshold: float) -> list[tuple[list[Run], list[Run]]]:
    """For each digit the runs of the documents' partners: the worse from `low` on, the better up to `high`."""
    fixed, xp = ranking.fixed, ranking.fixed.xp
    first, last = fixed.first, fixed.last
    low, high = ranking.bisect(threshold, False), ranking.bisect(threshold, True)
    out = []
    for i, digit in enumerate(ranking.in_digits):
        first, last, low, high = (xp.take(ends, digit.moved) for ends in (first, last, low, high))
        worse, better, bounds = [], [], digit.bounds
        for k in range(fixed.base - 1):
            above, side = slice(bounds[k + 1], None), digit.side(k)
            worse.append(Run(bounds[k + 1], bounds[-1], xp.take(side, low[above]), xp.take(side, last[above])))
            under, side = slice(0, bounds[k + 1]), digit.side(k + 1)
            better.append(Run(0, bounds[k + 1], xp.take(side, first[under]), xp.take(side, high[under])))
        out.append((worse, better))
        if i + 1 < len(fixed.shifts):
            own = xp.astype(xp.take(digit.digits, digit.moved), fixed.ints) * (digit.digits.shape[0] + 1)
            first, last, low, high = (xp.take(digit.to, own + ends) for ends in (first, last, low, high))
    return out


def prefix_sums(xp: Any, v: Any) -> Any:
    """0, v_0, v_0 + v_1, ... down the columns; there may be more rows after those.

    A matrix is summed in blocks of rows side by side, and the blocks' own sums in the same way.
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
