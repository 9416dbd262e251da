"""The choice among several models by their scores in each fold."""

import numpy as np
from scipy.special import stdtrit

from rankwise.foundation.arrays import Floats
from rankwise.foundation.names import spelled

RULES = ("best", "one-se")
GRID = 3  # least number of values for which the end of the grid is reported
CONFIDENCE = 0.9  # confidence at which a strength counts as clearly worse than the best
IN_A_ROW = 4  # a path ends after this many strengths that are clearly worse than the best


def means_and_errors(values: Floats) -> tuple[Floats, Floats]:
    """The mean over folds (rows) and its standard error (0 for a single fold), per model (column); NaN is left out."""
    counted = ~np.isnan(values)
    n = counted.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(counted, values, 0.0).sum(axis=0) / n
        squares = np.where(counted, values - means, 0.0) ** 2
        errors = np.sqrt(squares.sum(axis=0) / (n - 1) / n)
    return means, np.where(n > 1, errors, 0.0)


def check_rule(rule: str) -> str:
    """The rule as RULES spells it."""
    return spelled("rule", rule, RULES)


def choose(means: Floats, errors: Floats, simplest_first: Floats, rule: str) -> int:
    """The index of the chosen model.

    "best"    the model with the highest mean; among equals, the simplest
    "one-se"  the simplest model whose mean is at most one standard error of the best below the best

    simplest_first: a number per model, smaller for simpler models (such as C)
    """
    rule = check_rule(rule)
    if np.isnan(means).all():
        raise ValueError("no fold gave the measure a value: its queries have no pairs, or no relevant documents")
    scores = np.where(np.isnan(means), -np.inf, means)
    best = int(np.lexsort((-simplest_first, scores))[-1])
    if rule == "best":
        return best
    near = np.flatnonzero(scores >= scores[best] - errors[best])
    return int(near[np.argmin(simplest_first[near])])


def simplest_first(strengths: Floats, l1_ratios: Floats) -> Floats:
    """A number per model, smaller for simpler ones: first by l1_ratio, as a larger one keeps fewer features."""
    ranks = np.empty(strengths.size)
    ranks[np.lexsort((strengths, -l1_ratios))] = np.arange(strengths.size)
    return ranks


def passed_its_best(values: Floats, errors: Floats) -> bool:
    """Whether a path may end: its last four strengths (columns, in the path's order) are clearly worse than its best.

    This is decided by a one-sided paired t-test over the folds (rows) at 10 %. If only one fold has values, the
    difference is compared with the standard error of the best over its queries (`errors`), which ends paths later.
    """
    counted = ~np.isnan(values).all(axis=1)
    values, errors = values[counted], errors[counted]
    if values.shape[1] <= IN_A_ROW or not len(values) or np.isnan(values).any():
        return False
    best = int(np.argmax(values.mean(axis=0)))
    gaps, spread = means_and_errors(values[:, [best]] - values[:, -IN_A_ROW:])
    if len(values) == 1:
        error = errors[0, best]  # 0 or NaN if unknown
        return bool(error > 0 and (gaps > stdtrit(np.inf, CONFIDENCE) * error).all())
    return bool((gaps > stdtrit(len(values) - 1, CONFIDENCE) * spread).all())


def end_of_grid(name: str, values: Floats, chosen: float) -> str:
    """A hint if the value chosen for `name` is the smallest or the largest that was tried; "" otherwise."""
    tried = np.unique(values)
    if tried.size < GRID or tried[0] < chosen < tried[-1]:
        return ""
    least = chosen <= tried[0]
    which, more = ("smallest", "smaller") if least else ("largest", "larger")
    return f"{name} = {chosen:g} is the {which} of the values tried: try {more} ones too"
