"""RankSVMCV on a Dask cluster: the data of every fold stay on the workers; fits are warm-started along C."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from rankwise.distributed.client import Column, Table
from rankwise.distributed.cluster import OnCluster
from rankwise.distributed.evaluation import settled
from rankwise.distributed.executor import Cluster, Content, build_rows, distributed_objective, itself
from rankwise.distributed.ranksvm import check_options
from rankwise.distributed.results import with_traffic
from rankwise.distributed.spread import Spread, spread
from rankwise.estimators.inputs import Ids
from rankwise.estimators.ranksvm import RankSVM
from rankwise.estimators.ranksvm_cv import RankSVMCV
from rankwise.estimators.ranksvm_path import check_strengths, for_selection, usual_grid
from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.metrics import Measure, default_measure, evaluate, parse
from rankwise.model_selection.choice import check_rule
from rankwise.model_selection.path import follow
from rankwise.model_selection.search import Judged, Workers
from rankwise.model_selection.splits import splits_of
from rankwise.objective import losses
from rankwise.objective.rows import MemoryRows
from rankwise.pairs.queries import Queries


class DaskRankSVMCV(OnCluster, RankSVMCV):
    """RankSVMCV whose data are stored on the workers of a Dask cluster; parameters and attributes as of `RankSVMCV`.

    The folds and the model are those of RankSVMCV in memory. `cv` is a number of folds, or a splitter that uses only
    query ids. Files of NPZ and chunks may have groups, which folds keep together. `client`, `n_jobs` and `result_` are
    as in `DaskRankSVM`.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client, LocalCluster
    >>> from rankwise import load_sample
    >>> from rankwise.distributed import DaskRankSVMCV
    >>> data = load_sample()
    >>> X, y, qid = (da.from_array(part, chunks=(650, *part.shape[1:])) for part in (data.X, data.y, data.qid))
    >>> with LocalCluster(n_workers=2, processes=False, dashboard_address=":0") as cluster, Client(cluster):
    ...     ranker = DaskRankSVMCV(Cs=[0.001, 0.01], cv=3).fit(X, y, qid)
    >>> ranker.cv_values_.shape
    (3, 2)
    """

    local = RankSVMCV

    def fit(
        self, X: Table, y: Column = None, qid: Column = None, sample_weight: Column = None, groups: Ids = None
    ) -> Self:
        """Choose `C_` and learn `coef_` from data on the workers; arguments as in `DaskRankSVM.fit`."""
        if groups is not None:
            raise ValueError(
                "on a cluster, groups come from files: write the data as NPZ or chunks, and give the files"
            )
        self.Cs_ = check_strengths("Cs", self.Cs)
        if self.measure is not None:
            parse(self.measure)  # refuses what is unknown before anything is computed
        check_rule(self.rule)
        template = self._template()
        check_options(template)
        options = losses.parse(template.loss), template.options.pairing(), self.n_jobs
        data = spread(self.client, (X, y, qid, sample_weight), build_rows, *options, fold_of=self._fold_of_each_query)
        with data.partitions:
            self._know(data)
            labels = np.array(data.columns.labels)
            measure = parse(default_measure(labels) if self.measure is None else self.measure)
            self.measure_ = str(measure)
            if self.Cs is None:
                pairs = Cluster(data, losses.parse(template.loss)).totals
                self.Cs_ = usual_grid(float(pairs.sum()), template.normalize_pairs)
            judging = settled(measure, float(labels[1]))
            n_folds = max(data.folds) + 1
            final = self._chosen(
                self._candidates(template, data, data.columns),
                lambda ranker: [ClusterFold(data, k, for_selection(ranker, 1), judging) for k in range(n_folds)],
                Workers(),
            )
            self._refit(final, data)
        self.result_ = with_traffic(self.result_, data.partitions.traffic)
        return self

    def _fold_of_each_query(self, groups: Array) -> Ints:
        parts = Queries(groups, groups.size)
        if len(parts) == 1:
            raise ValueError("there is a single query: folds of whole queries need more")
        fold = np.full(groups.size, -1)
        for k, (_, held_out) in enumerate(splits_of(self.cv, parts.codes[:, None], None, parts.codes)):
            fold[held_out] = k
        if (fold < 0).any():
            raise ValueError("cv leaves queries out of every fold: on a cluster each must be held out once")
        return fold

    def _refit(self, final: RankSVM, data: Spread) -> None:
        final.n_features_in_, final.n_queries_ = self.n_features_in_, self.n_queries_
        objective = distributed_objective(data, losses.parse(final.loss), self.C_, final.options.pairing().normalize)
        self._keep(final._solve(data, objective, data.columns))


@dataclass(frozen=True, eq=False)
class ClusterFold:
    """Fold k of data on a cluster, none of whose partitions contains queries of two folds."""

    data: Spread
    k: int
    ranker: RankSVM
    measure: Measure

    def path(self, strengths: Sequence[float], start: Array | None) -> Iterator[Judged]:
        train, held_out = self.data.chosen(self.k, without=True), self.data.chosen(self.k, without=False)
        contents = held_out.partitions.state(itself)
        normalize = self.ranker.options.pairing().normalize
        unit = distributed_objective(train, losses.parse(self.ranker.loss), 1.0, normalize)
        unit = self.ranker.options.penalised(unit)
        for result in follow(self.ranker.options.solver_for(train), unit, strengths, start, self.ranker.callback):
            total, weight = contents.ask(judge, result.point, self.measure)
            yield Judged(total / weight if weight else np.nan, np.nan, result.point)


def judge(content: Content, coef: Floats, measure: Measure) -> Floats:
    """The weighted sum of the measure over the queries, and the sum of their weights."""
    rows = content.rows
    assert rows is not None
    counted = np.ones(len(rows), bool) if rows.weight is None else rows.weight > 0
    if not counted.any():
        return np.zeros(2)
    data, n_threads = rows.data.select(counted), content.threads.rows.n_threads
    scores = MemoryRows(data.X, n_threads).scores(coef)
    weight = None if rows.weight is None else rows.weight[counted]
    evaluation = evaluate(data.y, scores, data.qid, measure, n_jobs=n_threads, sample_weight=weight)
    (values,) = evaluation.per_query.values()
    (weights,) = evaluation.weights.values() or (np.ones(values.size),)
    with_value = ~np.isnan(values)
    return np.array((values[with_value] @ weights[with_value], weights[with_value].sum()))
