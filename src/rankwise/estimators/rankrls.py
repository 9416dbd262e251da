"""RankRLS: a linear ranker that regresses the differences of labels on differences of features, for every pair."""

import warnings
from dataclasses import fields
from typing import Any, Self

from sklearn.exceptions import ConvergenceWarning

from rankwise.estimators.base import Ranker
from rankwise.estimators.inputs import documents
from rankwise.foundation.arrays import Floats
from rankwise.foundation.devices import library_of
from rankwise.least_squares.regression import Regression
from rankwise.least_squares.solving import ENOUGH, Solution
from rankwise.rankers.rankrls import RankRLSOptions, concluded
from rankwise.solvers import Result


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
        "pairs": every pair weighs 1; "query": the pairs of a query weigh 1 / its number of documents, as in RLScore, or
        1 / the sum of its documents' weights.
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
        options = self.options
        options.check(X)
        at_host = library_of(X) is None
        fitted = options.fit(*self._checked(documents(X, y, qid, sample_weight))[:4])
        self._keep_fitted(fitted.at_host() if at_host else fitted, level=4)
        return self

    @property
    def options(self) -> RankRLSOptions:
        """The parameters as a value, which trains without scikit-learn."""
        return RankRLSOptions(**{field.name: getattr(self, field.name) for field in fields(RankRLSOptions)})


def prepared(ranker: Any, X: Any, y: Floats, qid: Any, sample_weight: Floats | None) -> Regression:
    """The regression that `ranker` stands for; a warning where there is nothing to learn."""
    options = RankRLSOptions(ties=ranker.ties, scaling=ranker.scaling, n_jobs=ranker.n_jobs)
    problem, remarks = options.problem(X, y, qid, sample_weight)
    ranker.n_queries_ = problem.starts.size - 1
    for remark in remarks:
        warnings.warn(remark, stacklevel=3)
    return problem


def told(name: str, problem: Regression, solution: Solution, tol: float = ENOUGH, level: int = 4) -> Result:
    """The result in the units of the data, and a warning if it has not converged."""
    result, failure = concluded(name, problem, solution, tol)
    if failure is not None:
        warnings.warn(failure, ConvergenceWarning, stacklevel=level)
    return result
