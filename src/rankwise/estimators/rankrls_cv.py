"""RankRLSCV: RankRLS with alpha chosen on queries left out, exactly from one eigendecomposition, or by folds."""

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Self

import numpy as np
from sklearn.base import clone

from rankwise.estimators.cross_validated import CrossValidated
from rankwise.estimators.inputs import Column, Data, Ids, groups_of, keep_columns, warn_of_query_ids
from rankwise.estimators.inputs import documents as documents_of
from rankwise.estimators.on_device import bring_back
from rankwise.estimators.rankrls import RankRLS, prepared, told
from rankwise.estimators.ranksvm_path import check_strengths
from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.devices import library_of, to_host
from rankwise.foundation.names import none_of
from rankwise.foundation.threads import share, thread_count
from rankwise.least_squares.leave_pair_out import LeftOutPairs, leave_pair_out
from rankwise.least_squares.leave_query_out import leave_query_out
from rankwise.least_squares.paths import TRUSTED, Path, path
from rankwise.least_squares.regression import MOST_BYTES, Regression
from rankwise.least_squares.solving import Solution
from rankwise.metrics import Measure, evaluate, parse
from rankwise.model_selection.choice import check_rule
from rankwise.model_selection.folds import Documents, RefitFold
from rankwise.model_selection.splits import Folds
from rankwise.pairs.queries import Queries, QueryIds, group_of_each
from rankwise.rankers.rankrls import LEFT_OUT_BY as SOLVERS
from rankwise.rankers.rankrls import in_rows_given

SQUARED_ERROR = "squared-error"
LEARNT = ("coef_", "result_", "n_iter_")
OPTIONS = ("ties", "scaling", "solver")  # of the ranker, which were parameters before there was a template
FOLDS = "cv=5 chooses by folds instead"


