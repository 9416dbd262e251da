"""RankRLS by conjugate gradients, which need only products with X.

The remaining error is g·H⁻¹g for the gradient g and H = XᵀLX + αI. Two numbers estimate it:

* g·g / α, which is never too small. It is used for few features, where the extra products are cheap.
* g·D⁻¹g / λ for the diagonal D of H, the preconditioner, and the smallest eigenvalue λ of D^-½ H D^-½. The steps are
  those of Lanczos and give an eigenvalue that is never below λ, and soon near it if the features have similar scales:
  an estimate that may be too small. For many features the smaller of both is used; it saves a quarter of the products.
"""

import numpy as np
import scipy

from rankwise.foundation.arrays import Floats
from rankwise.least_squares.regression import Regression
from rankwise.least_squares.solving import (
    ENOUGH,
    Solution,
    affordable,
    by_penalty,
    by_precise_products,
    relative,
    rounding,
    stably,
)

FEW = 1_000  # features up to which the error is bounded, not estimated
ALIKE = 1e4  # ratio of the scales of features up to which they are similar
SAFETY = 2  # the factor by which the goal is below `tol`
CHECK = 2  # products between two estimates of the eigenvalue
STALLED = 50  # products beyond the number of features, after which rounding prevents convergence
DIRECT = 1e11  # operations that orthogonal factors may take if conjugate gradients fail


def by_conjugate_gradients(problem: Regression, alpha: float, tol: float, max_iter: int) -> Solution:
    """Iterate until scores are estimated to be within `tol` of the exact ones, relative to their size.

    A solution within `ENOUGH` is accepted if rounding prevents a smaller `tol`.
    """
    if solution := by_penalty(problem, alpha):
        return solution
    diagonal = problem.diagonal() + alpha
    w, smallest, products, done = _steps(problem, alpha, diagonal, tol / SAFETY, max_iter)
    at = problem.at(w, alpha)
    noisy = np.abs(at.gradient) + rounding(problem, at)
    error = relative(problem, _squared_error(noisy, alpha, diagonal, smallest), at)
    stopped = not done and products >= max_iter
    if stopped or (done and error <= max(tol, ENOUGH)):
        return Solution(at, error, products, _message(products))
    return _again(problem, w, alpha, products, max_iter)


def _steps(
    problem: Regression, alpha: float, diagonal: Floats, tol: float, max_iter: int
) -> tuple[Floats, float | None, int, bool]:
    """The solution, the eigenvalue by which its error was estimated if it was, the products taken, and whether the
    error is within `tol`.
    """
    w, residual = np.zeros(problem.size), problem.right()
    lengths: list[float] = []  # of the steps
    kept: list[float] = []  # how much of the previous direction each keeps
    toward = residual / diagonal
    square, left, direction = float(residual @ toward), problem.at_zero(), toward
    moved, alike = 0.0, problem.size > FEW and _alike(problem.largest)
    for products in range(1, min(max_iter, problem.size + STALLED) + 1):
        product = problem.product(direction) + alpha * direction
        curvature = float(direction @ product)
        if not (square > 0 and curvature > 0):
            return w, None, products, square == 0
        lengths.append(square / curvature)
        w = w + lengths[-1] * direction
        moved, left = moved + lengths[-1] * square, left - lengths[-1] * square
        residual = residual - lengths[-1] * product
        toward = residual / diagonal
        before, square = square, float(residual @ toward)
        goal = min(tol**2 * (moved - alpha * float(w @ w)), tol * left)
        look = alike and square <= goal and products % CHECK == 0
        smallest = _smallest(np.array(lengths), np.array(kept)) if look else None
        if _squared_error(residual, alpha, diagonal, smallest) <= goal:
            return w, smallest, products, True
        kept.append(square / before)
        direction = toward + kept[-1] * direction
    return w, None, products, False


def _alike(largest: Floats) -> bool:
    """Whether features have similar scales."""
    some = largest[largest > 0]
    return bool(some.size == 0 or some.max() <= ALIKE * some.min())


def _squared_error(g: Floats, alpha: float, diagonal: Floats, smallest: float | None) -> float:
    """The bound, or the estimate by the smallest eigenvalue of the steps if that is smaller."""
    bound = float(g @ g) / alpha
    return bound if smallest is None else min(bound, float(g @ (g / diagonal)) / smallest)


def _smallest(lengths: Floats, kept: Floats) -> float:
    """The smallest eigenvalue of Lanczos's tridiagonal matrix."""
    diagonal = 1.0 / lengths
    diagonal[1:] += kept / lengths[:-1]
    if not np.isfinite(diagonal).all():
        return np.finfo(float).tiny
    beside = np.sqrt(kept) / lengths[:-1]
    values = scipy.linalg.eigh_tridiagonal(diagonal, beside, True, select="i", select_range=(0, 0), check_finite=False)
    return max(float(values[0]), np.finfo(float).tiny)


def _again(problem: Regression, w: Floats, alpha: float, products: int, max_iter: int) -> Solution:
    """Solve again: by orthogonal factors if they are cheap, otherwise in twice the precision."""
    if affordable(problem, DIRECT):
        solution = stably(problem, alpha)
    else:
        solution = by_precise_products(problem, w, alpha, max(max_iter - products, 1))
    return solution._replace(products=products + solution.products)


def _message(products: int) -> str:
    return f"conjugate gradients, {products} products"
