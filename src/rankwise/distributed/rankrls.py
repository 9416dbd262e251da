"""RankRLS on a Dask cluster."""

import warnings
from typing import Self

from rankwise.distributed.client import Column, Table, check_device
from rankwise.distributed.cluster import OnCluster
from rankwise.distributed.executor import Cluster, Content
from rankwise.distributed.results import with_traffic
from rankwise.distributed.rows import Rows, threads
from rankwise.distributed.spread import Columns, spread
from rankwise.estimators.rankrls import RankRLS
from rankwise.foundation.names import one_of
from rankwise.least_squares.regression import Regression, build, cheapest
from rankwise.least_squares.squared_gaps import SQUARED
from rankwise.rankers.checks import NO_PAIR, positive

SOLVERS = ("auto", "primal", "cg")


class DaskRankRLS(OnCluster, RankRLS):
    """RankRLS whose data are stored on the workers of a Dask cluster; parameters, attributes as in `rankwise.RankRLS`.

    `client`, `n_jobs` and `result_` are as in `DaskRankSVM`. With few features one round of messages sums up the
    normal matrix; with many, conjugate gradients take one round per step. Solver "dual" is not available.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client, LocalCluster
    >>> from rankwise import load_sample
    >>> from rankwise.distributed import DaskRankRLS
    >>> data = load_sample()
    >>> X, y, qid = (da.from_array(part, chunks=(650, *part.shape[1:])) for part in (data.X, data.y, data.qid))
    >>> with LocalCluster(n_workers=2, processes=False, dashboard_address=":0") as cluster, Client(cluster):
    ...     ranker = DaskRankRLS(alpha=10.0).fit(X, y, qid)
    >>> ranker.coef_.shape
    (13,)
    """

    local = RankRLS

    def fit(self, X: Table, y: Column = None, qid: Column = None, sample_weight: Column = None) -> Self:
        """Learn `coef_` from data on the workers; arguments as in `DaskRankSVM.fit`."""
        positive("alpha", self.alpha)
        one_of("solver on a cluster", self.solver, SOLVERS)
        check_device(self)
        given = X, y, qid, sample_weight
        data = spread(self.client, given, build_regression, self.ties, self.scaling, self.n_jobs)
        with data.partitions:
            self._know(data)
            problem = Regression(Cluster(data, SQUARED))
            if not problem.any:
                warnings.warn(NO_PAIR, stacklevel=2)
            name = cheapest(*data.shape, data.size) if self.solver == "auto" else self.solver
            self._keep_fitted(self.options.solve(problem, "cg" if name == "dual" else name), level=4)
        self.result_ = with_traffic(self.result_, data.partitions.traffic)
        return self


def build_regression(rows: Rows, _: Columns, ties: str, scaling: str, n_jobs: int | None) -> Content:
    """The content of a partition."""
    data = rows.data
    executor = build(data.X, data.y, data.qid, rows.weight, ties=ties, scaling=scaling, n_jobs=threads(n_jobs))
    return Content(executor, None)
