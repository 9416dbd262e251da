"""make_scorer: a measure as scikit-learn's searches take it, with the query ids that it needs."""

from typing import Any

from sklearn.utils.metadata_routing import MetadataRequest

from rankwise.estimators.scoring import refuse_merged_queries
from rankwise.metrics import Measure, parse
from rankwise.model_selection.validation import judge


class Scorer:
    """scorer(estimator, X, y, qid=qid): the mean of a measure over the queries; the larger the better."""

    def __init__(self, measure: str | Measure) -> None:
        self.measure = parse(measure)

    def __call__(self, estimator: Any, X: Any, y: Any, qid: Any = None) -> float:
        if qid is None:
            refuse_merged_queries(_queries_of_fit(estimator))
        return judge(estimator, X, y, qid, [self.measure])[self.measure]

    def get_metadata_routing(self) -> MetadataRequest:
        """With metadata routing on, scikit-learn passes qid."""
        request = MetadataRequest(owner="make_scorer")
        request.score.add_request(param="qid", alias=True)
        return request

    def __repr__(self) -> str:
        return f"make_scorer({str(self.measure)!r})"


def make_scorer(measure: str | Measure) -> Scorer:
    """A scorer for `GridSearchCV(..., scoring=make_scorer("map"))` and scikit-learn's other searches.

    It takes any measure of `rankwise.metrics` and evaluates query by query, so that scikit-learn must pass it query
    ids: `sklearn.set_config(enable_metadata_routing=True)`, then `search.fit(X, y, qid=qid)`.
    """
    return Scorer(measure)


def _queries_of_fit(estimator: Any) -> int:
    """How many queries a ranker was fitted to, also inside a pipeline or a search."""
    inner = getattr(estimator, "best_estimator_", estimator)
    last = inner.steps[-1][1] if hasattr(inner, "steps") else inner
    return int(getattr(last, "n_queries_", 1))
