"""RankSVM: a linear ranker that minimises ½|w|² + C Σ loss(w·x_i - w·x_j) over all preference pairs (i, j)."""

import warnings
from dataclasses import fields, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from rankwise.data.columns import Known
from rankwise.data.records import RankingData
from rankwise.estimators.base import Ranker
from rankwise.estimators.inputs import (
    Column,
    Data,
    Ids,
    documents,
    keep_columns,
    known_columns,
    rows_to_score,
    warn_of_query_ids,
    without_column,
)
from rankwise.foundation.arrays import Floats
from rankwise.foundation.devices import HostMatrix, Numbers, library_of
from rankwise.foundation.names import key
from rankwise.model_selection.splits import Seed
from rankwise.objective import losses
from rankwise.objective.building import Pairing
from rankwise.objective.objective import Objective
from rankwise.objective.stored import Features, is_stored
from rankwise.pairs.costs import Costs
from rankwise.pairs.queries import Queries
from rankwise.pairs.schemes import Scheme
from rankwise.rankers.fitted import Fitted
from rankwise.rankers.ranksvm import AUTO, AUTO_STRENGTH, QueryWeights, RankSVMOptions
from rankwise.rankers.signs import Signs
from rankwise.solvers import Callback, Solver
from rankwise.solvers.base import check_range
from rankwise.solvers.stochastic import StochasticState, update

STOCHASTIC = {"auto": "pairs", "sgd": "pairs", "sgd-queries": "queries"}  # what partial_fit draws, by solver


def _stochastic(ranker: "RankSVM") -> bool:
    if not isinstance(ranker.solver, str) or key(ranker.solver) not in STOCHASTIC:
        raise AttributeError(f"partial_fit needs a stochastic solver; solver is {ranker.solver!r}: set it to 'sgd'")
    return True


def _is_default(pairs: object) -> bool:
    return isinstance(pairs, str) and pairs == "deprecated"


