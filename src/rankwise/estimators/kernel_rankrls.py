"""Kernel RankRLS: least squares on differences of labels in the space of a kernel; all alphas share a decomposition."""

import warnings
from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankwise.estimators.inputs import Column, Ids, documents, keep_columns, warn_of_query_ids
from rankwise.estimators.kernel import EPS, KernelRanker, lost_digits
from rankwise.estimators.rankrls import prepared, told
from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.devices import library_of, to_host
from rankwise.kernel_maps.kernel import Objects
from rankwise.least_squares.paths import TRUSTED, by_factors, by_normal
from rankwise.least_squares.regression import regression
from rankwise.least_squares.solving import from_normal, stably
from rankwise.model_selection.splits import Seed
from rankwise.pairs.queries import QueryIds
from rankwise.rankers.checks import positive
from rankwise.rankers.models import Params
from rankwise.rankers.rankrls import not_converged

DIGITS = 1e-7  # error of the differences of scores, relative to their size, up to which no warning is given


class KernelRankRLS(KernelRanker):
    """Σ (y_i - y_j - (f(x_i) - f(x_j)))² + alpha |f|², the sum over the pairs of documents of one query.

    Parameters
    ----------
    alpha : float or array of shape (n_alphas,), default=1.0
        Regularisation. Several alphas share one eigendecomposition; `predict` then returns one column per alpha.
    kernel, gamma, degree, coef0, kernel_params, n_components, landmarks, random_state : as for KernelRankSVM
    ties, scaling, n_jobs : as for RankRLS

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_references,) or (n_references, n_alphas)
        score(x) = Σ dual_coef_[r] * kernel(x, X_fit_[r]).
    X_fit_, support_, map_ : as for KernelRankSVM
    result_ : Result
        Value of the objective and norm of its gradient; only if alpha is a single number.

    Examples
    --------
    >>> from rankwise import KernelRankRLS, load_sample
    >>> data = load_sample("test")
    >>> ranker = KernelRankRLS(alpha=[0.1, 1.0, 10.0]).fit(data.X, data.y, data.qid)
    >>> ranker.predict(data.X[:2]).shape
    (2, 3)
    """

    def __init__(
        self,
        kernel: str | Callable[..., float] = "rbf",
        alpha: float | Sequence[float] | Array = 1.0,
        ties: str = "include",
        scaling: str = "pairs",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Params | None = None,
        n_components: int | None = None,
        landmarks: str = "random",
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.ties = ties
        self.scaling = scaling
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.landmarks = landmarks
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Objects, y: Column = None, qid: Ids = None, sample_weight: Column = None) -> Self:
        """Learn `dual_coef_` from objects X with labels y; arguments as for RankRLS."""
        strengths = np.asarray(self.alpha, dtype=object)
        single = strengths.ndim == 0
        alphas = np.array([positive("alpha", alpha) for alpha in np.atleast_1d(strengths)])
        if alphas.size == 0:
            raise ValueError("alpha is empty: give at least one")
        given = documents(X, y, qid, sample_weight)
        warn_of_query_ids(given.X, given.qid)
        rows, features, labels, weights = self._mapped(given.X, given.y, given.sample_weight)
        features = to_host(features) if library_of(features) else features
        problem = prepared(self, features, labels, given.qid, weights)
        scaled = problem.units.alpha(alphas)
        # One large product: block by block, the d × d matrix of sums would be read and written for every block.
        Z = problem.comparisons.root(problem.whole.rows.X)
        A, b = Z.T @ Z, Z.T @ problem.comparisons.root(problem.targets)
        self.__dict__.pop("result_", None)
        if single:
            solution = from_normal(problem, A, b, float(scaled[0])) or stably(problem, float(scaled[0]))
            solution = solution._replace(message="solved by one factorisation")
            self.result_ = told("KernelRankRLS", problem, solution, level=3)
            w: Floats = self.result_.point
        else:
            solutions = by_normal(problem, A, b, scaled) or by_factors(problem, scaled)
            w = problem.units.weights(solutions.points)
            if (worst := float(solutions.errors.max())) > TRUSTED:
                warnings.warn(not_converged("KernelRankRLS", worst), ConvergenceWarning, stacklevel=2)
        self.dual_coef_ = self.map_.coefficients(w)
        largest = float(np.square(features).sum(axis=1).max())
        digits_lost = self._rounds(features @ w, largest)
        if self.kernel == "linear" and self.n_components is None:
            digits_lost = digits_lost or self._misses(rows, labels, given.qid, weights, alphas)
        keep_columns(self, given.columns)
        if digits_lost:
            lost_digits(self)
        return self

    def _rounds(self, scores: Floats, largest: float) -> bool:
        """Whether kernel values are so much larger than the differences of scores that rounding spoils these."""
        lost = 4 * EPS * largest * float(np.linalg.norm(self.dual_coef_, axis=0).max(initial=0.0))
        spread = float(np.ptp(scores, axis=0).min(initial=np.inf))
        return lost > DIGITS * spread > 0

    def _misses(
        self, X: Objects, y: Floats, qid: QueryIds | None, sample_weight: Floats | None, alphas: Floats
    ) -> bool:
        """Whether the weights of a linear kernel ignore features that were lost when kernel values were rounded.

        Kernel values do not show this. The gradient divided by the diagonal of XᵀLX + αI does: it is about the error
        of the weights.
        """
        problem = regression(
            to_host(X) if library_of(X) else X,
            y,
            qid,
            sample_weight,
            ties=self.ties,
            scaling=self.scaling,
            n_jobs=self.n_jobs,
        )
        weights = np.atleast_2d((self.X_fit_.T @ self.dual_coef_).T) * problem.units.y / problem.units.x
        diagonal = problem.centred_diagonal()
        for w, alpha in zip(weights, problem.units.alpha(alphas), strict=True):
            at = problem.twofold_at(np.ascontiguousarray(w), float(alpha))
            off = float(diagonal @ np.square(at.gradient / (diagonal + alpha)))
            if off > DIGITS**2 * at.moved:
                return True
        return False
