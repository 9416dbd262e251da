"""K = F Fᵀ for a kernel matrix, and the same map for new objects: ψ(x) = A k(Z, x) with AᵀA = K_ZZ⁻¹.

Cholesky with pivoting stops when only rounding errors remain on the diagonal, and leaves out objects in the span of
the others: it reveals the rank as an eigendecomposition does, in a tenth of its time. Only a matrix that is not
positive semidefinite is eigendecomposed, and its negative part dropped.
"""

import warnings
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.devices import length_of

EPS = float(np.finfo(float).eps)
ROUNDING = 16 * EPS  # times the size and the largest value: a remaining diagonal below this is rounding
MISMATCH = 1e-6  # if a factor differs from the matrix by this share of its diagonal, the matrix is not semidefinite


class Basis(Protocol):
    """A: orthonormal coordinates in the span of the references Z."""

    def features(self, values: Floats) -> Floats:
        """Rows ψ(x) from rows k(x, Z), which may be overwritten."""
        ...

    def coefficients(self, w: Floats) -> Floats:
        """β with k(x, Z) β = ψ(x) w."""
        ...


@dataclass(frozen=True)
class Triangular:
    """A = L⁻¹ for K_ZZ = L Lᵀ."""

    lower: Floats

    def features(self, values: Floats) -> Floats:
        solved = linalg.solve_triangular(self.lower, values.T, lower=True, overwrite_b=True, check_finite=False)
        return np.ascontiguousarray(solved.T)

    def coefficients(self, w: Floats) -> Floats:
        solved: Floats = linalg.solve_triangular(self.lower, w, trans="T", lower=True, check_finite=False)
        return solved


@dataclass(frozen=True)
class Spectral:
    """Aᵀ = U Λ^-½ for the positive part of K_ZZ = U Λ Uᵀ."""

    columns: Floats

    def features(self, values: Floats) -> Floats:
        return values @ self.columns

    def coefficients(self, w: Floats) -> Floats:
        return self.columns @ w


def factorise(K: Floats) -> tuple[Basis, Ints, Floats]:
    """The basis, the references that it needs, and F. K is overwritten."""
    n = K.shape[0]
    diagonal = K.diagonal().copy()
    probe = np.where(np.arange(n) * 0.6180339887498949 % 1 < 0.5, 1.0, -1.0)  # pseudo-random signs
    wanted = K @ probe
    largest = float(diagonal.max())
    if largest <= 0:
        return _eigendecomposed(K) if wanted.any() else (Spectral(np.zeros((1, 1))), np.zeros(1, int), np.zeros((n, 1)))
    packed, pivots, rank, _ = lapack.dpstrf(K.T, tol=n * ROUNDING * largest, lower=1, overwrite_a=1)
    pivots = pivots - 1
    lower = np.tril(packed[:rank, :rank])
    F = np.empty((n, rank))
    F[pivots[:rank]] = lower
    F[pivots[rank:]] = packed[rank:, :rank]
    if length_of(F @ (probe @ F) - wanted) > MISMATCH * largest * np.sqrt(n):
        untouched = np.tril(K, -1)  # the factor was written over the other triangle
        return _eigendecomposed(untouched + untouched.T + np.diag(diagonal))
    return Triangular(lower), pivots[:rank], F


def _eigendecomposed(K: Floats) -> tuple[Basis, Ints, Floats]:
    values, vectors = linalg.eigh(K, driver="evd", check_finite=False)
    lost = -float(values[values < 0].sum()) / float(np.abs(values).sum())
    warnings.warn(
        f"the kernel is not positive semidefinite: its negative part, {lost:.2%} of it, is left out", stacklevel=2
    )
    positive = values > K.shape[0] * ROUNDING * float(np.abs(values).max())
    scale = np.sqrt(values[positive])
    return Spectral(vectors[:, positive] / scale), np.arange(K.shape[0]), vectors[:, positive] * scale
