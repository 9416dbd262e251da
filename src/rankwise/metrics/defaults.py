"""The default measures: NDCG is meaningful for grades only, pairwise accuracy for all labels."""

import numpy as np

from rankwise.foundation.arrays import Floats, finite
from rankwise.foundation.devices import library_of, to_host
from rankwise.metrics.measures import Measure, parse

TOP = 10  # documents whose judgements are counted if no measure has a cutoff
HIGHEST_GRADE = 31  # larger labels are not grades: no one means a gain of 2^32


def default_measure(y: object) -> str:
    """The measure that `score` and `evaluate` use for the labels y by default.

    "ndcg@10" if every label is a grade, an integer from 0 to 31; otherwise "pairwise-accuracy", which takes negative
    and real-valued labels too.

    Examples
    --------
    >>> from rankwise.metrics import default_measure
    >>> default_measure([0, 2, 1]), default_measure([0.5, 2.25])
    ('ndcg@10', 'pairwise-accuracy')
    """
    return default_measures(y)[0]


def default_measures(y: object) -> list[str]:
    """The measures that the commands show by default, the default measure first.

    With NDCG, MAP is shown if some documents are not relevant (y = 0).

    Examples
    --------
    >>> from rankwise.metrics import default_measures
    >>> default_measures([0, 2, 1])
    ['ndcg@10', 'map', 'pairwise-accuracy']
    """
    labels = finite(to_host(y) if library_of(y) else y, "y")
    grades = bool(((labels >= 0) & (labels <= HIGHEST_GRADE) & (labels == np.round(labels))).all())
    if not grades:
        return ["pairwise-accuracy", "kendall-tau-b"]
    return ["ndcg@10", *(["map"] if (labels == 0).any() else []), "pairwise-accuracy"]


def with_judged(measures: list[Measure], *labels: Floats) -> list[Measure]:
    """The measures, and judged@k if the label of some document is NaN, because nobody judged it."""
    if not any(np.isnan(one).any() for one in labels) or any(one.name == "judged" for one in measures):
        return measures
    deepest = max((one.cutoff for one in measures if one.cutoff is not None), default=TOP)
    return [*measures, parse(f"judged@{deepest}")]
