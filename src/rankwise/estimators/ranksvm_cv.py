"""RankSVMCV: RankSVM with C chosen by cross-validation over folds of whole queries, along a warm-started path."""

import sys
from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
from sklearn.base import clone

from rankwise.data.columns import Known
from rankwise.estimators.cross_validated import CrossValidated, mean_weights, results_by_model
from rankwise.estimators.inputs import Column, Data, Elsewhere, Ids, groups_of, keep_columns, known_columns
from rankwise.estimators.inputs import documents as documents_of
from rankwise.estimators.on_device import bring_back
from rankwise.estimators.ranksvm import RankSVM
from rankwise.estimators.ranksvm_path import check_strengths, path_fold, template_of, usual_grid
from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.devices import is_sparse, library_of, to_host
from rankwise.metrics import Measure, default_measure, parse
from rankwise.model_selection.choice import check_rule, choose, means_and_errors, simplest_first
from rankwise.model_selection.folds import Documents
from rankwise.model_selection.search import Fold, Workers
from rankwise.model_selection.signs import with_signs_by_place
from rankwise.model_selection.splits import Folds
from rankwise.objective.stored import Features
from rankwise.pairs.preferences import Preferences
from rankwise.pairs.queries import Queries
from rankwise.rankers.checks import naming_nan, share


