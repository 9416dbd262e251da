"""cross_validate: any measures on folds of whole queries, per fold and per query; qid is always passed."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils.metadata_routing import get_routing_for_object

from rankwise.data.columns import ModelColumns
from rankwise.data.frame import from_frame
from rankwise.data.records import RankingData
from rankwise.data.repeated import RepeatedRows, SharedData
from rankwise.foundation.arrays import Array, Floats, Ints, finite
from rankwise.foundation.compiling import clock
from rankwise.foundation.devices import HostMatrix, SparseMatrix
from rankwise.foundation.strict_json import Json
from rankwise.foundation.tabular import Columns, Tabular
from rankwise.foundation.threads import share, thread_count
from rankwise.metrics import Evaluation, Measure, OfQuery, default_measure, evaluate, parse_all
from rankwise.metrics.evaluation import Measures, evaluate_held_out
from rankwise.model_selection.choice import means_and_errors
from rankwise.model_selection.signs import with_signs_by_place
from rankwise.model_selection.splits import Folds, Split, splits_of
from rankwise.objective.stored import Features
from rankwise.pairs.queries import Queries, one_column


class Estimator(Protocol):
    """A ranker, or a pipeline or search that contains one."""

    def fit(self, X: Any, y: Any, **given: Any) -> Any: ...
    def predict(self, X: Any, **given: Any) -> Any: ...


@dataclass(frozen=True, eq=False, repr=False)
class Fold:
    """The result of one fold."""

    evaluation: Evaluation
    train_queries: int
    fit_seconds: float
    score_seconds: float


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation(Tabular):
    """Results by fold; measures are looked up by any of their spellings.

    Examples
    --------
    >>> from rankwise import RankSVM, load_sample
    >>> from rankwise.model_selection import cross_validate
    >>> data = load_sample()
    >>> found = cross_validate(RankSVM(), data.X, data.y, data.qid, cv=4, measures="ndcg@10")
    >>> found.by_fold("ndcg@10").shape
    (4,)
    >>> round(found.mean("ndcg@10"), 2)
    0.9
    """

    folds: list[Fold]
    measures: list[str]

    def by_fold(self, measure: str | Measure | OfQuery) -> Floats:
        """One value per fold."""
        return np.array([fold.evaluation[measure] for fold in self.folds])

    def per_query(self, measure: str | Measure | OfQuery) -> tuple[Array, Floats]:
        """(query ids, values), fold after fold; NaN if a query does not count."""
        name = self.folds[0].evaluation.key(measure)
        ids = np.concatenate([fold.evaluation.query_ids for fold in self.folds])
        return ids, np.concatenate([fold.evaluation.per_query[name] for fold in self.folds])

    def mean(self, measure: str | Measure | OfQuery) -> float:
        """The mean over folds."""
        return float(means_and_errors(self.by_fold(measure)[:, None])[0][0])

    def standard_error(self, measure: str | Measure | OfQuery) -> float:
        """The standard error of the mean over folds."""
        return float(means_and_errors(self.by_fold(measure)[:, None])[1][0])

    def spread(self, measure: str | Measure | OfQuery) -> float:
        """The standard deviation over folds."""
        return self.standard_error(measure) * float(np.sqrt(np.count_nonzero(~np.isnan(self.by_fold(measure)))))

    @property
    def fit_seconds(self) -> Floats:
        return np.array([fold.fit_seconds for fold in self.folds])

    @property
    def score_seconds(self) -> Floats:
        return np.array([fold.score_seconds for fold in self.folds])

    def to_dict(self, per_query: bool = False) -> dict[str, Json]:
        """Numbers, lists and strings, ready for JSON."""
        measures = {
            name: {"mean": self.mean(name), "spread": self.spread(name), "folds": self.by_fold(name).tolist()}
            for name in self.measures
        }
        plain: dict[str, Json] = {"measures": measures, "fit_seconds": self.fit_seconds.tolist()}
        plain["score_seconds"] = self.score_seconds.tolist()
        if per_query:
            plain["per_query"] = [fold.evaluation.to_dict(True)["per_query"] for fold in self.folds]
        return plain

    def __repr__(self) -> str:
        width = max(len("measure"), *map(len, self.measures))
        lines = [f"{name:<{width}}  {self.mean(name):8.4f}  {self.spread(name):8.4f}" for name in self.measures]
        return "\n".join([self.summary(), f"{'measure':<{width}}  {'mean':>8}  {'spread':>8}", *lines])

    def summary(self) -> str:
        return f"{len(self.folds)} folds, {self.fit_seconds.sum():.2f} s to fit"

    def table_columns(self) -> Columns:
        """One row per fold."""
        seconds = {"fit_seconds": self.fit_seconds, "score_seconds": self.score_seconds}
        folds = np.arange(1, len(self.folds) + 1)
        return {"fold": folds, **{name: self.by_fold(name) for name in self.measures}, **seconds}


def cross_validate(
    estimator: Estimator,
    X: ArrayLike | SparseMatrix | RankingData | SharedData,
    y: ArrayLike | str | None = None,
    qid: ArrayLike | str | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    cv: Folds = 5,
    measures: Measures | None = None,
    n_jobs: int | None = 1,
) -> CrossValidation:
    """Fit a clone of `estimator` to each fold's training queries and evaluate it on the held-out queries.

    X, y, qid  as in `fit`: arrays, a RankingData alone, or a frame with the names of its columns
    sample_weight  one weight per document, for the fits and for the means over queries (docs/metrics.md); documents of
               weight 0 are not evaluated
    groups     one id per document of what its query is part of, as in `RankSVMCV.fit`: folds are of whole groups
    estimator  a ranker, a ScaledRanker, a pipeline or search that contains one, or anything with fit(X, y, qid=qid)
    cv         a number of folds (whole queries, shuffled, always the same), a splitter, or a list of (train, valid)
    measures   None: the `default_measure` of y
    n_jobs     folds in parallel, by threads; a ranker has its own threads as well

    Examples
    --------
    >>> from rankwise import RankRLS, load_sample
    >>> from rankwise.model_selection import cross_validate
    >>> data = load_sample()
    >>> found = cross_validate(RankRLS(), data.X, data.y, data.qid, cv=4, measures=["ndcg@10", "map"])
    >>> found.measures
    ['ndcg@10', 'map']
    """
    given = _arrays(X, y, qid, sample_weight, groups)
    estimator = with_signs_by_place(estimator, given.columns)
    rows, labels = rows_of(given.X), finite(given.y, "y")
    chosen = parse_all(default_measure(labels) if measures is None else measures)
    ids = None if given.qid is None else np.asarray(given.qid)
    weights = None if given.weight is None else finite(given.weight, "sample_weight", labels.size)
    parts = None if given.groups is None else one_column(given.groups, labels.size, "groups")

    def part(places: Ints) -> tuple[HostMatrix, Floats, Array | None]:
        return rows[places], labels[places], select(ids, places)

    def judged(split: Split) -> Fold:
        train, valid = split
        began = clock()
        fitted = fit(estimator, *part(train), select(weights, train), select(parts, train))
        fit_seconds = clock() - began
        evaluation = judge(fitted, *part(valid), chosen, select(weights, valid), evaluate_held_out)
        queries = 1 if ids is None else len(Queries(ids[train], train.size))
        return Fold(evaluation, queries, fit_seconds, clock() - began - fit_seconds)

    folds = share(judged, splits_of(cv, rows, labels, ids, groups=parts), thread_count(n_jobs))
    return CrossValidation(folds, [str(one) for one in chosen])


def select(column: Array | None, rows: Array) -> Array | None:
    """These rows of a column that may not have been given."""
    return None if column is None else column[rows]


class _Given(NamedTuple):
    """The data to cross-validate on."""

    X: ArrayLike | SparseMatrix | RepeatedRows
    y: ArrayLike
    qid: ArrayLike | None
    weight: ArrayLike | None
    groups: ArrayLike | None
    columns: ModelColumns | None  # if they have names or numbers


def _arrays(
    X: ArrayLike | SparseMatrix | RankingData | SharedData,
    y: ArrayLike | str | None,
    qid: ArrayLike | str | None,
    weight: ArrayLike | None,
    groups: ArrayLike | None,
) -> _Given:
    """Rows and what belongs to them, out of a RankingData or a frame if it is there."""
    if isinstance(y, str):
        data = from_frame(X, label=y, qid=qid if isinstance(qid, str) else None)
        weight = data.weight if weight is None else weight
        ids = data.qid if isinstance(qid, str) else qid
        return _Given(data.X, data.y, ids, weight, groups, ModelColumns.of_data(data))
    if isinstance(X, RankingData | SharedData) and y is None and qid is None:
        weight, groups = X.weight if weight is None else weight, X.groups if groups is None else groups
        rows = X.X if isinstance(X, RankingData) else X
        return _Given(rows, X.y, X.qid, weight, groups, ModelColumns.of_data(X))
    if y is None or isinstance(X, RankingData | SharedData) or isinstance(qid, str):
        raise ValueError("give X with y and qid, a RankingData alone, or a frame with y and qid as names of columns")
    names = tuple(map(str, X.columns)) if hasattr(X, "columns") else None
    return _Given(X, y, qid, weight, groups, None if names is None else ModelColumns(len(names), names=names))


def rows_of(X: ArrayLike | SparseMatrix) -> HostMatrix:
    """X in a form in which X[rows] selects rows: a NumPy array, a CSR matrix or repeated rows."""
    if hasattr(X, "tocsr"):
        return X.tocsr()
    return X if isinstance(X, np.ndarray | RepeatedRows) else np.asarray(X)


def fit(
    estimator: Estimator,
    X: Features,
    y: Array,
    qid: Array | None = None,
    weight: Array | None = None,
    groups: Array | None = None,
) -> Estimator:
    """A fitted clone; metadata routing is enabled for the fit, so that qid reaches every step of a pipeline.

    Groups are for rankers that cross-validate themselves; others do not get them.
    """
    given = {"qid": qid, "sample_weight": weight}
    with config_context(enable_metadata_routing=True):
        if groups is not None and get_routing_for_object(estimator).consumes("fit", ["groups"]):
            given["groups"] = groups
        fitted: Estimator = clone(estimator).fit(X, y, **{name: one for name, one in given.items() if one is not None})
    return fitted


def predicted(fitted: Estimator, X: Features, qid: Array | None = None) -> Array:
    """Scores of the rows; `predict` gets qid if it takes it, as with a scaler that works within queries."""
    with config_context(enable_metadata_routing=True):
        takes_ids = qid is not None and bool(get_routing_for_object(fitted).consumes("predict", ["qid"]))
        scores: Array = fitted.predict(X, **({"qid": qid} if takes_ids else {}))
    return scores


def judge(
    fitted: Estimator,
    X: Features,
    y: Array,
    qid: Array | None,
    measures: Iterable[Measure],
    weight: Array | None = None,
    evaluate: Callable[..., Evaluation] = evaluate,
) -> Evaluation:
    """Evaluate the predictions of a fitted ranker, without documents of weight 0 if there are others."""
    scores = predicted(fitted, X, qid)
    if weight is not None and weight.any():
        counted = weight > 0
        y, scores, qid, weight = y[counted], scores[counted], select(qid, counted), weight[counted]
    return evaluate(y, scores, qid, measures, sample_weight=weight)
