"""Model selection: folds of whole queries, the driver of all searches, and cross-validation that always passes qid.

`RankSVMCV`, `c_path`, `Path` and `make_scorer` need rankers; they are defined in `rankwise.estimators`, which imports
this package, and are imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankwise.model_selection.curves import LearningCurve, learning_curve
from rankwise.model_selection.letor_folds import LetorFolds
from rankwise.model_selection.splits import QueryKFold
from rankwise.model_selection.validation import CrossValidation, cross_validate

if TYPE_CHECKING:
    from rankwise.estimators.ranksvm_cv import RankSVMCV
    from rankwise.estimators.ranksvm_path import Path, c_path
    from rankwise.estimators.scorer import make_scorer

__all__ = [
    "CrossValidation",
    "LearningCurve",
    "LetorFolds",
    "Path",
    "QueryKFold",
    "RankSVMCV",
    "c_path",
    "cross_validate",
    "learning_curve",
    "make_scorer",
]

_HOME = {"Path": "ranksvm_path", "RankSVMCV": "ranksvm_cv", "c_path": "ranksvm_path", "make_scorer": "scorer"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'rankwise.model_selection' has no attribute {name!r}")
    value = vars(import_module(f"rankwise.estimators.{_HOME[name]}"))[name]
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
