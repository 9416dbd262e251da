"""The minimiser of |t - Zw|² + α|w|², checked: each way to it ends with a bound on how far the solution is off.

Normal equations are the fastest way and are tried first. They square Z, and that may lose what columns of small scale,
nearly dependent columns or a large offset have to say. The error that is left is g·(ZᵀZ + αI)⁻¹g for the gradient g, in
|Zδ|² + α|δ|². Where a bound of it, rounding of g included, is not small against |Zw|², the problem is solved again by
`factors`, and corrected by gradients in twice the precision until the error is small.
"""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from rankwise.arrays import Floats
from rankwise.least_squares.factors import factorise
from rankwise.least_squares.regression import MOST_BYTES, Expansion
from rankwise.threads import one_blas_thread

EPS = float(np.finfo(float).eps)
GOAL = 1e-10  # the error of scores relative to their size
ENOUGH = 1e-9  # what a solution may miss without a word
WEIGHTS = 1e-3  # the error of weights counts so much: they matter to documents unlike those seen
FLOOR = 1e-14  # an objective below this share of |Zw|² is rounding
DEFINITE = 1e-10  # of a scaled matrix, eigenvalues below this may be rounding
PATIENCE = 5  # corrections without gain after which rounding has won
MOST_CORRECTIONS = 100
SMALL = 1_000  # matrices so narrow are factorised faster by one thread


class Solution(NamedTuple):
    """error: of the scores' differences within queries, relative to their size; an estimate that errs upwards."""

    at: Expansion
    error: float
    products: int
    message: str
    dual: Floats | None = None  # a with w = Xᵀa, where it was found on the way

    @property
    def converged(self) -> bool:
        return self.error <= ENOUGH


def by_penalty(problem: Any, alpha: float) -> Solution | None:
    """XᵀLy / α, where XᵀLX is nothing against α; its square could be below what float64 holds."""
    most = float(np.linalg.norm(problem.largest)) * np.sqrt(np.sqrt(problem.n_rows) * problem.degrees[0])
    if most > EPS * np.sqrt(alpha):
        return None
    w = -problem.twofold_at(np.zeros(problem.size), alpha).gradient / alpha
    return Solution(problem.twofold_at(w, alpha), 0.0, 1, "solved by primal equations")


def by_primal(problem: Any, alpha: float) -> Solution:
    """d equations."""
    if found := by_penalty(problem, alpha):
        return found
    normal = problem.normal_matrix()
    return from_normal(problem, normal[:-1, :-1], normal[:-1, -1], alpha) or stably(problem, alpha)


def from_normal(problem: Any, A: Floats, b: Floats, alpha: float) -> Solution | None:
    """(A + αI)⁻¹ b, or None where rounding is in the way."""
    factor = Scaled.of(A, alpha)
    if factor is None or factor.smallest < DEFINITE:
        return None
    expansion = problem.at(factor(b), alpha)
    error = factor.error(expansion, rounding(problem, expansion))
    return Solution(expansion, error, 1, "solved by primal equations") if error <= ENOUGH else None


def by_dual(problem: Any, alpha: float) -> Solution:
    """n equations; what every query's rows sum up to is 0, and so are those eigenvalues, which are lifted."""
    if found := by_penalty(problem, alpha):
        return found
    gram, t = problem.gram()
    factor = Scaled.of(problem.lifted(gram), alpha)
    if factor is not None and factor.smallest > DEFINITE:
        dual = problem.comparisons.transposed_root(factor(t))
        expansion = problem.at(problem.features.transposed_dot(dual), alpha)
        error = error_above(expansion, rounding(problem, expansion), factor.smallest / float(factor.scale.max()) ** 2)
        lost = EPS * float(np.linalg.norm(problem.largest)) * float(np.linalg.norm(dual))
        if error <= ENOUGH and lost <= ENOUGH * float(np.linalg.norm(expansion.point)):
            return Solution(expansion, error, 1, "solved by dual equations", dual)
    return stably(problem, alpha)


def stably(problem: Any, alpha: float) -> Solution:
    """By orthogonal factors, or, where these would not fit into memory, by conjugate gradients in twofold precision."""
    if not affordable(problem):
        diagonal = problem.centred_diagonal() + alpha
        return corrected(problem, np.zeros(problem.size), alpha, lambda g: g / diagonal, problem.size, problem.size)
    solver = factorise(problem.compressed()).at(alpha)
    return corrected(problem, solver.solution, alpha, solver)


def affordable(problem: Any) -> bool:
    """Whether Z can be held, or its triangular factor."""
    return bool(16 * min(problem.n_rows, problem.size + 1) * (problem.size + 1) <= MOST_BYTES)


