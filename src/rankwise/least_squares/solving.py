"""The minimiser of |t - Zw|² + α|w|², checked: each method ends with an estimate of the error of its solution.

Normal equations are the fastest method and are tried first. They square Z, which may lose the digits of columns of
small scale, of nearly dependent columns, or of columns with a large offset. The remaining error, |Zδ|² + α|δ|² for a
solution with error δ, is g·(ZᵀZ + αI)⁻¹g for the gradient g. If its estimate, with rounding of g, is not small
compared to |Zw|², the problem is solved again by `factors` and corrected by gradients in twice the precision.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy

from rankwise.foundation.arrays import Floats
from rankwise.foundation.threads import enough_blas_threads
from rankwise.least_squares.factors import factorise
from rankwise.least_squares.gram import gram, lifted
from rankwise.least_squares.regression import MATRIX_GAIN, MOST_BYTES, Fit, Regression

EPS = float(np.finfo(float).eps)
GOAL = 1e-10  # the error of scores relative to their size
ENOUGH = 1e-9  # error up to which no warning is given
WEIGHTS = 1e-3  # weight of an error of the coefficients, which matters for documents unlike the training data
FLOOR = 1e-14  # an objective below this share of |Zw|² is rounding
DEFINITE = 1e-10  # eigenvalues of a scaled matrix below this may be rounding
PATIENCE = 5  # corrections that do not halve the squared error, after which the method stops
MOST_CORRECTIONS = 100
MOST_WORK = 1e12  # operations that orthogonal factors may take, of which a core does about 10⁹ per second


class Solution(NamedTuple):
    """error: of the scores' differences within queries, relative to their size.

    The estimate includes rounding and tends to be too large. Only conjugate gradients on many features (`conjugate`)
    may estimate it too small.
    """

    at: Fit
    error: float
    products: int
    message: str
    dual: Floats | None = None  # a with w = Xᵀa, if the method computes it


def by_penalty(problem: Regression, alpha: float) -> Solution | None:
    """XᵀLy / α, if XᵀLX is negligible compared to α, within rounding: squares might underflow. Else None."""
    if _norm_above(problem) > EPS * np.sqrt(alpha):
        return None
    w = -problem.twofold_at(np.zeros(problem.size), alpha).gradient / alpha
    return Solution(problem.twofold_at(w, alpha), EPS, 1, "solved by primal equations")


def _norm_above(problem: Regression) -> float:
    """At least |Z|: Σ ω_i ω_j (x_i - x_j)² over the pairs is at most twice Σ degree · x² over the documents."""
    return float(np.linalg.norm(problem.largest)) * float(np.sqrt(2 * np.sqrt(problem.n_rows) * problem.degrees[0]))


def by_primal(problem: Regression, alpha: float) -> Solution:
    """The solution by d equations, or by `stably` if these are not exact enough."""
    if solution := by_penalty(problem, alpha):
        return solution
    normal = problem.normal_matrix()
    return from_normal(problem, normal[:-1, :-1], normal[:-1, -1], alpha) or stably(problem, alpha)


def from_normal(problem: Regression, A: Floats, b: Floats, alpha: float) -> Solution | None:
    """(A + αI)⁻¹ b, or None if rounding prevents it."""
    factor = Scaled.of(A, alpha)
    if factor is None or factor.smallest < DEFINITE:
        return None
    expansion = problem.at(factor(b), alpha)
    error = factor.error(problem, expansion)
    return Solution(expansion, error, 1, "solved by primal equations") if error <= ENOUGH else None


def by_dual(problem: Regression, alpha: float) -> Solution:
    """The solution by n equations, or by `stably` if these are not exact enough.

    Weighted rows of Z sum to 0 within each query; the eigenvalues that are 0 for this reason are raised.
    """
    if solution := by_penalty(problem, alpha):
        return solution
    whole = problem.whole
    squares, t = gram(whole)
    factor = Scaled.of(lifted(whole, squares), alpha)
    if factor is not None and factor.smallest > DEFINITE:
        dual = whole.comparisons.transposed_root(factor(t))
        expansion = problem.at(whole.rows.transposed_dot(dual), alpha)
        error = error_above(problem, expansion, factor.smallest / float(factor.scale.max()) ** 2)
        lost = EPS * float(np.linalg.norm(problem.largest)) * float(np.linalg.norm(dual))
        if error <= ENOUGH and lost <= ENOUGH * float(np.linalg.norm(expansion.point)):
            return Solution(expansion, error, 1, "solved by dual equations", dual)
    return stably(problem, alpha)


def stably(problem: Regression, alpha: float) -> Solution:
    """By orthogonal factors, or, if these take too much memory or time, by products in twice the precision."""
    if not affordable(problem):
        return by_precise_products(problem, np.zeros(problem.size), alpha, problem.size)
    solver = factorise(problem.compressed()).at(alpha)
    return corrected(problem, solver.solution, alpha, solver)


def affordable(problem: Regression, most_work: float = MOST_WORK) -> bool:
    """Whether orthogonal factors of Z fit into memory and take at most `most_work` operations."""
    n, d = float(problem.n_rows), float(problem.size + 1)
    rows = min(n, d)  # of Z after its compression, by matrix products
    return bool(16 * rows * d <= MOST_BYTES and rows * rows * d + n * d * d / MATRIX_GAIN <= most_work)


def by_precise_products(problem: Regression, w: Floats, alpha: float, most: int) -> Solution:
    """By conjugate gradients from w, with the diagonal as preconditioner and gradients in twice the precision."""
    diagonal = problem.centred_diagonal() + alpha
    solution = corrected(problem, w, alpha, lambda g: g / diagonal, most, most, lambda g: float(g @ g) / alpha)
    return solution._replace(message=f"conjugate gradients in twice the precision, {solution.products} products")


def corrected(
    problem: Regression,
    w: Floats,
    alpha: float,
    inverse: Callable[[Floats], Floats],
    most: int = MOST_CORRECTIONS,
    patience: int = PATIENCE,
    bound: Callable[[Floats], float] | None = None,
) -> Solution:
    """w improved by conjugate gradients, with gradients in twice the precision.

    inverse  an approximation of (ZᵀZ + αI)⁻¹; the better it is, the fewer corrections are needed
    bound    a bound on the squared error as a function of the gradient; None: `inverse` is exact enough to estimate it
    """
    best = current = problem.twofold_at(w, alpha)
    least, off, late, direction, last = np.inf, w, 0, np.zeros(w.size), (np.zeros(w.size), 1.0)
    for products in range(1, most + 1):
        toward = inverse(current.gradient)
        square = max(float(current.gradient @ toward), 0.0)
        late = 0 if square < least / 2 else late + 1
        if square < least:
            best, least, off = current, square, toward
        left = square if bound is None else bound(current.gradient)
        done = square == 0 or left <= GOAL**2 * min(current.moved, alpha * float(current.point @ current.point))
        if done or late > patience:
            break
        turn = max(0.0, float((current.gradient - last[0]) @ toward) / last[1]) if products > 1 else 0.0
        last = current.gradient, square
        direction = turn * direction - toward
        curvature = problem.curvature(direction) + alpha * float(direction @ direction)
        if curvature <= 0:
            break
        w = w - float(current.gradient @ direction) / curvature * direction
        current = problem.twofold_at(w, alpha)
    if bound is None:
        error = _relative(problem.curvature(off), least, best)
    else:
        error = relative(problem, bound(best.gradient), best)
    return Solution(best, error, products, "solved by orthogonal factors")


def rounding(problem: Regression, at: Fit) -> Floats:
    """The approximate error of each entry of the gradient, summed in float64, if rounding errors are random."""
    of_scores = problem.degrees[0] * float(np.linalg.norm(problem.largest * at.point))
    noise: Floats = 8 * EPS * problem.largest * (of_scores + np.sqrt(problem.degrees[1] * max(at.misfit, 0.0)))
    return noise


def error_above(problem: Regression, at: Fit, smallest: float) -> float:
    """A bound on the error, if no eigenvalue of ZᵀZ + αI in the span of g is below `smallest`."""
    noisy = np.abs(at.gradient) + rounding(problem, at)
    squared = float(noisy @ noisy) / smallest
    return max(relative(problem, squared, at), WEIGHTS * _ratio(squared / smallest, float(at.point @ at.point)))


def relative(problem: Regression, squared_error: float, at: Fit) -> float:
    """The error by |Zδ|² + α|δ|²; the share of |Zδ|² in it is at most |Z|² / (|Z|² + α)."""
    norm = _norm_above(problem)
    squares = norm * norm
    share = squares / (squares + at.alpha) if squares < np.inf else 1.0
    return _relative(share * squared_error, squared_error, at)


def _relative(moved: float, excess: float, at: Fit) -> float:
    """The larger of two: |Zδ| relative to |Zw|, and the objective minus its minimum, relative to the minimum."""
    return max(_ratio(moved, at.moved), _ratio(excess, at.value + FLOOR * at.moved) ** 2)


def _ratio(squared_part: float, squared_whole: float) -> float:
    """part / whole; infinite if the whole is 0 or the ratio overflows."""
    if squared_part == 0:
        return 0.0
    ratio = np.sqrt(squared_part / squared_whole) if squared_whole > 0 else np.inf
    return float(ratio) if np.isfinite(ratio) else np.inf


class Scaled(NamedTuple):
    """Cholesky's factor of A + αI with rows and columns scaled to a diagonal of 1.

    smallest  LAPACK's estimate of 1 / |inverse|₁, which is at most the smallest eigenvalue
    """

    factor: tuple[Floats, bool]  # as SciPy's cho_factor returns it
    scale: Floats
    smallest: float

    @classmethod
    def of(cls, A: Floats, alpha: float) -> "Scaled | None":
        """The factor, or None if rounding has made the matrix indefinite."""
        if not (np.isfinite(A).all() and (A.diagonal() + alpha > 0).all()):
            return None
        scaled, scale = unit_diagonal(A, alpha)
        norm = float(np.abs(scaled).sum(axis=0).max(initial=0.0))
        with enough_blas_threads(A.shape[0]):
            try:
                factor = scipy.linalg.cho_factor(scaled, lower=True, overwrite_a=True, check_finite=False)
            except np.linalg.LinAlgError:
                return None
            reciprocal, _ = scipy.linalg.lapack.dpocon(factor[0], norm, uplo="L")
        return cls(factor, scale, float(reciprocal) * norm)

    def error(self, problem: Regression, at: Fit) -> float:
        """The estimated error of a solution."""
        noisy, weights = (np.abs(at.gradient) + rounding(problem, at)) * self.scale, at.point / self.scale
        squared = float(noisy @ noisy) / self.smallest
        return max(relative(problem, squared, at), WEIGHTS * _ratio(squared / self.smallest, float(weights @ weights)))

    def __call__(self, b: Floats) -> Floats:
        solution: Floats = self.scale * scipy.linalg.cho_solve(self.factor, self.scale * b, check_finite=False)
        return solution


def unit_diagonal(A: Floats, alpha: float) -> tuple[Floats, Floats]:
    """A + αI with rows and columns scaled to a diagonal of 1, and their scales."""
    scale = 1.0 / np.sqrt(A.diagonal() + alpha)
    scaled = A * scale * scale[:, None]
    scaled[np.diag_indices_from(A)] = 1.0
    return scaled, scale
