"""Feature scaling: x' = (x - shift) · scale, both from the training data or from the row's own query.

    minmax   shift = least value, scale = 1 / (greatest - least):  x' in [0, 1], up to rounding
    zscore   shift = mean,        scale = 1 / standard deviation:  x' of mean 0, variance 1

A column that is constant (in the training data, or within the query) gives 0: its scale is 0.
Preferences see differences within a query only, so a shift that is the same for all rows changes no linear
ranking. Sparse data therefore keep their zeros: FeatureScaler leaves their shift at 0, whatever the method.
"""

from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.sparsefuncs import inplace_column_scale, mean_variance_axis, min_max_axis
from sklearn.utils.validation import check_is_fitted, validate_data

from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.threads import share, thread_count
from rankwise.pairs.queries import Queries, cut

METHODS = ("minmax", "zscore")
FITTED = {"shift": np.float64, "scale": np.float64, "feature_names_in": object}
BLOCK_VALUES = 1 << 20


class Scaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What both scalers share; `Scaler.from_dict` reads back either."""

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__transform: ClassVar = {"qid": True}
    prefix: ClassVar[str] = ""
    accept_sparse: ClassVar[Any] = ("csr", "csc")

    def __init__(self, method: str = "minmax") -> None:
        self.method = method

    def fit_transform(self, X: Any, y: Any = None, qid: Any = None) -> Any:
        return self.fit(X, y, qid).transform(X, qid)

    def to_dict(self) -> dict[str, Any]:
        """The fitted state in plain numbers, lists and strings, for JSON."""
        check_is_fitted(self)
        state = {"name": self.prefix + self.method, "n_features": self.n_features_in_}
        return state | {key: getattr(self, key + "_").tolist() for key in FITTED if hasattr(self, key + "_")}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Self:
        """The scaler whose `to_dict` gave `state`."""
        try:
            scaler = make_scaler(state["name"])
            scaler.n_features_in_ = int(state["n_features"])
            fitted = {key: np.array(state[key], dtype) for key, dtype in FITTED.items() if key in state}
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not the saved state of a scaler: {error}") from error
        if not isinstance(scaler, cls):
            raise ValueError(f"the saved scaler is {state['name']!r}, not a {cls.__name__}")
        numbers = [fitted[key] for key in ("shift", "scale") if key in fitted]
        complete = len(numbers) == 2 or (not numbers and isinstance(scaler, QueryScaler))
        sized = all(one.shape == (scaler.n_features_in_,) for one in fitted.values())
        if not (complete and sized and np.isfinite(numbers).all()):
            raise ValueError(f"the saved scaler {state['name']!r} lacks a number for some feature")
        for key, value in fitted.items():
            setattr(scaler, key + "_", value)
        return scaler

    def _validated(self, X: Any, *, reset: bool) -> Any:
        if self.method not in METHODS:
            raise ValueError(f"method is {self.method!r}: give 'minmax' or 'zscore'")
        if not reset:
            check_is_fitted(self)
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse=self.accept_sparse,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
        )
        _refuse_nonfinite(X)
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = bool(self.accept_sparse)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class FeatureScaler(Scaler):
    """x' = (x - shift_) · scale_, both of the data given to `fit`; sparse data stay sparse, with shift_ 0.

    Parameters
    ----------
    method : {"minmax", "zscore"}, default="minmax"

    Attributes
    ----------
    shift_, scale_ : ndarray of shape (n_features,)
        Weights w of the scaled features are, up to a constant score, weights w · scale_ of the raw ones.
    """

    def fit(self, X: Any, y: Any = None, qid: Any = None) -> Self:
        """Learn shift_ and scale_; y and qid are ignored."""
        X = self._validated(X, reset=True)
        self.shift_, self.scale_ = _shift_and_scale(X, self.method)
        return self

    def transform(self, X: Any, qid: Any = None) -> Any:
        """Scaled X, float32 where X is float32; qid is ignored."""
        X = self._validated(X, reset=False)
        return _scaled(X, self.shift_, self.scale_)


class QueryScaler(Scaler):
    """x' = (x - shift) · scale, both of the rows of the same query in the data given to `transform`.

    Without qid the rows fitted are one query, and rows transformed without qid belong to it too. A scaler
    fitted with query ids refuses to transform without.

    Parameters
    ----------
    method : {"minmax", "zscore"}, default="minmax"

    Attributes
    ----------
    shift_, scale_ : ndarray of shape (n_features,)
        Of the one query; only after a fit without qid.
    """

    prefix: ClassVar[str] = "query-"
    accept_sparse: ClassVar[Any] = False

    def fit(self, X: Any, y: Any = None, qid: Any = None) -> Self:
        """Note the features, and without qid the one query's shift_ and scale_; y is ignored."""
        X = self._validated(X, reset=True)
        for name in ("shift_", "scale_"):
            if hasattr(self, name):
                delattr(self, name)
        if qid is None:
            self.shift_, self.scale_ = _shift_and_scale(X, self.method)
        else:
            Queries(qid, X.shape[0])
        return self

    def transform(self, X: Any, qid: Any = None) -> Any:
        """X scaled within each query, float32 where X is float32."""
        X = self._validated(X, reset=False)
        if qid is not None:
            return _scaled_within(X, Queries(qid, X.shape[0]), self.method)
        if not hasattr(self, "shift_"):
            raise ValueError("qid is missing: this QueryScaler was fitted with query ids, so transform needs them too")
        return _scaled(X, self.shift_, self.scale_)

    def _validated(self, X: Any, *, reset: bool) -> Any:
        if issparse(X):
            raise TypeError(
                "X is sparse, and scaling within a query would move its zeros: "
                "use FeatureScaler, which keeps sparse data sparse, or give X.toarray()"
            )
        return super()._validated(X, reset=reset)


