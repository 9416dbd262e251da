"""The pair engine in array-API code: no loop over documents or queries, so it runs wherever arrays do.

Two facts carry it. Two levels first differ at one binary digit, so k levels are ceil(log2 k) two-sided problems, each
among the documents that share a query and the higher digits. And with such a group sorted by score, a document's active
partners are one run, so a sum over them is a difference of prefix sums. From one digit to the next every group is
split in two, stably, and a run's ends move to their places in the half by counting who went there (a wavelet tree).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rankwise.pairs.graph import Layout, PairGraph


class Engine:
    def __init__(self, layout: Layout, n_threads: int = 1) -> None:
        self.layout = layout  # threads are the array library's own

    def ranked(self, scores: Any) -> "Ranking":
        return Ranking(self.layout, scores)


class Ranking:
    """The documents of each query in the order of their scores; places 0, 1, ... count through that order."""

    def __init__(self, layout: Layout, scores: Any) -> None:
        self.layout = layout
        self.xp = xp = scores.__array_namespace__()
        starts, n_levels = xp.asarray(layout.starts), layout.n_levels
        self.n_digits = max(int(n_levels.max()) - 1, 0).bit_length() if n_levels.size else 0
        self.longest = int((layout.starts[1:] - layout.starts[:-1]).max()) if n_levels.size else 0
        n = layout.n_rows
        rows = xp.arange(n) if layout.rows is None else xp.asarray(layout.rows, dtype=xp.int64)
        query = xp.repeat(xp.arange(n_levels.size), starts[1:] - starts[:-1])
        by_score = xp.argsort(xp.take(scores, rows), stable=True)
        by_score = xp.take(by_score, xp.argsort(xp.take(query, by_score), stable=True))
        self.row = xp.take(rows, by_score)
        self.place = xp.argsort(self.row)
        self.scores = xp.take(scores, self.row)
        self.level = xp.take(xp.asarray(layout.level, dtype=xp.int64), self.row)
        self.first, self.last = xp.take(starts, query), xp.take(starts, query + 1)

    def active(self, threshold: float) -> "Graph":
        return Graph(self, threshold)


@dataclass(frozen=True)
class Digit:
    """One two-sided problem. In the arrangement of this digit, the document at a place faces the run [first, last):
    on the upper side it is preferred to the lower ones there, on the lower side the upper ones are preferred to it.
    """

    member: Any  # the document at each place, by its place in the ranking
    place: Any  # and the reverse
    upper: Any
    first: Any
    last: Any


class Graph(PairGraph):
    def __init__(self, ranking: Ranking, threshold: float) -> None:
        self.layout = ranking.layout
        self.xp = ranking.xp
        self.ranking = ranking
        self.digits = _digits(ranking, float(threshold))

    def below(self, v: Any) -> Any:
        return self._sums(v, lambda upper, run_sums: upper * run_sums(1.0 - upper))

    def above(self, v: Any) -> Any:
        return self._sums(v, lambda upper, run_sums: (1.0 - upper) * run_sums(upper))

    def _sums(self, v: Any, contribution: Callable[[Any, Callable[[Any], Any]], Any]) -> Any:
        """The sum over the digits of `contribution(upper, run_sums)`, by row; run_sums(u) sums u * v over each run."""
        xp, ranking = self.xp, self.ranking
        weights = None if self.layout.weights is None else xp.take(xp.asarray(self.layout.weights), ranking.row)
        v = xp.take(xp.astype(v, xp.float64), ranking.row, axis=0)
        tail = (1,) * (v.ndim - 1)
        v = v if weights is None else v * xp.reshape(weights, (-1, *tail))
        total = xp.zeros_like(v)
        for digit in self.digits:
            here = xp.take(v, digit.member, axis=0)
            upper = xp.reshape(xp.astype(digit.upper, xp.float64), (-1, *tail))

            def run_sums(side: Any, here: Any = here, digit: Digit = digit) -> Any:
                sums = xp.cumulative_sum(side * here, axis=0, include_initial=True)
                return xp.take(sums, digit.last, axis=0) - xp.take(sums, digit.first, axis=0)

            total = total + xp.take(contribution(upper, run_sums), digit.place, axis=0)
        total = total if weights is None else total * xp.reshape(weights, (-1, *tail))
        return xp.take(total, ranking.place, axis=0)


def _digits(ranking: Ranking, threshold: float) -> list[Digit]:
    xp, scores = ranking.xp, ranking.scores
    first, last = ranking.first, ranking.last
    low = _bisect(ranking, lambda place: scores - xp.take(scores, place) < threshold)
    high = _bisect(ranking, lambda place: xp.take(scores, place) - scores >= threshold)
    member = xp.arange(scores.shape[0])
    digits = []
    for shift in reversed(range(ranking.n_digits)):
        upper = (xp.take(ranking.level, member) >> shift) % 2
        place = xp.argsort(member)
        run = (xp.where(upper == 1, low, first), xp.where(upper == 1, last, high))
        digits.append(Digit(member, place, upper, *run))
        uppers = xp.cumulative_sum(upper, include_initial=True)

        def in_half(ends: Any, first: Any = first, last: Any = last, upper: Any = upper, uppers: Any = uppers) -> Any:
            """Where `ends`, places in each document's group, lie once the group is split and only its half counts."""
            seen = xp.take(uppers, ends) - xp.take(uppers, first)
            lowers = (last - first) - (xp.take(uppers, last) - xp.take(uppers, first))
            return xp.where(upper == 1, first + lowers + seen, ends - seen)

        moved = xp.argsort(in_half(xp.arange(member.shape[0])))
        ends = [xp.take(in_half(end), moved) for end in (first, last, low, high)]
        member, (first, last, low, high) = xp.take(member, moved), ends
    return digits


def _bisect(ranking: Ranking, reached: Callable[[Any], Any]) -> Any:
    """For each document, the first place in its query for which `reached`; it stays reached from there on."""
    xp = ranking.xp
    low, high = ranking.first, ranking.last
    for _ in range(ranking.longest.bit_length()):
        middle = (low + high) // 2
        unsettled = low < high
        there = reached(xp.where(unsettled, middle, ranking.first))
        high = xp.where(unsettled & there, middle, high)
        low = xp.where(unsettled & ~there, middle + 1, low)
    return low
