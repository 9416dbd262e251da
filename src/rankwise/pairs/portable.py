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

from rankwise.device import device_of, fused, namespace, on_device_of
from rankwise.pairs.graph import Layout, PairGraph

BASE = 8  # sides at a digit, where there are more levels; up to so many levels are one digit
BLOCK = 256  # rows of a matrix whose prefix sums are made one after another


class Engine:
    def __init__(self, layout: Layout, n_threads: int = 1) -> None:
        self.layout = layout  # threads are the array library's own
        self._fixed: dict[Any, Fixed] = {}  # by where the scores lie

    def ranked(self, scores: Any) -> "Ranking":
        where = namespace(scores), device_of(scores)
        if where not in self._fixed:
            self._fixed[where] = Fixed(self.layout, scores)
        return Ranking(self._fixed[where], scores)


class Fixed:
    """What does not depend on the scores. Places 0, 1, ... count through the queries."""

    def __init__(self, layout: Layout, like: Any) -> None:
        self.layout = layout
        self.xp = xp = namespace(like)
        n, n_queries = layout.n_rows, layout.starts.shape[0] - 1
        self.ints = xp.int32 if BASE * (n + 1) < 2**31 else xp.int64
        starts = on_device_of(like, layout.starts)
        self.sizes = starts[1:] - starts[:-1]
        self.longest = int(xp.max(self.sizes)) if n else 0
        self.query = xp.repeat(xp.arange(n_queries, dtype=xp.int32, device=device_of(like)), self.sizes)
        self.first, self.last = (xp.astype(xp.take(ends, self.query), self.ints) for ends in (starts[:-1], starts[1:]))
        self.rows = None if layout.rows is None else on_device_of(like, layout.rows)
        self.level = self.grouped(on_device_of(like, layout.level))
        n_levels = int(xp.max(on_device_of(like, layout.n_levels))) if n_queries else 1
        n_digits = 1
        while BASE**n_digits < n_levels:
            n_digits += 1
        self.base = next(base for base in range(1, BASE + 1) if base**n_digits >= n_levels)
        self.shifts = [self.base**i for i in range(n_digits)]  # of the digits, the lowest first
        self.bounds = [self._bounds(shift) for shift in self.shifts]
        self.weights = None if layout.weights is None else self._scaled(on_device_of(like, layout.weights))

    def grouped(self, by_row: Any) -> Any:
        """Values by row, query after query."""
        return by_row if self.rows is None else self.xp.take(by_row, self.rows, axis=0)

    def order(self, keys: Any) -> Any:
        """The places that sort grouped keys within each query."""
        xp = self.xp
        order = xp.argsort(keys, stable=True)
        if self.sizes.shape[0] > 1:
            order = xp.take(order, xp.argsort(xp.take(self.query, order), stable=True))
        return order

    def _bounds(self, shift: int) -> list[int]:
        """How many documents have a digit below 0, 1, ..., base."""
        xp = self.xp
        digit = (self.level // shift) % self.base
        below = [xp.sum(xp.astype(digit < k, xp.int64)) for k in range(1, self.base)]
        return [0, *(int(one) for one in below), self.layout.n_rows]

    def _scaled(self, weights: Any) -> tuple[Any, Any]:
        """Weights, by row, to multiply by before and after a sum; those before are at most about 1 in each query.

        The scales are powers of 2, so that nothing is rounded.
        """
        xp = self.xp
        grouped = self.grouped(weights)
        largest = xp.take(xp.take(grouped, self.order(grouped)), self.last - 1)  # of each place's query
        exponent = xp.round(xp.log2(xp.where(largest > 0, largest, xp.ones_like(largest))))
        scale = xp.pow(xp.full_like(exponent, 2.0), exponent)
        if self.rows is not None:
            scale = xp.take(scale, xp.argsort(self.rows))
        return weights / scale, weights * scale


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
    def in_digits(self) -> list["Digit"]:
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
        return self.fixed.xp.argsort(row)

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
class Digit:
    """One problem of several sides: the documents sorted by this digit, and before that as they were.

    moved   from which place each came
    digits  of the documents before they moved
    to      to[k * (n + 1) + p]: where the first of digit k goes to among those from place p on
    bounds  how many documents have a digit below 0, 1, ...
    """

    moved: Any
    digits: Any
    to: Any
    bounds: list[int]

    @classmethod
    def of(cls, fixed: Fixed, digits: Any, bounds: list[int]) -> "Digit":
        xp, base = fixed.xp, fixed.base
        sides = xp.arange(base, dtype=digits.dtype, device=device_of(digits))
        counted = xp.zeros((base, digits.shape[0] + 1), dtype=xp.int8, device=device_of(digits))
        counted[:, 1:] = xp.astype(digits[None, :] == sides[:, None], xp.int8)
        to = xp.cumulative_sum(xp.reshape(counted, (-1,)), dtype=fixed.ints)
        return cls(xp.argsort(xp.astype(digits, xp.int8), stable=True), digits, to, bounds)

    def side(self, k: int) -> Any:
        """The part of `to` for digit k."""
        width = self.digits.shape[0] + 1
        return self.to[k * width : (k + 1) * width]


@dataclass(frozen=True)
class Run:
    """Documents at the places [first, last) have the partners at the places [start, end), one such run each."""

    first: int
    last: int
    start: Any
    end: Any


class Graph(PairGraph):
    """`runs`: for each digit, the runs of the worse and of the better partners."""

    def __init__(self, ranking: Ranking, threshold: float) -> None:
        self.layout = ranking.fixed.layout
        self.xp = ranking.fixed.xp
        self.ranking = ranking
        self.runs = _runs(ranking, threshold)

    def below(self, v: Any) -> Any:
        return self._sums(v, [worse for worse, _ in self.runs])

    def above(self, v: Any) -> Any:
        return self._sums(v, [better for _, better in self.runs])

    def adjacency(self, v: Any) -> Any:
        return self._sums(v, [worse + better for worse, better in self.runs])

    def counted(self) -> tuple[Any, Any]:
        ones = None if self.ranking.fixed.weights is None else self.xp.ones_like(self.ranking.scores)
        return self.below(ones), self.above(ones)

    def _sums(self, v: Any, runs: list[list[Run]]) -> Any:
        """The sums of v over the runs, by row; without v, the numbers of documents in them."""
        xp, ranking = self.xp, self.ranking
        before, after = ranking.fixed.weights or (None, None)
        here = None
        if v is not None:
            here = xp.take(_scaled(xp.astype(v, xp.float64, copy=False), before), ranking.sorted_rows, axis=0)
        total = xp.zeros_like(ranking.scores if here is None else here)
        for i, (digit, of_digit) in enumerate(zip(ranking.in_digits, runs, strict=True)):
            total = xp.take(total, digit.moved, axis=0) if i else total
            prefix = None
            if here is not None:
                here = xp.take(here, digit.moved, axis=0) if i else here
                prefix = prefix_sums(xp, here)
            for run in of_digit:
                _add_sums(xp, total[run.first : run.last, ...], prefix, run)
        return _scaled(xp.take(total, ranking.place, axis=0), None if v is None else after)


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