def make_scaler(name: str) -> Scaler:
    """The scaler called minmax, zscore, query-minmax or query-zscore, as the command line spells them."""
    for kind in (FeatureScaler, QueryScaler):
        for method in METHODS:
            if name == kind.prefix + method:
                return kind(method)
    raise ValueError(f"no scaler is called {name!r}: choose query-minmax, query-zscore, minmax or zscore")


def _refuse_nonfinite(X: Any) -> None:
    values = X.data if issparse(X) else X
    with np.errstate(all="ignore"):
        if np.isfinite(values.sum()):
            return
    bad = np.argwhere(~np.isfinite(values))
    if bad.size and issparse(X):
        raise ValueError("X holds a NaN or inf: give finite numbers only")
    if bad.size:
        raise ValueError(f"X holds a NaN or inf at row {bad[0, 0]}, column {bad[0, 1]}: give finite numbers only")


def _shift_and_scale(X: Any, method: str) -> tuple[Floats, Floats]:
    bounds = min_max_axis(X, axis=0) if issparse(X) else (X.min(axis=0), X.max(axis=0))
    low, high = (bound.astype(np.float64) for bound in bounds)
    with np.errstate(over="ignore", invalid="ignore"):
        if method == "minmax":
            shift, spread = low, high - low
        else:
            shift, variance = _moments(X)
            spread = np.sqrt(variance)
    return np.zeros_like(shift) if issparse(X) else shift, _inverse(spread, low == high)


def _moments(X: Any) -> tuple[Floats, Floats]:
    """Mean and variance of the columns, in float64 whatever X is, by blocks of rows."""
    if issparse(X):
        return mean_variance_axis(X.astype(np.float64, copy=False), axis=0)  # type: ignore[no-any-return]
    mean, variance = np.zeros((2, X.shape[1]))
    step = max(1, BLOCK_VALUES // X.shape[1])
    blocks = [slice(start, start + step) for start in range(0, len(X), step)]
    for rows in blocks:
        mean += X[rows].astype(np.float64).sum(axis=0) / len(X)
    for rows in blocks:
        variance += np.square(X[rows] - mean).sum(axis=0) / len(X)
    return mean, variance


def _inverse(spread: Floats, constant: Array) -> Floats:
    """1 / spread, and 0 for a constant; a spread whose inverse float32 cannot hold counts as one."""
    if not np.isfinite(spread).all():
        feature = np.argwhere(~np.isfinite(spread))[0, -1]
        raise ValueError(
            f"column {feature} of X spans more than float64 can hold: divide it by its largest value first"
        )
    divisible = ~constant & (spread >= np.finfo(np.float32).tiny)
    return np.divide(1, spread, out=np.zeros_like(spread), where=divisible)


def _scaled(X: Any, shift: Floats, scale: Floats) -> Any:
    if issparse(X):
        if shift.any():
            raise ValueError(
                "X is sparse, but this scaler was fitted on dense data and would move the zeros: "
                "fit it on sparse data, or give X.toarray()"
            )
        X = X.copy()
        inplace_column_scale(X, scale.astype(X.dtype))
        return X
    out = X - shift.astype(X.dtype)
    out *= scale.astype(X.dtype)
    return out


def _scaled_within(X: Array, queries: Queries, method: str) -> Array:
    out = np.empty_like(X)

    def scale(first: int, last: int) -> None:
        """Queries first … last - 1, which share a block."""
        start, stop = queries.starts[first], queries.starts[last]
        rows = slice(start, stop) if queries.rows is None else queries.rows[start:stop]
        if last == first + 1:  # it may be as large as X: the way that needs no copies of it
            out[rows] = _scaled(X[rows], *_shift_and_scale(X[rows], method))
        else:
            out[rows] = _scaled_block(X[rows], queries.starts[first:last] - start, method)

    blocks = cut(queries.starts, max(1, BLOCK_VALUES // X.shape[1]))
    share(lambda bounds: scale(*bounds), blocks, thread_count())
    return out


def _scaled_block(part: Array, starts: Ints, method: str) -> Array:
    sizes = np.diff(starts, append=len(part))
    low = np.minimum.reduceat(part, starts, axis=0).astype(np.float64)
    high = np.maximum.reduceat(part, starts, axis=0).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        if method == "minmax":
            shift, spread = low, high - low
        else:
            centred = part.astype(np.float64)
            shift = np.add.reduceat(centred, starts, axis=0) / sizes[:, None]
            centred -= np.repeat(shift, sizes, axis=0)
            spread = np.sqrt(np.add.reduceat(np.square(centred, out=centred), starts, axis=0) / sizes[:, None])
    scale = _inverse(spread, low == high)
    scaled = part - np.repeat(shift.astype(part.dtype), sizes, axis=0)
    scaled *= np.repeat(scale.astype(part.dtype), sizes, axis=0)
    return scaled  # type: ignore[no-any-return]
