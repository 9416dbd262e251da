"""The scalings of features as transformers of scikit-learn: its checks, and then `rankwise.preprocessing.scaling`."""

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from rankwise.foundation.names import one_of
from rankwise.foundation.strict_json import Json
from rankwise.pairs.queries import QueryIds
from rankwise.preprocessing.scaling import BY_QUERY, METHODS, UNITS, Matrix, Scaling, check_name


class Scaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What both scalers share; `Scaler.from_dict` reads back either.

    Examples
    --------
    >>> from rankwise.preprocessing import FeatureScaler, Scaler
    >>> kept = FeatureScaler("minmax").fit([[0.0], [4.0]]).to_dict()
    >>> Scaler.from_dict(kept).transform([[1.0]])
    array([[0.25]])
    """

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__transform: ClassVar = {"qid": True}
    prefix: ClassVar[str] = ""
    accept_sparse: ClassVar[tuple[str, ...] | bool] = ("csr", "csc")

    def __init__(self, method: str = "minmax") -> None:
        self.method = method

    def fit(self, X: ArrayLike | Matrix, y: object = None, qid: QueryIds | None = None) -> Self:
        """Learn shift_ and scale_; y is ignored."""
        self._keep(Scaling.fitted(self.prefix + self.method, self._validated(X, reset=True), qid))
        return self

    def transform(self, X: ArrayLike | Matrix, qid: QueryIds | None = None) -> Matrix:
        """Scaled X, float32 where X is float32."""
        rows = self._validated(X, reset=False)
        return self.scaling.transform(rows, qid)

    def fit_transform(self, X: ArrayLike | Matrix, y: object = None, qid: QueryIds | None = None) -> Matrix:
        return self.fit(X, y, qid).transform(X, qid)

    @property
    def scaling(self) -> Scaling:
        """The fitted scaler as a value."""
        check_is_fitted(self)
        units = {name: getattr(self, f"{name}_") for name in UNITS[self.method] if hasattr(self, f"{name}_")}
        shift, scale, names = (getattr(self, name, None) for name in ("shift_", "scale_", "feature_names_in_"))
        return Scaling(self.prefix + self.method, self.n_features_in_, shift, scale, names, units or None)

    def _keep(self, scaling: Scaling) -> None:
        for name in ("shift", "scale", *(one for units in UNITS.values() for one in units)):
            self.__dict__.pop(f"{name}_", None)
        for name, numbers in {"shift": scaling.shift, "scale": scaling.scale, **(scaling.units or {})}.items():
            if numbers is not None:
                setattr(self, f"{name}_", numbers)

    def to_dict(self) -> dict[str, Json]:
        """The fitted state in plain numbers, lists and strings, for JSON."""
        return self.scaling.to_dict()

    @classmethod
    def from_dict(cls, state: dict[str, Json]) -> Self:
        """The scaler whose `to_dict` gave `state`."""
        return cls.of(Scaling.from_dict(state))

    @classmethod
    def of(cls, scaling: Scaling) -> Self:
        """The scaler of a fitted scaling."""
        scaler = make_scaler(scaling.name)
        if not isinstance(scaler, cls):
            raise ValueError(f"the saved scaler is {scaling.name!r}, not a {cls.__name__}")
        scaler.n_features_in_ = scaling.n_features
        scaler._keep(scaling)
        if scaling.feature_names is not None:
            scaler.feature_names_in_ = scaling.feature_names
        return scaler

    def _validated(self, X: ArrayLike | Matrix, *, reset: bool) -> Matrix:
        one_of("method", self.method, METHODS)
        if not reset:
            check_is_fitted(self)
        wanted = {"accept_sparse": self.accept_sparse, "dtype": [np.float64, np.float32]}
        return validate_data(self, X, reset=reset, ensure_all_finite=False, **wanted)  # `Scaling` says where

    def __sklearn_tags__(self) -> Tags:
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
    minimum_, maximum_ or mean_, standard_deviation_ : ndarray of shape (n_features,)
        What the two follow from, in the units of the features; a constant feature has standard deviation 0.

    Examples
    --------
    >>> from rankwise.preprocessing import FeatureScaler
    >>> FeatureScaler("minmax").fit([[0.0], [4.0]]).transform([[1.0], [2.0]])
    array([[0.25],
           [0.5 ]])
    """


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

    Examples
    --------
    >>> from rankwise.preprocessing import QueryScaler
    >>> QueryScaler("minmax").fit_transform([[1.0], [3.0], [10.0], [30.0]], qid=["tea", "tea", "mug", "mug"])
    array([[0.],
           [1.],
           [0.],
           [1.]])
    """

    prefix: ClassVar[str] = BY_QUERY
    accept_sparse: ClassVar[tuple[str, ...] | bool] = False

    def _validated(self, X: ArrayLike | Matrix, *, reset: bool) -> Matrix:
        if issparse(X):
            raise TypeError(
                "X is sparse, and scaling within a query would move its zeros: "
                "use FeatureScaler, which keeps sparse data sparse, or give X.toarray()"
            )
        return super()._validated(X, reset=reset)


def make_scaler(name: str) -> Scaler:
    """The scaler called minmax, zscore, query-minmax or query-zscore, as the command line spells them.

    Examples
    --------
    >>> from rankwise.preprocessing import make_scaler
    >>> make_scaler("query-zscore")
    QueryScaler(method='zscore')
    """
    name = check_name(name)
    kind = QueryScaler if name.startswith(BY_QUERY) else FeatureScaler
    return kind(name.removeprefix(BY_QUERY))
