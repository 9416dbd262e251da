"""Which of several models to take, from what they scored in each fold."""

import numpy as np
from scipy.special import stdtrit

from rankwise.foundation.arrays import Floats
from rankwise.foundation.names import spelled

RULES = ("best", "one-se")
GRID = 3  # values that are a grid, whose end says something; two are a choice
CONFIDENCE = 0.9  # that a strength is worse than the best, from where on it is clearly worse
IN_A_ROW = 4  # strengths that are clearly worse than the best before a path ends


def means_and_errors(values: Floats) -> tuple[Floats, Floats]:
    """The mean over folds (rows) and its standard error, for each model (column); NaN is left out."""
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
    """The place of the model to take.

    "best"    the highest mean; of equals, the simplest
    "one-se"  the simplest whose mean is no more than one standard error of the best below the best

    simplest_first: a number for each model, the smaller the simpler (C, for one)
    """
    rule = check_rule(rule)
    if np.isnan(means).all():
        raise ValueError("no fold gave the measure a value: its queries have no pair, or nothing relevant, to judge by")
    scores = np.where(np.isnan(means), -np.inf, means)
    best = int(np.lexsort((-simplest_first, scores))[-1])
    if rule == "best":
        return best
    near = np.flatnonzero(scores >= scores[best] - errors[best])
    return int(near[np.argmin(simplest_first[near])])


def passed_its_best(values: Floats, errors: Floats) -> bool:
    """Whether a path may end: its last four strengths (columns, in the path's order) are clearly worse than its best.

    Clearly: by a paired t-test over the folds (rows), at one-sided 10 %. If a single fold has values, the difference is
    compared with the standard error of the best over its queries (`errors`), which is more careful.
    """
    counted = ~np.isnan(values).all(axis=1)
    values, errors = values[counted], errors[counted]
    if values.shape[1] <= IN_A_ROW or not len(values) or np.isnan(values).any():
        return False
    best = int(np.argmax(values.mean(axis=0)))
    gaps, spread = means_and_errors(values[:, [best]] - values[:, -IN_A_ROW:])
    if len(values) == 1:
        error = errors[0, best]  # 0 or NaN where it is not known
        return bool(error > 0 and (gaps > stdtrit(np.inf, CONFIDENCE) * error).all())
    return bool((gaps > stdtrit(len(values) - 1, CONFIDENCE) * spread).all())


def end_of_grid(name: str, values: Floats, chosen: float) -> str:
    """What to do where the value chosen for `name` is the smallest or the largest that was tried; "" elsewhere."""
    tried = np.unique(values)
    if tried.size < GRID or tried[0] < chosen < tried[-1]:
        return ""
    least = chosen <= tried[0]
    which, more = ("smallest", "smaller") if least else ("largest", "larger")
    return f"{name} = {chosen:g} is the {which} of the values tried: try {more} ones too"
