"""RankSVM: a linear ranker that minimises ½|w|² + C Σ loss(w·x_i - w·x_j) over all preference pairs (i, j)."""

import warnings
from dataclasses import fields, replace
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from rankwise.data.records import RankingData
from rankwise.estimators.base import Ranker, warn_of
from rankwise.estimators.inputs import documents, keep_columns, rows_to_score, warn_of_query_ids, without_column
from rankwise.foundation.arrays import Floats
from rankwise.foundation.devices import library_of
from rankwise.objective import losses
from rankwise.objective.building import Pairing
from rankwise.objective.objective import Objective
from rankwise.objective.stored import is_stored
from rankwise.pairs.queries import Queries
from rankwise.pairs.schemes import Scheme
from rankwise.rankers.fitted import Fitted
from rankwise.rankers.ranksvm import AUTO, AUTO_STRENGTH, RankSVMOptions
from rankwise.solvers import Callback, Solver
from rankwise.solvers.stochastic import StochasticState, update

STOCHASTIC = {"auto": "pairs", "sgd": "pairs", "sgd-queries": "queries"}  # solvers that partial_fit can go on with


def _stochastic(ranker: "RankSVM") -> bool:
    if not isinstance(ranker.solver, str) or ranker.solver not in STOCHASTIC:
        raise AttributeError(f"partial_fit takes stochastic steps: solver is {ranker.solver!r}, set it to 'sgd'")
    return True


def _is_default(pairs: Any) -> bool:
    return isinstance(pairs, str) and pairs == "deprecated"


