"""RankSVM on a Dask cluster."""

from dataclasses import replace
from typing import NoReturn, Self

import numpy as np

from rankwise.distributed.client import Column, Table, check_device
from rankwise.distributed.cluster import OnCluster
from rankwise.distributed.executor import build_rows, distributed_objective
from rankwise.distributed.results import with_traffic
from rankwise.distributed.spread import spread
from rankwise.estimators.ranksvm import RankSVM
from rankwise.objective import losses
from rankwise.rankers.checks import check_room_for_weights
from rankwise.solvers import needs_of


class DaskRankSVM(OnCluster, RankSVM):
    """RankSVM whose data are stored on the workers of a Dask cluster; parameters, attributes as in `rankwise.RankSVM`.

    The model is the one that RankSVM finds in memory, and does not depend on the number of workers. It runs on the
    latest `distributed.Client`, or on the one that the attribute `client` is set to. `result_` also has the
    number of `rounds` of messages and the `bytes` sent in them. `n_jobs` is the number of threads per worker, by
    default those that it has for tasks. Solvers that use single pairs ("sgd", "sgd-queries", "dual") are refused.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client, LocalCluster
    >>> from rankwise import load_sample
    >>> from rankwise.distributed import DaskRankSVM
    >>> data = load_sample()
    >>> X, y, qid = (da.from_array(part, chunks=(650, *part.shape[1:])) for part in (data.X, data.y, data.qid))
    >>> with LocalCluster(n_workers=2, processes=False, dashboard_address=":0") as cluster, Client(cluster):
    ...     ranker = DaskRankSVM().fit(X, y, qid)
    >>> ranker.coef_.shape
    (13,)
    """

    local = RankSVM

    @property
    def partial_fit(self) -> NoReturn:
        raise AttributeError("partial_fit takes new queries in memory: to_local() gives a RankSVM that has it")

    def fit(self, X: Table, y: Column = None, qid: Column = None, sample_weight: Column = None) -> Self:  # type: ignore[override]
        """Learn `coef_` from data on the workers.

        Parameters
        ----------
        X : Dask DataFrame or array, or path, pattern or list of paths
            Files (LETOR text, Parquet, ...; folders of Parquet files) are read by the workers that store them.
        y : Dask Series or array, or name of a column
        qid : Dask Series or array, or name of a column, default=None
            None: the column "qid" of a DataFrame; files contain their own. A query in several partitions is moved to
            one.
        sample_weight : Dask Series or array, or name of a column, default=None
        """
        loss, (C, normalize) = losses.parse(self.loss), self.options.strength()
        pairing = replace(self.options.pairing(), normalize=normalize)
        check_options(self)
        data = spread(self.client, (X, y, qid, sample_weight), build_rows, loss, pairing, self.n_jobs)
        with data.partitions:
            self._know(data)
            check_room_for_weights(data.n_features)
            objective = distributed_objective(data, loss, C, pairing.normalize)
            self._solve(data, objective, data.columns)
        self.result_ = with_traffic(self.result_, data.partitions.traffic)
        return self


def check_options(ranker: RankSVM) -> None:
    """Refuse wrong options before anything is read."""
    if "single pairs" in needs_of(ranker.options.solver_for(np.empty((1, 1)))):
        raise ValueError(f"solver {ranker.solver!r} uses single pairs, which are on many workers: take 'auto'")
    if ranker.costs is not None and not isinstance(ranker.costs, str):
        raise ValueError("costs of single documents or levels cannot be divided into partitions: give a name")
    check_device(ranker)
