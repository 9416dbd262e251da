"""What all linear rankers share: checking the input, predicting, scoring, and scikit-learn's tags."""

import warnings
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, _get_feature_names, check_is_fitted, validate_data

from rankwise.estimators.on_device import check_fit, check_rows
from rankwise.foundation.arrays import Floats, exact, finite
from rankwise.foundation.devices import library_of, move, on_device_of, to_host
from rankwise.foundation.memory import memory_at_hand
from rankwise.foundation.names import QUERY_IDS, by_number
from rankwise.metrics import evaluate
from rankwise.objective.device_sparse import rows_on_device
from rankwise.objective.rows import MemoryRows
from rankwise.objective.stored import StoredRows, is_stored
from rankwise.pairs.queries import Queries

VECTORS = 12  # as long as X is wide, that a solver holds at a time


class Ranker(BaseEstimator):  # type: ignore[misc]
    """A linear ranker: the score of a document is the inner product of its features with `coef_`."""

    # Class-level requests: with metadata routing on, qid reaches fit and score without any set_*_request call.
    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    coef_: Floats
    takes_devices = False  # whether fit takes arrays of torch and CuPy
    labels_by_order = False  # whether fit looks at the order of labels only, and not at their values

    def _check_fit(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> tuple[Any, Floats, Floats | None]:
        """X dense C-ordered or CSR in float32 or float64, y and the weights in float64."""
        if reset:
            self.__dict__.pop("first_index_", None)
        if is_stored(X):
            raise ValueError(f"{type(self).__name__} takes rows in memory: give data.read(), or take RankSVM")
        y = self._exact_labels(y)
        if library_of(X):
            return check_fit(self, X, y, sample_weight, reset)
        wanted: Any = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C", "y_numeric": True}
        X, y = validate_data(self, X, y, reset=reset, **wanted)
        if issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        check_room_for_weights(X.shape[1])
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        device = getattr(self, "device", None)
        weights = None if sample_weight is None else move(sample_weight, device)
        return move(X, device), move(np.asarray(y, dtype=np.float64), device), weights

    def _exact_labels(self, y: Any) -> Any:
        """y, or ranks for integers that float64 cannot tell apart; costs may look at values."""
        return exact(y, "y", by_order=self.labels_by_order and getattr(self, "costs", None) is None)

    def predict(self, X: Any) -> Floats:
        """Scores, one a row, in the order of the rows given; the larger the better.

        Only differences between documents of one query mean anything; `predict` therefore needs no query ids.
        """
        check_is_fitted(self)
        check_columns(self, X)
        if is_stored(X):
            found = StoredRows(X, 0, X.shape[0], 1).scores(self.coef_)
            if not np.isfinite(found).all():
                X.check_finite()
            return found
        if library_of(X):
            scores: Floats = rows_on_device(check_rows(self, X, reset=False)).scores(on_device_of(X, self.coef_))
            return scores
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return MemoryRows(X).scores(to_host(self.coef_))

    def score(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None) -> float:
        """The mean NDCG@10 over queries, each weighing as much as its documents do on average (docs/metrics.md)."""
        if qid is None and getattr(self, "n_queries_", 1) > 1:
            warnings.warn("score without qid ranks all rows as one query, and fit saw several: pass qid", stacklevel=2)
        found = evaluate(y, self.predict(X), qid, ["ndcg@10"])
        if sample_weight is None:
            return found["ndcg@10"]
        weights = finite(sample_weight, "sample_weight")
        if (weights < 0).any() or not weights.any():
            raise ValueError("sample_weight must not be negative, nor 0 throughout")
        queries = Queries(qid, weights.size)
        by_query = np.bincount(queries.codes, weights) / queries.sizes
        return float(np.average(found.per_query["ndcg@10"], weights=by_query))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "ranker"
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


def check_columns(ranker: Any, X: Any) -> None:
    """What scikit-learn does not see of the columns to predict on: the names of rows on disk, and that the columns f1,
    f2, ... of a frame are numbers, which a model without names knows too.
    """
    known = getattr(ranker, "feature_names_in_", None)
    if is_stored(X):
        _check_stored_columns(ranker, X, known)
    names = X.names if is_stored(X) else _get_feature_names(X)
    order = None if known is not None or names is None else by_number([str(name) for name in names])
    if order is None:
        return
    if order != sorted(order):
        raise ValueError("the columns f1, f2, ... of X are not in the order of their numbers: put them into it")
    first = getattr(ranker, "first_index_", None)  # of a model from a file
    if first is not None and names[0] != f"f{first}":
        raise ValueError(f"the columns of X count from {names[0]}, and the features of the model from f{first}")


def _check_stored_columns(ranker: Any, X: Any, known: Any) -> None:
    name = type(ranker).__name__
    if X.shape[1] != ranker.n_features_in_:
        raise ValueError(f"the rows have {X.shape[1]} features, the model has {ranker.n_features_in_}")
    numbers = X.names is not None and by_number(X.names) is not None
    if (X.names is None) != (known is None) and not (known is None and numbers):
        lacking, having = ("X does not have valid", "with") if X.names is None else ("X has", "without")
        warnings.warn(f"{lacking} feature names, but {name} was fitted {having} feature names", stacklevel=4)
    elif known is not None and list(X.names) != [str(one) for one in known]:
        odd = sorted(set(X.names) ^ {str(one) for one in known})
        found = f"{odd[0]!r} is not in both" if odd else "they are in another order, which `rankwise predict` mends"
        raise ValueError(f"the rows have other features than the model: {found}")


def warn_of_query_ids(X: Any, qid: Any) -> None:
    """A UserWarning where qid is not given and X is a frame with a column, or an index, called after query ids.

    Nothing else can tell: features and labels of many queries and of one look alike.
    """
    names = None if qid is not None else _get_feature_names(X)
    if names is None:
        return
    in_index = list(getattr(getattr(X, "index", None), "names", []))
    for name, place in [*((one, "a column") for one in names), *((one, "an index") for one in in_index)]:
        if str(name).lower() in QUERY_IDS:
            cure = "pass the query ids as qid, and leave them out of X"
            text = f"X has {place} {name!r} and qid is not given: all rows are taken as one query; {cure}"
            warnings.warn(text, stacklevel=3)
            return


def check_room_for_weights(n_features: int) -> None:
    """One sentence where not even a solver's few vectors of weights would fit."""
    needed, at_hand = 8 * VECTORS * n_features, memory_at_hand()
    if needed > at_hand:
        raise MemoryError(
            f"X has {n_features:,} features, and a solver's vectors of that length take {needed / 1e9:,.0f} GB where "
            f"{at_hand / 1e9:,.0f} GB of memory are at hand: number the features without gaps"
        )


def whole(name: str, value: Any) -> int:
    """`value` as a positive whole number, or one sentence."""
    if isinstance(value, int | np.integer) and value >= 1:
        return int(value)
    raise ValueError(f"{name} must be a positive whole number, got {value!r}")


def positive(name: str, value: Any) -> float:
    """`value` as a positive finite number, or one sentence."""
    if isinstance(value, int | float | np.number) and 0 < value < float("inf"):
        return float(value)
    raise ValueError(f"{name} must be a positive number, got {value!r}")