class RankRLSCV(CrossValidated):
    """RankRLS with the alpha whose models best rank the queries that they have not seen.

    Unless `cv` is given, each query is left out in turn, exactly and in closed form, without refitting. With a single
    query, the two documents of each preference pair are left out instead (of 100,000 random pairs if there are more).

    Parameters
    ----------
    alphas : sequence of float, default=None
        None: 2^-15, 2^-14, ..., 2^10.
    cv : None, int, splitter or list of (train rows, held-out rows), default=None
        None: every query is left out, as above. Else folds as in `RankSVMCV`, refitted for every alpha; needed for
        solver "cg", for arrays of torch and CuPy, and if both features and documents are too many for a decomposition.
    measure : str, default="pairwise-accuracy"
        What to maximise: a measure of `rankwise.metrics`, averaged over the queries left out (or over the folds), or
        "squared-error", the negated squared error of RankRLS per compared pair (not with folds). The default accepts
        any labels, as RankRLS does, and is what the objective of RankRLS approximates. A single query needs
        "pairwise-accuracy" or "squared-error".
    rule : {"best", "one-se"}, default="best"
        "best": the highest mean, and among equal means the largest alpha. "one-se": the largest alpha whose mean is no
        more than one standard error below the best.
    ranker : RankRLS, default=None
        The options other than alpha: ties, scaling, solver, device. None: RankRLS(). Its alpha is ignored. With
        cv=None, its solver determines the size of the matrix that is decomposed: n_features ("primal"), n_documents
        ("dual") or the smaller of the two ("auto").
    n_jobs : int, default=None
        Threads; None or -1 for all cores. The result does not depend on it.
    early_stopping, verbose : as in `RankSVMCV`, for folds; the smallest alphas are skipped
    ties, scaling, solver : deprecated
        Give ranker=RankRLS(ties=..., scaling=..., solver=...).

    Attributes
    ----------
    alpha_ : float
    coef_ : ndarray of shape (n_features,)
        The weights learnt from all documents at `alpha_`.
    best_ranker_ : RankRLS
        The fitted ranker whose weights `coef_` is; `save_model` writes it.
    best_score_ : float
    alphas_, scores_, standard_errors_ : ndarray of shape (n_alphas,)
        The measure for each alpha, the higher the better, and its standard error over the queries or folds.
    cv_values_ : ndarray of shape (n_queries, n_alphas) or (n_folds, n_alphas)
        The measure per query, in the order in which queries first occur, or per fold; NaN if it does not count.
    cv_results_ : dict of arrays
        The same under GridSearchCV's names: ready for a data frame.
    cv_predictions_ : ndarray of shape (n_documents,)
        With cv=None and several queries: the score of each document at `alpha_` by the model without its query; minus
        the score of the query's first document if a large offset of the features would round away the differences.
    coef_path_ : ndarray of shape (n_alphas, n_features)
        With cv=None.
    n_queries_, n_iter_, result_, n_features_in_, feature_names_in_ : as of RankRLS

    Examples
    --------
    >>> from rankwise import load_sample
    >>> from rankwise.estimators.rankrls_cv import RankRLSCV
    >>> data = load_sample()
    >>> ranker = RankRLSCV(measure="ndcg@10").fit(data.X, data.y, data.qid)
    >>> ranker.scores_.shape, bool(ranker.best_score_ == ranker.scores_.max())
    ((26,), True)
    """

    strength = "alpha", -1
    takes_devices = True

    def __init__(
        self,
        alphas: Sequence[float] | Array | None = None,
        cv: Folds = None,
        measure: str = "pairwise-accuracy",
        rule: str = "best",
        ranker: RankRLS | None = None,
        n_jobs: int | None = None,
        early_stopping: bool = True,
        verbose: int = 0,
        ties: str | None = None,
        scaling: str | None = None,
        solver: str | None = None,
    ) -> None:
        self.alphas = alphas
        self.cv = cv
        self.measure = measure
        self.rule = rule
        self.ranker = ranker
        self.n_jobs = n_jobs
        self.early_stopping = early_stopping
        self.verbose = verbose
        self.ties = ties
        self.scaling = scaling
        self.solver = solver

    @property
    def device(self) -> str | None:
        """The device that arrays of NumPy are moved to for the fit: that of `ranker`."""
        return None if self.ranker is None else self.ranker.device

    def fit(self, X: Data, y: Column = None, qid: Ids = None, sample_weight: Column = None, groups: Ids = None) -> Self:
        """Choose `alpha_` and learn `coef_`; arguments as in RankRLS, and `groups` as in RankSVMCV.

        Means over queries have the weights of the fit (docs/metrics.md); documents of weight 0 are not evaluated.
        """
        self.alphas_ = check_strengths("alphas", self.alphas)
        check_rule(self.rule)
        template, at_host = self._template(), library_of(X) is None
        measure = SQUARED_ERROR if self.measure == SQUARED_ERROR else parse(self.measure)
        self.measure_ = str(measure)
        given = documents_of(X, y, qid, sample_weight)
        warn_of_query_ids(given.X, given.qid)
        rows, labels, weights = self._check_fit(given.X, given.y, given.sample_weight)
        keep_columns(self, given.columns)
        documents = Documents(rows, labels, None if given.qid is None else to_host(given.qid), weights)
        groups = groups_of(X, groups)
        queries = Queries(documents.qid, rows.shape[0])
        self.n_queries_ = len(queries)
        for name in ("coef_path_", "cv_predictions_"):
            self.__dict__.pop(name, None)
        if self.cv is not None:
            self._fold(template, documents, measure, groups)
        elif groups is None or np.unique(group_of_each(queries, groups)).size == len(queries):
            self._leave_out(template, documents, measure)
        else:
            cure = f"{FOLDS} (`rankwise tune --model rankrls`); if the groups are those of an outer search, "
            cure += "set_fit_request(groups=False) keeps them out of this fit"
            raise ValueError(f"queries are left out one by one, and not by groups: {cure}")
        if at_host:
            bring_back(self.best_ranker_)
        self.coef_, self.result_, self.n_iter_ = (getattr(self.best_ranker_, one) for one in LEARNT)
        return self

    def _template(self) -> RankRLS:
        if not isinstance(self.ranker, RankRLS | None):
            cure = "for other rankers, use scikit-learn's GridSearchCV"
            raise ValueError(
                f"ranker must be a RankRLS, whose alpha is chosen; got a {type(self.ranker).__name__}: {cure}"
            )
        template: RankRLS = RankRLS() if self.ranker is None else clone(self.ranker)
        given = {name: getattr(self, name) for name in OPTIONS if getattr(self, name) is not None}
        if given:
            options = ", ".join(f"{name}={value!r}" for name, value in given.items())
            text = f"these options of RankRLSCV are deprecated: give ranker=RankRLS({options}) instead"
            warnings.warn(text, DeprecationWarning, stacklevel=3)
        template.set_params(n_jobs=self.n_jobs, **given)
        return template

    def _fold(self, template: RankRLS, documents: Documents, measure: str | Measure, groups: QueryIds | None) -> None:
        """Choose by folds, and fit the chosen alpha to all documents."""
        if not isinstance(measure, Measure):
            raise ValueError("measure 'squared-error' is not available with folds: leave cv out")
        splits = documents.splits(self.cv, groups)
        workers = documents.workers(len(splits), self.n_jobs)
        ranker = clone(template).set_params(n_jobs=workers.threads)
        halves = [partial(documents.halves, split) for split in splits]
        folds = [RefitFold(one, ranker, "alpha", measure, workers.threads) for one in halves]
        table = self._searched(folds, self.alphas_, workers)
        self.alpha_ = float(self.alphas_[self._choose(self.alphas_, table.values, level=4)])
        self.best_ranker_: RankRLS = template.set_params(alpha=self.alpha_).fit(*documents)

    def _leave_out(self, template: RankRLS, documents: Documents, measure: str | Measure) -> None:
        """Choose by leaving out every query, or every pair of a single query; the model is taken from the path."""
        if library_of(documents.X):
            raise ValueError(f"leaving queries out exactly needs arrays of NumPy: {FOLDS}")
        problem = prepared(template, *documents)
        alphas = problem.units.alpha(self.alphas_)
        solutions = path(problem, alphas, _primal(template, problem))
        self.coef_path_: Floats = np.ascontiguousarray(problem.units.weights(solutions.points).T)
        if problem.starts.size > 2:
            scores = leave_query_out(problem, solutions, alphas) / problem.units.y
            best = self._choose(self.alphas_, *_by_query(problem, scores, measure, self.n_jobs), level=4)
            self.cv_predictions_: Floats = in_rows_given(scores[:, best].copy(), documents.qid)
        else:
            _check_pairwise(measure)
            left_out = leave_pair_out(problem, solutions.spectrum, alphas, template.scaling)
            values = _by_pair(left_out, measure, problem.units.y)
            best = self._choose(self.alphas_, values[None, :], values, level=4)
        self.alpha_ = float(self.alphas_[best])
        self.best_ranker_ = self._of_path(template, problem, solutions, best)

    def _of_path(self, template: RankRLS, problem: Regression, solutions: Path, best: int) -> RankRLS:
        """The ranker that a fit at the chosen alpha would give."""
        exactly = problem.at if solutions.spectrum is not None else problem.twofold_at
        message = f"alpha = {self.alpha_:g} of {self.alphas_.size}, by {solutions.method}"
        at = exactly(solutions.points[:, best], float(problem.units.alpha(self.alpha_)))
        solution = Solution(at, float(solutions.errors[best]), 1, message)
        template.result_ = told("RankRLSCV", problem, solution, TRUSTED, level=5)
        template.coef_, template.n_iter_ = self.coef_path_[best].copy(), 1
        template.n_features_in_ = self.n_features_in_
        template.alpha = self.alpha_
        return template


