"""Factorized RankSVM (Zhang et al., 2015): the dual's matrix of alphas has low rank, alpha_ij = v_i·v_j.

    minimise over V   ½|w|² + C Σ loss(w·x_i - w·x_j),   w = Σ alpha_ij (x_i - x_j),   sums over all pairs (i, j)

Nothing keeps these alphas positive, and V reaches every w in the span of the pairs as soon as there are some queries:
the minimum is RankSVM's own, and only the way there, or stopping on it, can tell the two rankers apart.
"""

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from rankwise.data.columns import ModelColumns, for_model
from rankwise.data.records import RankingData
from rankwise.estimators.base import Ranker
from rankwise.estimators.factorization import FactorizedRisk, Progress, descend, quasi_newton
from rankwise.estimators.inputs import documents, keep_columns, warn_of_query_ids
from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.threads import thread_count
from rankwise.metrics import Measure, OfQuery, evaluate, parse
from rankwise.objective import losses
from rankwise.objective.rows import MemoryRows
from rankwise.pairs.preferences import Preferences
from rankwise.pairs.queries import Queries
from rankwise.rankers.checks import positive
from rankwise.solvers import Result

START = 0.1  # standard deviation of the scores that the random start gives


class FactorizedRankSVM(Ranker):
    """½|w|² + C Σ loss(w·x_i - w·x_j) with w = Σ (v_i·v_j) (x_i - x_j): one vector v per training document.

    Parameters
    ----------
    n_components : int, default=10
        The length K of the vectors, a bound on the rank of the matrix of alphas.
    C : float, default=1.0
        Weight of the sum over the pairs.
    loss : str or Loss, default="hinge"
        The paper's is the hinge; any loss that RankSVM takes will do.
    solver : {"lbfgs", "gd"}, default="lbfgs"
        "gd" is the paper's gradient descent with a fixed step; "lbfgs" needs no step and far fewer iterations.
    learning_rate : float, default=1e-6
        The step of "gd". The gradient is a sum over pairs of pairs: try 1e-9 to 1e-3.
    init : "random" or array of shape (n_documents, n_components), default="random"
        Where to start. "random": normal numbers, scaled so that scores start with standard deviation 0.1. Zero is a
        stationary point and no place to start.
    max_iter : int, default=500
    tol : float, default=1e-5
        Stop when the objective has fallen by less than this share of itself in ten iterations.
    validation_fraction : float, default=None
        Hold out this share of the queries, stop when `measure` on them has not risen for `n_iter_no_change`
        iterations, and keep the best. None: no such stop, unless `fit` is given validation data.
    measure : str or callable, default="ndcg@10"
        A measure that `rankwise.evaluate` takes.
    n_iter_no_change : int, default=20
    random_state : int, RandomState or None, default=None
        For the start and the choice of queries held out.
    n_jobs : int, default=None
        Threads; None or -1 for all cores.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    latent_ : ndarray of shape (n_documents, n_components)
        The vectors v, 0 for documents held out.
    n_iter_ : int
    result_ : Result
        Value, gradient norm with respect to V, whether and why it stopped, and the history.
    validation_score_ : float
        The best `measure` on validation queries; only where there are some.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    Examples
    --------
    >>> from rankwise import load_sample
    >>> from rankwise.estimators.factorized import FactorizedRankSVM
    >>> data = load_sample()
    >>> ranker = FactorizedRankSVM(n_components=3, C=0.01, random_state=0).fit(data.X, data.y, data.qid)
    >>> ranker.latent_.shape == (len(data), 3)
    True
    """

    labels_by_order = True

    def __init__(
        self,
        n_components: int = 10,
        C: float = 1.0,
        loss: str | losses.Loss = "hinge",
        solver: str = "lbfgs",
        learning_rate: float = 1e-6,
        init: str | Array = "random",
        max_iter: int = 500,
        tol: float = 1e-5,
        validation_fraction: float | None = None,
        measure: str | Measure | OfQuery = "ndcg@10",
        n_iter_no_change: int = 20,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.C = C
        self.loss = loss
        self.solver = solver
        self.learning_rate = learning_rate
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.validation_fraction = validation_fraction
        self.measure = measure
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None, validation: Any = None) -> Self:
        """Learn `latent_` and `coef_` from the rows X with labels y; X, y, qid and sample_weight as in RankSVM.

        `validation`, a tuple (X, y, qid) or a RankingData, stops the fit as `validation_fraction` does, on queries of
        its own.
        """
        C, rate, tol = (positive(name, getattr(self, name)) for name in ("C", "learning_rate", "tol"))
        sizes = ("max_iter", "n_components", "n_iter_no_change")
        max_iter, n_components, patience = (int(positive(name, getattr(self, name))) for name in sizes)
        loss, measure = losses.parse(self.loss), parse(self.measure)
        if self.solver not in ("lbfgs", "gd"):
            raise ValueError(f"solver is {self.solver!r}: there are 'lbfgs' and 'gd'")
        if isinstance(sample_weight, tuple):
            raise ValueError("sample_weight is a tuple: validation data are given by name, validation=(X, y, qid)")
        X, y, qid, sample_weight, columns = documents(X, y, qid, sample_weight)
        warn_of_query_ids(X, qid)
        X, y, sample_weight = self._check_fit(X, y, sample_weight)
        validation = None if validation is None else self._checked_validation(validation, columns)
        keep_columns(self, columns)
        random = check_random_state(self.random_state)
        queries = Queries(qid, y.size)
        self.n_queries_ = len(queries)
        kept = np.ones(y.size, bool)
        if validation is None and self.validation_fraction is not None:
            kept = ~_held_out(queries, self.validation_fraction, random)
            validation = X[~kept], y[~kept], queries.codes[~kept]
        weights = None if sample_weight is None else sample_weight[kept]
        preferences = Preferences(y[kept], queries.codes[kept], weights, n_jobs=self.n_jobs)
        if not preferences.any:
            warnings.warn("no preference pair: no query has two different labels, so coef_ is 0", stacklevel=2)
        objective = FactorizedRisk(MemoryRows(X[kept], thread_count(self.n_jobs)), preferences, loss, C)
        start = self._start(objective, kept, n_components, random)
        progress = Progress(tol, _validator(validation, measure), patience)
        if self.solver == "gd":
            descend(objective, start, progress, max_iter, rate)
        else:
            quasi_newton(objective, start, progress, max_iter)
        self._keep(progress, kept)
        return self

    def _checked_validation(self, validation: Any, columns: ModelColumns | None) -> tuple[Any, Any, Any]:
        """(X, y, qid) of the validation data, their columns checked against those of the training data."""
        if isinstance(validation, RankingData):
            known = ModelColumns.of_data(validation) if columns is None else columns
            rows = for_model(validation, known, "validation")
            validation = rows.X, rows.y, rows.qid
        wanted: Any = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "reset": False}
        return validate_data(self, validation[0], **wanted), *validation[1:]

    def _start(self, objective: FactorizedRisk, kept: Array, n_components: int, random: Any) -> Floats:
        shape = (kept.size, n_components)
        if not isinstance(self.init, str):
            start = np.array(self.init, dtype=np.float64)
            if start.shape != shape or not np.isfinite(start).all():
                raise ValueError(f"init must be 'random' or finite numbers of shape {shape}, got shape {start.shape}")
            return start[kept]
        if self.init != "random":
            raise ValueError(f"init is {self.init!r}: there is 'random', or give an array of shape {shape}")
        V: Floats = random.standard_normal(shape)[kept]
        spread = float(objective.features.dot(objective.weights(V)).std())
        return V * np.sqrt(START / spread) if spread > 0 else V  # w is quadratic in V

    def _keep(self, progress: Progress, kept: Array) -> None:
        point, last = progress.point, progress.history[-1]
        assert point is not None
        self.latent_ = np.zeros((kept.size, point.latent.shape[1]))
        self.latent_[kept] = point.latent
        self.coef_ = point.weights
        self.n_iter_ = last.iteration
        ended = (last.iteration, progress.converged, progress.message)
        norm = float(np.linalg.norm(point.gradient))
        self.result_ = Result(point.latent, point.value, norm, *ended, history=progress.history)
        self.__dict__.pop("validation_score_", None)
        if progress.validate is not None:
            self.validation_score_ = progress.best_score
        if not progress.converged:
            warnings.warn(f"FactorizedRankSVM did not converge: {progress.message}", ConvergenceWarning, stacklevel=3)


def _held_out(queries: Queries, share: float, random: Any) -> Array:
    n = len(queries)
    if not 0 < share < 1:
        raise ValueError(f"validation_fraction must lie between 0 and 1, got {share!r}")
    if n < 2:
        raise ValueError("validation_fraction holds out whole queries and there is only one: give `validation` data")
    held = random.permutation(n)[: min(max(1, round(share * n)), n - 1)]
    found: Array = np.isin(queries.codes, held)
    return found


def _validator(data: Any, measure: Measure) -> Callable[[Floats], float] | None:
    if data is None:
        return None
    X, y, qid = data
    features = MemoryRows(X)
    return lambda w: evaluate(y, features.dot(w[:, None])[:, 0], qid, measure)[measure]
