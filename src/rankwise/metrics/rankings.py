"""The documents of every query in the order of their scores: sorted once for all measures.

A *place* is the position of a document, query after query and best first. Places of equal score are tied. `ties` is the
rule for the order of tied documents: "average", all orders with equal probability; "worst" or "best", ascending or
descending by value; "stable", by row number.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.threads import share, thread_count
from rankwise.pairs import compiled, swept
from rankwise.pairs.graph import Layout, Ranking
from rankwise.pairs.preferences import Preferences
from rankwise.pairs.queries import Queries, cut

SMALLEST = float(np.nextafter(0.0, 1.0))  # two scores that differ by less are equal


class Rankings:
    """Labels and scores by place, ties in the order of their rows."""

    def __init__(
        self,
        labels: Floats,
        scores: Floats,
        queries: Queries,
        n_jobs: int | None = None,
        judged: Array | None = None,
    ) -> None:
        """`judged`: whether each document has a label of its own; None if all have one."""
        judged = np.ones(labels.size, bool) if judged is None else judged
        if queries.rows is not None:
            labels, scores, judged = (one[queries.rows] for one in (labels, scores, judged))
            queries = queries.gathered()
        self.queries = queries
        self.n_jobs = n_jobs
        self._pieces = cut(queries.starts, swept.PIECE)
        by_score = self._sort(-scores, queries.starts)  # the sort is ascending and stable: negated for best first
        order, self._descending, _ = by_score.arrays
        self.labels = labels[order]
        self.judged = judged[order].astype(np.float64)
        first_of_tie = np.ones(labels.size, bool)
        np.not_equal(self._descending[1:], self._descending[:-1], out=first_of_tie[1:])
        first_of_tie[queries.starts[:-1]] = True
        self._ties = np.append(np.flatnonzero(first_of_tie), labels.size)  # where each tie begins, and the end

    @property
    def scores(self) -> Floats:
        """The scores by place: descending within a query."""
        return -self._descending

    def places(self, values: Floats, ties: str) -> tuple[Floats, Ints]:
        """The values by place and the end of each place's tie; unless ties are averaged, each place is its own tie."""
        if ties == "average":
            return values, self.tie_ends
        if ties != "stable" and self._tied:
            sign = -1.0 if ties == "best" else 1.0
            values = sign * self._sort(sign * values, self._ties).arrays[1]
        return values, np.arange(1, values.size + 1)

    def expected(self, values: Floats, ties: str) -> Floats:
        """The expected value at each place."""
        values, _ = self.places(values, ties)
        if ties == "average" and self._tied:
            sizes = np.diff(self._ties)
            values = np.repeat(np.add.reduceat(values, self._ties[:-1]) / sizes, sizes)
        return values

    def each_query(self, kernel: Callable[..., None], *arrays: Array | int) -> Floats:
        """One number per query: kernel(starts, *arrays, out) for pieces of whole queries, in parallel."""
        out = np.empty(len(self.queries))
        starts = self.queries.starts

        def work(piece: tuple[int, int]) -> None:
            first, last = piece
            kernel(starts[first : last + 1], *arrays, out[first:last])

        share(work, self._pieces, thread_count(self.n_jobs))
        return out

    def total(self, values: Array) -> Floats:
        """The sum of the values over each query."""
        sums: Floats = np.add.reduceat(values, self.queries.starts[:-1], dtype=np.float64)
        return sums

    @cached_property
    def ideal(self) -> Floats:
        """The labels of each query in descending order."""
        return -self._sort(-self.labels, self.queries.starts).arrays[1]

    @cached_property
    def tie_ends(self) -> Ints:
        """For each place, where its tie ends."""
        return np.repeat(self._ties[1:], np.diff(self._ties))

    @cached_property
    def tied_pairs(self) -> Floats:
        """For each query, the number of pairs of documents with equal scores."""
        return self.total(self.tie_ends - np.arange(1, self.labels.size + 1))

    @cached_property
    def preference_pairs(self) -> Floats:
        """For each query, the number of preference pairs."""
        return self._pairs_within(np.inf)

    @cached_property
    def correct_pairs(self) -> Floats:
        """For each query, the number of preference pairs that the scores put in the right order."""
        return self._pairs_within(0.0)

    @cached_property
    def tied_preferences(self) -> Floats:
        """For each query, the number of preference pairs with equal scores."""
        return self._pairs_within(SMALLEST) - self.correct_pairs

    @property
    def _tied(self) -> bool:
        return bool(self._ties.size <= self.labels.size)

    @cached_property
    def _preferences(self) -> Ranking:
        preferences = Preferences(self.labels, self.queries, n_jobs=self.n_jobs)
        return preferences.ranked(self._descending)  # the negated scores, so pairs are reversed

    def _pairs_within(self, threshold: float) -> Floats:
        """For each query, the number of pairs (i preferred to j) with s_j - s_i < threshold."""
        return self.total(self._preferences.active(threshold).below(np.ones(self.labels.size)))

    def _sort(self, keys: Floats, starts: Ints) -> compiled.Ranking:
        one_level = np.zeros(keys.size, np.int32)
        layout = Layout(starts, None, one_level, np.ones(starts.size - 1, np.int32), None)
        return compiled.Engine(layout, thread_count(self.n_jobs)).ranked(keys)
