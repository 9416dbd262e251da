"""Gradients of sums of kernel values: ∂/∂x Σ β_r k(x, z_r), for the kernels that have a name.

A kernel is a function of the inner product x·z, of the squared distance, or of a sum over the features; scikit-learn's
definitions, parameter by parameter. Where a kernel has no gradient (cosine and chi2 at 0), it is taken for 0. Those of
the laplacian kernel jump so often that they cannot be integrated numerically: their integrals are here instead.
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
    "chi2": _chi2,
    "additive_chi2": _additive_chi2,
}


def laplacian_integrals(gamma: float, start: Floats, step: Floats, references: Floats, coefficients: Floats) -> Floats:
    """∫ ∂/∂x_j Σ β_r exp(-γ |x - z_r|₁) dt · step_j along x = start + t step, t from 0 to 1; exact.

    The distance to a reference is linear in t between the times when some x_j passes z_rj, so the kernel's integral
    E_r(t) from 0 to t is known. The sign of x_j - z_rj changes once, at that time: its integral against the kernel is
    ± (E_r(1) - 2 E_r(t_j)), also if x_j passes z_rj before 0 or after 1.
    """
    moving = step != 0
    speed = np.abs(step[moving])
    passing = np.clip((references[:, moving] - start[moving]) / step[moving], 0, 1)
    order = np.argsort(passing, axis=1)
    lengths = np.diff(np.take_along_axis(passing, order, axis=1), axis=1, prepend=0.0, append=1.0)
    slopes = 2 * np.cumsum(speed[order], axis=1) - speed.sum()
    slopes = np.insert(slopes, 0, -speed.sum(), axis=1)
    distances = np.abs(references - start).sum(axis=1)[:, None] + np.cumsum(slopes * lengths, axis=1)
    distances = np.maximum(np.insert(distances, 0, np.abs(references - start).sum(axis=1), axis=1), 0)
    change = gamma * np.abs(np.diff(distances, axis=1))
    mean = np.divide(-np.expm1(-change), change, out=np.ones_like(change), where=change > 0)
    nearest = np.minimum(distances[:, 1:], distances[:, :-1])
    integrals = np.cumsum(lengths * mean * np.exp(-gamma * nearest), axis=1)
    signed = np.empty_like(passing)
    np.put_along_axis(signed, order, integrals[:, -1:] - 2 * integrals[:, :-1], axis=1)
    out = np.zeros_like(step)
    out[moving] = -gamma * speed * (coefficients @ signed)
    return out
