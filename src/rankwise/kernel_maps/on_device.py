"""Nyström's map for rows of torch and CuPy, on their device: ψ(x) = A k(Z, x).

Landmarks are few: A is computed on the host, and kernel values with all other rows are one matrix product.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from rankwise.foundation.arrays import Floats
from rankwise.foundation.devices import ArrayFunctions, DeviceArray, is_sparse, namespace, on_device_of
from rankwise.kernel_maps.kernel import Kernel, Objects

BLOCK_VALUES = 1 << 27  # kernel values in memory at a time: 1 GiB


def possible(kernel: Kernel, X: DeviceArray) -> bool:
    """Whether kernel values of these rows can be computed on their device; otherwise the host computes them."""
    return not is_sparse(X) and isinstance(kernel.function, str) and kernel.function in _OF_PRODUCTS


def times(kernel: Kernel, X: DeviceArray, references: Objects, factor: Floats) -> DeviceArray:
    """k(X, Z) F, for a vector or a matrix F."""
    xp = namespace(X)
    Z, F = on_device_of(X, np.asarray(references, np.float64)), on_device_of(X, factor)
    step = max(1, BLOCK_VALUES // max(1, Z.shape[0]))
    blocks = (xp.astype(X[first : first + step], xp.float64, copy=False) for first in range(0, X.shape[0], step))
    assert isinstance(kernel.function, str)
    of_products, params = _OF_PRODUCTS[kernel.function], _Params(kernel.params, X.shape[1])
    return xp.concat([of_products(xp, block, Z, params) @ F for block in blocks])


class _Params:
    """The defaults of scikit-learn."""

    def __init__(self, given: dict[str, Any], n_features: int) -> None:
        self.gamma = 1.0 / n_features if given.get("gamma") is None else given["gamma"]
        self.degree, self.coef0 = given.get("degree", 3), given.get("coef0", 1)


def _linear(xp: ArrayFunctions, X: DeviceArray, Z: DeviceArray, params: _Params) -> DeviceArray:
    return X @ Z.T


def _polynomial(xp: ArrayFunctions, X: DeviceArray, Z: DeviceArray, params: _Params) -> DeviceArray:
    return (params.gamma * (X @ Z.T) + params.coef0) ** params.degree


def _sigmoid(xp: ArrayFunctions, X: DeviceArray, Z: DeviceArray, params: _Params) -> DeviceArray:
    return xp.tanh(params.gamma * (X @ Z.T) + params.coef0)


def _rbf(xp: ArrayFunctions, X: DeviceArray, Z: DeviceArray, params: _Params) -> DeviceArray:
    X, Z = X - Z[:1], Z - Z[:1]  # rounding would lose differences of rows far from 0
    squares = (X * X).sum(1)[:, None] + (Z * Z).sum(1)[None, :] - 2.0 * (X @ Z.T)
    return xp.exp(-params.gamma * xp.where(squares > 0, squares, xp.zeros_like(squares)))


_OF_PRODUCTS: dict[str, Callable[[ArrayFunctions, DeviceArray, DeviceArray, _Params], DeviceArray]] = {
    "linear": _linear,
    "poly": _polynomial,
    "polynomial": _polynomial,
    "rbf": _rbf,
    "sigmoid": _sigmoid,
}
