"""Checks of torch and CuPy arrays, which stay on their device; NumPy arrays are checked by scikit-learn."""

from dataclasses import replace

from sklearn.base import BaseEstimator

from rankwise.foundation.arrays import finite
from rankwise.foundation.devices import (
    AnyFloats,
    DeviceArray,
    Numbers,
    finite_rows,
    is_sparse,
    library_of,
    namespace,
    on_device_of,
    to_host,
)
from rankwise.rankers.checks import check_pair_weights


def check_fit(
    ranker: BaseEstimator, X: DeviceArray, y: Numbers, sample_weight: Numbers | None, reset: bool
) -> tuple[DeviceArray, AnyFloats, AnyFloats | None]:
    """X in float32 or float64; y and the weights in float64, on the device of X."""
    if not ranker.takes_devices:
        raise ValueError(f"{type(ranker).__name__} accepts arrays of NumPy only; got X of {library_of(X)}")
    X = check_rows(ranker, X, reset)
    labels = finite(on_device_of(X, y), "y", X.shape[0])
    if sample_weight is None:
        return X, labels, None
    weights = finite(on_device_of(X, sample_weight), "sample_weight", X.shape[0])
    check_pair_weights(weights)
    return X, labels, weights


def bring_back(ranker: BaseEstimator) -> None:
    """Copy the weights of a ranker, which was fitted on a device to NumPy arrays, into a NumPy array."""
    ranker.coef_ = to_host(ranker.coef_)
    ranker.result_ = replace(ranker.result_, point=ranker.coef_)


def check_rows(ranker: BaseEstimator, X: DeviceArray, reset: bool) -> DeviceArray:
    """X in C order, or sparse, with as many features as the ranker was fitted with; `reset`: this is that fit."""
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"X must have rows and columns; got an array of shape {tuple(X.shape)}")
    if reset:
        ranker.n_features_in_ = int(X.shape[1])
        ranker.__dict__.pop("feature_names_in_", None)
    elif X.shape[1] != ranker.n_features_in_:
        known = f"{type(ranker).__name__} was fitted with {ranker.n_features_in_}"
        raise ValueError(f"X has {X.shape[1]} features, and {known}")
    if is_sparse(X):
        return X
    xp = namespace(X)
    if X.dtype not in (xp.float32, xp.float64):
        X = xp.astype(X, xp.float64)
    if not finite_rows(X):
        raise ValueError("X holds NaN or infinity: every feature must be a finite number")
    return xp.ascontiguousarray(X)
