"""Choosing a model: folds of whole queries, cross-validation that always passes qid, and the path over C."""

from rankwise.model_selection.curves import LearningCurve, learning_curve
from rankwise.model_selection.letor_folds import LetorFolds
from rankwise.model_selection.path import Path, c_path
from rankwise.model_selection.ranksvm_cv import RankSVMCV
from rankwise.model_selection.scoring import make_scorer
from rankwise.model_selection.splits import QueryKFold
from rankwise.model_selection.validation import CrossValidation, cross_validate

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
