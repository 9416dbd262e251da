"""Intervals by the bootstrap over queries or lists."""

from collections.abc import Callable

import numpy as np
from scipy.special import ndtr, stdtrit

from rankwise.clicks.log import ClickLog
from rankwise.foundation.arrays import Array, Floats

UNITS = ("queries", "lists")  # what the bootstrap draws
_FEWEST = 10  # units to draw from


def interval(
    log: ClickLog,
    estimate: Callable[[Floats], Floats],
    *,
    over: str,
    confidence: float,
    n_resamples: int,
    random_state: int | np.random.Generator | None,
) -> tuple[Floats, Floats]:
    """The ends of the interval of each number of an estimate: its quantiles on units drawn with replacement.

    Resamples of n units vary less than n units do, by the factor sqrt((n - 1) / n), and their quantiles are those of a
    normal distribution where Student's are due: the quantiles are taken further out by as much.

    estimate  from weights of the lists to one number per position; NaN where the lists do not tell
    """
    if over not in UNITS:
        raise ValueError(f"over must be one of {', '.join(map(repr, UNITS))}; got {over!r}")
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be at least 1; got {n_resamples!r}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}")
    unit: Array = log.query if over == "queries" else np.arange(log.n_lists)
    n_units = int(unit.max()) + 1
    if n_units < _FEWEST:
        hint = ": give over='lists' (--over lists)" if over == "queries" and log.n_lists >= _FEWEST else ""
        raise ValueError(f"intervals need at least {_FEWEST} {over} to draw from, the log has {n_units}{hint}")
    random = np.random.default_rng(random_state)
    draws = []
    for _ in range(n_resamples):
        times = np.bincount(random.integers(0, n_units, n_units), minlength=n_units)
        draws.append(estimate(times[unit].astype(np.float64)))
    tail = ndtr(np.sqrt(n_units / (n_units - 1)) * stdtrit(n_units - 1, (1 - confidence) / 2))
    lower, upper = np.nanquantile(draws, [tail, 1 - tail], axis=0)
    return lower, upper
