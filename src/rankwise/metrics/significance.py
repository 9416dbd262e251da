"""Tests whether two rankers differ, by their values per query. d_q is the difference on query q and w_q its weight,
which is 1 unless the mean of the measure is weighted.

    randomization  if the rankers were equal, each d_q would have either sign with equal probability; p is the share of
                   all choices of signs with |Σ ± w_q d_q| ≥ |Σ w_q d_q|
    paired t       the t distribution for the mean of w_q d_q over its standard error
    bootstrap      the mean over queries drawn with replacement: Efron's BCa interval

The interval of a difference holds every θ that the test does not reject when θ is subtracted from all d_q. So the two
agree: 0 is outside the 95 % interval if and only if p < 0.05. (The bootstrap can disagree with either test where
queries are few and their differences skewed, and is then too narrow.) For the randomisation test no θ has to be tried.
Changing the signs of the queries in a set S gives a sum at least as large as the observed one if and only if the mean
of d_q - θ over S is not positive, that is if θ is at least the mean of d_q over S. So the ends are quantiles of the
means over random sets of queries: Hartigan's typical values (1969). Where p is exact and the sets are drawn, with more
than 16 queries of which at most 40 differ, they agree up to the error of the draw.

A query whose value is NaN does not count. All tests are two-sided. Differences and weights are divided by powers of
two, which changes neither p nor a digit of an interval, so that sums and squares of very large and of very small ones
can be represented.
"""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankwise.foundation.arrays import Array, Floats

EXACT = 40  # up to this many queries with a difference, all choices of signs are counted
LISTED = 16  # up to this many queries, the interval is of the means over all sets of queries
TOGETHER = 12  # signs that are drawn by one random number; the table of their sums fits into the cache
ROUNDING = 1e-12  # sums that differ by at most this share of Σ|d| are equal
BLOCK = 1 << 21  # drawn queries in memory at a time


class Randomization(NamedTuple):
    """The result of a randomisation test; `exact`: whether all choices of signs were counted."""

    p_value: float
    exact: bool


def randomization_test(
    differences: object, weights: object = None, n_resamples: int = 100_000, random_state: int = 0
) -> Randomization:
    """The paired randomisation test. With up to 40 queries that differ, all choices of signs are counted.

    With more, `n_resamples` random choices and the observed one are, so that p is at least 1 / (n_resamples + 1).
    Queries without a difference have no effect.

    Examples
    --------
    >>> from rankwise.metrics import randomization_test
    >>> randomization_test([0.1, 0.2, 0.05, -0.02, 0.1, 0.3]).p_value
    0.0625
    """
    d, w, _ = _counted(differences, weights)
    d = d * w
    if not d.size:
        return Randomization(np.nan, True)
    reached = abs(d.sum()) - ROUNDING * np.abs(d).sum()
    if np.count_nonzero(d) <= EXACT:
        different = d[d != 0]
        halves = (np.sort(2 * _subset_sums(half) - half.sum()) for half in (different[::2], different[1::2]))
        return Randomization(_share_reaching(reached, *halves), True)
    sums = _drawn_sums(d, n_resamples, random_state)
    far = np.count_nonzero(np.abs(d.sum() - 2 * sums) >= reached)
    return Randomization(float(far + 1) / (n_resamples + 1), False)


