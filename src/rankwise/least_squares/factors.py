"""Ridge regression |t - Zw|² + α|w|² without normal equations, for columns of scales from 1e-160 to 1e150.

Z = Q R with the largest column first, and the columns beyond the rank k are combinations of the first k: in this order
of columns, R = R₁ [I B]. With p = [I B] w and I + BBᵀ = CCᵀ, a problem with k unknowns remains:

    |Qᵀt - R₁ p|² + α |C⁻¹ p|²,    w = [I B]ᵀ (CCᵀ)⁻¹ p

B is small because larger columns come first. Errors of Householder's method are relative to the size of each column,
so the scales of the columns do not matter; the squares of Z, which would lose the small ones, are never formed.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from rankwise.foundation.arrays import Floats, Ints

EPS = float(np.finfo(float).eps)
DEPENDENT = 64 * EPS  # times √rows: a remainder of a column below this share of it is rounding
AT_ONCE = 1 << 28  # operations between two checks for Ctrl-C, which compiled code cannot make


@dataclass(frozen=True)
class Factors:
    """order: of the columns; first: R₁; others: B; mixing: C; penalty: C⁻¹; targets: the first k of Qᵀt."""

    order: Ints
    first: Floats
    others: Floats
    mixing: Floats
    penalty: Floats
    targets: Floats

    def at(self, alpha: float) -> "Solver":
        """A solver, with T of TᵀT = R₁ᵀR₁ + α(CCᵀ)⁻¹."""
        rank = self.first.shape[0]
        stacked = np.vstack((self.first, np.sqrt(alpha) * self.penalty))
        Q, T = scipy.linalg.qr(stacked, mode="economic", overwrite_a=True, check_finite=False)
        return Solver(self, alpha, T, Q[:rank].T @ self.targets)


@dataclass(frozen=True)
class Solver:
    """Applies (ZᵀZ + αI)⁻¹; triangle: T; right: T p of the solution."""

    factors: Factors
    alpha: float
    triangle: Floats
    right: Floats

    @property
    def solution(self) -> Floats:
        """The minimiser w."""
        w = np.zeros(self.factors.order.size)
        w[self.factors.order] = self._spread(self._back(self.right))
        return w

    def __call__(self, g: Floats) -> Floats:
        """(ZᵀZ + αI)⁻¹ g: g is a combination of [I B] and one of what is orthogonal to it, on which Z is 0."""
        B, rank = self.factors.others, self.triangle.shape[0]
        sorted_g = g[self.factors.order]
        head, tail = sorted_g[:rank], sorted_g[rank:]
        combined = self._mixed(head + B @ tail)
        down = scipy.linalg.solve_triangular(self.triangle, combined, trans="T", check_finite=False)
        sorted_w = self._spread(self._back(down))
        null = tail - B.T @ head
        null = (null - B.T @ self._mixed(B @ null)) / self.alpha
        sorted_w[rank:] += null
        sorted_w[:rank] -= B @ null
        w = np.empty_like(g)
        w[self.factors.order] = sorted_w
        return w

    def _back(self, right: Floats) -> Floats:
        solved: Floats = scipy.linalg.solve_triangular(self.triangle, right, check_finite=False)
        return solved

    def _mixed(self, p: Floats) -> Floats:
        """(CCᵀ)⁻¹ p."""
        solved: Floats = scipy.linalg.cho_solve((self.factors.mixing, True), p, check_finite=False)
        return solved

    def _spread(self, p: Floats) -> Floats:
        """[I B]ᵀ (CCᵀ)⁻¹ p."""
        head = self._mixed(p)
        return np.concatenate((head, self.factors.others.T @ head))


def factorise(Zt: Floats) -> Factors:
    """The factors of Z, from the array [Z t]."""
    columns = np.array(Zt.T, order="C")
    order, rank = _triangularised(columns)
    R = columns[:-1, :rank].T
    first = R[:, :rank]
    others: Floats = scipy.linalg.solve_triangular(first, R[:, rank:], check_finite=False)
    mixing: Floats = scipy.linalg.cholesky(np.eye(rank) + others @ others.T, lower=True, check_finite=False)
    penalty: Floats = scipy.linalg.solve_triangular(mixing, np.eye(rank), lower=True, check_finite=False)
    return Factors(order, first, others, mixing, penalty, columns[-1, :rank])


def _triangularised(columns: Floats) -> tuple[Ints, int]:
    """The order of all columns but the last, and their rank; in place, the columns become those of R."""
    from rankwise.least_squares.pivoted_kernels import norms, triangularise

    order, n_rows = np.arange(columns.shape[0] - 1), columns.shape[1]
    whole = np.empty(order.size)
    norms(columns, whole)
    left, rounding = whole.copy(), DEPENDENT * np.sqrt(max(n_rows, 1))
    rank, most, step = 0, min(n_rows, order.size), max(1, AT_ONCE // max(columns.size, 1))
    for first in range(0, most, step):
        last = min(first + step, most)
        rank = triangularise(columns, order, whole, left, first, last, rounding)
        if rank < last:
            break
    return order, rank
