"""make_scorer: a measure as a scorer for scikit-learn's searches, which receives query ids."""

from typing import Self

from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import MetadataRequest

from rankwise.estimators.scoring import refuse_merged_queries
from rankwise.foundation.arrays import Array
from rankwise.metrics import Measure, parse
from rankwise.model_selection.validation import judge
from rankwise.objective.stored import Features


class Scorer:
    """scorer(estimator, X, y, qid=qid): the mean of a measure over the queries; the higher, the better."""

    def __init__(self, measure: str | Measure) -> None:
        self.measure = parse(measure)
        self._weighted: bool | None = None  # unknown: scikit-learn asks if weights are passed to a search

    def __call__(
        self,
        estimator: BaseEstimator,
        X: Features,
        y: Array,
        qid: Array | None = None,
        sample_weight: Array | None = None,
    ) -> float:
        if qid is None:
            refuse_merged_queries(_queries_of_fit(estimator))
        return judge(estimator, X, y, qid, [self.measure], sample_weight)[self.measure]

    def set_score_request(self, *, sample_weight: bool | None) -> Self:
        """Whether scikit-learn passes sample_weight, for a weighted mean over the queries."""
        self._weighted = sample_weight
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """With metadata routing on, scikit-learn passes qid, and sample_weight if it was requested."""
        request = MetadataRequest(owner="make_scorer")
        request.score.add_request(param="qid", alias=True)
        request.score.add_request(param="sample_weight", alias=self._weighted)
        return request

    def __repr__(self) -> str:
        return f"make_scorer({str(self.measure)!r})"


def make_scorer(measure: str | Measure) -> Scorer:
    """A scorer for `GridSearchCV(..., scoring=make_scorer("map"))` and scikit-learn's other searches.

    It accepts any measure of `rankwise.metrics` and evaluates query by query, so scikit-learn must pass query ids to
    it: `sklearn.set_config(enable_metadata_routing=True)`, then `search.fit(X, y, qid=qid)`. With weights too:
    `make_scorer("map").set_score_request(sample_weight=True)`.

    Examples
    --------
    >>> import sklearn
    >>> from sklearn.model_selection import cross_val_score
    >>> from rankwise import RankSVM, load_sample, make_scorer
    >>> from rankwise.model_selection import QueryKFold
    >>> data = load_sample()
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     options = {"scoring": make_scorer("map"), "cv": QueryKFold(3), "params": {"qid": data.qid}}
    ...     scores = cross_val_score(RankSVM(), data.X, data.y, **options)
    >>> scores.shape
    (3,)
    """
    return Scorer(measure)


def _queries_of_fit(estimator: BaseEstimator) -> int:
    """How many queries a ranker was fitted to, also inside a pipeline or a search."""
    inner = getattr(estimator, "best_estimator_", estimator)
    last = inner.steps[-1][1] if hasattr(inner, "steps") else inner
    return int(getattr(last, "n_queries_", 1))
