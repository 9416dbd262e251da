"""RankRLS: a linear ranker that regresses the differences of labels on differences of features, for every pair."""

import sys
import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankwise.estimators.base import Ranker, positive
from rankwise.estimators.inputs import documents
from rankwise.estimators.on_device import bring_back
from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.devices import library_of
from rankwise.least_squares.conjugate import by_conjugate_gradients
from rankwise.least_squares.regression import Regression, cheapest, regression
from rankwise.least_squares.solving import ENOUGH, Solution, by_dual, by_primal
from rankwise.least_squares.units import LEAST as LEAST_ALPHA
from rankwise.objective import losses
from rankwise.objective.stored import is_stored
from rankwise.pairs.preferences import Preferences
from rankwise.pairs.queries import Queries
from rankwise.solvers import make_solver
from rankwise.solvers.base import Result

SOLVERS = ("auto", "primal", "dual", "cg")
ON_DEVICE = {"auto": "auto", "primal": "newton", "cg": "trust-region-diagonal"}
LEAST = 1e-295  # scores so small have lost digits
LEAST_FEATURE = 1e-140  # beside an alpha that float64 cannot hold, features so small have weights that are not known
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
        All find the same weights, whatever the scales and offsets of the features: each solution is checked, and where
        rounding has spoilt it the problem is solved again by orthogonal factors (`least_squares.factors`). "primal"
        solves a system of n_features equations, "dual" one of n_documents, "cg" multiplies by X only. "auto" takes the
        one that costs least (`rankwise.least_squares.regression.cheapest`).
    tol : float, default=1e-8
        "cg" stops when the differences of scores within queries are estimated to be within `tol` of the exact ones,
        relative to their size; below 1e-9 it goes on as far as rounding allows, and 1e-9 counts as converged.
        "primal" and "dual" are within 1e-9, or warn.
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
        With solver "dual" only: coef_ = Xᵀ dual_coef_, as far as rounding allows on badly scaled features.
    n_iter_ : int
        Products taken by "cg", corrections of a solution solved again, else 1.
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
    takes_disk = True

    def __init__(
        self,
        alpha: float = 1.0,
        ties: str = "include",
        scaling: str = "pairs",
        solver: str = "auto",
        tol: float = 1e-8,
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

    def fit(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> Self:
        """Learn `coef_` from the rows X with labels y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_documents, n_features), RankingData, frame, or what `open_chunks` gives
            `fit(data)`, `fit(frame, y="label", qid="query")`: as in RankSVM. Rows on disk bring labels and query ids
            along, and are read part by part, again and again.
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
        if is_stored(X) and self.solver == "dual":
            raise ValueError("solver 'dual' takes rows in memory: give data.read(), or take 'auto'")
        X, y, qid, sample_weight, _ = self._checked(documents(X, y, qid, sample_weight))
        self.__dict__.pop("dual_coef_", None)
        if library_of(X):
            self._solve_on_device(X, y, qid, sample_weight, alpha)
            if at_host:
                bring_back(self)
            return self
        problem = prepared(self, X, y, qid, sample_weight)
        name = cheapest(X.shape[0], X.shape[1], X.size) if self.solver == "auto" else self.solver
        if is_stored(X) and name == "dual":
            name = "cg"
        try:
            solution = self._solve(problem, name, alpha)
        except ValueError:
            if is_stored(X):
                X.check_finite()  # a NaN on disk is found when it has spoilt the sums
            raise
        if name == "dual":
            units, found = problem.units, solution.dual
            dual = problem.dual(self.coef_, alpha) if found is None else units.dual(found)
            self.dual_coef_: Floats = in_rows_given(dual, qid)
        return self

    def _solve_on_device(self, X: Any, y: Any, qid: Any, sample_weight: Any, alpha: float) -> None:
        if self.solver not in ON_DEVICE:
            raise ValueError(f"solver {self.solver!r} takes arrays of NumPy only: for others take 'auto'")
        objective = prepared(self, X, y, qid, sample_weight).objective(alpha)
        tol, max_iter = positive("tol", self.tol), int(positive("max_iter", self.max_iter))
        # What f is above its optimum goes with the square of the scores' error, for which `tol` is meant.
        solver = make_solver(ON_DEVICE[self.solver], losses.squared(), X, tol=tol * tol, max_iter=max_iter)
        found = solver(objective)
        self.coef_, self.n_iter_ = found.point, found.iterations
        scale = 2 * alpha
        self.result_ = replace(found, value=scale * found.value, gradient_norm=scale * found.gradient_norm)

    def _solve(self, problem: Regression, name: str, alpha: float) -> Solution:
        """By "primal" or "dual" equations, or by "cg"."""
        scaled = float(problem.units.alpha(alpha))
        if name == "cg":
            tol, max_iter = positive("tol", self.tol), int(positive("max_iter", self.max_iter))
            solution = by_conjugate_gradients(problem, scaled, tol, max_iter)
        else:
            tol, max_iter = ENOUGH, sys.maxsize
            solution = (by_primal if name == "primal" else by_dual)(problem, scaled)
        stopped = f"max_iter = {max_iter} products were not enough" if solution.products >= max_iter else None
        self.result_ = told("RankRLS", problem, solution, tol, stopped)
        self.coef_, self.n_iter_ = self.result_.point, solution.products
        return solution


def prepared(ranker: Any, X: Any, y: Floats, qid: Any, sample_weight: Floats | None) -> Regression:
    """The regression that `ranker` stands for; a warning where there is nothing to learn."""
    options = {"ties": ranker.ties, "scaling": ranker.scaling, "n_jobs": ranker.n_jobs}
    problem = regression(X, y, qid, sample_weight, **options)
    ranker.n_queries_ = problem.starts.size - 1
    if not (Preferences(y, qid).any if library_of(X) else problem.any):
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


def told(
    name: str, problem: Regression, solution: Solution, tol: float = ENOUGH, stopped: str | None = None, level: int = 4
) -> Result:
    """The result in the units of the data. It has converged if it is within `tol`, or within `ENOUGH` if that is more;
    else a warning says why: what `stopped` the solver, or rounding.
    """
    at, units = solution.at, problem.units
    w, value = units.weights(at.point), units.value(at.value)
    norm = 2 * float(np.linalg.norm(at.gradient)) / units.x / units.y
    largest = float(np.max(np.abs(w) * (problem.largest / units.x), initial=0.0))  # of a score's terms
    lost = at.alpha <= LEAST_ALPHA and bool((problem.largest[problem.largest > 0] < LEAST_FEATURE).any())
    if lost or not np.isfinite(value + norm + largest + float(np.abs(w).sum())):
        raise ValueError(f"{name} overflows: scale the features or the labels to a usual size, by ScaledRanker say")
    if (at.point.any() or at.gradient.any()) and largest < LEAST:
        raise ValueError(f"{name}'s scores underflow: scale the features or the labels to a usual size")
    converged = solution.error <= max(tol, ENOUGH)
    if not converged:
        warn_of_error(name, solution.error, stopped, level + 1)
    return Result(w, value, norm, solution.products, converged, solution.message, history=[])


def warn_of_error(name: str, error: float, stopped: str | None = None, level: int = 3) -> None:
    rounding = f"rounding leaves a relative error of about {error:.0e} in its scores: scale the features"
    warnings.warn(f"{name} did not converge: {stopped or rounding}", ConvergenceWarning, stacklevel=level)