def _primal(ranker: RankRLS, problem: Regression) -> bool:
    """Whether the matrix to decompose has n_features columns, not n_documents."""
    if ranker.solver not in SOLVERS:
        raise ValueError(f"{none_of('solver', ranker.solver, SOLVERS)} Or {FOLDS}")
    n, d = problem.labels.size, problem.size
    primal = d <= n if ranker.solver == "auto" else ranker.solver == "primal"
    width = d if primal else n
    if 8 * width * width > MOST_BYTES:
        raise ValueError(f"RankRLSCV would decompose a {width} × {width} matrix: {FOLDS}")
    return primal


def _by_query(problem: Regression, scores: Floats, measure: str | Measure, n_jobs: int | None) -> tuple[Floats, Floats]:
    """The measure by query and alpha, and its mean over queries for each alpha."""
    n_queries = problem.starts.size - 1
    queries = np.repeat(np.arange(n_queries), np.diff(problem.starts))
    if measure == SQUARED_ERROR:
        targets = problem.targets / problem.units.y
        squares = problem.comparisons.root(targets[:, None] - scores) ** 2
        sums, pairs = np.add.reduceat(squares, problem.starts[:-1]), problem.comparisons.pairs_by_query[:, None]
        by_query = np.divide(-sums, pairs, out=np.full(sums.shape, np.nan), where=pairs > 0)
        return by_query, -sums.sum(axis=0) / max(float(pairs.sum()), np.finfo(float).tiny)
    judged = problem.comparisons.weights > 0
    means, values = np.full(scores.shape[1], np.nan), np.full((n_queries, scores.shape[1]), np.nan)

    def judge(k: int) -> None:
        given = problem.labels[judged], scores[judged, k], queries[judged]
        evaluation = evaluate(*given, measure, n_jobs=1, sample_weight=problem.comparisons.weights[judged])
        means[k], values[evaluation.query_ids, k] = evaluation[measure], evaluation.per_query[str(measure)]

    if judged.any():
        share(judge, range(scores.shape[1]), thread_count(n_jobs))
    return values, means


def _check_pairwise(measure: str | Measure) -> None:
    if str(measure) not in (SQUARED_ERROR, "pairwise-accuracy", "pairwise-accuracy:ties=half"):
        known = "'pairwise-accuracy' or 'squared-error'"
        raise ValueError(f"measure must be {known} if there is only one query; got {str(measure)!r}")


def _by_pair(left_out: LeftOutPairs, measure: str | Measure, unit: float) -> Floats:
    """The measure for each alpha, over the pairs of a single query; `unit` is the unit of its labels."""
    gaps, weights, margins = left_out
    if not gaps.size:
        return np.full(margins.shape[1], np.nan)
    if measure == SQUARED_ERROR:
        values = -(((gaps[:, None] - margins) / unit) ** 2)
    else:
        values = (margins > 0) + (0.5 * (margins == 0) if str(measure).endswith("half") else 0.0)
    means: Floats = np.average(values, axis=0, weights=weights)
    return means
