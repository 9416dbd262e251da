"""Gradients of sums of kernel values: ∂/∂x Σ β_r k(x, z_r), for the kernels that have a name.

A kernel is a function of the inner product x·z, of the squared distance, or of a sum over the features; scikit-learn's
definitions, parameter by parameter. Where a kernel has a kink (laplacian at x_j = z_j) or no value (cosine and chi2 at
0), the gradient there is 0.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from rankwise.foundation.arrays import Floats
from rankwise.kernel_maps.kernel import Kernel

Params: TypeAlias = dict[str, Any]
Slope: TypeAlias = Callable[[Floats, Params], Floats]

BLOCK_VALUES = 1 << 21  # kernel values in memory at a time: 16 MiB


def gradients(kernel: Kernel, X: Floats, references: Floats, coefficients: Floats) -> Floats:
    """The gradient at each row of X, one number per feature. `gamma` must be a number where the kernel has it."""
    name = str(kernel.function)
    out = np.empty_like(X)
    step = max(1, BLOCK_VALUES // max(1, len(references)))
    for first in range(0, len(X), step):
        rows = slice(first, first + step)
        if name in OF_INNER_PRODUCT:
            slopes = OF_INNER_PRODUCT[name](X[rows] @ references.T, kernel.params)
            out[rows] = (slopes * coefficients) @ references
        else:
            out[rows] = OTHERS[name](kernel, X[rows], references, coefficients)
    return out


def _polynomial(inner: Floats, params: Params) -> Floats:
    gamma, degree = params["gamma"], params["degree"]
    slopes: Floats = gamma * degree * (gamma * inner + params["coef0"]) ** (degree - 1)
    return slopes


def _sigmoid(inner: Floats, params: Params) -> Floats:
    slopes: Floats = params["gamma"] * (1 - np.tanh(params["gamma"] * inner + params["coef0"]) ** 2)
    return slopes


def _linear(inner: Floats, params: Params) -> Floats:
    return np.ones_like(inner)


def _rbf(kernel: Kernel, X: Floats, references: Floats, coefficients: Floats) -> Floats:
    weights = kernel.matrix(X, references) * coefficients
    gradient: Floats = 2 * kernel.params["gamma"] * (weights @ references - weights.sum(axis=1)[:, None] * X)
    return gradient


def _cosine(kernel: Kernel, X: Floats, references: Floats, coefficients: Floats) -> Floats:
    units, lengths = _normalised(X)
    others, _ = _normalised(references)
    along = (units @ others.T) @ coefficients
    turned = coefficients @ others - along[:, None] * units
    return np.divide(turned, lengths[:, None], out=np.zeros_like(X), where=lengths[:, None] > 0)


def _normalised(X: Floats) -> tuple[Floats, Floats]:
    lengths = np.linalg.norm(X, axis=1)
    return X / np.where(lengths > 0, lengths, 1)[:, None], lengths


def _laplacian(kernel: Kernel, X: Floats, references: Floats, coefficients: Floats) -> Floats:
    weights = kernel.params["gamma"] * kernel.matrix(X, references) * coefficients
    return _by_feature(lambda x: -np.sign(x - references), X, weights)


def _additive_chi2(kernel: Kernel, X: Floats, references: Floats, coefficients: Floats) -> Floats:
    weights = np.broadcast_to(coefficients, (len(X), coefficients.size))
    return _by_feature(lambda x: _chi2_slopes(x, references), X, weights)


def _chi2(kernel: Kernel, X: Floats, references: Floats, coefficients: Floats) -> Floats:
    weights = kernel.params["gamma"] * kernel.matrix(X, references) * coefficients
    return _by_feature(lambda x: _chi2_slopes(x, references), X, weights)


def _chi2_slopes(x: Floats, references: Floats) -> Floats:
    """∂/∂x of -(x - z)² / (x + z)."""
    total = x + references
    share = np.divide(references, total, out=np.full_like(total, 0.5), where=total != 0)
    slopes: Floats = (2 * share - 1) * (2 * share + 1)
    return slopes


def _by_feature(slopes: Callable[[Floats], Floats], X: Floats, weights: Floats) -> Floats:
    """Row by row, as there is a slope for each pair of a reference and a feature."""
    return np.array([row @ slopes(x) for x, row in zip(X, weights, strict=True)]).reshape(X.shape)


OF_INNER_PRODUCT: dict[str, Slope] = {
    "linear": _linear,
    "polynomial": _polynomial,
    "poly": _polynomial,
    "sigmoid": _sigmoid,
}
OTHERS = {
    "rbf": _rbf,
    "cosine": _cosine,
    "laplacian": _laplacian,
    "chi2": _chi2,
    "additive_chi2": _additive_chi2,
}
