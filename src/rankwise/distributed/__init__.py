"""RankSVM and RankRLS on a Dask cluster: the same objective, summed over partitions of whole queries on the workers."""

from rankwise.distributed.client import require_dask

require_dask()

from rankwise.distributed.evaluation import evaluate  # noqa: E402
from rankwise.distributed.rankrls import DaskRankRLS  # noqa: E402
from rankwise.distributed.ranksvm import DaskRankSVM  # noqa: E402
from rankwise.distributed.ranksvm_cv import DaskRankSVMCV  # noqa: E402

__all__ = ["DaskRankRLS", "DaskRankSVM", "DaskRankSVMCV", "evaluate"]
