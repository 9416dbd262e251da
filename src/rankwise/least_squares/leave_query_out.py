"""Scores of each query by a model trained without it, for every alpha and without fitting again.

L is block diagonal by query, so leaving out a query leaves out a block of rows of Z (see `least_squares.spectral`).
This divides by what the other queries contribute in each direction, relative to all queries together, and a small share
costs digits. The product of these shares is the ratio of two determinants; if it is too small, the model is fitted
again.
"""

import numpy as np
import scipy

from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.threads import one_blas_thread, share
from rankwise.least_squares.factors import factorise
from rankwise.least_squares.parts import narrowed
from rankwise.least_squares.paths import Path
from rankwise.least_squares.regression import Regression
from rankwise.least_squares.solving import unit_diagonal
from rankwise.least_squares.spectral import Spectrum, left_out, reduction_pays

LEAST_SHARE = np.log(1e-6)  # least logarithm of the product of shares (see above); below it models are refitted
# If a query's common score is larger than this many times the differences within it, only the differences are returned.
MOST_OFFSET = 1e6


def leave_query_out(problem: Regression, path: Path, alphas: Floats) -> Floats:
    """The score of each document by the model without its query, one column per alpha.

    Alpha and scores are in the units of the problem. If an offset would cost the digits of their differences, scores
    are relative to that of the query's first document.
    """
    out = np.empty((problem.labels.size, alphas.size))
    refit = np.ones(problem.starts.size - 1, bool)
    if path.penalty:
        _by_penalty(problem, alphas, out, (0, refit.size), np.zeros(problem.size))
        return out
    if path.spectrum is not None and path.contrasts is not None:
        refit = _by_contrasts(problem, path, alphas, out)
    elif path.spectrum is not None and path.normal is not None:
        refit = _by_normal(problem, path.normal, path.spectrum, alphas, out)
    if refit.any():
        with one_blas_thread():
            _refitted(problem, alphas, out, refit, (0, refit.size), [])
    return out


def _by_normal(problem: Regression, normal: Floats, spectrum: Spectrum, alphas: Floats, out: Floats) -> Array:
    """Fills `out`; True for queries whose models must be fitted again."""
    sizes = np.diff(problem.starts)
    varying = np.append(np.flatnonzero(np.diag(normal)[:-1]), problem.size)  # others are constant in every query
    normal = np.ascontiguousarray(normal[np.ix_(varying, varying)])
    reducible = reduction_pays(sizes, varying.size, alphas.size)
    shares = np.zeros(sizes.size)
    least = float(alphas.min())
    gains = 1.0 / (spectrum.values + least)
    whole = _Determinant(normal[:-1, :-1], least)

    def work(piece: tuple[int, int]) -> None:
        rows = problem.whole.matrices(*piece)
        scores, starts = out[rows.place], problem.starts[piece[0] : piece[1] + 1] - problem.starts[piece[0]]
        blocks = np.stack((starts[:-1], starts[1:]), axis=1)
        by_reduction = reducible[piece[0] : piece[1]]
        if by_reduction.any():
            from rankwise.least_squares.spectral_kernels import reduced

            Xy, Zt = (_columns(values, varying) for values in (rows.Xy, rows.Zt))
            reduced(normal, Xy, Zt, blocks[by_reduction], alphas, scores)
            for q in np.flatnonzero(by_reduction):
                shares[piece[0] + q] = whole.share_without(Zt[slice(*blocks[q]), :-1])
        for q in np.flatnonzero(~by_reduction):
            some = slice(*blocks[q])
            X, F = (values[some, :-1] @ spectrum.basis for values in (rows.Xy, rows.Zt))
            scores[some] = X @ left_out(spectrum, F, alphas, rows.Zt[some, -1])
            shares[piece[0] + q] = np.linalg.slogdet(np.eye(F.shape[0]) - (F * gains) @ F.T)[1]

    with one_blas_thread():
        share(work, problem.whole.pieces, problem.whole.rows.n_threads)
    refit: Array = ~(shares >= LEAST_SHARE)
    return refit


