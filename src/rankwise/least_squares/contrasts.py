"""The spectrum of ZZᵀ, for fewer documents than features, without the eigenvalues that are 0 for every X.

The documents of a query, weighted by √ω, sum to 0 in Z. In an orthonormal basis of the complement of √ω, a query of l
documents has l - 1 rows, the contrasts, which contain the same information.
"""

from dataclasses import dataclass

import numpy as np

from rankwise.foundation.arrays import Floats, Ints
from rankwise.least_squares.gram import gram as gram_of
from rankwise.least_squares.regression import Regression
from rankwise.solvers.spectral import Spectrum, decompose, left_out


@dataclass(frozen=True)
class Contrasts:
    """Z'Z'ᵀ = U Λ Uᵀ for the contrasts Z' of Z.

    starts  query q owns the contrasts starts[q], ..., starts[q + 1] - 1
    dual    Λ, U and Uᵀt' for the contrasts t' of t; Λ is NaN if Z'Z'ᵀ overflows
    """

    starts: Ints
    dual: Spectrum

    @classmethod
    def of(cls, problem: Regression) -> "Contrasts":
        gram, t = gram_of(problem.whole)
        Q = reflectors(problem)
        contrasts, right = contrasted(problem, Q, gram), contrasted(problem, Q, t[:, None])[:, 0]
        contrasts = contrasted(problem, Q, np.ascontiguousarray(contrasts.T))
        starts = problem.starts - np.arange(problem.starts.size)
        if not (contrasts.size and np.isfinite(contrasts).all()):
            return cls(starts, Spectrum(np.full(right.size, np.nan if right.size else 0.0), contrasts, right))
        decomposition = decompose(contrasts, right)
        return cls(starts, Spectrum(decomposition.values, decomposition.basis, decomposition.basis.T @ right))

    def spectrum(self, problem: Regression) -> Spectrum:
        """The spectrum of ZᵀZ, whose eigenvectors are Z'ᵀU / √Λ."""
        known = self.dual.values > 0
        roots = np.sqrt(self.dual.values[known])
        U = expanded(problem, reflectors(problem), self.dual.basis[:, known])
        basis = problem.whole.rows.transposed_dot(problem.comparisons.transposed_root(U)) / roots
        return Spectrum(self.dual.values[known], basis, self.dual.right[known] * roots)

    def left_out(self, q: int, alphas: Floats) -> Floats:
        """The solution without query q in the basis of `spectrum`, one column per α.

        Its errors e on the left-out query solve (I - F D Fᵀ) e = t_q - F D c. Both sides are computed by
        U (α / (Λ + αI)) Uᵀ, in which nothing cancels.
        """
        known = self.dual.values > 0
        rows = self.dual.basis[self.starts[q] : self.starts[q + 1]]
        dual = left_out(self.dual, rows, alphas)
        out: Floats = np.sqrt(self.dual.values[known])[:, None] * dual[known]
        return out


def reflectors(problem: Regression) -> list[Floats]:
    """For each query, v of Householder's I - 2vvᵀ that takes √ω to the first axis; 0 if all weights are 0."""
    roots, out = np.sqrt(problem.comparisons.weights), []
    for first, last in zip(problem.starts[:-1], problem.starts[1:], strict=True):
        v = roots[first:last].copy()
        v[0] += float(np.linalg.norm(v))
        out.append(v / max(float(np.linalg.norm(v)), np.finfo(float).tiny))
    return out


def contrasted(problem: Regression, reflectors: list[Floats], V: Floats) -> Floats:
    """The contrasts of V's rows."""
    parts = []
    for v, first, last in zip(reflectors, problem.starts[:-1], problem.starts[1:], strict=True):
        rows = V[first:last]
        parts.append((rows - 2 * np.outer(v, v @ rows))[1:])
    return np.vstack(parts)


def expanded(problem: Regression, reflectors: list[Floats], V: Floats) -> Floats:
    """The rows whose contrasts are V, and which are orthogonal to √ω."""
    parts = []
    for q, (v, first, last) in enumerate(zip(reflectors, problem.starts[:-1], problem.starts[1:], strict=True)):
        rows = np.zeros((last - first, V.shape[1]))
        rows[1:] = V[first - q : last - q - 1]
        parts.append(rows - 2 * np.outer(v, v @ rows))
    return np.vstack(parts)
