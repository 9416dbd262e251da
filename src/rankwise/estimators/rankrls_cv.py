"""RankRLSCV: RankRLS with alpha chosen by leaving queries out, every alpha from one eigendecomposition."""

from typing import Any, Self

import numpy as np

from rankwise.estimators.base import Ranker, positive
from rankwise.estimators.inputs import documents, keep_columns, warn_of_query_ids
from rankwise.estimators.rankrls import in_rows_given, prepared, told
from rankwise.foundation.arrays import Floats
from rankwise.foundation.threads import share, thread_count
from rankwise.least_squares.leave_pair_out import LeftOutPairs, leave_pair_out
from rankwise.least_squares.leave_query_out import leave_query_out
from rankwise.least_squares.paths import TRUSTED, path
from rankwise.least_squares.regression import MOST_BYTES, Regression
from rankwise.least_squares.solving import Solution
from rankwise.metrics import evaluate, parse

ALPHAS = tuple(2.0**k for k in range(-15, 11))
SQUARED_ERROR = "squared-error"
SOLVERS = ("auto", "primal", "dual")


class RankRLSCV(Ranker):
    """RankRLS with the alpha whose models best rank the queries that they have not seen.

    Each query is left out in turn, exactly and in closed form: no model is fitted again. A single query is judged by
    leaving out the two documents of each preference pair (of more than 100,000 pairs, so many drawn at random).

    Parameters
    ----------
    alphas : sequence of float, default=None
        None: 2^-15, 2^-14, ..., 2^10.
    ties, scaling, n_jobs : as in RankRLS
    measure : str, default="pairwise-accuracy"
        What to maximise: a measure of `rankwise.metrics`, averaged over the queries left out, or "squared-error", the
        error of RankRLS itself for each compared pair, negated. The default takes any labels, as RankRLS does, and is
        what its objective approximates. A single query takes "pairwise-accuracy" or "squared-error".
    solver : {"auto", "primal", "dual"}, default="auto"
        Whether the matrix decomposed is n_features or n_documents wide; "auto": the narrower.

    Attributes
    ----------
    alpha_ : float
        The best of `alphas`; of equals, the largest.
    best_score_ : float
    scores_ : ndarray of shape (n_alphas,)
        The measure for each alpha, the larger the better.
    cv_values_ : ndarray of shape (n_queries, n_alphas)
        The same by query, in the order in which they first occur; NaN for one that does not count.
    cv_predictions_ : ndarray of shape (n_documents,)
        With several queries: the score of each document at `alpha_` by the model without its query; less that of the
        query's first document if an offset of the features would cost the digits of the differences.
    coef_ : ndarray of shape (n_features,)
        Of all documents, at `alpha_`.
    coef_path_ : ndarray of shape (n_alphas, n_features)
    alphas_ : ndarray of shape (n_alphas,)
    result_ : Result
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    Examples
    --------
    >>> from rankwise import load_sample
    >>> from rankwise.estimators.rankrls_cv import RankRLSCV
    >>> data = load_sample()
    >>> ranker = RankRLSCV(measure="ndcg@10").fit(data.X, data.y, data.qid)
    >>> ranker.scores_.shape, bool(ranker.best_score_ == ranker.scores_.max())
    ((26,), True)
    """

    def __init__(
        self,
        alphas: Any = None,
        ties: str = "include",
        scaling: str = "pairs",
        measure: str = "pairwise-accuracy",
        solver: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.alphas = alphas
        self.ties = ties
        self.scaling = scaling
        self.measure = measure
        self.solver = solver
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> Self:
        """Choose `alpha_` and learn `coef_`; arguments as in RankRLS.

        Documents of weight 0 are left out of measures; other weights only affect the models and "squared-error".
        """
        alphas, measure = self._checked()
        X, y, qid, sample_weight, columns = documents(X, y, qid, sample_weight)
        warn_of_query_ids(X, qid)
        X, y, sample_weight = self._check_fit(X, y, sample_weight)
        keep_columns(self, columns)
        problem = prepared(self, X, y, qid, sample_weight)
        if problem.starts.size == 2:
            _check_pairwise(measure)
        scaled = problem.units.alpha(alphas)
        found = path(problem, scaled, self._primal(problem))
        self.alphas_ = alphas
        self.coef_path_: Floats = np.ascontiguousarray(problem.units.weights(found.points).T)
        if problem.starts.size > 2:
            scores = leave_query_out(problem, found, scaled) / problem.units.y
            self.scores_, self.cv_values_ = _by_query(problem, scores, measure, self.n_jobs)
        else:
            left_out = leave_pair_out(problem, found.spectrum, scaled, self.scaling)
            self.scores_ = _by_pair(left_out, measure, problem.units.y)
            self.cv_values_ = self.scores_[None, :]
        best = self._best()
        self.alpha_, self.best_score_ = float(alphas[best]), float(self.scores_[best])
        if problem.starts.size > 2:
            self.cv_predictions_: Floats = in_rows_given(scores[:, best].copy(), qid)
        exactly = problem.at if found.spectrum is not None else problem.twofold_at
        message = f"alpha = {self.alpha_:g} of {alphas.size}, by {found.method}"
        at = exactly(found.points[:, best], float(scaled[best]))
        self.result_ = told("RankRLSCV", problem, Solution(at, float(found.errors[best]), 1, message), TRUSTED)
        self.coef_ = self.coef_path_[best].copy()
        return self

    def _checked(self) -> tuple[Floats, str]:
        given = np.asarray(ALPHAS if self.alphas is None else self.alphas, dtype=object).ravel()
        if not given.size:
            raise ValueError("alphas is empty: give at least one")
        if self.solver not in SOLVERS:
            raise ValueError(f"solver is {self.solver!r}: there are {', '.join(map(repr, SOLVERS))}")
        measure = SQUARED_ERROR if self.measure == SQUARED_ERROR else str(parse(self.measure))
        return np.array([positive("alphas", alpha) for alpha in given]), measure

    def _primal(self, problem: Regression) -> bool:
        """Whether the matrix to be decomposed is n_features wide."""
        n, d = problem.labels.size, problem.size
        primal = d <= n if self.solver == "auto" else self.solver == "primal"
        width = d if primal else n
        if 8 * width * width > MOST_BYTES:
            raise ValueError(f"RankRLSCV would decompose a {width} × {width} matrix: fit RankRLS(solver='cg') instead")
        return primal

    def _best(self) -> int:
        """The place of the best score; of equals, that of the largest alpha."""
        scores = np.where(np.isnan(self.scores_), -np.inf, self.scores_)
        return int(np.lexsort((self.alphas_, scores))[-1])


def _by_query(problem: Regression, scores: Floats, measure: str, n_jobs: int | None) -> tuple[Floats, Floats]:
    """The measure for each alpha, and by query and alpha."""
    n_queries = problem.starts.size - 1
    queries = np.repeat(np.arange(n_queries), np.diff(problem.starts))
    if measure == SQUARED_ERROR:
        targets = problem.targets / problem.units.y
        squares = problem.comparisons.root(targets[:, None] - scores) ** 2
        sums, pairs = np.add.reduceat(squares, problem.starts[:-1]), problem.comparisons.pairs_by_query[:, None]
        by_query = np.divide(-sums, pairs, out=np.full(sums.shape, np.nan), where=pairs > 0)
        return -sums.sum(axis=0) / max(float(pairs.sum()), np.finfo(float).tiny), by_query
    judged = problem.comparisons.weights > 0
    means, values = np.full(scores.shape[1], np.nan), np.full((n_queries, scores.shape[1]), np.nan)

    def judge(k: int) -> None:
        found = evaluate(problem.labels[judged], scores[judged, k], queries[judged], measure, n_jobs=1)
        means[k], values[found.query_ids, k] = found[measure], found.per_query[measure]

    if judged.any():
        share(judge, range(scores.shape[1]), thread_count(n_jobs))
    return means, values


def _check_pairwise(measure: str) -> None:
    if measure not in (SQUARED_ERROR, "pairwise-accuracy", "pairwise-accuracy:ties=half"):
        raise ValueError(
            f"measure is {measure!r}: a single query is judged pair by pair, by 'pairwise-accuracy' or 'squared-error'"
        )


def _by_pair(left_out: LeftOutPairs, measure: str, unit: float) -> Floats:
    """The measure for each alpha, over the pairs of a single query; `unit` is that of its labels."""
    gaps, weights, margins = left_out
    if not gaps.size:
        return np.full(margins.shape[1], np.nan)
    if measure == SQUARED_ERROR:
        values = -(((gaps[:, None] - margins) / unit) ** 2)
    else:
        values = (margins > 0) + (0.5 * (margins == 0) if measure.endswith("half") else 0.0)
    means: Floats = np.average(values, axis=0, weights=weights)
    return means
