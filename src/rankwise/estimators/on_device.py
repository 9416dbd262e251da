"""Checks of torch and CuPy arrays, which stay on their device; scikit-learn checks NumPy arrays."""

from dataclasses import replace
from typing import Any

from rankwise.foundation.arrays import finite
from rankwise.foundation.devices import finite_rows, is_sparse, library_of, namespace, on_device_of, to_host
from rankwise.rankers.checks import check_pair_weights


def check_fit(ranker: Any, X: Any, y: Any, sample_weight: Any, reset: bool) -> tuple[Any, Any, Any]:
    """X in float32 or float64, y and the weights in float64 beside it."""
    if not ranker.takes_devices:
        raise ValueError(f"{type(ranker).__name__} takes arrays of NumPy only, got X of {library_of(X)}")
    X = check_rows(ranker, X, reset)
    y = finite(on_device_of(X, y), "y", X.shape[0])
    if sample_weight is not None:
        sample_weight = finite(on_device_of(X, sample_weight), "sample_weight", X.shape[0])
        check_pair_weights(sample_weight)
    return X, y, sample_weight


def bring_back(ranker: Any) -> None:
    """Copy what was learnt on a device from NumPy arrays back into NumPy arrays."""
    ranker.coef_ = to_host(ranker.coef_)
    ranker.result_ = replace(ranker.result_, point=ranker.coef_)


def check_rows(ranker: Any, X: Any, reset: bool) -> Any:
    """X dense and in order, or sparse, with the number of features that the ranker knows, or learns by `reset`."""
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"X must have rows and columns, got an array of shape {tuple(X.shape)}")
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
