"""RankRLS by conjugate gradients, which multiply by X only.

The error that is left is g·H⁻¹g for the gradient g and H = XᵀLX + αI: at most g·g / α. With the diagonal D of H as
preconditioner it is also at most g·D⁻¹g divided by the smallest eigenvalue of D^-½ H D^-½. The steps taken, which are
Lanczos's, know that eigenvalue well where the features are of like scales. Where there are many features, the sharper
of the two counts: the second takes a quarter fewer products.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg

from rankwise.arrays import Floats
from rankwise.least_squares.solving import (
    ENOUGH,
    Solution,
    affordable,
    by_penalty,
    corrected,
    relative,
    rounding,
    stably,
)

Bound = Callable[[Floats], float]

FEW = 1_000  # features, for which the products that a proven bound takes cost nothing
ALIKE = 1e4  # ratio of the scales of features up to which they are alike
SAFETY = 2  # by which the goal is below `tol`, for the bound is an estimate
CHECK = 2  # products between two looks at the eigenvalue
STALLED = 50  # products beyond the number of features after which rounding is in the way
DIRECT = 1e11  # operations that orthogonal factors may take where conjugate gradients fail


def by_conjugate_gradients(problem: Any, alpha: float, tol: float, max_iter: int) -> Solution:
    """Until scores are within `tol` of the exact ones, relative to their size."""
    if found := by_penalty(problem, alpha):
        return found
    diagonal = problem.diagonal() + alpha
    w, bound, products, done = _steps(problem, alpha, diagonal, tol / SAFETY, max_iter)
    at = problem.at(w, alpha)
    noisy = np.abs(at.gradient) + rounding(problem, at)
    error = relative(bound(noisy), at)
    if not done and products >= max_iter:
        return Solution(at, max(error, 2 * tol), products, _message(products))
    if error > max(tol, ENOUGH) or not done:
        return _again(problem, w, alpha, products, max_iter)
    return Solution(at, min(error, tol), products, _message(products))


def _steps(problem: Any, alpha: float, diagonal: Floats, tol: float, max_iter: int) -> tuple[Floats, Bound, int, bool]:
    """The solution, a bound of its squared error by the gradient, the products taken and whether that was enough."""
    w, residual = np.zeros(problem.size), problem.right()
    lengths: list[float] = []  # of the steps, and how much of the direction before is kept
    kept: list[float] = []
    toward = residual / diagonal
    square, left, direction = float(residual @ toward), problem.at_zero(), toward
    moved, alike, bound = 0.0, problem.size > FEW and _alike(problem.largest), _by_alpha(alpha)
    for products in range(1, min(max_iter, problem.size + STALLED) + 1):
        product = problem.product(direction) + alpha * direction
        curvature = float(direction @ product)
        if not (square > 0 and curvature > 0):
            return w, bound, products, square == 0
        lengths.append(square / curvature)
        w = w + lengths[-1] * direction
        moved, left = moved + lengths[-1] * square, left - lengths[-1] * square
        residual = residual - lengths[-1] * product
        toward = residual / diagonal
        before, square = square, float(residual @ toward)
        goal = min(tol**2 * (moved - alpha * float(w @ w)), tol * left)
        if alike and square <= goal and products % CHECK == 0:
            bound = _by_eigenvalue(diagonal, _smallest(np.array(lengths), np.array(kept)))
        if bound(residual) <= goal:
            return w, bound, products, True
        kept.append(square / before)
        direction = toward + kept[-1] * direction
    return w, bound, products, False


def _alike(largest: Floats) -> bool:
    """Whether features are of like scales."""
    some = largest[largest > 0]
    return bool(some.size == 0 or some.max() <= ALIKE * some.min())


def _by_alpha(alpha: float) -> Bound:
    return lambda g: float(g @ g) / alpha


def _by_eigenvalue(diagonal: Floats, smallest: float) -> Bound:
    return lambda g: float(g @ (g / diagonal)) / smallest


def _smallest(lengths: Floats, kept: Floats) -> float:
    """The smallest eigenvalue of Lanczos's tridiagonal matrix."""
    diagonal = 1.0 / lengths
    diagonal[1:] += kept / lengths[:-1]
    if not np.isfinite(diagonal).all():
        return np.finfo(float).tiny
    beside = np.sqrt(kept) / lengths[:-1]
    found = linalg.eigh_tridiagonal(diagonal, beside, True, select="i", select_range=(0, 0), check_finite=False)
    return max(float(found[0]), np.finfo(float).tiny)


def _again(problem: Any, w: Floats, alpha: float, products: int, max_iter: int) -> Solution:
    """By orthogonal factors if that is cheap, else in twice the precision."""
    if affordable(problem) and problem.n_rows * problem.size * min(problem.n_rows, problem.size) <= DIRECT:
        found = stably(problem, alpha)
    else:
        diagonal = problem.centred_diagonal() + alpha
        most = max(max_iter - products, 1)
        found = corrected(problem, w, alpha, lambda g: g / diagonal, most, patience=most)
        found = found._replace(message=_message(products + found.products) + ", in twice the precision")
    return found._replace(products=products + found.products)


def _message(products: int) -> str:
    return f"conjugate gradients, {products} products"
