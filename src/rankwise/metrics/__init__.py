"""Measures as values, and `evaluate`: `evaluate(y, scores, qid, ["ndcg@10", "map"])["map"]`."""

from rankwise.metrics.comparison import Comparison, Contrast, Procedure
from rankwise.metrics.contrasts import compare
from rankwise.metrics.defaults import default_measure, default_measures
from rankwise.metrics.evaluation import Evaluation, evaluate
from rankwise.metrics.measures import DIALECTS, FAMILIES, Measure, OfQuery, parse, parse_all, register_measure
from rankwise.metrics.significance import (
    bootstrap_interval,
    holm,
    paired_t_test,
    randomization_interval,
    randomization_test,
    t_interval,
    win_tie_loss,
)

__all__ = [
    "DIALECTS",
    "FAMILIES",
    "Comparison",
    "Contrast",
    "Evaluation",
    "Measure",
    "OfQuery",
    "Procedure",
    "bootstrap_interval",
    "compare",
    "default_measure",
    "default_measures",
    "evaluate",
    "holm",
    "paired_t_test",
    "parse",
    "parse_all",
    "randomization_interval",
    "randomization_test",
    "register_measure",
    "t_interval",
    "win_tie_loss",
]
