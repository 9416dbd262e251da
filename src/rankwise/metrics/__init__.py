"""Measures as values, and `evaluate`: `evaluate(y, scores, qid, ["ndcg@10", "map"])["map"]`."""

from rankwise.metrics.evaluation import Evaluation, evaluate
from rankwise.metrics.measures import DIALECTS, FAMILIES, Measure, parse

__all__ = ["DIALECTS", "FAMILIES", "Evaluation", "Measure", "evaluate", "parse"]
