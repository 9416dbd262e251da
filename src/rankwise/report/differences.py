"""QueryDifferenceDisplay: in which queries one ranker is better than another, and by how much."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from rankwise.foundation.arrays import Array, Floats
from rankwise.metrics import Evaluation, Measure, OfQuery, evaluate, randomization_test, win_tie_loss
from rankwise.report.display import BLUE, RED, Display, drawn, dress, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAST_SHOWN = 0.0001
One = str | Measure | OfQuery


@dataclass(eq=False, repr=False)
class QueryDifferenceDisplay(Display):
    """In which queries one ranker is better than another, and by how much.

    query_ids     the queries with a value for both rankers
    first, other  their values
    names         of the two rankers
    measure       what the values are
    weights       of the queries in the mean, if they are not all 1

    Examples
    --------
    >>> from rankwise import RankSVM, load_sample
    >>> from rankwise.report import QueryDifferenceDisplay
    >>> train, test = load_sample("train"), load_sample("test")
    >>> scores = RankSVM().fit(train).predict(test)
    >>> names = ("RankSVM", "clicks")
    >>> display = QueryDifferenceDisplay.from_predictions(test.y, scores, test.X[:, 4], test.qid, names=names)
    >>> display.data["query"].size
    40
    """

    query_ids: Array
    first: Floats
    other: Floats
    names: tuple[str, str]
    measure: str
    weights: Floats | None = None

    @classmethod
    def from_evaluations(
        cls, first: Evaluation, other: Evaluation, measure: One | None = None, names: tuple[str, str] = ("A", "B")
    ) -> Self:
        """Two evaluations of the same queries in the same order; `measure`: by default their first one."""
        name = next(iter(first)) if measure is None else first.key(measure)
        if not np.array_equal(first.query_ids, other.query_ids):
            raise ValueError("the two evaluations have different queries, or the same in another order")
        a, b = first.per_query[name], other.per_query[name]
        counts = ~np.isnan(a - b)
        weights = first.weights[name][counts] if name in first.weights else None
        return cls(first.query_ids[counts], a[counts], b[counts], names, name, weights)

    @classmethod
    def from_predictions(
        cls,
        y: object,
        first: object,
        other: object,
        qid: object,
        measure: One = "ndcg@10",
        names: tuple[str, str] = ("A", "B"),
    ) -> Self:
        """The scores of two rankers for the documents with labels y."""
        found = [evaluate(y, scores, qid, measure) for scores in (first, other)]
        return cls.from_evaluations(found[0], found[1], measure, names)

    @property
    def differences(self) -> Floats:
        return self.first - self.other

    @property
    def data(self) -> dict[str, Array]:
        """From the best query of the first ranker to its worst."""
        order = np.argsort(-self.differences, kind="stable")
        columns = {self.names[0]: self.first, self.names[1]: self.other, "difference": self.differences}
        return {"query": self.query_ids[order], **{name: column[order] for name, column in columns.items()}}

    def _draw(self, ax: "Axes") -> None:
        height = self.data["difference"]
        wins, ties, losses = win_tie_loss(height)
        one, two = map(drawn, self.names)
        for sign, colour, name, count in ((1, BLUE, one, wins), (-1, RED, two, losses)):
            heights = np.where(sign * height > 0, height, 0)
            ax.bar(
                np.arange(height.size), heights, width=1.0, color=colour, linewidth=0, label=f"{name} better: {count:,}"
            )
        mean = float(np.average(self.differences, weights=self.weights))
        p = randomization_test(self.differences, self.weights).p_value
        chance = f"p = {p:.2g}" if p >= LEAST_SHOWN else f"p < {LEAST_SHOWN}"
        ax.axhline(mean, color="black", linewidth=1, linestyle=(0, (4, 3)), label=f"mean {mean:+.4f} ({chance})")
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set_xlim(-0.5, height.size - 0.5)
        equal = f"; {ties:,} equal" if ties else ""
        xlabel = f"{height.size:,} queries, by difference{equal}"
        dress(ax, xlabel, f"{drawn(self.measure)}: {one} − {two}", grid="y")
        legend(ax)
