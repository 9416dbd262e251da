"""Systems of linear equations with a positive definite matrix, by Cholesky's factors, where the matrix lies."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg

from rankwise.arrays import Floats
from rankwise.device import library_of

Inverse = Callable[[Floats], Floats]


def inverse(matrix: Any) -> Inverse:
    """v -> matrix⁻¹ v, for vectors; LinAlgError where the matrix is not positive definite."""
    return _INVERSES[library_of(matrix)](matrix)


def lifted_inverse(matrix: Any) -> Inverse:
    """The same, but rounding can make a matrix of huge condition indefinite: then it is lifted until it is not."""
    lift = float(np.finfo(float).eps) * float(matrix.trace())
    while True:
        try:
            return inverse(matrix)
        except linalg.LinAlgError:
            matrix = matrix + 0.0  # a copy
            matrix.reshape(-1)[:: matrix.shape[0] + 1] += lift
            lift *= 10


def _by_scipy(matrix: Floats) -> Inverse:
    factor = linalg.cho_factor(matrix, lower=True, check_finite=False)
    return partial(linalg.cho_solve, factor, check_finite=False)


def _by_torch(matrix: Any) -> Inverse:
    import torch

    factor, fault = torch.linalg.cholesky_ex(matrix)
    if int(fault):
        raise linalg.LinAlgError("the matrix is not positive definite")
    return lambda v: torch.cholesky_solve(v[:, None], factor)[:, 0]


def _by_cupy(matrix: Any) -> Inverse:
    import cupy
    from cupyx.scipy.linalg import solve_triangular

    factor = cupy.linalg.cholesky(matrix)
    if not bool(cupy.isfinite(factor).all()):
        raise linalg.LinAlgError("the matrix is not positive definite")
    return lambda v: solve_triangular(factor, solve_triangular(factor, v, lower=True), lower=True, trans="T")


_INVERSES: dict[str | None, Callable[[Any], Inverse]] = {None: _by_scipy, "torch": _by_torch, "cupy": _by_cupy}
