"""evaluate: from labels and scores to the mean of each measure and its value for every query."""

import json
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from rankwise.foundation.arrays import Array, Floats, finite
from rankwise.foundation.devices import library_of, to_host
from rankwise.foundation.strict_json import Json
from rankwise.foundation.tabular import Columns, Table, Tabular, plain_list
from rankwise.foundation.texts import counted, decimals
from rankwise.metrics.defaults import default_measure
from rankwise.metrics.measures import Measure, OfQuery, parse, parse_all, void
from rankwise.pairs.queries import Queries

if TYPE_CHECKING:
    from pandas import DataFrame

Measures = str | Measure | OfQuery | Iterable[str | Measure | OfQuery]


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Tabular, Mapping[str, float]):
    """A mapping from each measure to its mean; a measure is looked up by any of its spellings.

    means        measure -> mean over the queries that count (NaN if none does)
    per_query    measure -> float64 array, one value per query, NaN if the query does not count
    query_ids    the ids of the queries, in the order in which they first occur
    n_documents  the number of documents
    weights      measure -> weights of the queries in the mean, only for measures for which they are not all 1

    Examples
    --------
    >>> from rankwise import evaluate
    >>> evaluation = evaluate([2, 0, 1, 0, 1], [3, 2, 1, 1, 2], ["tea", "tea", "tea", "mug", "mug"], ["ndcg@10", "map"])
    >>> evaluation
    5 documents in 2 queries
    measure      mean    queries
    ndcg@10    0.9820          2
    map        0.9167          2
    >>> evaluation.query_ids.tolist()
    ['tea', 'mug']
    """

    means: dict[str, float]
    per_query: dict[str, Floats]
    query_ids: Array
    n_documents: int
    weights: dict[str, Floats] = field(default_factory=dict)

    def __getitem__(self, measure: str | Measure | OfQuery) -> float:
        return self.means[self.key(measure)]

    def key(self, measure: str | Measure | OfQuery) -> str:
        """The measure's name in this mapping; KeyError if it was not evaluated."""
        if isinstance(measure, str) and measure in self.means:  # the name of a function, which need not be registered
            return measure
        name = str(parse(measure))
        if name not in self.means:
            raise KeyError(f"{name} was not evaluated, only {', '.join(self.means)}")
        return name

    def __contains__(self, measure: object) -> bool:
        try:
            return measure in self.means or str(parse(measure)) in self.means  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return False

    def __iter__(self) -> Iterator[str]:
        return iter(self.means)

    def __len__(self) -> int:
        return len(self.means)

    @property
    def counted(self) -> dict[str, int]:
        """measure -> number of queries that count."""
        return {name: int(np.count_nonzero(~np.isnan(values))) for name, values in self.per_query.items()}

    def to_dict(self, per_query: bool = False) -> dict[str, Json]:
        """Numbers, lists and strings, ready for JSON; NaN becomes None."""
        counted = self.counted
        plain: dict[str, Json] = {
            "documents": self.n_documents,
            "queries": int(self.query_ids.size),
            "measures": {name: {"mean": _plain(m), "queries": counted[name]} for name, m in self.means.items()},
        }
        if per_query:
            plain["per_query"] = {name: plain_list(column) for name, column in self.query_table().items()}
        return plain

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1)

    def to_text(self) -> str:
        judged = self.counted
        width = max(len("measure"), *map(len, self.means))
        lines = [f"{name:<{width}}  {decimals(mean):>8}  {judged[name]:9,}" for name, mean in self.means.items()]
        return "\n".join([self.summary(), f"{'measure':<{width}}  {'mean':>8}  {'queries':>9}", *lines])

    __repr__ = to_text

    def summary(self) -> str:
        return f"{counted(self.n_documents, 'documents')} in {counted(self.query_ids.size, 'queries')}"

    def table_columns(self) -> Columns:
        judged = self.counted
        return {"measure": list(self.means), "mean": list(self.means.values()), "queries": list(judged.values())}

    def query_table(self) -> Table:
        """Columns: query, and the values of each measure."""
        return Table({"query": self.query_ids, **self.per_query})

    def to_frame(self, per_query: bool = False) -> "DataFrame":
        """A pandas DataFrame with one row per measure, or one row per query and one column per measure."""
        return self.query_table().to_frame() if per_query else super().to_frame()


def evaluate(
    y: object,
    scores: object,
    qid: object = None,
    measures: Measures | None = None,
    n_jobs: int | None = None,
    *,
    sample_weight: object = None,
    unjudged: float | None = None,
) -> Evaluation:
    """Evaluate the ranking of documents with labels `y` by `scores`, larger first, within each query of `qid`.

    A measure is a string such as "ndcg@10", or a function of the labels and scores of one query's documents, best first
    (docs/extending.md); if `measures` is None, the `default_measure` of y is used. Rows may be in any order; without
    `qid` all rows are one query. The result does not depend on `n_jobs`. A UserWarning is given if the labels are such
    that every ranking has the same value.

    sample_weight  weights of the documents; None: all 1. Each query then counts in the mean as much as its documents do
              on average, without those of its lowest label (docs/metrics.md)
    unjudged  the label of documents whose label in y is NaN, because nobody judged them; None: NaN is an error. The
              measure judged@k tells how many of the first k documents have a label of their own

    Examples
    --------
    >>> from rankwise import evaluate
    >>> found = evaluate([2, 0, 1, 0, 1], [3, 2, 1, 1, 2], ["tea", "tea", "tea", "mug", "mug"], ["ndcg@10", "map"])
    >>> round(found["ndcg@10"], 3)
    0.982
    >>> found.per_query["map"].round(3)
    array([0.833, 1.   ])
    """
    evaluation, lowest, highest, parsed = measured(y, scores, qid, measures, n_jobs, unjudged, sample_weight)
    warn_of_void(parsed, lowest, highest)
    return evaluation


