"""RankRLS on a Dask cluster."""

import warnings
from typing import Any, Self

from rankwise.distributed.client import check_device
from rankwise.distributed.cluster import OnCluster
from rankwise.distributed.executor import Cluster, Content
from rankwise.distributed.results import with_traffic
from rankwise.distributed.rows import Rows, threads
from rankwise.distributed.spread import Columns, spread
from rankwise.estimators.base import positive
from rankwise.estimators.rankrls import NO_PAIR, RankRLS
from rankwise.least_squares.regression import Regression, build, cheapest
from rankwise.least_squares.squared_gaps import SQUARED

SOLVERS = ("auto", "primal", "cg")


class DaskRankRLS(OnCluster, RankRLS):
    """RankRLS whose data are stored on the workers of a Dask cluster; parameters, attributes as in `rankwise.RankRLS`.

    `client`, `n_jobs` and `result_` are as in `DaskRankSVM`. With few features one round of messages sums up the
    normal matrix; with many, conjugate gradients take one round per step. Solver "dual" is not available.
    """

    local = RankRLS

    def fit(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> Self:
        """Learn `coef_` from data on the workers; arguments as in `DaskRankSVM.fit`."""
        alpha = positive("alpha", self.alpha)
        if self.solver not in SOLVERS:
            raise ValueError(f"solver is {self.solver!r}: on a cluster there are {', '.join(map(repr, SOLVERS))}")
        check_device(self)
        given = X, y, qid, sample_weight
        data = spread(self.client, given, build_regression, self.ties, self.scaling, self.n_jobs)
        with data.partitions:
            self._know(data)
            problem = Regression(Cluster(data, SQUARED))
            if not problem.any:
                warnings.warn(NO_PAIR, stacklevel=2)
            name = cheapest(*data.shape, data.size) if self.solver == "auto" else self.solver
            self._solve(problem, "cg" if name == "dual" else name, alpha)
        self.result_ = with_traffic(self.result_, data.partitions.traffic)
        return self


def build_regression(rows: Rows, _: Columns, ties: str, scaling: str, n_jobs: int | None) -> Content:
    """The content of a partition."""
    data = rows.data
    options: Any = {"ties": ties, "scaling": scaling, "n_jobs": threads(n_jobs)}
    executor = build(data.X, data.y, data.qid, rows.weight, **options)
    return Content(Regression(executor).objective(0.5), None)
