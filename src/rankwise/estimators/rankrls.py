"""RankRLS: a linear ranker that regresses the differences of labels on differences of features, for every pair."""

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning

from rankwise import losses
from rankwise.arrays import Array, Floats
from rankwise.device import library_of
from rankwise.estimators.base import Ranker, positive, warn_of_query_ids
from rankwise.estimators.on_device import bring_back
from rankwise.least_squares.pairwise import pairwise
from rankwise.least_squares.regression import Regression, cheapest, regression
from rankwise.preferences import Preferences
from rankwise.queries import Queries
from rankwise.solvers import make_solver
from rankwise.solvers.base import Result
from rankwise.solvers.spectral import solve

SOLVERS = ("auto", "primal", "dual", "cg")
ON_DEVICE = {"auto": "auto", "primal": "newton", "cg": "trust-region-diagonal"}
NO_PAIR = "no preference pair: in every query all labels are equal; all weights are 0"


class RankRLS(Ranker):
    """Σ (y_i - y_j - (w·x_i - w·x_j))² + alpha |w|², the sum over the pairs of documents of one query.

    In closed form w = (XᵀLX + alpha I)⁻¹ XᵀLy with the Laplacian L of the graph of compared pairs, which is never
    formed (Pahikkala et al., 2007).

    Parameters
    ----------
    alpha : float, default=1.0
        Regularisation, the paper's λ. It weighs against a sum over all pairs: try 2^-15 to 2^10, or `RankRLSCV`.
    ties : {"include", "exclude"}, default="include"
        Whether pairs of equal labels count too; their scores are then drawn together.
    scaling : {"pairs", "query"}, default="pairs"
        "pairs": every pair weighs 1; "query": the pairs of a query weigh 1 / its number of documents, as in RLScore.
    solver : {"auto", "primal", "dual", "cg"}, default="auto"
        All find the same weights. "primal" solves a system of n_features equations, "dual" one of n_documents, "cg"
        multiplies by X only. "auto" takes the one that costs least (`rankwise.least_squares.regression.cheapest`).
    tol : float, default=1e-6
        "cg" stops when the residual's norm is at most `tol` times that at zero.
    max_iter : int, default=10000
        Products "cg" may take; not to have converged by then is a ConvergenceWarning.
    n_jobs : int, default=None
        Threads; None or -1 for all cores. The result does not depend on it.
    device : str, default=None
        Where to move arrays of NumPy for the fit, as in RankSVM. There, and for arrays of torch and CuPy, it is solved
        as a problem over pairs, by solver "auto", "primal" (Newton's method) or "cg" (in a trust region).

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Of NumPy, or where X lay if that was an array of torch or CuPy.
    dual_coef_ : ndarray of shape (n_documents,)
        With solver "dual" only: coef_ = Xᵀ dual_coef_.
    n_iter_ : int
        Products taken by "cg", else 1.
    result_ : Result
        Value of the objective, norm of its gradient, whether and why the solver stopped.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    Examples
    --------
    >>> from rankwise import load_sample
    >>> from rankwise.estimators.rankrls import RankRLS
    >>> data = load_sample()
    >>> ranker = RankRLS(alpha=10).fit(data.X, data.y, data.qid)
    >>> ranker.predict(data.X[:2]).shape
    (2,)
    """

    takes_devices = True

    def __init__(
        self,
        alpha: float = 1.0,
        ties: str = "include",
        scaling: str = "pairs",
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 10_000,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.alpha = alpha
        self.ties = ties
        self.scaling = scaling
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.device = device

    def fit(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None) -> Self:
        """Learn `coef_` from the rows X with labels y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_documents, n_features)
        y : array of shape (n_documents,)
            Any real numbers; their differences within a query are what is learnt.
        qid : array of shape (n_documents,), default=None
            Query ids of any type, in any order; None: all documents belong to one query.
        sample_weight : array of shape (n_documents,), default=None
            The pair of i and j weighs sample_weight[i] * sample_weight[j].
        """
        alpha = positive("alpha", self.alpha)
        if self.solver not in SOLVERS:
            raise ValueError(f"solver is {self.solver!r}: there are {', '.join(map(repr, SOLVERS))}")
        at_host = library_of(X) is None
        warn_of_query_ids(X, qid)
        X, y, sample_weight = self._check_fit(X, y, sample_weight)
        self.__dict__.pop("dual_coef_", None)
        if library_of(X):
            self._solve_on_device(X, y, qid, sample_weight, alpha)
            if at_host:
                bring_back(self)
            return self
        problem = prepared(self, X, y, qid, sample_weight)
        name = cheapest(X.shape[0], X.shape[1], X.size) if self.solver == "auto" else self.solver
        if name != "dual":
            return self._solve(problem, name, alpha)
        dual = problem.comparisons.transposed_root(solve(*problem.gram(), alpha))
        self.coef_ = problem.features.transposed_dot(dual)
        self.dual_coef_: Floats = in_rows_given(dual, qid)
        self.n_iter_ = 1
        self.result_ = outcome(problem, self.coef_, alpha, (1, True, "solved by dual equations"))
        return self

    def _solve_on_device(self, X: Any, y: Any, qid: Any, sample_weight: Any, alpha: float) -> None:
        if self.solver not in ON_DEVICE:
            raise ValueError(f"solver {self.solver!r} takes arrays of NumPy only: for others take 'auto'")
        objective = pairwise(X, y, qid, sample_weight, alpha, ties=self.ties, scaling=self.scaling)
        self.n_queries_ = objective.risk.starts.size - 1
        if not Preferences(y, qid).any:
            warnings.warn(NO_PAIR, stacklevel=3)
        tol, max_iter = positive("tol", self.tol), int(positive("max_iter", self.max_iter))
        solver = make_solver(ON_DEVICE[self.solver], losses.squared(), X, tol=min(tol, 1e-9), max_iter=max_iter)
        found = solver(objective)
        self.coef_, self.n_iter_ = found.point, found.iterations
        scaled = {"value": 2 * alpha * found.value, "gradient_norm": 2 * alpha * found.gradient_norm}
        self.result_ = replace(found, **scaled)

    def _solve(self, problem: Any, name: str, alpha: float) -> Self:
        """By "primal" equations, or by "cg"."""
        message, converged, self.n_iter_ = "solved by primal equations", True, 1
        if name == "primal":
            normal = problem.normal_matrix()
            self.coef_ = solve(normal[:-1, :-1], normal[:-1, -1], alpha)
        else:
            max_iter = int(positive("max_iter", self.max_iter))
            self.coef_, self.n_iter_ = _conjugate_gradients(problem, alpha, positive("tol", self.tol), max_iter)
            converged = self.n_iter_ < max_iter
            message = f"conjugate gradients, {self.n_iter_} products"
        self.result_ = outcome(problem, self.coef_, alpha, (self.n_iter_, converged, message))
        if not converged:
            text = f"RankRLS did not converge: max_iter = {max_iter} products were not enough"
            warnings.warn(text, ConvergenceWarning, stacklevel=3)
        return self


def prepared(ranker: Any, X: Any, y: Floats, qid: Any, sample_weight: Floats | None) -> Regression:
    """The regression that `ranker` stands for; a warning where there is nothing to learn."""
    options = {"ties": ranker.ties, "scaling": ranker.scaling, "n_jobs": ranker.n_jobs}
    problem = regression(X, y, qid, sample_weight, **options)
    ranker.n_queries_ = problem.starts.size - 1
    first = problem.starts[:-1]
    if (np.minimum.reduceat(problem.labels, first) == np.maximum.reduceat(problem.labels, first)).all():
        warnings.warn(NO_PAIR, stacklevel=3)
    return problem


def in_rows_given(values: Array, qid: Any) -> Array:
    """`values` of the rows query after query, in the order in which the rows were given."""
    rows = Queries(qid, values.shape[0]).rows
    if rows is None:
        return values
    out = np.empty_like(values)
    out[rows] = values
    return out


def outcome(problem: Any, w: Floats, alpha: float, ended: tuple[int, bool, str]) -> Result:
    value, gradient = problem.at(w, alpha)
    return Result(w, value, float(np.linalg.norm(gradient)), *ended, history=[])


def _conjugate_gradients(problem: Any, alpha: float, tol: float, max_iter: int) -> tuple[Floats, int]:
    """The solution and the number of products, preconditioned by a near diagonal of the matrix."""
    products = 0

    def multiply(v: Floats) -> Floats:
        nonlocal products
        products += 1
        product: Floats = problem.product(v) + alpha * v
        return product

    diagonal = problem.diagonal() + alpha
    square = (problem.size, problem.size)
    matrix = LinearOperator(square, matvec=multiply, dtype=np.float64)
    preconditioner = LinearOperator(square, matvec=lambda v: v / diagonal, dtype=np.float64)
    w, _ = cg(matrix, problem.right(), rtol=tol, atol=0.0, maxiter=max_iter, M=preconditioner)
    return w, max(products, 1)
