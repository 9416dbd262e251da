"""The spectrum of ZZᵀ, for fewer documents than features, without the eigenvalues that are 0 whatever X is.

The documents of a query, weighed by √ω, sum up to 0 in Z. In an orthonormal basis of what is orthogonal to √ω a query
of l documents has l - 1 rows, the contrasts, and they lack nothing.
"""

from dataclasses import dataclass

import numpy as np

from rankwise.arrays import Floats, Ints
from rankwise.least_squares.regression import Regression
from rankwise.solvers.spectral import BATCH, Spectrum, decompose


@dataclass(frozen=True)
class Contrasts:
    """Z'Z'ᵀ = U Λ Uᵀ for the contrasts Z' of Z.

    starts  query q owns the contrasts starts[q], ..., starts[q + 1] - 1
    values  Λ
    basis   U
    right   Uᵀt', of the contrasts t' of t
    """

    starts: Ints
    values: Floats
    basis: Floats
    right: Floats

    @classmethod
    def of(cls, problem: Regression) -> "Contrasts":
        gram, t = problem.gram()
        Q = reflectors(problem)
        contrasts, right = contrasted(problem, Q, gram), contrasted(problem, Q, t[:, None])[:, 0]
        contrasts = contrasted(problem, Q, np.ascontiguousarray(contrasts.T))
        starts = problem.starts - np.arange(problem.starts.size)
        if not (contrasts.size and np.isfinite(contrasts).all()):
            return cls(starts, np.full(right.size, np.nan if right.size else 0.0), contrasts, right)
        found = decompose(contrasts, right)
        return cls(starts, found.values, found.basis, found.basis.T @ right)

    def spectrum(self, problem: Regression) -> Spectrum:
        """Of ZᵀZ: its eigenvectors are Z'ᵀU / √Λ."""
        known = self.values > 0
        roots = np.sqrt(self.values[known])
        U = expanded(problem, reflectors(problem), self.basis[:, known])
        basis = problem.features.transposed_dot(problem.comparisons.transposed_root(U)) / roots
        return Spectrum(self.values[known], basis, self.right[known] * roots)

    def left_out(self, q: int, alphas: Floats) -> Floats:
        """The solution without query q in the basis of `spectrum`, a column for every α.

        Its errors e on the query left out solve (I - F D Fᵀ) e = t_q - F D c. Both sides are what U (α / (Λ + αI)) Uᵀ
        gives, in which nothing cancels.
        """
        U = self.basis[self.starts[q] : self.starts[q + 1]]
        known = self.values > 0
        roots = np.sqrt(self.values[known])
        out = np.empty((roots.size, alphas.size))
        at_once = max(1, BATCH // max(U.size, 1))
        for first in range(0, alphas.size, at_once):
            some = alphas[first : first + at_once]
            gains = 1.0 / (self.values[:, None] + some)
            within = (U * gains.T[:, None, :]) @ U.T
            misfits = (U @ (gains * self.right[:, None])).T
            errors = np.linalg.solve(within, misfits[:, :, None])[:, :, 0]
            rest = (self.right[:, None] - U.T @ errors.T) * gains
            out[:, first : first + at_once] = roots[:, None] * rest[known]
        return out


def reflectors(problem: Regression) -> list[Floats]:
    """For each query, v of Householder's I - 2vvᵀ that takes √ω to the first axis; 0 where all weights are 0."""
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
