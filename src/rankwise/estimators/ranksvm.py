"""RankSVM: a linear ranker that minimises ½|w|² + C Σ loss(w·x_i - w·x_j) over all preference pairs (i, j)."""

import sys
import warnings
from typing import Any, Self

from sklearn.exceptions import ConvergenceWarning

from rankwise import losses
from rankwise.estimators.base import Ranker, positive
from rankwise.objective import build
from rankwise.solvers import SOLVERS, Callback, Result, Step, cheapest


class RankSVM(Ranker):
    """½|w|² + C Σ loss(w·x_i - w·x_j), the sum over all pairs of documents of one query with y_i > y_j.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the sum over the pairs. The more pairs, the smaller a good C: try 2^-15 to 2^10.
    loss : str, default="squared_hinge"
        "squared_hinge": max(0, 1 - margin)²; "huber:h": the hinge with its corner rounded over the width h.
    solver : {"auto", "newton", "trust-region"}, default="auto"
        "newton" writes the Hessian out, "trust-region" multiplies by it; both find the same optimum. "auto" takes
        the one that costs less (see `rankwise.solvers.cheapest`).
    tol : float, default=1e-3
        Stop when the gradient's norm is at most `tol` times its norm at zero.
    max_iter : int, default=1000
        Newton steps at most; not to have converged by then is a ConvergenceWarning.
    n_jobs : int, default=None
        Threads; None or -1 for all cores. The result does not depend on it, to the last bit.
    verbose : int, default=0
        1: a line a step on stderr.
    warm_start : bool, default=False
        Start from the last `coef_`.
    callback : callable, default=None
        Called with every `rankwise.solvers.Step`; a true answer stops the fit.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    n_iter_ : int
        Newton steps taken.
    result_ : Result
        Value of the objective, gradient norm, whether and why the solver stopped, and its history.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    Examples
    --------
    >>> import rankwise
    >>> data = rankwise.load_sample()
    >>> ranker = rankwise.RankSVM(C=0.01).fit(data.X, data.y, data.qid)
    >>> ranker.predict(data.X[:2]).shape
    (2,)
    """

    def __init__(
        self,
        C: float = 1.0,
        loss: str = "squared_hinge",
        solver: str = "auto",
        tol: float = 1e-3,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        verbose: int = 0,
        warm_start: bool = False,
        callback: Callback | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.warm_start = warm_start
        self.callback = callback

    def fit(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None) -> Self:
        """Learn `coef_` from the rows X with labels y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_documents, n_features)
        y : array of shape (n_documents,)
            Any real numbers; only their order within a query counts.
        qid : array of shape (n_documents,), default=None
            Query ids of any type, in any order; None: all documents belong to one query.
        sample_weight : array of shape (n_documents,), default=None
            The pair (i, j) weighs sample_weight[i] * sample_weight[j].
        """
        C, tol, max_iter = positive("C", self.C), positive("tol", self.tol), int(positive("max_iter", self.max_iter))
        loss = losses.parse(self.loss)
        if self.solver not in ("auto", *SOLVERS):
            raise ValueError(f"solver is {self.solver!r}: there are 'auto', {', '.join(map(repr, SOLVERS))}")
        X, y, sample_weight = self._check_fit(X, y, sample_weight)
        objective = build(X, y, qid, sample_weight, loss=loss, C=C, n_jobs=self.n_jobs)
        name = cheapest(X.shape[0], X.shape[1], X.size) if self.solver == "auto" else self.solver
        solver = SOLVERS[name](tol=tol, max_iter=max_iter)
        start = self.coef_ if self.warm_start and hasattr(self, "coef_") else None
        if start is not None and start.size != X.shape[1]:
            raise ValueError(f"warm_start: the last fit had {start.size} features, X has {X.shape[1]}")
        if not objective.preferences.any:
            warnings.warn("no preference pair: in every query all labels are equal; all weights are 0", stacklevel=2)
        self.result_: Result = solver(objective, start, self._report)
        self.coef_ = self.result_.point
        self.n_iter_ = self.result_.iterations
        if not self.result_.converged:
            warnings.warn(f"RankSVM did not converge: {self.result_.message}", ConvergenceWarning, stacklevel=2)
        return self

    def _report(self, step: Step) -> Any:
        if self.verbose:
            line = f"{step.iteration:4d}  objective {step.value:.9g}  gradient {step.gradient_norm:.3g}  {step.detail}"
            print(line, file=sys.stderr)
        return self.callback(step) if self.callback is not None else None
