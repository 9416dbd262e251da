"""RankSVMCV on a Dask cluster: the data of every fold stay where they are; each C starts from the last solution."""

from typing import Any, Self

import numpy as np

from rankwise.distributed.cluster import OnCluster
from rankwise.distributed.evaluation import settled
from rankwise.distributed.executor import Content, build_rows, distributed_objective, itself
from rankwise.distributed.ranksvm import check_options
from rankwise.distributed.results import with_traffic
from rankwise.distributed.spread import Spread, spread
from rankwise.estimators.ranksvm import RankSVM
from rankwise.foundation.arrays import Floats, Ints
from rankwise.metrics import Measure, evaluate, parse
from rankwise.model_selection.choice import check_rule
from rankwise.model_selection.path import check_strengths, follow, for_selection
from rankwise.model_selection.ranksvm_cv import RankSVMCV
from rankwise.model_selection.splits import splits_of
from rankwise.objective import losses
from rankwise.objective.rows import MemoryRows


class DaskRankSVMCV(OnCluster, RankSVMCV):
    """RankSVMCV whose data lie on the workers of a Dask cluster; parameters and attributes as of `RankSVMCV`.

    The folds are those that RankSVMCV deals in memory, and so is the model. `cv` is a number of folds, or a splitter
    that looks at query ids alone. `client`, `n_jobs` and `result_` are as in `DaskRankSVM`.
    """

    local = RankSVMCV

    def fit(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> Self:
        """Choose `C_` and learn `coef_` from data on the workers; arguments as in `DaskRankSVM.fit`."""
        self.Cs_, measure = check_strengths(self.Cs), parse(self.measure)
        check_rule(self.rule)
        template = self._template()
        check_options(template)
        options = losses.parse(template.loss), template._pairing(), self.n_jobs
        data = spread(self.client, (X, y, qid, sample_weight), build_rows, *options, fold_of=self._fold_of_each_query)
        with data.partitions:
            self._know(data)
            values, coefs = self._judged(data, template, measure)
            best = self._choose(values)
            self._refit(template, data, coefs[:, best].mean(axis=0))
        self.result_ = with_traffic(self.result_, data.partitions.traffic)
        return self

    def _fold_of_each_query(self, n_queries: int) -> Ints:
        if n_queries == 1:
            raise ValueError("there is a single query: folds of whole queries need more")
        queries = np.arange(n_queries)
        fold = np.full(n_queries, -1)
        for k, (_, judged) in enumerate(splits_of(self.cv, queries[:, None], None, queries)):
            fold[judged] = k
        if (fold < 0).any():
            raise ValueError("cv leaves queries out of every fold: on a cluster each must be judged once")
        return fold

    def _judged(self, data: Spread, template: RankSVM, measure: Measure) -> tuple[Floats, Floats]:
        """The measure by fold and C, and the weights by fold, C and feature."""
        ranker = for_selection(template, 1)
        order = np.argsort(self.Cs_, kind="stable")
        place = np.argsort(order)
        pairing, judging = ranker._pairing(), settled(measure, data.columns.labels[1])
        values, coefs = [], []
        for fold in range(max(data.folds) + 1):
            train, valid = data.chosen(fold, without=True), data.chosen(fold, without=False)
            unit = distributed_objective(train, losses.parse(ranker.loss), 1.0, pairing.normalize)
            walked = follow(ranker._solver(train), unit, self.Cs_[order], None, ranker.callback)
            coefs.append(np.array([result.point for result in walked])[place])
            sums = valid.partitions.state(itself).ask(judge, coefs[-1], judging)
            with np.errstate(invalid="ignore"):
                values.append(sums[:, 0] / sums[:, 1])
        return np.array(values), np.array(coefs)

    def _refit(self, template: RankSVM, data: Any, start: Floats) -> None:
        final = template.set_params(C=self.C_, n_jobs=self.n_jobs, warm_start=True)
        final.coef_ = start
        final.n_features_in_, final.n_queries_ = self.n_features_in_, self.n_queries_
        objective = distributed_objective(data, losses.parse(final.loss), self.C_, final.normalize_pairs)
        self.best_ranker_: RankSVM = final._solve(final._solver(data), objective).set_params(warm_start=False)
        self.coef_, self.n_iter_, self.result_ = final.coef_, final.n_iter_, final.result_


def judge(content: Content, coefs: Floats, measure: Measure) -> Floats:
    """For each row of `coefs`, the sum of the measure over the queries, and how much they weigh together."""
    rows = content.rows
    assert rows is not None
    weighs = np.ones(len(rows), bool) if rows.weight is None else rows.weight > 0
    if not weighs.any():
        return np.zeros((len(coefs), 2))
    data, n_jobs = rows.data.select(weighs), content.unit.rows.n_threads
    sums = np.empty((len(coefs), 2))
    for i, scores in enumerate(MemoryRows(data.X, n_jobs).dot(coefs.T).T):
        found = evaluate(data.y, scores, data.qid, measure, n_jobs=n_jobs)
        (values,) = found.per_query.values()
        (weights,) = found.weights.values() or (np.ones(values.size),)
        counted = ~np.isnan(values)
        sums[i] = values[counted] @ weights[counted], weights[counted].sum()
    return sums