def randomization_interval(
    differences: object,
    weights: object = None,
    confidence: float = 0.95,
    n_resamples: int = 100_000,
    random_state: int = 0,
) -> tuple[float, float]:
    """The interval (low, high) of the mean difference by the paired randomisation test: what it does not reject.

    With up to 16 queries all sets of queries are used, with more `n_resamples` random ones. NaN if the queries are so
    few that the test can reject nothing: 5 or fewer for an interval of 95 %.

    Examples
    --------
    >>> from rankwise.metrics import randomization_interval
    >>> low, high = randomization_interval([0.1, 0.2, 0.05, -0.02, 0.1, 0.3])
    >>> round(low, 3), round(high, 3)                                            # p is 0.0625: 0 is inside
    (-0.02, 0.3)
    """
    _check_confidence(confidence)
    d, w, power = _counted(differences, weights)
    is_listed = d.size <= LISTED
    if is_listed:
        sums, sizes = _subset_sums(d * w), _subset_sums(w)
    else:
        sums, sizes = (_drawn_sums(one, n_resamples, random_state) for one in (d * w, w))
    unseen = 0 if is_listed else 1  # the observed signs count too, if they were not drawn
    k = math.ceil((1 - confidence) * (sums.size + unseen) - 1e-6) - unseen  # 1 - 0.95 is a little more than 0.05
    if k < 1:
        return np.nan, np.nan
    same, least = ROUNDING / 2 * np.abs(d * w).sum(), ROUNDING * w.sum()  # sums up to these are 0, as in the test
    sets = ((sums, sizes), ((d * w).sum() - sums, w.sum() - sizes))  # each set and the queries outside of it
    means = [
        np.divide(np.where(np.abs(some) <= same, 0.0, some), size, out=np.full(size.size, np.nan), where=size > least)
        for some, size in sets
    ]
    is_part = ~np.isnan(means[0] + means[1])  # neither no query nor all of them
    low = np.partition(np.where(is_part, np.fmin(*means), -np.inf), k - 1)[k - 1]
    high = np.partition(np.where(is_part, np.fmax(*means), np.inf), -k)[-k]
    return (math.ldexp(low, power), math.ldexp(high, power)) if np.isfinite(low) else (np.nan, np.nan)


def _subset_sums(d: Floats) -> Floats:
    """Σ d over each of the 2^n sets of queries."""
    sums = np.zeros(1)
    for one in d:
        sums = np.concatenate((sums, sums + one))
    return sums


def _drawn_sums(column: Floats, n_resamples: int, random_state: int) -> Floats:
    """Σ over random sets of queries, each of which is in a set with probability ½; the sets depend on no value."""
    return _drawn_sums_of(column.tobytes(), n_resamples, random_state)