class RankSVM(Ranker):
    """½|w|² + C Σ loss(w·x_i - w·x_j), the sum over all pairs of documents of one query with y_i > y_j.

    Parameters
    ----------
    C : float or "auto", default="auto"
        Weight of the sum over the pairs. "auto" is 30 divided by the number of pairs, which suits data of any size
        (docs/selection.md compares it with tuned values); with normalize_pairs="query" it is 30. To tune it, try 2^-15
        to 2^10; the more pairs, the smaller a good C.
    loss : str or Loss, default="squared_hinge"
        "squared_hinge": max(0, 1 - margin)²; "hinge"; "huber:h": the hinge with its corner rounded over the width h;
        "logistic:e": a spline within e of log(1 + exp(-margin)); "squared": (1 - margin)²; or a loss of your own
        (docs/extending.md).
    solver : str or callable, default="auto"
        "newton" forms the Hessian; "newton-cg", "newton-minres" and "trust-region" only multiply by it (with -diagonal
        or -sampled: preconditioned); "smoothing" is for the hinge; "bundle" (cutting planes with a line search), "bmrm"
        (without), "sgd" and "sgd-queries" accept every loss; "dual" enumerates all pairs (hinge, squared hinge, huber)
        and sets `dual_coef_`; "newton", "newton-cg" and, for the hinge, "smoothing" take `monotonic_cst` and
        `l1_ratio`. All find the same optimum. "auto": the cheapest second-order solver
        (`rankwise.solvers.cheapest`), and the dual if that one stalls near separability. Or a solver of your own
        (docs/extending.md); `tol`, `max_iter`, `stopping` and `random_state` apply to names only, not to objects.
    tol : float, default=1e-3
        Stop when the objective f is within `tol` of its optimum: f(w) - min f ≤ tol · min(f(w), f(0) - min f), by a
        proven bound or by an estimate; `result_` reports both.
    max_iter : int, default=None
        At most so many steps, planes, epochs or passes; None: the solver's default. A ConvergenceWarning is issued if
        they do not suffice.
    n_jobs : int, default=None
        Threads; None or -1 for all cores. The result does not depend on it, to the last bit.
    verbose : int, default=0
        1: one line per step on stderr.
    warm_start : bool, default=False
        Start from the `coef_` of the previous fit.
    callback : callable, default=None
        Called with every `rankwise.solvers.Step`; a true return value stops the fit.
    scheme : str or callable, default="auto"
        How sums over pairs are computed: "auto"; a scheme of the papers, for comparison: "explicit", "by-level",
        "red-black-tree", "score-red-black-tree", "selection-tree", "avl-tree", "aa-tree"; or a scheme of your own
        (docs/extending.md).
    scope : {"all", "adjacent"}, default="all"
        All pairs, or only those of neighbouring levels of a query.
    costs : default=None
        The cost δ_ij of misordering a pair: "gain", "dcg", "ndcg", one number per document, a table by level, a sparse
        n × n matrix, or a callable (see `rankwise.pairs.costs`).
    rescaling : {"slack", "margin"}, default="slack"
        "slack": δ_ij multiplies the loss; "margin": sqrt(δ_ij) replaces 1 as the required margin.
    normalize_pairs : {"sum", "mean", "query", "svm-rank"}, default="sum"
        What C multiplies: the sum over pairs; their mean; the mean over queries of the mean per query; or the sum
        divided by the number of queries, as in SVM^rank.
    random_state : int, RandomState or None, default=None
        For solvers that draw random numbers.
    device : str, default=None
        The device to move arrays of NumPy to for the fit: "cuda", "cuda:1", ... (torch), "cupy", "torch:cpu"; None:
        they stay on the host. Arrays of torch and CuPy stay on their own device in any case.
    stopping : {"gap", "gradient"}, default="gap"
        "gap": the rule given at `tol`; "gradient": |∇f(w)| ≤ tol · |∇f(0)|, the rule of the papers, for solvers of
        smooth losses.
    monotonic_cst : array of shape (n_features,) or dict by feature name, default=None
        1: the weight of this feature must not be negative, so that the score never falls where it rises; -1: must not
        be positive; 0 or not named: free.
    l1_ratio : float, default=0.0
        From 0 to 1. The penalty is l1_ratio · |w|₁ + (1 - l1_ratio)/2 · |w|² instead of ½|w|²: the larger, the fewer
        features have a weight other than 0.
    pairs : deprecated
        The former name of `scheme`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        An array of NumPy, or of torch or CuPy on the device of X if X was one.
    n_iter_ : int
        Steps taken.
    n_queries_ : int
    C_ : float
        The factor of the sum over the pairs, with "auto" and `normalize_pairs` resolved.
    result_ : Result
        Value of the objective, `gap` (a proven bound on its distance to the optimum) and `gap_estimate`, gradient norm,
        why the solver stopped, and the history.
    dual_coef_ : sparse matrix of shape (n_documents, n_documents)
        Only with solver="dual": alpha[i, j] for i preferred to j; coef_ = Σ alpha[i, j] (x_i - x_j).
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
        costs: Costs | None = None,
        rescaling: str = "slack",
        normalize_pairs: str = "sum",
        random_state: Seed = None,
        device: str | None = None,
        stopping: str = "gap",
        monotonic_cst: Signs | None = None,
        l1_ratio: float = 0.0,
        pairs: str = "deprecated",
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
        self.scheme = scheme
        self.scope = scope
        self.costs = costs
        self.rescaling = rescaling
        self.normalize_pairs = normalize_pairs
        self.random_state = random_state
        self.device = device
        self.stopping = stopping
        self.monotonic_cst = monotonic_cst
        self.l1_ratio = l1_ratio
        self.pairs = pairs

    def fit(
        self,
        X: Data,
        y: Column = None,
        qid: Ids = None,
        sample_weight: Column = None,
        *,
        query_weight: QueryWeights | None = None,
        pairs: ArrayLike | None = None,
        pair_weight: Numbers | None = None,
    ) -> Self:
        """Learn `coef_` from the rows X, with labels y or with given pairs.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_documents, n_features), RankingData, or frame
            A RankingData, and rows on disk from `rankwise.open_chunks`, contain labels, query ids and feature names:
            `fit(data)`. Rows on disk are read part by part in every pass. With a frame, y, qid and sample_weight may
            be names of columns, `fit(frame, y="label", qid="query")`; a column `sample_weight` holds weights, and all
            others except `comment` and `docid` are features.
        y : array of shape (n_documents,)
            Real numbers; only their order within a query counts.
        qid : array of shape (n_documents,), default=None
            Query ids of any type, in any order; None: all documents belong to one query (with a warning if X is a
            frame with a column or an index `qid`, `query_id`, `queryid` or `query`).
        sample_weight : array of shape (n_documents,), default=None
            The weight of the pair (i, j) is sample_weight[i] * sample_weight[j].
        query_weight : dict by query id, array of shape (n_documents,), or name of a column, default=None
            A weight of 2 has the same effect as repeating the query.
        pairs : integer array of shape (n_pairs, 2), default=None
            Rows (better, worse) to learn from instead of y and qid.
        pair_weight : array of shape (n_pairs,), default=None
        """
        if not _is_default(self.pairs):
            warnings.warn("RankSVM(pairs=...) is now called scheme=...", DeprecationWarning, stacklevel=2)
        options = self.options
        options.pairing()  # an unknown option is an error before the data are checked
        at_host = library_of(X) is None
        if isinstance(query_weight, str):
            X, query_weight = without_column(X, "query_weight", query_weight)
        start, callback = self._start(), self.callback
        if pairs is None:
            if pair_weight is not None:
                raise ValueError("pair_weight needs pairs: give both, or sample_weight instead")
            given = self._checked(documents(X, y, qid, sample_weight))
            options = options.named(known_columns(self))
            fitted = options.fit(*given[:4], query_weight=query_weight, start=start, callback=callback)
        else:
            rows = self._check_fit_to_pairs(X, y, qid, sample_weight, query_weight)
            options = options.named(known_columns(self))
            solver = options.solver_for(rows)
            fitted = options.solve(solver, options.objective_of_pairs(rows, pairs, pair_weight), start, callback)
        self._keep(fitted.at_host() if at_host else fitted, level=4)
        return self

    @property
    def options(self) -> RankSVMOptions:
        """The parameters as a value that trains without scikit-learn."""
        check_random_state(self.random_state)
        own = {field.name: getattr(self, field.name) for field in fields(RankSVMOptions)}
        if _is_default(self.pairs):
            return RankSVMOptions(**own)
        if self.scheme != "auto":
            raise ValueError("pairs is the former name of scheme, and both are given: leave pairs out")
        return RankSVMOptions(**own | {"scheme": self.pairs})

    def _start(self) -> Floats | None:
        return self.coef_ if self.warm_start and hasattr(self, "coef_") else None

    def _solve(self, rows: Features, objective: Objective, columns: Known) -> Self:
        """Minimise an objective whose rows are stored elsewhere; `rows` has their shape."""
        options = self.options.named(columns)
        self._keep(options.solve(options.solver_for(rows), objective, self._start(), self.callback), level=5)
        return self

    @available_if(_stochastic)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Data, y: Column = None, qid: Ids = None, sample_weight: Column = None) -> Self:
        """One epoch of stochastic steps on new, complete queries; X as in `fit`.

        The solver is "sgd", "sgd-queries", or "auto", which is "sgd" here.
        """
        if self.options.pairing().normalize != "sum":
            raise ValueError(
                "partial_fit gets a few queries at a time and cannot normalise by all: set normalize_pairs='sum'"
            )
        if self.options.has_corners:
            raise ValueError("partial_fit takes neither monotonic_cst nor l1_ratio: use fit")
        if self.device is not None or library_of(X):
            raise ValueError("partial_fit accepts arrays of NumPy only, and no device")
        first = not hasattr(self, "_state")
        n_before = 0 if first else self.n_queries_
        given = documents(X, y, qid, sample_weight)
        warn_of_query_ids(given.X, given.qid)
        if first:
            rows, labels, weights = self._check_fit(given.X, given.y, given.sample_weight)
            keep_columns(self, given.columns)
        else:
            with rows_to_score(self, given.X if given.columns is None else X) as known:
                rows, labels, weights = self._check_fit(known, given.y, given.sample_weight, reset=False)
        state = StochasticState.at(np.zeros(rows.shape[1])) if first else self._state
        options = self.options
        if first and (remark := options.remark_on_loss()):
            warnings.warn(remark, stacklevel=2)
        objective = options.objective(rows, labels, given.qid, weights)
        self.n_queries_ = n_before + len(Queries(given.qid, rows.shape[0]))
        if self.C == AUTO:  # over the pairs of all batches so far
            total = state.pairs + float(objective.sum.executor.totals.sum())
            objective = replace(objective, C=AUTO_STRENGTH / (total or 1.0))
        self._state = update(state, objective, over=STOCHASTIC[key(str(self.solver))], random_state=options.seed())
        if not self._state.average.any():  # are they 0 only because numbers underflow?
            check_range(objective.at(objective.zero))
        for outdated in ("result_", "dual_coef_"):
            self.__dict__.pop(outdated, None)
        self.coef_, self.C_ = self._state.average, objective.C
        self.n_iter_ = self._state.steps
        return self

    def _check_fit_to_pairs(self, X: Data, *others: object) -> HostMatrix:
        if any(one is not None for one in others):
            raise ValueError("fit accepts either pairs, or y with qid and weights; got both")
        if self.options.pairing() != Pairing(normalize=self.normalize_pairs):
            raise ValueError("pairs given to fit are used as they are: leave out scope, costs, rescaling and scheme")
        if self.device is not None or library_of(X):
            raise ValueError("fit accepts pairs for arrays of NumPy only, and without a device")
        if isinstance(X, RankingData) or is_stored(X):
            raise ValueError("fit accepts pairs for rows in an array only: give data.X, or data without pairs")
        for outdated in ("first_index_", "n_queries_"):
            self.__dict__.pop(outdated, None)
        rows: HostMatrix = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
        return rows

    def _keep(self, fitted: Fitted, level: int) -> None:
        self.__dict__.pop("_state", None)
        self.C_ = fitted.C
        self._keep_fitted(fitted, level + 1)
