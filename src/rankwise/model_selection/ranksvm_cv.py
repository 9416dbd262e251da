"""RankSVMCV: RankSVM with C chosen by cross-validation over folds of whole queries, along a warm-started path."""

import warnings
from typing import Any, Self

import numpy as np
from scipy import sparse

from rankwise.estimators.base import Ranker
from rankwise.estimators.inputs import documents, keep_columns, warn_of_query_ids
from rankwise.estimators.ranksvm import RankSVM
from rankwise.foundation.arrays import Floats
from rankwise.foundation.threads import share
from rankwise.metrics import evaluate, parse
from rankwise.model_selection.choice import check_rule, choose, end_of_grid, means_and_errors
from rankwise.model_selection.path import check_strengths, for_selection, side_by_side, template_of, walk
from rankwise.model_selection.splits import Split, splits_of
from rankwise.objective.rows import MemoryRows
from rankwise.pairs.queries import Queries


class RankSVMCV(Ranker):
    """RankSVM with the C whose models best rank the queries that they have not seen.

    In each fold one objective is solved for every C, each from the last one's solution; the final fit is to all data.

    Parameters
    ----------
    Cs : sequence of float, default=None
        None: 2^-15, 2^-14, ..., 2^10.
    cv : int, splitter or list of (train rows, valid rows), default=5
        A number of folds of whole queries (shuffled, always the same); a single query is split by documents.
    measure : str, default="ndcg@10"
        What to maximise, averaged over the folds: any measure of `rankwise.metrics`.
    rule : {"best", "one-se"}, default="best"
        "best": the highest mean; of equals, the smallest C. "one-se": the smallest C whose mean is no more than one
        standard error below the best.
    ranker : RankSVM, default=None
        With the options to use: loss, solver, tol, costs by level, ... None: RankSVM(). Its C is not looked at. Folds
        are solved to a tolerance of 1e-3 at the most exact, the final fit to the ranker's own.
    n_jobs : int, default=None
        Threads; None or -1 for all cores. The result does not depend on it.

    Attributes
    ----------
    C_ : float
    coef_ : ndarray of shape (n_features,)
        Of all documents, at `C_`.
    best_ranker_ : RankSVM
        The fitted ranker that `coef_` is of; `save_model` writes it.
    best_score_ : float
        The mean over folds at `C_`.
    Cs_, scores_, standard_errors_ : ndarray of shape (n_Cs,)
    cv_values_ : ndarray of shape (n_folds, n_Cs)
    cv_results_ : dict of arrays
        The same under GridSearchCV's names: ready for a data frame.
    n_queries_, n_iter_, result_, n_features_in_, feature_names_in_ : as of RankSVM

    Examples
    --------
    >>> import rankwise
    >>> data = rankwise.load_sample()
    >>> ranker = rankwise.RankSVMCV(rule="one-se").fit(data.X, data.y, data.qid)
    >>> ranker.cv_values_.shape, ranker.C_ in ranker.Cs_
    ((5, 26), True)
    """

    def __init__(
        self,
        Cs: Any = None,
        cv: Any = 5,
        measure: str = "ndcg@10",
        rule: str = "best",
        ranker: RankSVM | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.measure = measure
        self.rule = rule
        self.ranker = ranker
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> Self:
        """Choose `C_` and learn `coef_`; arguments as in RankSVM. Documents of weight 0 are not judged."""
        self.Cs_, measure = check_strengths(self.Cs), str(parse(self.measure))
        check_rule(self.rule)
        template = self._template()
        X, y, qid, sample_weight, columns = documents(X, y, qid, sample_weight)
        warn_of_query_ids(X, qid)
        X, y, sample_weight = self._check_fit(X, y, sample_weight)
        keep_columns(self, columns)
        qid = None if qid is None else np.asarray(qid)
        self.n_queries_ = len(Queries(qid, y.size))
        splits = splits_of(self.cv, X, y, qid)
        values, coefs = self._validated((X, y, qid, sample_weight), splits, template, measure)
        best = self._choose(values)
        self._refit(template, (X, y, qid, sample_weight), coefs[:, best].mean(axis=0))
        return self

    def _choose(self, values: Floats) -> int:
        """The place of the C to take, by the measure of each fold and C."""
        self.cv_values_ = values
        self.scores_, self.standard_errors_ = means_and_errors(values)
        best = choose(self.scores_, self.standard_errors_, self.Cs_, self.rule)
        self.C_, self.best_score_ = float(self.Cs_[best]), float(self.scores_[best])
        self.cv_results_ = _results(self.Cs_, values)
        if note := end_of_grid("C", self.Cs_, self.C_):
            warnings.warn(f"{note} (Cs)", stacklevel=3)
        return best

    def _template(self) -> RankSVM:
        template = template_of(self.ranker)
        costs = template.costs
        if callable(costs) or sparse.issparse(costs) or (not isinstance(costs, str) and np.ndim(costs) == 1):
            raise ValueError("costs of single documents or pairs cannot be cut into folds: give a name or a table")
        return template

    def _validated(
        self, data: tuple[Any, ...], splits: list[Split], template: RankSVM, measure: str
    ) -> tuple[Floats, Floats]:
        """The measure by fold and C, and the weights by fold, C and feature."""
        at_once, inside = side_by_side(data[0], len(splits), self.n_jobs)
        ranker = for_selection(template, inside)
        order = np.argsort(self.Cs_, kind="stable")
        place = np.argsort(order)

        def follow(split: Split) -> tuple[Floats, Floats]:
            train, valid = ([None if one is None else one[rows] for one in data] for rows in split)
            coefs = np.array([result.point for result in walk(ranker, tuple(train), self.Cs_[order])])[place]
            return _judged(valid, coefs, measure, inside), coefs

        found = share(follow, splits, at_once)
        return np.array([values for values, _ in found]), np.array([coefs for _, coefs in found])

    def _refit(self, template: RankSVM, data: tuple[Any, ...], start: Floats) -> None:
        final = template.set_params(C=self.C_, n_jobs=self.n_jobs, warm_start=True)
        final.coef_ = start
        self.best_ranker_: RankSVM = final.fit(*data).set_params(warm_start=False)
        self.coef_ = self.best_ranker_.coef_
        self.n_iter_, self.result_ = self.best_ranker_.n_iter_, self.best_ranker_.result_


def _judged(valid: list[Any], coefs: Floats, measure: str, n_jobs: int) -> Floats:
    """The measure of each row of `coefs` on the rows held out; NaN where none of them weighs anything."""
    X, y, qid, weight = valid
    scores = MemoryRows(X, n_jobs).dot(coefs.T)
    judged = np.ones(y.size, bool) if weight is None else weight > 0
    if not judged.any():
        return np.full(len(coefs), np.nan)
    ids = None if qid is None else qid[judged]
    found = [evaluate(y[judged], column, ids, measure, n_jobs=n_jobs)[measure] for column in scores[judged].T]
    return np.array(found)


def _results(Cs: Floats, values: Floats) -> dict[str, Any]:
    means, _ = means_and_errors(values)
    ranks = np.argsort(np.argsort(np.where(np.isnan(means), np.inf, -means), kind="stable")) + 1
    by_fold = {f"split{k}_test_score": row for k, row in enumerate(values)}
    spread = {"std_test_score": np.nanstd(values, axis=0), "rank_test_score": ranks}
    return {"param_C": Cs, **by_fold, "mean_test_score": means, **spread}
