"""A ranker that scales its features first, so that a model of scaled features predicts on raw ones."""

from typing import ClassVar, Self

from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from rankwise.estimators.inputs import (
    Column,
    Data,
    Ids,
    check_columns,
    curable,
    documents,
    groups_of,
    keep_columns,
    known_columns,
    rows_to_score,
    warn_of_query_ids,
)
from rankwise.estimators.scoring import ScoringRanker, identified
from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.names import key
from rankwise.model_selection.signs import with_signs_by_place
from rankwise.objective.stored import is_stored
from rankwise.preprocessing import make_scaler


class ScaledRanker(ScoringRanker):
    """A scaler and a ranker in one: ranker(scaler(X)).

    Parameters
    ----------
    ranker : a ranker, such as RankSVM(); with warm_start=True, each fit starts from the weights of the previous one
    scaler : {"query-minmax", "query-zscore", "minmax", "zscore"}
        The first two scale within each query, so predictions need `qid` too.

    Attributes
    ----------
    ranker_, scaler_ : both as fitted

    Examples
    --------
    >>> from rankwise import RankSVM, ScaledRanker, load_sample
    >>> train, test = load_sample("train"), load_sample("test")
    >>> ranker = ScaledRanker(RankSVM(), "query-zscore").fit(train)
    >>> round(ranker.score(test), 2)
    0.91
    """

    __metadata_request__fit: ClassVar = {"qid": True, "groups": True}

    def __init__(self, ranker: BaseEstimator, scaler: str = "query-minmax") -> None:
        self.ranker = ranker
        self.scaler = scaler

    def fit(self, X: Data, y: Column = None, qid: Ids = None, sample_weight: Column = None, groups: Ids = None) -> Self:
        """Fit the scaler, then a copy of `ranker` to the scaled rows; arguments as in RankSVM, groups as in RankSVMCV.

        Rankers that do not cross-validate do not use groups.
        """
        check_in_memory(X)
        groups = groups_of(X, groups)
        X, y, qid, sample_weight, columns = documents(X, y, qid, sample_weight)
        warn_of_query_ids(X, qid)
        self.__dict__.pop("first_index_", None)
        self.scaler_ = make_scaler(self.scaler)
        with curable(X):
            scaled = self.scaler_.fit_transform(X, qid=qid)
        if columns is not None:
            self.first_index_ = columns.first_index
            keep_columns(self.scaler_, columns)
        ranker = with_signs_by_place(self._next_ranker(), known_columns(self.scaler_))
        given = {} if sample_weight is None else {"sample_weight": sample_weight}  # not every ranker has them
        if groups is not None and has_fit_parameter(ranker, "groups"):
            given["groups"] = groups
        self.ranker_ = ranker.fit(scaled, y, qid, **given)
        return self

    def _next_ranker(self) -> BaseEstimator:
        """A copy of `ranker`, warm-started from the previous fit if it has warm_start=True."""
        ranker = clone(self.ranker)
        if getattr(ranker, "warm_start", False) and hasattr(self, "ranker_"):
            ranker.coef_ = self.ranker_.coef_
        return ranker

    @property
    def coef_(self) -> Floats:
        """The weights of the scaled features."""
        weights: Floats = self.ranker_.coef_
        return weights

    @property
    def n_features_in_(self) -> int:
        return int(self.ranker_.n_features_in_)

    @property
    def feature_names_in_(self) -> Array:
        """Those of the scaler, which gets the columns as they are given."""
        names: Array = self.scaler_.feature_names_in_
        return names

    @property
    def n_queries_(self) -> int:  # type: ignore[override]
        return int(self.ranker_.n_queries_)

    def predict(self, X: Data, qid: Ids = None) -> Floats:
        """Scores, one per row. qid: query ids, or their column in a frame; a RankingData has its own."""
        check_is_fitted(self)
        check_in_memory(X)
        _, ids, _ = identified(X, qid)
        with rows_to_score(self, X) as rows:
            check_columns(self, rows)
            scores: Floats = self.ranker_.predict(self.scaler_.transform(rows, ids))
        return scores

    def _scores(self, X: Data, qid: Ids) -> Floats:
        return self.predict(X, qid)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not key(str(self.scaler)).startswith("query-")  # which would move the zeros
        return tags


def check_in_memory(X: Data) -> None:
    if is_stored(X):
        raise ValueError("ScaledRanker needs rows in memory: give data.read(), or scale before storing")
