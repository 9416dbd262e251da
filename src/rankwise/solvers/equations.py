"""Linear systems with a positive definite matrix, solved by Cholesky factorisation on the device of the matrix."""

from collections.abc import Callable
from functools import partial

import numpy as np
import scipy

from rankwise.foundation.arrays import Floats
from rankwise.foundation.devices import AnyArray, AnyFloats, CupyArray, Tensor, diagonal_of, library_of
from rankwise.foundation.threads import enough_blas_threads

LEAST_DIAGONAL = 1e-300  # a diagonal may be 0 only where the gradient is 0 too

Solve = Callable[[AnyFloats], AnyFloats]  # v -> matrix⁻¹ v


def inverse(matrix: AnyArray) -> Solve:
    """v -> matrix⁻¹ v, for vectors; LinAlgError if the matrix is not positive definite."""
    return _INVERSES[library_of(matrix)](matrix)


def scaled_inverse(matrix: AnyArray, least: float = 1.0) -> Solve:
    """v -> H⁻¹ v for a Hessian H = `least` I + a positive semidefinite matrix, scaled to a diagonal of 1 first.

    The error of the factorisation then depends on how nearly dependent the columns of X are, not on their scales. If
    rounding makes the matrix indefinite, multiples of the identity are added, ten times larger each time.
    """
    # But for rounding the diagonal is at least that; in float32 it is a difference of large sums.
    scale = 1.0 / diagonal_of(matrix).clip(max(least, LEAST_DIAGONAL), None) ** 0.5
    if not bool((scale > 0).all()) or not bool((scale < np.inf).all()):
        raise ValueError("the Hessian overflows: scale the features, or use a smaller C")
    scaled = matrix * scale[:, None] * scale
    diagonal = diagonal_of(scaled)
    diagonal[:] = 1.0
    lift = 0.0
    while lift <= 1.0:
        try:
            solve = inverse(scaled)
            return lambda v: scale * solve(scale * v)
        except np.linalg.LinAlgError:
            more = max(10 * lift, scaled.shape[0] * float(np.finfo(float).eps))
            diagonal += more - lift
            lift = more
    return lambda v: scale * (scale * v)  # the diagonal only: still a descent direction


def _by_scipy(matrix: Floats) -> Solve:
    with enough_blas_threads(matrix.shape[0]):
        factor = scipy.linalg.cho_factor(matrix, lower=True, check_finite=False)
    return partial(scipy.linalg.cho_solve, factor, check_finite=False)


def _by_torch(matrix: Tensor) -> Solve:
    import torch

    factor, fault = torch.linalg.cholesky_ex(matrix)
    if int(fault):
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return lambda v: torch.cholesky_solve(v[:, None], factor)[:, 0]


def _by_cupy(matrix: CupyArray) -> Solve:
    import cupy
    from cupyx.scipy.linalg import solve_triangular

    factor = cupy.linalg.cholesky(matrix)
    if not bool(cupy.isfinite(factor).all()):
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return lambda v: solve_triangular(factor, solve_triangular(factor, v, lower=True), lower=True, trans="T")


_INVERSES: dict[str | None, Callable[[AnyArray], Solve]] = {None: _by_scipy, "torch": _by_torch, "cupy": _by_cupy}
