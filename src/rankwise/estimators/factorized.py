"""Factorized RankSVM (Zhang et al., 2015): the dual's matrix of alphas has low rank, alpha_ij = v_i·v_j.

    minimise over V   ½|w|² + C Σ loss(w·x_i - w·x_j),   w = Σ alpha_ij (x_i - x_j),   sums over all pairs (i, j)

The alphas are not constrained to be positive, and w depends only on their sums per document. One component less than
there are labels therefore reaches every w in the span of the pairs (docs/factorized.md): the minimum is that of
RankSVM, and the rankers differ only if the descent is stopped before it.
"""

import warnings
from collections.abc import Callable
from typing import Self, TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from rankwise.data.columns import ModelColumns, for_model
from rankwise.data.records import RankingData
from rankwise.estimators.base import Ranker
from rankwise.estimators.factorization import FactorizedRisk, Progress, descend, quasi_newton
from rankwise.estimators.inputs import Column, Data, Ids, documents, groups_of, keep_columns, warn_of_query_ids
from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.devices import HostMatrix, Numbers
from rankwise.foundation.names import one_of
from rankwise.metrics import Measure, OfQuery, default_measure, evaluate, parse
from rankwise.model_selection.splits import Seed
from rankwise.objective import losses
from rankwise.objective.building import divisor, rows_of
from rankwise.objective.rows import MemoryRows
from rankwise.pairs.preferences import Preferences
from rankwise.pairs.queries import Queries, QueryIds
from rankwise.rankers.checks import NO_PAIR, positive
from rankwise.rankers.ranksvm import flat_loss_remark, strength
from rankwise.solvers import Result
from rankwise.solvers.base import may_overflow

START = 0.1  # standard deviation of the scores at the random start

Labelled: TypeAlias = tuple[HostMatrix, Numbers, QueryIds | None]  # X, y, qid of the validation data


