"""Ridge regression by one eigendecomposition: w(α) = (A + αI)⁻¹ b for every α, with A = ZᵀZ and b = Zᵀt.

Rows can be left out afterwards. Without a block of rows F = Z_q, t_q the solution is (A - FᵀF + αI)⁻¹ (b - Fᵀt_q).
There are two ways to compute it for all α. `reduced`: A - FᵀF is made tridiagonal, and every α then takes a sweep along
its two diagonals; O(d³) per block. `left_out`: in the basis of A's eigenvectors, the system of the block is solved,
(I - F D Fᵀ) e = t_q - F D c with D = (Λ + αI)⁻¹; O(l² d) per block of l rows and per α.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.threads import enough_blas_threads

BATCH = 1 << 20  # numbers per array operation
MOST_CONDITION = 1e12  # largest condition number of the system for left-out rows: at least three digits remain
CALLS = 5e5  # operations that take as long as the overhead of the array calls for one block


@dataclass(frozen=True)
class Spectrum:
    """A = basis · diag(values) · basisᵀ, and `right` = basisᵀ b; eigenvectors with `right` = 0 may be missing."""

    values: Floats
    basis: Floats
    right: Floats

    def solutions(self, alphas: Floats) -> Floats:
        """w(α), one column per α."""
        solutions: Floats = self.basis @ (self.right[:, None] * self.gains(alphas))
        return solutions

    def gains(self, alphas: Floats) -> Floats:
        """The diagonal of (Λ + αI)⁻¹, one column per α."""
        gains: Floats = 1.0 / (self.values[:, None] + alphas)
        return gains


def decompose(A: Floats, b: Floats) -> Spectrum:
    """The spectrum of A = ZᵀZ and b = Zᵀt; eigenvalues within rounding error of 0, and their `right`, are set to 0."""
    with enough_blas_threads(A.shape[0]):
        values, basis = scipy.linalg.eigh(A, check_finite=False, driver="evd")
    rounding = A.shape[0] * np.finfo(float).eps * values.max(initial=0.0)
    known = values > rounding
    return Spectrum(np.where(known, values, 0.0), basis, np.where(known, basis.T @ b, 0.0))


def left_out(spectrum: Spectrum, F: Floats, alphas: Floats, targets: Floats | None = None) -> Floats:
    """The solutions without the rows F and their targets t, in the basis, one column per α.

    These are D (c - Fᵀe) with (I - F D Fᵀ) e = t - F D c. Without targets, F D Fᵀ e = F D c is solved instead, as a
    spectrum of the dual needs it.
    """
    out = np.empty((spectrum.values.size, alphas.size))
    at_once = max(1, BATCH // max(F.size, 1))
    for first in range(0, alphas.size, at_once):
        gains = spectrum.gains(alphas[first : first + at_once])
        within, misfits = (F * gains.T[:, None, :]) @ F.T, F @ (gains * spectrum.right[:, None])
        if targets is not None:
            within, misfits = np.eye(F.shape[0]) - within, targets[:, None] - misfits
        errors = np.linalg.solve(within, misfits.T[:, :, None])[:, :, 0]
        out[:, first : first + at_once] = gains * (spectrum.right[:, None] - F.T @ errors.T)
    return out


def reduction_pays(n_rows: Array, n_features: int, n_alphas: int) -> Array:
    """For blocks of these numbers of rows, whether `reduced` takes fewer operations than `left_out`."""
    d, n = float(n_features), n_rows.astype(np.float64)
    by_reduction = 4 / 3 * d**3 + 2 * n * d * d + 2 * n_alphas * d * (d + n)
    by_block = n_alphas * (2 * n**2 * d + n**3) + 4 * n * d * d + CALLS
    pays: Array = by_reduction < by_block
    return pays


def downdated(
    spectrum: Spectrum, factors: Floats, middle: Floats, targets: Floats, probes: Floats, alphas: Floats
) -> Floats:
    """p·w with (A - FᵀMF + αI) w = b - FᵀM t, for many (F, t, p) of few rows and one M; one column per α.

    factors (items, rows, d), targets (items, rows) and probes (items, d), all in the basis. NaN for an item whose
    equations at the smallest α have a condition number above `MOST_CONDITION`.
    """
    out = np.empty((factors.shape[0], alphas.size))
    right = spectrum.right - np.einsum("ikd,ik->id", factors, targets @ middle)
    eye = np.eye(middle.shape[0])

    def equations(gain: Floats) -> Floats:
        return eye - middle @ ((factors * gain) @ factors.transpose(0, 2, 1))

    hard = ~(np.linalg.cond(equations(1.0 / (spectrum.values + alphas.min()))) <= MOST_CONDITION)
    for k, gain in enumerate(spectrum.gains(alphas).T):
        plain = gain * right
        within = np.where(hard[:, None, None], eye, equations(gain))
        errors = np.linalg.solve(within, middle @ (factors @ plain[:, :, None]))
        out[:, k] = np.einsum("id,id->i", probes, plain + gain * (factors.transpose(0, 2, 1) @ errors)[:, :, 0])
    out[hard] = np.nan
    return out
