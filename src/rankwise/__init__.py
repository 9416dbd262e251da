"""Learning to rank from every preference pair, in linearithmic time.

The public names below are imported on first use, so that `import rankwise` costs nothing; type checkers see them all.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankwise import clicks, metrics, model_selection, preprocessing, report, solvers
    from rankwise import distributed as distributed
    from rankwise.checking import check
    from rankwise.data.chunk_writer import write_chunks
    from rankwise.data.chunks import open_chunks
    from rankwise.data.formats import read_data, register_format, stream_data, write_data
    from rankwise.data.frame import from_frame, to_frame
    from rankwise.data.letor import read_letor
    from rankwise.data.records import RankingData
    from rankwise.data.synthetic import load_sample, make_ranking
    from rankwise.data.text_writer import write_letor
    from rankwise.estimators.factorized import FactorizedRankSVM
    from rankwise.estimators.kernel import KernelRankSVM
    from rankwise.estimators.kernel_rankrls import KernelRankRLS
    from rankwise.estimators.rankrls import RankRLS
    from rankwise.estimators.rankrls_cv import RankRLSCV
    from rankwise.estimators.ranksvm import RankSVM
    from rankwise.estimators.ranksvm_cv import RankSVMCV
    from rankwise.estimators.scaled import ScaledRanker
    from rankwise.estimators.scorer import make_scorer
    from rankwise.exporting.exports import export
    from rankwise.exporting.targets import register_export
    from rankwise.joining.matching import join
    from rankwise.metrics import compare, evaluate, register_measure
    from rankwise.model_io.files import load_model, model_schema, save_model
    from rankwise.objective import losses
    from rankwise.objective.losses import register_loss
    from rankwise.pairs.preferences import Preferences
    from rankwise.pairs.schemes import register_scheme
    from rankwise.solvers import register_solver

__version__ = "0.2.0"

_HOME = {  # where each name is: a module of rankwise ("" for rankwise itself), as above
    "FactorizedRankSVM": "estimators.factorized",
    "KernelRankRLS": "estimators.kernel_rankrls",
    "KernelRankSVM": "estimators.kernel",
    "Preferences": "pairs.preferences",
    "RankRLS": "estimators.rankrls",
    "RankRLSCV": "estimators.rankrls_cv",
    "RankSVM": "estimators.ranksvm",
    "RankSVMCV": "estimators.ranksvm_cv",
    "RankingData": "data.records",
    "ScaledRanker": "estimators.scaled",
    "check": "checking",
    "clicks": "",
    "compare": "metrics",
    "distributed": "",
    "evaluate": "metrics",
    "export": "exporting.exports",
    "from_frame": "data.frame",
    "join": "joining.matching",
    "load_model": "model_io.files",
    "load_sample": "data.synthetic",
    "losses": "objective",
    "make_ranking": "data.synthetic",
    "make_scorer": "estimators.scorer",
    "metrics": "",
    "model_schema": "model_io.files",
    "model_selection": "",
    "open_chunks": "data.chunks",
    "preprocessing": "",
    "read_data": "data.formats",
    "read_letor": "data.letor",
    "register_export": "exporting.targets",
    "register_format": "data.formats",
    "register_loss": "objective.losses",
    "register_measure": "metrics",
    "register_scheme": "pairs.schemes",
    "register_solver": "solvers",
    "report": "",
    "save_model": "model_io.files",
    "solvers": "",
    "stream_data": "data.formats",
    "to_frame": "data.frame",
    "write_chunks": "data.chunk_writer",
    "write_data": "data.formats",
    "write_letor": "data.text_writer",
}

__all__ = [  # without `distributed`, which needs Dask: `from rankwise import *` works without it
    "FactorizedRankSVM",
    "KernelRankRLS",
    "KernelRankSVM",
    "Preferences",
    "RankRLS",
    "RankRLSCV",
    "RankSVM",
    "RankSVMCV",
    "RankingData",
    "ScaledRanker",
    "__version__",
    "check",
    "clicks",
    "compare",
    "evaluate",
    "export",
    "from_frame",
    "join",
    "load_model",
    "load_sample",
    "losses",
    "make_ranking",
    "make_scorer",
    "metrics",
    "model_schema",
    "model_selection",
    "open_chunks",
    "preprocessing",
    "read_data",
    "read_letor",
    "register_export",
    "register_format",
    "register_loss",
    "register_measure",
    "register_scheme",
    "register_solver",
    "report",
    "save_model",
    "solvers",
    "stream_data",
    "to_frame",
    "write_chunks",
    "write_data",
    "write_letor",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'rankwise' has no attribute {name!r}")
    home = ".".join(filter(None, ("rankwise", _HOME[name])))
    module = import_module(home)
    value = vars(module)[name] if name in vars(module) else import_module(f"{home}.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*_HOME, "__version__"]
