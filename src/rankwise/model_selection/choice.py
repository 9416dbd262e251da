"""Which of several models to take, from what they scored in each fold."""

import numpy as np

from rankwise.foundation.arrays import Floats

RULES = ("best", "one-se")
GRID = 3  # values that are a grid, whose end says something; two are a choice


def means_and_errors(values: Floats) -> tuple[Floats, Floats]:
    """The mean over folds (rows) and its standard error, for each model (column); NaN is left out."""
    counted = ~np.isnan(values)
    n = counted.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(counted, values, 0.0).sum(axis=0) / n
        squares = np.where(counted, values - means, 0.0) ** 2
        errors = np.sqrt(squares.sum(axis=0) / (n - 1) / n)
    return means, np.where(n > 1, errors, 0.0)


def check_rule(rule: str) -> None:
    if rule not in RULES:
        raise ValueError(f"rule is {rule!r}: there are {', '.join(map(repr, RULES))}")


def choose(means: Floats, errors: Floats, simplest_first: Floats, rule: str) -> int:
    """The place of the model to take.

    "best"    the highest mean; of equals, the simplest
    "one-se"  the simplest whose mean is no more than one standard error of the best below the best

    simplest_first: a number for each model, the smaller the simpler (C, for one)
    """
    check_rule(rule)
    if np.isnan(means).all():
        raise ValueError("no fold gave the measure a value: its queries have no pair, or nothing relevant, to judge by")
    scores = np.where(np.isnan(means), -np.inf, means)
    best = int(np.lexsort((-simplest_first, scores))[-1])
    if rule == "best":
        return best
    near = np.flatnonzero(scores >= scores[best] - errors[best])
    return int(near[np.argmin(simplest_first[near])])


def end_of_grid(name: str, values: Floats, chosen: float) -> str:
    """What to do where the value chosen for `name` is the smallest or the largest that was tried; "" elsewhere."""
    tried = np.unique(values)
    if tried.size < GRID or tried[0] < chosen < tried[-1]:
        return ""
    least = chosen <= tried[0]
    which, more = ("smallest", "smaller") if least else ("largest", "larger")
    return f"{name} = {chosen:g} is the {which} of the values tried: try {more} ones too"