def evaluate_held_out(
    y: object,
    scores: object,
    qid: object,
    measures: Measures,
    n_jobs: int | None = None,
    *,
    sample_weight: object = None,
) -> Evaluation:
    """`evaluate` on the held-out queries of one fold: its warnings say that they are not about all queries."""
    evaluation, lowest, highest, parsed = measured(y, scores, qid, measures, n_jobs, None, sample_weight)
    warn_of_void(parsed, lowest, highest, where=" on one set of held-out queries")
    return evaluation


def measured(
    y: object,
    scores: object,
    qid: object,
    measures: Measures | None,
    n_jobs: int | None,
    unjudged: float | None = None,
    sample_weight: object = None,
) -> tuple[Evaluation, Floats, Floats, list[Measure]]:
    """The evaluation, the lowest and the highest label of each query, and the measures."""
    # the kernels run on the host; copying one score and one label per document is cheap
    y, scores, qid = (to_host(one) if library_of(one) else one for one in (y, scores, qid))
    labels, judged = with_unjudged(y, unjudged)
    predicted = finite(scores, "scores")
    if labels.size != predicted.size:
        raise ValueError(
            f"y holds {labels.size} labels and scores {predicted.size} numbers: both need one per document"
        )
    if labels.size == 0:
        raise ValueError("y is empty: there is nothing to evaluate")
    chosen = parse_all(default_measure(labels) if measures is None else measures)
    from rankwise.metrics.columns import column  # imports Numba, so not before it is needed
    from rankwise.metrics.rankings import Rankings

    queries = Queries(qid, labels.size)
    rankings = Rankings(labels, predicted, queries, n_jobs, judged)
    columns = {str(measure): column(measure, rankings) for measure in chosen}
    if sample_weight is not None:
        weighted = query_weights(labels, sample_weight, queries)
        columns = {name: one.weighted_by(weighted) for name, one in columns.items()}
    means = {name: one.mean for name, one in columns.items()}
    values = {name: one.values for name, one in columns.items()}
    weights = {name: one.weights for name, one in columns.items() if one.weights is not None}
    first = rankings.queries.starts[:-1]
    bounds = np.minimum.reduceat(rankings.labels, first), np.maximum.reduceat(rankings.labels, first)
    return Evaluation(means, values, queries.ids, labels.size, weights), *bounds, chosen


def query_weights(labels: Floats, sample_weight: object, queries: Queries) -> Floats:
    """The weight of each query in a mean: the mean weight of its documents with more than its lowest label.

    So a click that weighs 1 / propensity is a query of that weight, however many documents were not clicked. If all
    labels of a query are equal, it is the mean over all of its documents.
    """
    given = to_host(sample_weight) if library_of(sample_weight) else sample_weight
    weights = finite(given, "sample_weight", labels.size)
    if (weights < 0).any():
        row = int((weights < 0).argmax())
        raise ValueError(f"sample_weight[{row}] is {weights[row]:g}: a weight must not be negative")
    codes, n = queries.codes, len(queries)
    lowest = np.full(n, np.inf)
    np.minimum.at(lowest, codes, labels)
    better = labels > lowest[codes]
    counted = better | (np.bincount(codes, better, n) == 0)[codes]
    means: Floats = np.bincount(codes, weights * counted, n) / np.bincount(codes, counted, n)
    return means


def with_unjudged(y: object, unjudged: float | None) -> tuple[Floats, Array | None]:
    """The labels, with `unjudged` in place of NaN; and which labels are not NaN, or None if all of them are not."""
    if unjudged is not None and not math.isfinite(unjudged):
        raise ValueError(f"unjudged must be a finite number; got {unjudged!r}")
    try:
        labels = np.asarray(y, np.float64)
    except (TypeError, ValueError, OverflowError):
        labels = np.zeros(0)  # `finite` reports the error
    judged = ~np.isnan(labels)
    if judged.all():
        return finite(y, "y"), None
    if unjudged is None:
        row = int(np.flatnonzero(~judged)[0])
        cure = "unjudged=0 (--unjudged 0) gives documents without a label the label 0"
        raise ValueError(f"y must be finite: y[{row}] is nan; {cure}")
    return finite(np.where(judged, labels, unjudged), "y"), judged


def warn_of_void(
    measures: Iterable[Measure], lowest: Floats, highest: Floats, stacklevel: int = 3, where: str = ""
) -> None:
    """Warn if every ranking has the same value, by the lowest and highest label of each query; `where` says of what."""
    distinct = list(dict.fromkeys(measures))
    if (lowest == highest).all():
        names = ", ".join(map(str, distinct))
        text = f"{names}{where}: within every query all labels are equal, so no ranking is better than another"
        warnings.warn(text, stacklevel=stacklevel)
        return
    reasons: dict[str, list[Measure]] = {}
    for measure in distinct:
        reasons.setdefault(void(measure, float(lowest.min()), float(highest.max())), []).append(measure)
    for reason, alike in reasons.items():
        if reason:
            options = dict(alike[0].options) | {"relevant": f"{highest.max():g}"}
            cure = f"set the threshold, as in {replace(alike[0], options=tuple(options.items()))}"
            text = f"{', '.join(map(str, alike))}{where}: {reason}, so every ranking has the same value: {cure}"
            warnings.warn(text, stacklevel=stacklevel)


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value