class _Determinant:
    """The determinant of A + αI, scaled to a diagonal of 1, and its change if some rows are left out."""

    def __init__(self, A: Floats, alpha: float) -> None:
        self.matrix, self.scale = unit_diagonal(A, alpha)
        self.log_determinant = _log_determinant(self.matrix)

    def share_without(self, Z: Floats) -> float:
        """The logarithm of det(A - ZᵀZ + αI) / det(A + αI)."""
        scaled = Z * self.scale
        return _log_determinant(self.matrix - scaled.T @ scaled) - self.log_determinant


def _log_determinant(A: Floats) -> float:
    factor, failed = scipy.linalg.lapack.dpotrf(A, lower=1, clean=0)
    return -np.inf if failed else 2.0 * float(np.log(factor.diagonal()).sum())


def _by_contrasts(problem: Regression, path: Path, alphas: Floats, out: Floats) -> Array:
    """Fills `out`; True for queries whose models must be fitted again."""
    spectrum, contrasts = path.spectrum, path.contrasts
    refit = np.zeros(problem.starts.size - 1, bool)
    assert spectrum is not None
    assert contrasts is not None

    def work(piece: tuple[int, int]) -> None:
        rows = problem.whole.matrices(*piece)
        for q in range(*piece):
            first, last = problem.starts[q : q + 2] - problem.starts[piece[0]]
            try:
                points = contrasts.left_out(q, alphas)
            except np.linalg.LinAlgError:  # alpha is within the rounding error of the largest eigenvalues
                refit[q] = True
                continue
            out[problem.starts[q] : problem.starts[q + 1]] = (rows.Xy[first:last, :-1] @ spectrum.basis) @ points

    with one_blas_thread():
        share(work, problem.whole.pieces, problem.whole.rows.n_threads)
    return refit


def _by_penalty(problem: Regression, alphas: Floats, out: Floats, among: tuple[int, int], others: Floats) -> None:
    """Scores of the queries `among` by Zᵀt / α of all other queries; `others` is Zᵀt of those not among them.

    Zᵀt is only added, never subtracted: a query that dominates the others would cost digits.
    """
    if among[1] - among[0] == 1:
        _score(problem, among, others[:, None] / alphas, out)
        return
    for half, rest in _halves(*among):
        _by_penalty(problem, alphas, out, half, others + problem.whole.pull(*rest))


def _refitted(
    problem: Regression, alphas: Floats, out: Floats, wanted: Array, among: tuple[int, int], others: list[Floats]
) -> None:
    """Scores of the `wanted` queries `among` all, by refitted models; `others` is [Z t] of the rest, compressed."""
    if not wanted[slice(*among)].any():
        return
    if among[1] - among[0] > 1:
        for half, rest in _halves(*among):
            if wanted[slice(*half)].any():
                _refitted(problem, alphas, out, wanted, half, [narrowed([*others, problem.whole.compressed(*rest)])])
        return
    factors = factorise(others[0] if others else np.zeros((1, problem.size + 1)))
    _score(problem, among, np.column_stack([factors.at(float(alpha)).solution for alpha in alphas]), out)


def _halves(first: int, last: int) -> tuple[tuple[tuple[int, int], tuple[int, int]], ...]:
    """Each half, paired with the other one."""
    middle = (first + last) // 2
    return ((first, middle), (middle, last)), ((middle, last), (first, middle))


def _score(problem: Regression, query: tuple[int, int], points: Floats, out: Floats) -> None:
    """The scores of one query, one column per column of `points`."""
    rows = problem.whole.matrices(*query)
    X = rows.Xy[:, :-1]
    scores, base = (X - X[0]) @ points, X[0] @ points
    shown = np.abs(base) <= MOST_OFFSET * np.abs(scores).max(axis=0)
    out[rows.place] = scores + np.where(shown, base, 0.0)


def _columns(values: Floats, chosen: Ints) -> Floats:
    return values if chosen.size == values.shape[1] else np.ascontiguousarray(values[:, chosen])
