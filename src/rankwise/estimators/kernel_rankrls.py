"""Kernel RankRLS: least squares on differences of labels in a kernel's space, every alpha from one decomposition."""

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from rankwise.estimators.inputs import documents, keep_columns, warn_of_query_ids
from rankwise.estimators.kernel import KernelRanker
from rankwise.estimators.rankrls import prepared, told
from rankwise.foundation.arrays import Floats
from rankwise.foundation.devices import library_of, to_host
from rankwise.least_squares.paths import TRUSTED, by_factors, by_normal
from rankwise.least_squares.regression import regression
from rankwise.least_squares.solving import from_normal, stably
from rankwise.rankers.checks import positive
from rankwise.rankers.rankrls import not_converged

EPS = float(np.finfo(float).eps)
DIGITS = 1e-7  # error of the differences of scores, relative to their size, up to which no warning is given


class KernelRankRLS(KernelRanker):
    """Σ (y_i - y_j - (f(x_i) - f(x_j)))² + alpha |f|², the sum over the pairs of documents of one query.

    Parameters
    ----------
    alpha : float or array of shape (n_alphas,), default=1.0
        Regularisation. Several of them cost one eigendecomposition in all; `predict` then gives a column for each.
    kernel, gamma, degree, coef0, kernel_params, n_components, landmarks, random_state : as for KernelRankSVM
    ties, scaling, n_jobs : as for RankRLS

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_references,) or (n_references, n_alphas)
        score(x) = Σ dual_coef_[r] * kernel(x, X_fit_[r]).
    X_fit_, support_, map_ : as for KernelRankSVM
    result_ : Result
        Value of the objective and norm of its gradient; only where alpha is a single number.

    Examples
    --------
    >>> from rankwise import load_sample
    >>> from rankwise.estimators.kernel_rankrls import KernelRankRLS
    >>> data = load_sample()
    >>> ranker = KernelRankRLS(alpha=[0.1, 1.0, 10.0]).fit(data.X, data.y, data.qid)
    >>> ranker.predict(data.X[:2]).shape
    (2, 3)
    """

    def __init__(
        self,
        kernel: str | Callable[..., float] = "rbf",
        alpha: Any = 1.0,
        ties: str = "include",
        scaling: str = "pairs",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        n_components: int | None = None,
        landmarks: str = "random",
        random_state: Any = None,
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

    def fit(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> Self:
        """Learn `dual_coef_` from objects X with labels y; arguments as for RankRLS."""
        single = np.ndim(self.alpha) == 0
        alphas = np.array([positive("alpha", alpha) for alpha in ([self.alpha] if single else self.alpha)])
        if alphas.size == 0:
            raise ValueError("alpha is empty: give at least one")
        X, y, qid, sample_weight, columns = documents(X, y, qid, sample_weight)
        warn_of_query_ids(X, qid)
        features, y, sample_weight = self._mapped(X, y, sample_weight)
        features = to_host(features) if library_of(features) else features
        problem = prepared(self, features, y, qid, sample_weight)
        scaled = problem.units.alpha(alphas)
        # One product of large matrices: block by block, a matrix as large as this would be read and written each time.
        Z = problem.comparisons.root(problem.whole.rows.X)
        A, b = Z.T @ Z, Z.T @ problem.comparisons.root(problem.targets)
        self.__dict__.pop("result_", None)
        if single:
            solution = from_normal(problem, A, b, float(scaled[0])) or stably(problem, float(scaled[0]))
            solution = solution._replace(message="solved by one factorisation")
            self.result_ = told("KernelRankRLS", problem, solution, level=3)
            w: Floats = self.result_.point
        else:
            found = by_normal(problem, A, b, scaled) or by_factors(problem, scaled)
            w = problem.units.weights(found.points)
            if (worst := float(found.errors.max())) > TRUSTED:
                warnings.warn(not_converged("KernelRankRLS", worst), ConvergenceWarning, stacklevel=2)
        self.dual_coef_ = self.map_.coefficients(w)
        largest = float(np.square(features).sum(axis=1).max())
        digits_lost = self._rounds(features @ w, largest)
        if self.kernel == "linear" and self.n_components is None:
            digits_lost = digits_lost or self._misses(X, y, qid, sample_weight, alphas)
        keep_columns(self, columns)
        if digits_lost:
            warnings.warn(
                f"KernelRankRLS loses digits: beside kernel values of up to {largest:.0e} features of small scale are "
                "within rounding; scale the features, or take RankRLS if the kernel is linear",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _rounds(self, scores: Floats, largest: float) -> bool:
        """Whether kernel values are so large beside the differences of scores that rounding spoils these."""
        lost = 4 * EPS * largest * float(np.linalg.norm(self.dual_coef_, axis=0).max(initial=0.0))
        spread = float(np.ptp(scores, axis=0).min(initial=np.inf))
        return lost > DIGITS * spread > 0

    def _misses(self, X: Any, y: Floats, qid: Any, sample_weight: Floats | None, alphas: Floats) -> bool:
        """Whether the weights of a linear kernel miss features that its values have rounded away.

        The kernel cannot tell, but the gradient over the diagonal of XᵀLX + αI is about the error of the weights.
        """
        rows = validate_data(self, to_host(X) if library_of(X) else X, **self._rows_wanted(), reset=False)
        problem = regression(rows, y, qid, sample_weight, ties=self.ties, scaling=self.scaling, n_jobs=self.n_jobs)
        weights = np.atleast_2d((self.X_fit_.T @ self.dual_coef_).T) * problem.units.y / problem.units.x
        diagonal = problem.centred_diagonal()
        for w, alpha in zip(weights, problem.units.alpha(alphas), strict=True):
            at = problem.twofold_at(np.ascontiguousarray(w), float(alpha))
            off = float(diagonal @ np.square(at.gradient / (diagonal + alpha)))
            if off > DIGITS**2 * at.moved:
                return True
        return False