@lru_cache(maxsize=4)  # the interval needs the sums of the test again, and all intervals the sums of equal weights
def _drawn_sums_of(column: bytes, n_resamples: int, random_state: int) -> Floats:
    rng, values = np.random.default_rng(random_state), np.frombuffer(column)
    sums = np.zeros(n_resamples)
    for start in range(0, values.size, TOGETHER):
        table = _subset_sums(values[start : start + TOGETHER])
        # four numbers of 16 bits drawn together take a fifth of the time of one by one, and are the same
        bits = rng.integers(1 << 64, size=-(-n_resamples // 4), dtype=np.uint64).view(np.uint16)[:n_resamples]
        sums += table[bits >> (17 - table.size.bit_length())]
    sums.flags.writeable = False
    return sums


def _share_reaching(reached: float, some: Floats, others: Floats) -> float:
    """The share of the sums of one of `some` and one of `others`, both sorted, whose absolute value is ≥ `reached`.

    Sums come in pairs of opposite sign, so one side is counted and doubled.
    """
    if reached <= 0:
        return 1.0
    first = np.searchsorted(others, reached - some)
    return 2.0 * float(others.size * some.size - first.sum()) / (float(some.size) * others.size)


def paired_t_test(differences: object, weights: object = None) -> float:
    """p of Student's paired test; NaN for fewer than two queries, 1 if no query differs.

    Examples
    --------
    >>> from rankwise.metrics import paired_t_test
    >>> round(paired_t_test([0.1, 0.2, 0.05, -0.02, 0.1, 0.3]), 3)
    0.046
    """
    from scipy.special import stdtr

    d, w, _ = _counted(differences, weights)
    d = d * w
    if d.size < 2:
        return np.nan
    if not d.any():
        return 1.0
    d = d / np.abs(d).max()  # a large difference may have a small weight
    with np.errstate(divide="ignore"):  # equal differences: t is infinite and p is 0
        t = d.mean() / (d.std(ddof=1) / np.sqrt(d.size))
    return float(2 * stdtr(d.size - 1, -abs(t)))


def t_interval(differences: object, weights: object = None, confidence: float = 0.95) -> tuple[float, float]:
    """The interval (low, high) of the mean difference by Student's paired test; NaN for fewer than two queries.

    With weights it is Fieller's interval of a ratio of two means, and NaN if one large weight leaves it without ends.

    Examples
    --------
    >>> from rankwise.metrics import t_interval
    >>> low, high = t_interval([0.1, 0.2, 0.05, -0.02, 0.1, 0.3])
    >>> round(low, 3), round(high, 3)
    (0.003, 0.24)
    """
    from scipy.special import stdtrit

    _check_confidence(confidence)
    d, w, power = _counted(differences, weights)
    if d.size < 2:
        return np.nan, np.nan
    load = d * w
    (load_variance, shared), (_, weight_variance) = np.cov(load, w) * stdtrit(d.size - 1, (1 + confidence) / 2) ** 2
    n, mean, weight = d.size, load.mean(), w.mean()
    # the θ with n (mean - θ weight)² ≤ t² times the variance of load - θ w
    square, middle, rest = n * weight**2 - weight_variance, n * mean * weight - shared, n * mean**2 - load_variance
    if square <= 0:
        return np.nan, np.nan
    half = math.sqrt(max(middle**2 - square * rest, 0.0))
    low, high = np.ldexp([(middle - half) / square, (middle + half) / square], power)
    return float(low), float(high)


def bootstrap_interval(
    values: object,
    weights: object = None,
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    random_state: int = 0,
) -> tuple[Any, Any]:
    """The interval (low, high) of the mean of `values`, one per query: those of a ranker, or differences of two.

    Columns of values (and of weights) are resampled together; low and high are then arrays. NaN if fewer than two
    queries count.

    Examples
    --------
    >>> from rankwise.metrics import bootstrap_interval
    >>> low, high = bootstrap_interval([0.1, 0.2, 0.05, -0.02, 0.1, 0.3])
    >>> 0 < low < 0.12 < high
    True
    """
    _check_confidence(confidence)
    v = np.asarray(values, dtype=np.float64)
    if not v.size:
        return np.nan, np.nan
    w = np.broadcast_to(1.0 if weights is None else np.asarray(weights, dtype=np.float64), v.shape)
    w = np.where(np.isnan(v), 0.0, w)
    _check_numbers("values", np.nan_to_num(v, posinf=np.inf, neginf=-np.inf), w)
    (v, power), (w, _) = _scaled(np.nan_to_num(v)), _scaled(w)
    columns, loads = v.reshape(len(v), -1), w.reshape(len(v), -1)
    means = _resampled_means(columns, loads, n_resamples, random_state)
    ends = np.array([_bca(means[:, i], columns[:, i], loads[:, i], confidence) for i in range(columns.shape[1])])
    ends = np.ldexp(ends, power)
    return (float(ends[0, 0]), float(ends[0, 1])) if v.ndim == 1 else (ends[:, 0], ends[:, 1])


def _resampled_means(columns: Floats, loads: Floats, n_resamples: int, random_state: int) -> Floats:
    """A row a resample: the weighted mean of each column over as many queries, drawn with replacement."""
    rng = np.random.default_rng(random_state)
    n = len(columns)
    weighed = np.hstack((columns * loads, loads))
    sums = np.empty((n_resamples, weighed.shape[1]))
    rows = max(1, BLOCK // max(n, 1))
    for start in range(0, n_resamples, rows):
        drawn = rng.integers(0, n, (min(rows, n_resamples - start), n))
        drawn += n * np.arange(len(drawn))[:, None]
        times = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)
        sums[start : start + len(drawn)] = times.astype(np.float64) @ weighed
    totals = sums[:, columns.shape[1] :]
    means: Floats = np.divide(sums[:, : columns.shape[1]], totals, out=np.full_like(totals, np.nan), where=totals > 0)
    return means


def _bca(means: Floats, values: Floats, weights: Floats, confidence: float) -> tuple[float, float]:
    """Efron's BCa interval: quantiles of the means, corrected for bias and for acceleration."""
    from scipy.special import ndtr, ndtri

    values, weights = values[weights > 0], weights[weights > 0]
    if values.size < 2:
        return np.nan, np.nan
    total, weight = (values * weights).sum(), weights.sum()
    same = ROUNDING * np.abs(values).max()
    if np.ptp(values) <= same:
        return float(values[0]), float(values[0])
    left_out = (total - values * weights) / (weight - weights)
    pull = left_out.mean() - left_out
    pull = pull / (np.abs(pull).max() or 1.0)  # the acceleration has no scale, and powers need not fit
    acceleration = (pull**3).sum() / (6 * (pull**2).sum() ** 1.5 or 1.0)
    means = means[~np.isnan(means)]
    mean = total / weight
    below = (np.count_nonzero(means < mean - same) + np.count_nonzero(means <= mean + same)) / (2 * means.size)
    bias = ndtri(np.clip(below, 0.5 / means.size, 1 - 0.5 / means.size))
    tails = bias + ndtri(np.array([(1 - confidence) / 2, (1 + confidence) / 2]))
    low, high = np.quantile(means, ndtr(bias + tails / (1 - acceleration * tails)))
    return float(low), float(high)


def holm(p_values: ArrayLike) -> Floats:
    """Holm's adjusted p values: the k-th smallest of m times m - k + 1, at most 1 and not below the one before.

    Rejecting those below α makes one or more false discoveries with a probability of at most α. NaN is left out of m.

    Examples
    --------
    >>> from rankwise.metrics import holm
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(p.shape, np.nan)
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]
    factors = np.arange(order.size, 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p[order]), 1.0)
    return adjusted


def win_tie_loss(differences: object) -> tuple[int, int, int]:
    """The numbers of queries with a positive difference, a tie (up to rounding), and a negative difference.

    Examples
    --------
    >>> from rankwise.metrics import win_tie_loss
    >>> win_tie_loss([0.1, 0.2, 0.0, -0.02])
    (2, 1, 1)
    """
    d = np.asarray(differences, dtype=np.float64)
    wins, losses = np.count_nonzero(d > ROUNDING), np.count_nonzero(d < -ROUNDING)
    return int(wins), int(np.count_nonzero(~np.isnan(d)) - wins - losses), int(losses)


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}")


def _check_numbers(name: str, numbers: Floats, weights: Array) -> None:
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} must be finite, or NaN for a query that does not count; got an infinite one")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError("weights must be finite and 0 or more")


def _counted(differences: object, weights: object) -> tuple[Floats, Floats, int]:
    """The differences d that are not NaN, with positive weights w, and a power: they are d · 2^power."""
    d = np.asarray(differences, dtype=np.float64)
    w = np.ones(d.size) if weights is None else np.asarray(weights, dtype=np.float64)
    if d.ndim != 1 or w.shape != d.shape:
        raise ValueError(f"differences and weights must hold one number per query, got shapes {d.shape} and {w.shape}")
    d, w = d[~np.isnan(d)], w[~np.isnan(d)]
    _check_numbers("differences", d, w)
    d, power = _scaled(d[w > 0])
    return d, _scaled(w[w > 0])[0], power


def _scaled(numbers: Floats) -> tuple[Floats, int]:
    """Numbers up to 1 and a power: times 2^power they are the given ones."""
    power = math.frexp(np.abs(numbers).max(initial=0.0))[1]
    return np.ldexp(numbers, -power), power