class RankSVM(Ranker):
    """½|w|² + C Σ loss(w·x_i - w·x_j), the sum over all pairs of documents of one query with y_i > y_j.

    Parameters
    ----------
    C : float or "auto", default="auto"
        Weight of the sum over the pairs. "auto" is 30 divided by the number of pairs, so that it suits data of any size
        (docs/rankers.md compares it with tuned values); with normalize_pairs="query" it is 30 over the mean of the
        queries' means. To tune it, try 2^-15 to 2^10; the more pairs, the smaller a good C.
    loss : str or Loss, default="squared_hinge"
        "squared_hinge": max(0, 1 - margin)²; "hinge"; "huber:h": the hinge with its corner rounded over the width h;
        "logistic:e": log(1 + exp(-margin)) to within e, by a spline; "squared": (1 - margin)²; or a loss of your own
        (docs/extending.md).
    solver : str or callable, default="auto"
        "newton" writes the Hessian out; "newton-cg", "newton-minres" and "trust-region" (with -diagonal or -sampled:
        preconditioned) multiply by it; "smoothing" is for the hinge; "bundle" (cutting planes with a line search),
        "bmrm" (without), "sgd" and "sgd-queries" take every loss; "dual" lists all pairs (hinge, squared hinge, huber)
        and fills `dual_coef_`. All find the same optimum. "auto": the cheapest second-order one
        (`rankwise.solvers.cheapest`), and the dual where that one is stuck near separability. Or a solver of your own
        (docs/extending.md): `tol`, `max_iter`, `stopping` and `random_state` are for names, an object has its own.
    tol : float, default=1e-3
        Stop when the objective f is within `tol` of its optimum: f(w) - min f ≤ tol · min(f(w), f(0) - min f), by a
        proven bound or by a sound estimate; `result_` reports both.
    max_iter : int, default=None
        Steps, planes, epochs or passes at most; None: the solver's own. Not to have converged is a ConvergenceWarning.
    n_jobs : int, default=None
        Threads; None or -1 for all cores. The result does not depend on it, to the last bit.
    verbose : int, default=0
        1: a line a step on stderr.
    warm_start : bool, default=False
        Start from the last `coef_`.
    callback : callable, default=None
        Called with every `rankwise.solvers.Step`; a true answer stops the fit.
    scheme : str or callable, default="auto"
        How sums over pairs are done: "auto"; one of the papers' schemes, for comparison: "explicit", "by-level",
        "red-black-tree", "score-red-black-tree", "selection-tree", "avl-tree", "aa-tree"; or a scheme of your own
        (docs/extending.md).
    scope : {"all", "adjacent"}, default="all"
        All pairs, or only those of neighbouring levels of a query.
    costs : default=None
        What having a pair the wrong way round costs, δ_ij: "gain", "dcg", "ndcg", one number a document, a table by
        level, a sparse n × n matrix, or a callable (see `rankwise.pairs.costs`).
    rescaling : {"slack", "margin"}, default="slack"
        Whether δ_ij multiplies the loss, or sqrt(δ_ij) is the margin asked for.
    normalize_pairs : {"sum", "mean", "query", "svm-rank"}, default="sum"
        C times the sum over pairs; their mean; the mean over queries of their means; or the sum over the number of
        queries, as SVM^rank has it.
    random_state : int, RandomState or None, default=None
        For the solvers that draw at random.
    device : str, default=None
        Where to move arrays of NumPy for the fit: "cuda", "cuda:1", ... (torch), "cupy", "torch:cpu"; None: nowhere.
        Arrays of torch and CuPy are worked on where they lie, whatever it says.
    stopping : {"gap", "gradient"}, default="gap"
        "gap": as told at `tol`; "gradient": |∇f(w)| ≤ tol · |∇f(0)|, the papers' rule, for solvers of smooth losses.
    pairs : deprecated
        The former name of `scheme`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Of NumPy, or where X lay if that was an array of torch or CuPy.
    n_iter_ : int
        Steps taken.
    n_queries_ : int
    C_ : float
        What the sum over the pairs was multiplied by.
    result_ : Result
        Value of the objective, `gap` (a proven bound on its distance to the optimum) and `gap_estimate`, gradient norm,
        why it stopped, and the history.
    dual_coef_ : sparse matrix of shape (n_documents, n_documents)
        Only of solver="dual": alpha[i, j] for i preferred to j; coef_ = Σ alpha[i, j] (x_i - x_j).
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    Examples
    --------
    >>> import rankwise
    >>> data = rankwise.load_sample()
    >>> ranker = rankwise.RankSVM(C=0.01).fit(data.X, data.y, data.qid)
    >>> ranker.predict(data.X[:2]).shape
    (2,)
    """

    _state: StochasticState
    takes_devices = True
    takes_disk = True
    labels_by_order = True

    def __init__(
        self,
        C: float | str = "auto",
        loss: str | losses.Loss = "squared_hinge",
        solver: str | Solver = "auto",
        tol: float = 1e-3,
        max_iter: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        warm_start: bool = False,
        callback: Callback | None = None,
        scheme: str | Scheme = "auto",
        scope: str = "all",
        costs: Any = None,
        rescaling: str = "slack",
        normalize_pairs: str = "sum",
        random_state: Any = None,
        device: str | None = None,
        stopping: str = "gap",
        pairs: str = "deprecated",
    ) -> None:
        if not _is_default(pairs):
            warnings.warn("RankSVM(pairs=...) is now called scheme=...", DeprecationWarning, stacklevel=2)
        self.C = C
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.warm_start = warm_start
        self.callback = callback
        self.scheme = scheme
        self.scope = scope
        self.costs = costs
        self.rescaling = rescaling
        self.normalize_pairs = normalize_pairs
        self.random_state = random_state
        self.device = device
        self.stopping = stopping
        self.pairs = pairs

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        sample_weight: Any = None,
        *,
        query_weight: Any = None,
        pairs: Any = None,
        pair_weight: Any = None,
    ) -> Self:
        """Learn `coef_` from the rows X, with labels y or with the pairs themselves.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_documents, n_features), RankingData, or frame
            A RankingData, and rows on disk from `rankwise.open_chunks`, bring labels, query ids and feature names
            along: `fit(data)`. Rows on disk are read part by part in every pass. Of a frame, y, qid and sample_weight
            may be names of columns, `fit(frame, y="label", qid="query")`; the others but `comment` are features.
        y : array of shape (n_documents,)
            Any real numbers; only their order within a query counts.
        qid : array of shape (n_documents,), default=None
            Query ids of any type, in any order; None: all documents belong to one query (a warning if X is a frame
            with a column `qid`, `query_id`, `queryid` or `query`).
        sample_weight : array of shape (n_documents,), default=None
            The pair (i, j) weighs sample_weight[i] * sample_weight[j].
        query_weight : dict by query id, array of shape (n_documents,), or name of a column, default=None
            A weight of 2 has the same effect as giving the query twice.
        pairs : integer array of shape (n_pairs, 2), default=None
            Rows (better, worse) to learn from instead of y and qid.
        pair_weight : array of shape (n_pairs,), default=None
        """
        options = self.options
        options.pairing()  # refuses unknown options before the data are looked at
        at_host = library_of(X) is None
        if isinstance(query_weight, str):
            X, query_weight = without_column(X, "query_weight", query_weight)
        following: Any = {"start": self._start(), "callback": self.callback}
        if pairs is None:
            if pair_weight is not None:
                raise ValueError("pair_weight goes with pairs: give both, or sample_weight")
            given = self._checked(documents(X, y, qid, sample_weight))
            fitted = options.fit(*given[:4], query_weight=query_weight, **following)
        else:
            X = self._check_fit_to_pairs(X, y, qid, sample_weight, query_weight)
            solver = options.solver_for(X)
            fitted = options.solve(solver, options.objective_of_pairs(X, pairs, pair_weight), **following)
        self._keep(fitted.at_host() if at_host else fitted, level=4)
        return self

    @property
    def options(self) -> RankSVMOptions:
        """The parameters as a value, which trains without scikit-learn."""
        check_random_state(self.random_state)
        own = {field.name: getattr(self, field.name) for field in fields(RankSVMOptions)}
        return RankSVMOptions(**(own if _is_default(self.pairs) else own | {"scheme": self.pairs}))

    def _start(self) -> Floats | None:
        return self.coef_ if self.warm_start and hasattr(self, "coef_") else None

    def _solve(self, rows: Any, objective: Objective) -> Self:
        """Minimise an objective of such rows, which lie elsewhere."""
        options = self.options
        self._keep(options.solve(options.solver_for(rows), objective, self._start(), self.callback), level=5)
        return self

    @available_if(_stochastic)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> Self:
        """One epoch of stochastic steps (solver "sgd", or "sgd-queries") on new, whole queries; X as in `fit`."""
        if self.options.pairing().normalize != "sum":
            raise ValueError(
                "partial_fit sees a few queries at a time and cannot normalise by all: normalize_pairs='sum'"
            )
        if self.device is not None or library_of(X):
            raise ValueError("partial_fit takes arrays of NumPy only, and no device")
        first = not hasattr(self, "_state")
        seen = 0 if first else self.n_queries_
        rows, y, qid, sample_weight, columns = documents(X, y, qid, sample_weight)
        warn_of_query_ids(rows, qid)
        if first:
            X, y, sample_weight = self._check_fit(rows, y, sample_weight)
            keep_columns(self, columns)
        else:
            with rows_to_score(self, X if columns is not None else rows) as known:
                X, y, sample_weight = self._check_fit(known, y, sample_weight, reset=False)
        state = StochasticState.at(np.zeros(X.shape[1])) if first else self._state
        options = self.options
        objective = options.objective(X, y, qid, sample_weight)
        self.n_queries_ = seen + len(Queries(qid, X.shape[0]))
        if self.C == AUTO:  # over the pairs of all batches so far
            total = state.pairs + float(objective.sum.executor.totals.sum())
            objective = replace(objective, C=AUTO_STRENGTH / (total or 1.0))
        self._state = update(state, objective, over=STOCHASTIC[str(self.solver)], random_state=options.seed())
        for of_a_fit in ("result_", "dual_coef_"):
            self.__dict__.pop(of_a_fit, None)
        self.coef_, self.C_ = self._state.average, objective.C
        self.n_iter_ = self._state.steps
        return self

    def _check_fit_to_pairs(self, X: Any, *given: Any) -> Any:
        if any(one is not None for one in given):
            raise ValueError("fit takes pairs alone, or y with qid and weights: not both")
        if self.options.pairing() != Pairing(normalize=self.normalize_pairs):
            raise ValueError(
                "pairs given to fit are taken as they are: scope, costs, rescaling and a scheme do not apply"
            )
        if self.device is not None or library_of(X):
            raise ValueError("fit takes pairs for arrays of NumPy only, and without a device")
        if isinstance(X, RankingData) or is_stored(X):
            raise ValueError("fit takes pairs of rows in an array: give data.X, or data without pairs")
        for of_another_fit in ("first_index_", "n_queries_"):
            self.__dict__.pop(of_another_fit, None)
        return validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")

    def _keep(self, fitted: Fitted, level: int) -> None:
        for left_over in ("_state", "dual_coef_"):
            self.__dict__.pop(left_over, None)
        self.result_, self.coef_, self.C_ = fitted.result, fitted.result.point, fitted.C
        self.n_iter_ = fitted.result.iterations
        if fitted.n_queries is not None:
            self.n_queries_ = fitted.n_queries
        if fitted.dual is not None:
            self.dual_coef_ = fitted.dual
        warn_of(fitted, level)
