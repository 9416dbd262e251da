"""What all linear rankers share: the checks of their input, and predictions."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from rankwise.estimators.inputs import (
    CheckedDocuments,
    Column,
    Data,
    Documents,
    Ids,
    check_columns,
    curable,
    keep_columns,
    rows_to_score,
    warn_of_query_ids,
)
from rankwise.estimators.on_device import check_fit, check_rows
from rankwise.estimators.scoring import ScoringRanker
from rankwise.foundation.arrays import Floats, exact, finite
from rankwise.foundation.devices import AnyFloats, Matrix, SparseMatrix, is_device_array, on_device_of, to_host
from rankwise.objective.device_sparse import rows_on_device
from rankwise.objective.stored import Source, is_stored
from rankwise.rankers.checks import check_room_for_weights
from rankwise.rankers.fitted import Fitted, placed
from rankwise.rankers.models import linear_scores

_PLAIN = (np.dtype(np.float64), np.dtype(np.float32))


class Ranker(ScoringRanker):
    """A linear ranker: the score of a document is the inner product of its features with `coef_`."""

    coef_: Floats
    takes_devices = False  # whether fit accepts arrays of torch and CuPy
    takes_disk = False  # whether fit accepts rows on disk
    labels_by_order = False  # whether fit uses only the order of the labels, not their values

    def _checked(self, given: Documents) -> CheckedDocuments:
        """The rows, labels and weights of a fit, checked; feature names and the first index are stored."""
        warn_of_query_ids(given.X, given.qid)
        if isinstance(given.X, Source) and self.takes_disk:
            if getattr(self, "device", None) is not None:
                raise ValueError("rows on disk are processed on the CPU: leave device out, or give data.read()")
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = given.X.shape[1]
            check_room_for_weights(self.n_features_in_)
            checked = CheckedDocuments(*given)
        else:
            X, y, sample_weight = self._check_fit(given.X, given.y, given.sample_weight)
            checked = CheckedDocuments(X, y, given.qid, sample_weight, given.columns)
        keep_columns(self, given.columns)
        return checked

    def _check_fit(
        self, X: Data, y: Column, sample_weight: Column, reset: bool = True
    ) -> tuple[Matrix, AnyFloats, AnyFloats | None]:
        """X dense C-ordered or CSR in float32 or float64, y and the weights in float64."""
        if reset:
            self.__dict__.pop("first_index_", None)
        if is_stored(X):
            where = "partial_fit" if self.takes_disk else type(self).__name__
            raise ValueError(f"{where} takes rows in memory: give data.read()")
        y = self._exact_labels(y)
        if is_device_array(X):
            return check_fit(self, X, y, sample_weight, reset)
        wanted = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C", "y_numeric": True}
        with curable(X):
            rows, labels = validate_data(self, X, y, reset=reset, **wanted)
        weights: Floats | None = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        return placed(rows, labels, weights, getattr(self, "device", None))

    def _exact_labels(self, y: Column) -> Column:
        """y, or ranks instead of integers that float64 cannot tell apart, unless costs depend on their values."""
        labels = exact(y, "y", by_order=self.labels_by_order and getattr(self, "costs", None) is None)
        is_of_objects = labels is not None and not is_device_array(labels) and np.asarray(labels).dtype == object
        return finite(labels, "y") if is_of_objects else labels

    def predict(self, X: Data, qid: Ids = None) -> Floats:
        """Scores, one per row, in the order of the rows; the higher, the better.

        X may be rows as in `fit`, a RankingData or a frame; columns are matched by name if both have names. Only
        differences between documents of one query have a meaning. `qid` is not needed: it is there so that every ranker
        can be called alike.
        """
        if self._is_plain(X):
            return linear_scores(X, self.coef_)
        check_is_fitted(self)
        with rows_to_score(self, X) as rows, curable(rows):
            check_columns(self, rows)
            return self._scores_of_rows(rows)

    def _is_plain(self, X: Data) -> bool:
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

    def _scores_of_rows(self, X: Data) -> Floats:
        if is_device_array(X):
            scores: Floats = rows_on_device(check_rows(self, X, reset=False)).scores(on_device_of(X, self.coef_))
            return scores
        if isinstance(X, Source):
            return linear_scores(X, to_host(self.coef_))
        rows = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return linear_scores(rows, to_host(self.coef_))

    def _scores(self, X: Data, qid: Ids) -> Floats:
        return self.predict(X)

    def _keep_fitted(self, fitted: Fitted, level: int) -> None:
        """The attributes that a training gives; `level` as of `warn_of`."""
        self.__dict__.pop("dual_coef_", None)
        self.result_, self.coef_, self.n_iter_ = fitted.result, fitted.result.point, fitted.result.iterations
        if fitted.n_queries is not None:
            self.n_queries_ = fitted.n_queries
        if fitted.dual is not None:
            self.dual_coef_: Floats | SparseMatrix = fitted.dual
        warn_of(fitted, level)


def warn_of(fitted: Fitted, level: int) -> None:
    """Issue the warnings of a training, attributed to the line `level` calls above."""
    if fitted.failure is not None:
        warnings.warn(fitted.failure, ConvergenceWarning, stacklevel=level)
    for remark in fitted.remarks:
        warnings.warn(remark, stacklevel=level)
