"""What all linear rankers share: checking the input and predicting."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from rankwise.estimators.inputs import Documents, check_columns, keep_columns, rows_to_score, warn_of_query_ids
from rankwise.estimators.on_device import check_fit, check_rows
from rankwise.estimators.scoring import ScoringRanker
from rankwise.foundation.arrays import Floats, exact
from rankwise.foundation.devices import library_of, on_device_of, to_host
from rankwise.objective.device_sparse import rows_on_device
from rankwise.objective.stored import is_stored
from rankwise.rankers.checks import check_room_for_weights
from rankwise.rankers.fitted import Fitted, placed
from rankwise.rankers.models import linear_scores

_PLAIN = (np.dtype(np.float64), np.dtype(np.float32))


class Ranker(ScoringRanker):
    """A linear ranker: the score of a document is the inner product of its features with `coef_`."""

    coef_: Floats
    takes_devices = False  # whether fit takes arrays of torch and CuPy
    takes_disk = False  # whether fit takes rows on disk
    labels_by_order = False  # whether fit uses only the order of labels, and not their values

    def _checked(self, given: Documents) -> Documents:
        """The rows, labels and weights of a fit, checked; names and first index are kept."""
        warn_of_query_ids(given.X, given.qid)
        if is_stored(given.X) and self.takes_disk:
            if getattr(self, "device", None) is not None:
                raise ValueError("rows on disk are worked on by the CPU: leave device out, or give data.read()")
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = given.X.shape[1]
            check_room_for_weights(self.n_features_in_)
        else:
            X, y, sample_weight = self._check_fit(given.X, given.y, given.sample_weight)
            given = given._replace(X=X, y=y, sample_weight=sample_weight)
        keep_columns(self, given.columns)
        return given

    def _check_fit(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> tuple[Any, Floats, Floats | None]:
        """X dense C-ordered or CSR in float32 or float64, y and the weights in float64."""
        if reset:
            self.__dict__.pop("first_index_", None)
        if is_stored(X):
            raise ValueError(f"{type(self).__name__} takes rows in memory here: give data.read()")
        y = self._exact_labels(y)
        if library_of(X):
            return check_fit(self, X, y, sample_weight, reset)
        wanted: Any = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C", "y_numeric": True}
        X, y = validate_data(self, X, y, reset=reset, **wanted)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        return placed(X, y, sample_weight, getattr(self, "device", None))

    def _exact_labels(self, y: Any) -> Any:
        """y, or ranks for integers that float64 cannot tell apart; costs may look at values."""
        return exact(y, "y", by_order=self.labels_by_order and getattr(self, "costs", None) is None)

    def predict(self, X: Any) -> Floats:
        """Scores, one per row, in the order of the rows given; the larger the better.

        X may be rows as in `fit`, a RankingData or a frame; columns are found by name where both have names. Only
        differences between documents of one query mean anything; `predict` therefore needs no query ids.
        """
        if self._is_plain(X):
            return linear_scores(X, self.coef_)
        check_is_fitted(self)
        with rows_to_score(self, X) as rows:
            check_columns(self, rows)
            return self._scores_of_rows(rows)

    def _is_plain(self, X: Any) -> bool:
        """Whether X passes every check of `predict` as it is; scikit-learn's take longer than scoring 100 rows."""
        fitted = vars(self)
        if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in _PLAIN:
            return False
        if not X.flags.c_contiguous or not X.size or X.shape[1] != fitted.get("n_features_in_"):
            return False
        if type(fitted.get("coef_")) is not np.ndarray or "feature_names_in_" in fitted:
            return False
        with np.errstate(all="ignore"):
            return bool(np.isfinite(X.sum()))

    def _scores_of_rows(self, X: Any) -> Floats:
        if library_of(X):
            there: Floats = rows_on_device(check_rows(self, X, reset=False)).scores(on_device_of(X, self.coef_))
            return there
        if not is_stored(X):
            X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return linear_scores(X, to_host(self.coef_))

    def _scores(self, X: Any, qid: Any) -> Floats:
        return self.predict(X)


def warn_of(fitted: Fitted, level: int) -> None:
    """Say what a training has to say, of the line `level` calls above."""
    if fitted.failure is not None:
        warnings.warn(fitted.failure, ConvergenceWarning, stacklevel=level)
    for remark in fitted.remarks:
        warnings.warn(remark, stacklevel=level)
