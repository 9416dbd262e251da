"""A ranker that scales its features first, so that what was learnt on scaled data predicts on raw data."""

from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from rankwise.estimators.base import check_columns, warn_of_query_ids
from rankwise.foundation.arrays import Array, Floats
from rankwise.preprocessing import make_scaler


class ScaledRanker(BaseEstimator):  # type: ignore[misc]
    """ranker(scaler(X)).

    Parameters
    ----------
    ranker : a ranker, such as RankSVM(); with warm_start=True, the next fit starts from the last one's weights
    scaler : {"query-minmax", "query-zscore", "minmax", "zscore"}
        The first two scale within each query, so they need `qid` for predictions too.

    Attributes
    ----------
    ranker_, scaler_ : both as fitted
    """

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__predict: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    def __init__(self, ranker: Any, scaler: str = "query-minmax") -> None:
        self.ranker = ranker
        self.scaler = scaler

    def fit(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None) -> Self:
        warn_of_query_ids(X, qid)
        self.__dict__.pop("first_index_", None)
        self.scaler_ = make_scaler(self.scaler)
        scaled = self.scaler_.fit_transform(X, qid=qid)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}  # not every ranker takes them
        self.ranker_ = self._next_ranker().fit(scaled, y, qid, **weights)
        return self

    def _next_ranker(self) -> Any:
        """A copy of `ranker`; where it is to start warm, from the weights of the last fit."""
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
        """The scaler's: it sees the columns first."""
        names: Array = self.scaler_.feature_names_in_
        return names

    def predict(self, X: Any, qid: Any = None) -> Floats:
        check_is_fitted(self)
        check_columns(self, X)
        scores: Floats = self.ranker_.predict(self.scaler_.transform(X, qid))
        return scores

    def score(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None) -> float:
        check_is_fitted(self)
        check_columns(self, X)
        return float(self.ranker_.score(self.scaler_.transform(X, qid), y, qid, sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "ranker"
        tags.target_tags.required = True
        tags.input_tags.sparse = not str(self.scaler).startswith("query-")  # that would move the zeros
        return tags
