"""Which measures are used where none is named: NDCG has a meaning for grades only, pairwise accuracy for all labels."""

import numpy as np

from rankwise.foundation.arrays import finite
from rankwise.foundation.devices import library_of, to_host

HIGHEST_GRADE = 31  # 2^y of larger labels is no gain that anyone means


def default_measure(y: object) -> str:
    """The measure that `score` and `evaluate` use for the labels y where none is named.

    "ndcg@10" where every label is a grade, a whole number from 0 to 31; else "pairwise-accuracy", which takes negative
    and real-valued labels too.
    """
    return default_measures(y)[0]


def default_measures(y: object) -> list[str]:
    """What the commands show where no measure is named: the default measure first.

    MAP is shown with NDCG where some documents are not relevant (y = 0).
    """
    labels = finite(to_host(y) if library_of(y) else y, "y")
    grades = bool(((labels >= 0) & (labels <= HIGHEST_GRADE) & (labels == np.round(labels))).all())
    if not grades:
        return ["pairwise-accuracy", "kendall-tau-b"]
    return ["ndcg@10", *(["map"] if (labels == 0).any() else []), "pairwise-accuracy"]