class FactorizedRankSVM(Ranker):
    """½|w|² + C Σ loss(w·x_i - w·x_j) with w = Σ (v_i·v_j) (x_i - x_j): one vector v per training document.

    Parameters
    ----------
    n_components : int, default=10
        The length K of the vectors, which bounds the rank of the matrix of alphas.
    C : float or "auto", default=1.0
        Weight of the sum over the pairs; "auto" is 30 divided by their number.
    loss : str or Loss, default="hinge"
        The paper uses the hinge; every loss of RankSVM is possible.
    solver : {"lbfgs", "gd"}, default="lbfgs"
        "gd" is the paper's gradient descent with a fixed step; "lbfgs" needs no step and far fewer iterations.
    learning_rate : float, default=1e-6
        The step size of "gd". The gradient is a sum over pairs of pairs, so it is large: try 1e-9 to 1e-3.
    init : "random" or array of shape (n_documents, n_components), default="random"
        The start. "random": normal numbers, scaled so that the scores have standard deviation 0.1. Zero cannot be the
        start, because it is a stationary point.
    max_iter : int, default=500
    tol : float, default=1e-5
        Stop when the objective has decreased by less than this share of itself in ten iterations.
    validation_fraction : float, default=None
        Hold out this share of the queries, stop when `measure` on them has not risen for `n_iter_no_change`
        iterations, and keep the best iterate. None: no early stopping, unless `fit` is given validation data.
    measure : str or callable, default=None
        A measure of `rankwise.evaluate`. None: NDCG@10, or pairwise accuracy for labels that are not grades
        (`rankwise.metrics.default_measure`).
    n_iter_no_change : int, default=20
    random_state : int, RandomState or None, default=None
        For the start, and for the choice of the queries held out.
    n_jobs : int, default=None
        Threads; None or -1 for all cores.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    latent_ : ndarray of shape (n_documents, n_components)
        The vectors v; 0 for documents held out.
    n_iter_ : int
    result_ : Result
        Value, gradient norm with respect to V, whether and why it stopped, and the history.
    C_ : float
        The value of C used.
    validation_score_, measure_ : float, str
        The best value on the validation queries, and the measure, if there are any.
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
        C: float | str = 1.0,
        loss: str | losses.Loss = "hinge",
        solver: str = "lbfgs",
        learning_rate: float = 1e-6,
        init: str | Array = "random",
        max_iter: int = 500,
        tol: float = 1e-5,
        validation_fraction: float | None = None,
        measure: str | Measure | OfQuery | None = None,
        n_iter_no_change: int = 20,
        random_state: Seed = None,
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

    def fit(
        self,
        X: Data,
        y: Column = None,
        qid: Ids = None,
        sample_weight: Column = None,
        validation: RankingData | Labelled | None = None,
    ) -> Self:
        """Learn `latent_` and `coef_` from the rows X with labels y; X, y, qid and sample_weight as in RankSVM.

        `validation` is a tuple (X, y, qid) or a RankingData, and stops the fit as `validation_fraction` does.
        """
        C, normalize = strength(self.C)
        rate, tol = (positive(name, getattr(self, name)) for name in ("learning_rate", "tol"))
        sizes = ("max_iter", "n_components", "n_iter_no_change")
        max_iter, n_components, patience = (int(positive(name, getattr(self, name))) for name in sizes)
        loss = losses.parse(self.loss)
        if self.measure is not None:
            parse(self.measure)  # refused before anything is computed
        one_of("solver", self.solver, ("lbfgs", "gd"))
        if isinstance(sample_weight, tuple):
            raise ValueError("sample_weight is a tuple: pass validation data by name, validation=(X, y, qid)")
        given = documents(X, y, qid, sample_weight)
        warn_of_query_ids(given.X, given.qid)
        rows, labels, weights = self._check_fit(given.X, given.y, given.sample_weight)
        held_out = None if validation is None else self._checked_validation(validation, given.columns)
        keep_columns(self, given.columns)
        random = check_random_state(self.random_state)
        queries = Queries(given.qid, labels.size)
        self.n_queries_ = len(queries)
        self.__dict__.pop("measure_", None)
        kept = np.ones(labels.size, bool)
        if held_out is None and self.validation_fraction is not None:
            groups = groups_of(X, None)
            parts = queries if groups is None else Queries(groups, labels.size)
            kept = ~_held_out(parts, self.validation_fraction, random)
            held_out = rows[~kept], labels[~kept], queries.codes[~kept]
        weights = None if weights is None else weights[kept]
        preferences = Preferences(labels[kept], queries.codes[kept], weights, n_jobs=self.n_jobs)
        if not preferences.any:
            warnings.warn(NO_PAIR, stacklevel=2)
        elif remark := flat_loss_remark(loss):
            warnings.warn(remark, stacklevel=2)
        self.C_ = C / divisor(preferences.pairs_per_query(), normalize)
        progress = Progress(tol, None if held_out is None else self._validator(*held_out), patience)
        with may_overflow():
            objective = FactorizedRisk(rows_of(rows[kept], self.n_jobs), preferences, loss, self.C_)
            start = self._start(objective, kept, n_components, random)
            if self.solver == "gd":
                descend(objective, start, progress, max_iter, rate)
            else:
                quasi_newton(objective, start, progress, max_iter, random=isinstance(self.init, str))
        self._keep(progress, kept)
        return self

    def _checked_validation(self, validation: RankingData | Labelled, columns: ModelColumns | None) -> Labelled:
        """(X, y, qid) of the validation data, with the columns of the training data."""
        if isinstance(validation, RankingData):
            known = ModelColumns.of_data(validation) if columns is None else columns
            data = for_model(validation, known, "validation")
            validation = data.X, data.y, data.qid
        wanted = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "reset": False}
        return validate_data(self, validation[0], **wanted), *validation[1:]

    def _start(
        self, objective: FactorizedRisk, kept: Array, n_components: int, random: np.random.RandomState
    ) -> Floats:
        shape = (kept.size, n_components)
        if not isinstance(self.init, str):
            start = np.array(self.init, dtype=np.float64)
            if start.shape != shape or not np.isfinite(start).all():
                raise ValueError(f"init must be 'random' or finite numbers of shape {shape}; got shape {start.shape}")
            return start[kept]
        one_of("init", self.init, ("random",), also=f"an array of shape {shape}")
        V: Floats = random.standard_normal(shape)[kept]
        if objective.is_flat:  # w = 0 is optimal; other V would make it of rounding errors
            return np.zeros_like(V)
        scores = objective.features.dot(objective.weights(V))
        exponent = np.frexp(np.abs(scores).max())[1]  # squares of scores may overflow or underflow
        spread = float(np.ldexp(np.ldexp(scores, -exponent).std(), exponent))
        if not np.isfinite(spread):
            raise ValueError("the scores overflow at the random start: scale the features")
        if spread == 0:
            raise ValueError("the scores underflow at the random start: scale the features up")
        V *= np.sqrt(START / spread)  # w is quadratic in V
        return V

    def _validator(self, X: HostMatrix, y: Numbers, qid: QueryIds | None) -> Callable[[Floats], float]:
        """From weights to the measure on the validation queries."""
        measure = parse(default_measure(y) if self.measure is None else self.measure)
        self.measure_, features = str(measure), MemoryRows(X)
        return lambda w: evaluate(y, features.dot(w[:, None])[:, 0], qid, measure)[measure]

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


def _held_out(queries: Queries, share: float, random: np.random.RandomState) -> Array:
    n = len(queries)
    if not 0 < share < 1:
        raise ValueError(f"validation_fraction must be between 0 and 1; got {share!r}")
    if n < 2:
        raise ValueError("validation_fraction holds out whole queries, and there is only one: give `validation` data")
    held = random.permutation(n)[: min(max(1, round(share * n)), n - 1)]
    is_held_out: Array = np.isin(queries.codes, held)
    return is_held_out
