"""cross_validate: any measures on folds of whole queries, per fold and per query; qid is always passed."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils.metadata_routing import get_routing_for_object

from rankwise.data.frame import from_frame
from rankwise.data.records import RankingData
from rankwise.foundation.arrays import Array, Floats, finite
from rankwise.foundation.devices import HostMatrix, SparseMatrix
from rankwise.foundation.strict_json import Json
from rankwise.foundation.tabular import Columns, Tabular
from rankwise.foundation.threads import share, thread_count
from rankwise.metrics import Evaluation, Measure, OfQuery, default_measure, evaluate, parse_all
from rankwise.metrics.evaluation import Measures
from rankwise.model_selection.choice import means_and_errors
from rankwise.model_selection.splits import Folds, Split, splits_of
from rankwise.objective.stored import Features
from rankwise.pairs.queries import Queries


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
    X: ArrayLike | SparseMatrix | RankingData,
    y: ArrayLike | str | None = None,
    qid: ArrayLike | str | None = None,
    *,
    cv: Folds = 5,
    measures: Measures | None = None,
    n_jobs: int | None = 1,
) -> CrossValidation:
    """Fit a clone of `estimator` to each fold's training queries and evaluate it on the held-out queries.

    X, y, qid  as in `fit`: arrays, a RankingData alone, or a frame with the names of its columns
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
    X, y, qid = _arrays(X, y, qid)
    rows, labels = rows_of(X), finite(y, "y")
    chosen = parse_all(default_measure(labels) if measures is None else measures)
    ids = None if qid is None else np.asarray(qid)

    def judged(split: Split) -> Fold:
        train, valid = split
        began = time.perf_counter()
        fitted = fit(estimator, rows[train], labels[train], None if ids is None else ids[train])
        fit_seconds = time.perf_counter() - began
        evaluation = judge(fitted, rows[valid], labels[valid], None if ids is None else ids[valid], chosen)
        queries = 1 if ids is None else len(Queries(ids[train], train.size))
        return Fold(evaluation, queries, fit_seconds, time.perf_counter() - began - fit_seconds)

    folds = share(judged, splits_of(cv, rows, labels, ids), thread_count(n_jobs))
    return CrossValidation(folds, [str(one) for one in chosen])


def _arrays(
    X: ArrayLike | SparseMatrix | RankingData, y: ArrayLike | str | None, qid: ArrayLike | str | None
) -> tuple[ArrayLike | SparseMatrix, ArrayLike, ArrayLike | None]:
    """Rows, labels and query ids, out of a RankingData or a frame if they are there."""
    if isinstance(y, str):
        data = from_frame(X, label=y, qid=qid if isinstance(qid, str) else None)
        return data.X, data.y, data.qid if isinstance(qid, str) else qid
    if isinstance(X, RankingData) and y is None and qid is None:
        return X.X, X.y, X.qid
    if y is None or isinstance(X, RankingData) or isinstance(qid, str):
        raise ValueError("give X with y and qid, a RankingData alone, or a frame with y and qid as names of columns")
    return X, y, qid


def rows_of(X: ArrayLike | SparseMatrix) -> HostMatrix:
    """X in a form in which X[rows] selects rows: a NumPy array or a CSR matrix."""
    if hasattr(X, "tocsr"):
        return X.tocsr()
    return X if isinstance(X, np.ndarray) else np.asarray(X)


def fit(
    estimator: Estimator, X: Features, y: Array, qid: Array | None = None, weight: Array | None = None
) -> Estimator:
    """A fitted clone; metadata routing is enabled for the fit, so that qid reaches every step of a pipeline."""
    given = {"qid": qid, "sample_weight": weight}
    with config_context(enable_metadata_routing=True):
        fitted: Estimator = clone(estimator).fit(X, y, **{name: one for name, one in given.items() if one is not None})
    return fitted


def predicted(fitted: Estimator, X: Features, qid: Array | None = None) -> Array:
    """Scores of the rows; `predict` gets qid if it takes it, as with a scaler that works within queries."""
    with config_context(enable_metadata_routing=True):
        takes_ids = qid is not None and bool(get_routing_for_object(fitted).consumes("predict", ["qid"]))
        scores: Array = fitted.predict(X, **({"qid": qid} if takes_ids else {}))
    return scores


def judge(fitted: Estimator, X: Features, y: Array, qid: Array | None, measures: Iterable[Measure]) -> Evaluation:
    """Evaluate the predictions of a fitted ranker."""
    return evaluate(y, predicted(fitted, X, qid), qid, measures)
