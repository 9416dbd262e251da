"""Learning to rank from every preference pair, in linearithmic time.

The public names below are imported on first use, so that `import rankwise` costs nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "Preferences": "preferences",
    "RankingData": "data.records",
    "read_letor": "data.letor",
    "write_letor": "data.letor",
    "read_data": "data.files",
    "write_data": "data.files",
    "stream_data": "data.files",
    "from_frame": "data.frame",
    "to_frame": "data.frame",
    "write_chunks": "data.chunk_writer",
    "open_chunks": "data.chunks",
    "make_ranking": "data.synthetic",
    "load_sample": "data.sample",
    "evaluate": "metrics",
    "compare": "metrics",
    "RankSVM": "estimators.ranksvm",
    "RankSVMCV": "model_selection.ranksvm_cv",
    "RankRLS": "estimators.rankrls",
    "RankRLSCV": "estimators.rankrls_cv",
    "KernelRankSVM": "estimators.kernel",
    "KernelRankRLS": "estimators.kernel_rankrls",
    "FactorizedRankSVM": "estimators.factorized",
    "ScaledRanker": "estimators.scaled",
    "save_model": "io",
    "load_model": "io",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'rankwise' has no attribute {name!r}")
    value = getattr(import_module(f"rankwise.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
