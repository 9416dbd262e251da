"""Choosing a model: folds of whole queries, cross-validation that always passes qid, and the path over C."""

from importlib import import_module
from typing import Any

_HOME = {
    "QueryKFold": "splits",
    "LetorFolds": "letor_folds",
    "CrossValidation": "validation",
    "cross_validate": "validation",
    "LearningCurve": "curves",
    "learning_curve": "curves",
    "c_path": "path",
    "RankSVMCV": "ranksvm_cv",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
