"""RankSVM and RankRLS on a Dask cluster: the same objective, summed over partitions of whole queries on the workers."""

from rankwise.distributed.needed import require_dask

require_dask()

from rankwise.distributed.ranksvm import DaskRankSVM  # noqa: E402

__all__ = ["DaskRankSVM"]
