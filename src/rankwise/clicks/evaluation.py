"""`evaluate_clicks`: what a measure of another ranking would be, estimated from clicks on the lists that were shown.

A click at a position at which users look with propensity p stands for 1 / p relevant documents. If λ(rank) is what a
relevant document adds to a measure and the new ranking puts the clicked document at rank r, then

    per list         1 / (number of lists) · Σ_clicks λ(r) / p     the measure, with relevances as gains
    self-normalised  Σ_clicks λ(r) / p  /  Σ_clicks 1 / p          the mean of λ over the relevant documents

The first has no bias if the propensities are right; the second has a small one and mostly a smaller variance, because
random weights divide out (Joachims, Swaminathan and Schnabel 2017; Swaminathan and Joachims 2015).

Only the documents of a list are ranked anew, since nothing is known of clicks on others. A rank is therefore one among
the documents that were shown.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from rankwise.clicks.cells import sums
from rankwise.clicks.intervals import interval
from rankwise.clicks.log import ClickLog
from rankwise.clicks.matching import rows_of_features, rows_of_lists
from rankwise.clicks.measures import ClickMeasure, default_measures, parse_all
from rankwise.clicks.propensities import Propensities, check_clip
from rankwise.data.records import RankingData
from rankwise.foundation.arrays import Floats, Ints, finite
from rankwise.foundation.strict_json import Json
from rankwise.foundation.tabular import Columns, Tabular
from rankwise.foundation.texts import counted

PER_LIST, NORMALISED = "per list", "self-normalised"  # the two estimators, as they are printed


@dataclass(frozen=True)
class Estimate:
    """A measure of the new ranking with its interval, and how it differs from that of the order that was shown."""

    value: float
    lower: float
    upper: float
    shown: float
    difference: float
    difference_lower: float
    difference_upper: float


@dataclass(frozen=True, eq=False, repr=False)
class ClickEvaluation(Tabular):
    """Estimates from clicks, made by `evaluate_clicks`.

    per_list, normalised   measure -> Estimate
    n_lists, n_clicks      the size of the log; lists without clicks count too
    n_clipped              clicks at positions whose propensity is below `clip`
    effective_sample_size  (Σ w)² / Σ w², where w are the weights of the clicks: so many clicks of equal weight would
                           tell as much
    confidence             of the intervals
    """

    per_list: dict[str, Estimate]
    normalised: dict[str, Estimate]
    n_lists: int
    n_clicks: int
    n_clipped: int
    effective_sample_size: float
    confidence: float

    def summary(self) -> str:
        clipped = f", {self.n_clipped:,} of them clipped" if self.n_clipped else ""
        return (
            f"{counted(self.n_clicks, 'clicks')} in {counted(self.n_lists, 'lists')}{clipped}; "
            f"effective sample size {self.effective_sample_size:,.1f}; {100 * self.confidence:g} % intervals"
        )

    def table_columns(self) -> Columns:
        """Two rows per measure."""
        rows = [
            (name, estimator, one)
            for name in self.per_list
            for estimator, one in ((PER_LIST, self.per_list[name]), (NORMALISED, self.normalised[name]))
        ]
        columns = {"measure": [row[0] for row in rows], "estimator": [row[1] for row in rows]}
        return columns | {part.name: [getattr(row[2], part.name) for row in rows] for part in fields(Estimate)}

    def to_text(self) -> str:
        return f"{self.summary()}\n{super().to_text()}"

    __repr__ = to_text

    def to_dict(self) -> dict[str, Json]:
        """Numbers and texts, ready for JSON."""
        plain: dict[str, Json] = {
            name: getattr(self, name)
            for name in ("n_lists", "n_clicks", "n_clipped", "effective_sample_size", "confidence")
        }
        estimators = {"per_list": self.per_list, "self_normalised": self.normalised}
        measures = {
            name: {key: vars(estimates[name]) for key, estimates in estimators.items()} for name in self.per_list
        }
        return plain | {"measures": measures}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1)


def evaluate_clicks(
    log: ClickLog,
    data: RankingData,
    scores: object,
    propensities: Propensities | None,
    measures: str | Iterable[str] | None = None,
    *,
    clip: float = 0.01,
    over: str = "queries",
    confidence: float = 0.95,
    n_resamples: int = 1000,
    random_state: int | np.random.Generator | None = None,
) -> ClickEvaluation:
    """Estimate measures of the ranking by `scores`, larger first, from clicks on other rankings.

    data          the documents of every list with a click, by qid and docid; features and labels are not used
    scores        one number per row of `data`; of documents with equal scores every order is equally probable, as in
                  `rankwise.evaluate`
    propensities  of the positions; None: 1 at all of them, which takes clicks as they are
    measures      dcg[@k], reciprocal-rank[@k], average-rank, hits@k, clicks[@k] (docs/clicks.md); by default dcg@10,
                  average-rank and, with propensities, clicks
    clip          propensities below this count as this, so that no click weighs more than 1 / clip
    over          what the bootstrap draws: "queries", or "lists" if the log has few queries

    The intervals tell how much the estimates vary with the queries. They do not tell of errors in the propensities.
    """
    chosen = parse_all(default_measures(propensities) if measures is None else measures)
    check_clip(clip)
    if hasattr(scores, "predict"):
        raise TypeError(
            f"scores must hold one number per document, as predict(data) returns; got a {type(scores).__name__}"
        )
    known = finite(scores, "scores", len(data))
    clicked = np.flatnonzero(log.click)
    if not clicked.size:
        raise ValueError("the log has no clicks: there is nothing to estimate from")
    looked = np.ones(clicked.size) if propensities is None else propensities.at(log.position[clicked])
    weights = 1 / np.maximum(looked, clip)
    lists = _ClickedLists.of(log)
    order = lists.order(known[rows_of_features(log, lists.rows, data)])
    shown = [one.at(lists.rank, log.position[lists.rows], propensities) for one in chosen]
    new = [order.expected(one) for one in shown]
    of_click, is_clicked = log.list_of_row[clicked], log.click[lists.rows]
    columns = [weights, *(weights * one[is_clicked] for one in (*new, *shown))]
    totals = np.stack([np.ones(log.n_lists), *(sums(of_click, one, log.n_lists) for one in columns)], axis=1)
    drawing = {"over": over, "confidence": confidence, "n_resamples": n_resamples, "random_state": random_state}
    per_list, normalised = _estimates(log, totals, chosen, drawing)
    shares = weights / weights.max()  # whose squares do not overflow
    effective = float(shares.sum() ** 2 / (shares**2).sum())
    n_clipped = int(np.count_nonzero(looked < clip))
    return ClickEvaluation(per_list, normalised, log.n_lists, clicked.size, n_clipped, effective, confidence)


def _estimates(
    log: ClickLog, totals: Floats, measures: Sequence[ClickMeasure], drawing: dict[str, Any]
) -> list[dict[str, Estimate]]:
    """The estimates per list, and the self-normalised ones.

    totals   per list: 1, the sum of the weights, and the weighted sums of each measure for the new order, then for the
             one shown
    drawing  the options of `interval`
    """
    query, first = np.unique(log.query, return_index=True)
    of_query = np.stack([sums(log.query, column, int(query[-1]) + 1)[query] for column in totals.T], axis=1)

    def estimate(weights: Floats) -> Floats:
        """By estimator; by new order, shown order and their difference; by measure."""
        by_query = drawing["over"] == "queries"  # the lists of a query then have one weight
        n_lists, weight, *rest = weights[first] @ of_query if by_query else weights @ totals
        new, shown = np.reshape(rest, (2, len(measures)))
        each = np.stack([new, shown, new - shown])
        with np.errstate(divide="ignore", invalid="ignore"):  # a draw without clicks tells nothing
            return np.stack([each / n_lists, each / weight]).ravel()

    shape = (2, 3, len(measures))
    value = estimate(np.ones(log.n_lists)).reshape(shape)
    lower, upper = (end.reshape(shape) for end in interval(log, estimate, **drawing))
    parts = np.stack(
        [value[:, 0], lower[:, 0], upper[:, 0], value[:, 1], value[:, 2], lower[:, 2], upper[:, 2]], axis=-1
    )
    return [
        {str(measure): Estimate(*numbers) for measure, numbers in zip(measures, one.tolist(), strict=True)}
        for one in parts
    ]


@dataclass(frozen=True, eq=False)
class _ClickedLists:
    """The lists with a click: their rows in the log, list after list, and for each its list and its rank in it."""

    rows: Ints
    of_list: Ints
    rank: Ints

    @classmethod
    def of(cls, log: ClickLog) -> "_ClickedLists":
        rows, of_list = rows_of_lists(log, np.unique(log.list_of_row[log.click]))
        return cls(rows, of_list, np.arange(rows.size) - np.searchsorted(of_list, of_list) + 1)

    def order(self, scores: Floats) -> "_Order":
        order = np.lexsort((-scores, self.of_list))
        best_first = scores[order]
        begins = np.ones(order.size, bool)
        begins[1:] = (self.of_list[1:] != self.of_list[:-1]) | (best_first[1:] != best_first[:-1])
        return _Order(order, np.flatnonzero(begins))


class _Order(NamedTuple):
    """The rows of lists, best first within each list; and where the rows of each different score begin."""

    rows: Ints
    ties: Ints

    def expected(self, worth: Floats) -> Floats:
        """Per row what it adds to a measure at its place, given what every place is worth; ties share their places."""
        sizes = np.diff(self.ties, append=worth.size)
        shared = np.empty(worth.size)
        shared[self.rows] = np.repeat(np.add.reduceat(worth, self.ties) / sizes, sizes)
        return shared