def corrected(
    problem: Any,
    w: Floats,
    alpha: float,
    inverse: Callable[[Floats], Floats],
    most: int = MOST_CORRECTIONS,
    patience: int = PATIENCE,
) -> Solution:
    """w improved by conjugate gradients, with gradients in twice the precision.

    inverse  (ZᵀZ + αI)⁻¹ as well as it is known; the better, the fewer corrections
    """
    best = here = problem.twofold_at(w, alpha)
    least, off, late, direction, last = np.inf, w, 0, np.zeros(w.size), (np.zeros(w.size), 1.0)
    for products in range(1, most + 1):
        toward = inverse(here.gradient)
        square = max(float(here.gradient @ toward), 0.0)
        late = 0 if square < least / 2 else late + 1
        if square < least:
            best, least, off = here, square, toward
        if square <= GOAL**2 * min(here.moved, alpha * float(here.point @ here.point)) or late > patience:
            break
        turn = max(0.0, float((here.gradient - last[0]) @ toward) / last[1]) if products > 1 else 0.0
        last = here.gradient, square
        direction = turn * direction - toward
        curvature = problem.curvature(direction) + alpha * float(direction @ direction)
        if curvature <= 0:
            break
        w = w - float(here.gradient @ direction) / curvature * direction
        here = problem.twofold_at(w, alpha)
    return Solution(best, relative(problem.curvature(off), best), products, "solved by orthogonal factors")


def rounding(problem: Any, at: Expansion) -> Floats:
    """About how far sums in the usual precision put each entry of the gradient off, errors being random."""
    of_scores = problem.degrees[0] * float(np.linalg.norm(problem.largest * at.point))
    noise: Floats = 8 * EPS * problem.largest * (of_scores + np.sqrt(problem.degrees[1] * max(at.misfit, 0.0)))
    return noise


def error_above(at: Expansion, noise: Floats, smallest: float) -> float:
    """The error, at most, if no eigenvalue of ZᵀZ + αI that matters is below `smallest`."""
    noisy = np.abs(at.gradient) + noise
    squared = float(noisy @ noisy) / smallest
    return max(relative(squared, at), WEIGHTS * _ratio(squared / smallest, float(at.point @ at.point)))


def relative(squared_error: float, at: Expansion) -> float:
    """The error relative to |Zw|, or that of the objective to it where it is larger."""
    of_value = squared_error / (at.value + FLOOR * at.moved) if squared_error > 0 else 0.0
    return max(_ratio(squared_error, at.moved), of_value)


def _ratio(squared_part: float, squared_whole: float) -> float:
    """part / whole, infinite where that is not a number."""
    if squared_part == 0:
        return 0.0
    ratio = np.sqrt(squared_part / squared_whole) if squared_whole > 0 else np.inf
    return float(ratio) if np.isfinite(ratio) else np.inf


class Scaled(NamedTuple):
    """Cholesky's factor of A + αI with rows and columns scaled to a diagonal of 1, and its smallest eigenvalue."""

    factor: Any
    scale: Floats
    smallest: float

    @classmethod
    def of(cls, A: Floats, alpha: float) -> "Scaled | None":
        """None where rounding has made it indefinite."""
        diagonal = A.diagonal() + alpha
        if not (np.isfinite(A).all() and (diagonal > 0).all()):
            return None
        scale = 1.0 / np.sqrt(diagonal)
        scaled = A * scale * scale[:, None]
        scaled[np.diag_indices_from(A)] = 1.0
        norm = float(np.abs(scaled).sum(axis=0).max(initial=0.0))
        with one_blas_thread() if A.shape[0] < SMALL else nullcontext():
            try:
                factor = linalg.cho_factor(scaled, lower=True, overwrite_a=True, check_finite=False)
            except linalg.LinAlgError:
                return None
            reciprocal, _ = lapack.dpocon(factor[0], norm, uplo="L")
        return cls(factor, scale, float(reciprocal) * norm)

    def error(self, at: Expansion, noise: Floats) -> float:
        """Of the solution, at most."""
        noisy, weights = (np.abs(at.gradient) + noise) * self.scale, at.point / self.scale
        squared = float(noisy @ noisy) / self.smallest
        return max(relative(squared, at), WEIGHTS * _ratio(squared / self.smallest, float(weights @ weights)))

    def __call__(self, b: Floats) -> Floats:
        solution: Floats = self.scale * linalg.cho_solve(self.factor, self.scale * b, check_finite=False)
        return solution