class RankSVMCV(CrossValidated):
    """RankSVM with the C, and the l1_ratio, whose models best rank the queries that they have not seen.

    In each fold the problem is solved for every C, warm-started from the previous one; the final fit uses all data.

    Parameters
    ----------
    Cs : sequence of float, default=None
        None: 2^-15, 2^-14, ..., 2^10, and on large data smaller powers too, to 2^-5 times C="auto".
    cv : int, splitter or list of (train rows, held-out rows), default=5
        A number of folds of whole queries (shuffled, always the same); a single query is split by documents.
    measure : str or Measure, default=None
        The measure to maximise, averaged over the folds: any of `rankwise.metrics`. None: NDCG@10, or pairwise
        accuracy for labels that are not grades (`rankwise.metrics.default_measure`).
    rule : {"best", "one-se"}, default="best"
        "best": the highest mean, and among equal means the smallest C. "one-se": the smallest C whose mean is no more
        than one standard error below the best. Of several l1_ratios, both take the one of the highest mean, and among
        equal means the largest.
    ranker : RankSVM, default=None
        The options other than C: loss, solver, tol, costs by level, device, ... None: RankSVM(). Its C is ignored.
        Folds are solved to a tolerance of 1e-3 or the ranker's own if that is larger, the final fit to the ranker's
        own.
    n_jobs : int, default=None
        Threads; None or -1 for all cores. The result does not depend on it.
    early_stopping : bool, default=True
        Skip the largest Cs once the measure has clearly passed its best: once four Cs in a row are worse than the
        best by a paired t-test over the folds, at one-sided 10 %.
    verbose : int, default=0
        1: one line per C on stderr.
    l1_ratio : float or sequence of float, default=None
        As of RankSVM; of several, one is chosen, together with C. None: that of `ranker`.

    Attributes
    ----------
    C_, l1_ratio_ : float
    coef_ : ndarray of shape (n_features,)
        The weights learnt from all documents at `C_`.
    best_ranker_ : RankSVM
        The fitted ranker whose weights `coef_` is; `save_model` writes it.
    measure_ : str
        The name of the measure that was maximised.
    best_score_ : float
        The mean over folds at `C_` and `l1_ratio_`.
    Cs_ : ndarray of shape (n_Cs,)
    l1_ratios_ : ndarray of shape (n_l1_ratios,)
    scores_, standard_errors_ : ndarray of shape (n_Cs,), or (n_l1_ratios, n_Cs) if there are several l1_ratios
    cv_values_ : ndarray of shape (n_folds, n_Cs) or (n_folds, n_l1_ratios, n_Cs)
        NaN for each C that was skipped, and for a fold in which no query counts.
    cv_results_ : dict of arrays
        The same under GridSearchCV's names: ready for a data frame, one row per model. `mean_features_kept` is the
        number of weights other than 0, averaged over the folds.
    n_queries_, n_iter_, result_, n_features_in_, feature_names_in_ : as of RankSVM

    Examples
    --------
    >>> import rankwise
    >>> data = rankwise.load_sample()
    >>> ranker = rankwise.RankSVMCV(rule="one-se").fit(data.X, data.y, data.qid)
    >>> ranker.cv_values_.shape, ranker.C_ in ranker.Cs_
    ((5, 26), True)
    """

    strength = "C", 1
    takes_devices = True
    takes_disk = True

    def __init__(
        self,
        Cs: Sequence[float] | Array | None = None,
        cv: Folds = 5,
        measure: str | Measure | None = None,
        rule: str = "best",
        ranker: RankSVM | None = None,
        n_jobs: int | None = None,
        early_stopping: bool = True,
        verbose: int = 0,
        l1_ratio: float | Sequence[float] | Array | None = None,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.measure = measure
        self.rule = rule
        self.ranker = ranker
        self.n_jobs = n_jobs
        self.early_stopping = early_stopping
        self.verbose = verbose
        self.l1_ratio = l1_ratio

    @property
    def device(self) -> str | None:
        """The device that arrays of NumPy are moved to for the fit: that of `ranker`."""
        return None if self.ranker is None else self.ranker.device

    def fit(self, X: Data, y: Column = None, qid: Ids = None, sample_weight: Column = None, groups: Ids = None) -> Self:
        """Choose `C_` and learn `coef_`; arguments as in RankSVM.

        groups : array of shape (n_documents,), default=None
            Ids of what a query is part of: folds are of whole groups. `click_data` has the queries of the log as
            groups of click problems. None: the groups of a RankingData or of rows on disk, if they have any.

        The measure of a fold is a mean over its queries with the weights of the fit (docs/metrics.md); documents of
        weight 0 are not evaluated.
        """
        self.Cs_ = check_strengths("Cs", self.Cs)
        if self.measure is not None:
            parse(self.measure)  # an unknown measure is an error before anything is computed
        check_rule(self.rule)
        template, at_host = self._template(), library_of(X) is None
        given = self._checked(documents_of(X, y, qid, sample_weight))
        candidates = self._candidates(template, given.X, known_columns(self))
        self.n_queries_ = len(Queries(given.qid, given.X.shape[0]))
        host_ids = None if given.qid is None else to_host(given.qid)
        measure = parse(default_measure(given.y) if self.measure is None else self.measure)
        self.measure_ = str(measure)
        if self.Cs is None:
            pairs = Preferences(given.y, given.qid, given.sample_weight, n_jobs=self.n_jobs).pairs_per_query()
            self.Cs_ = usual_grid(float(pairs.sum()), template.normalize_pairs)
        documents = Documents(given.X, given.y, host_ids, given.sample_weight)
        halves, workers = documents.folds(self.cv, self.n_jobs, groups_of(X, groups))
        with naming_nan(X):
            final = self._chosen(
                candidates,
                lambda ranker: [path_fold(ranker, one, measure, workers.threads) for one in halves],
                workers,
            )
        if isinstance(X, Elsewhere):
            final.fit(X, sample_weight=sample_weight)
        else:
            final.fit(*documents)
            keep_columns(final, given.columns)
        if at_host:
            bring_back(final)
        self._keep(final)
        return self

    def _template(self) -> RankSVM:
        template = template_of(self.ranker)
        costs = template.costs
        if callable(costs) or is_sparse(costs) or (costs is not None and np.ndim(costs) == 1):
            raise ValueError("costs per document or pair cannot be split into folds: give a name or a table by level")
        return template

    def _candidates(self, template: RankSVM, rows: Features, columns: Known | None) -> list[RankSVM]:
        """The ranker with each of `l1_ratios_`; what cannot work is an error before anything is computed."""
        ratios = [template.l1_ratio] if self.l1_ratio is None else np.asarray(self.l1_ratio, dtype=object).ravel()
        if not len(ratios):
            raise ValueError("l1_ratio is empty: give at least one")
        self.l1_ratios_ = np.array([share("l1_ratio", one) for one in ratios])
        template = with_signs_by_place(template, columns)
        candidates = [clone(template).set_params(l1_ratio=ratio) for ratio in self.l1_ratios_.tolist()]
        for one in candidates:
            one.options.solver_for(rows)
            one.options.penalty(rows.shape[1])
        return candidates

    def _chosen(
        self, candidates: list[RankSVM], folds_of: Callable[[RankSVM], Sequence[Fold]], workers: Workers
    ) -> RankSVM:
        """The ranker for all documents, with `C_` and `l1_ratio_`, which starts from the mean weights of its folds."""
        tables = []
        for ratio, one in zip(self.l1_ratios_, candidates, strict=True):
            if self.verbose and len(candidates) > 1:
                print(f"l1_ratio = {ratio:g}", file=sys.stderr)
            tables.append(self._searched(folds_of(one), self.Cs_, workers))
        place = best_of_pairs(self.Cs_, self.l1_ratios_, [table.values for table in tables])
        best = self._choose(self.Cs_, tables[place].values, level=4)
        self.C_, self.l1_ratio_ = float(self.Cs_[best]), float(self.l1_ratios_[place])
        if len(tables) > 1:
            self._keep_all(np.stack([table.values for table in tables], axis=1))
        self.cv_results_["mean_features_kept"] = np.concatenate([table.features_kept() for table in tables])
        final: RankSVM = candidates[place].set_params(C=self.C_, n_jobs=self.n_jobs, warm_start=True)
        final.coef_ = mean_weights(tables[place], best)
        return final

    def _keep_all(self, values: Floats) -> None:
        """The results of several l1_ratios: `values` by fold, l1_ratio and C."""
        self.cv_values_ = values
        self.scores_, self.standard_errors_ = means_and_errors(values)
        ratios, Cs = np.meshgrid(self.l1_ratios_, self.Cs_, indexing="ij")
        by_model = results_by_model(values.reshape(len(values), -1), self.scores_.ravel())
        self.cv_results_ = {"param_C": Cs.ravel(), "param_l1_ratio": ratios.ravel(), **by_model}

    def _keep(self, final: RankSVM) -> None:
        self.best_ranker_: RankSVM = final.set_params(warm_start=False)
        self.coef_ = final.coef_
        self.n_iter_, self.result_ = final.n_iter_, final.result_


def best_of_pairs(Cs: Floats, l1_ratios: Floats, values: Sequence[Floats]) -> int:
    """The position of the l1_ratio with the highest mean at any C; `values` by fold and C, for each l1_ratio."""
    means, errors = means_and_errors(np.hstack(values))
    simplicity = simplest_first(np.tile(Cs, l1_ratios.size), np.repeat(l1_ratios, Cs.size))
    return choose(means, errors, simplicity, "best") // Cs.size
