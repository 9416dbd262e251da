"""How often users look at each position, from swap experiments, from lists of several rankers, and by regression EM.

All three assume that a document is clicked with the probability that the user looks at its position, times one that
depends on query and document alone. Only ratios of the former can be known, so position 1 has 1. Intervals are
quantiles of the bootstrap over queries, or over lists if the log has few queries.

The regression EM of Wang et al. (2018) shares relevance between documents by a regression on features; here every
document of a query has a relevance of its own. With few impressions per document and position, relevances are fitted to
noise and lower positions come out too high. More queries do not help, because each brings relevances of its own:
experiments/clicks_table_1.py shows by how much, and that the other two have no such bias.
"""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rankwise.clicks.cells import Cells, sums
from rankwise.clicks.intervals import interval
from rankwise.clicks.likelihood import log_linear_propensities
from rankwise.clicks.log import ClickLog
from rankwise.clicks.propensities import Propensities
from rankwise.foundation.arrays import Array, Floats, Ints

Seed = int | np.random.Generator | None

SURE = 1e-12  # least probability of no click: with 0, the first guess could make impossible what the log shows
FEW_REPEATS = 10  # impressions per document and position, below which EM warns
EM_STEPS = 1000  # each of three
EM_TOL = 1e-6  # largest relative change of a propensity, compared with position 1, in the last step


def swap_bias(
    log: ClickLog,
    swapped: Mapping[Any, int] | Array,
    *,
    over: str = "queries",
    confidence: float = 0.95,
    n_resamples: int = 1000,
    random_state: Seed = None,
) -> Propensities:
    """From an experiment that exchanged position 1 and another one in each list by a fair coin.

    Both documents were then at both positions equally often, so that the clicks at the two have the ratio of their
    propensities. Whether a list was exchanged need not be known.

    swapped  per list of the log, in the order of `log.lists`, the other position, counted from 1; 0 or 1 for lists that
             were not part of the experiment. Or a mapping from ids of lists, without those lists. Positions at which
             the log has no document are left out

    Examples
    --------
    >>> from rankwise import load_sample
    >>> from rankwise.clicks import swap_bias, simulate_clicks
    >>> data = load_sample()
    >>> log, swapped, _ = simulate_clicks(data, data.X[:, 0], n_lists=20_000, depth=3, swaps=True, random_state=0)
    >>> found = swap_bias(log, swapped, random_state=0)
    >>> found.values.round(1).tolist()                     # users look at position k with probability 1 / k
    [1.0, 0.5, 0.3]
    """
    other = _other_positions(log, swapped)
    other[~np.isin(other, log.position)] = 0  # nothing is known of positions at which no document was shown
    positions = np.unique(np.concatenate(([1], other[other > 1])))
    if positions.size == 1:
        raise ValueError("swapped has no list in which a position was exchanged with position 1")
    at_first, at_other = _clicks_at(log, np.ones(log.n_lists, np.int64)), _clicks_at(log, other)
    code = np.where(other > 1, np.searchsorted(positions, other), 0)

    def estimate(weights: Floats) -> Floats:
        up, down = (sums(code, weights * one, positions.size) for one in (at_other, at_first))
        ratio: Floats = np.divide(up, down, out=np.full(positions.size, np.nan), where=down > 0)
        ratio[0] = 1.0
        return ratio

    return _known(log, positions, estimate, over, confidence, n_resamples, random_state)


def harvested_bias(
    log: ClickLog,
    *,
    over: str = "queries",
    confidence: float = 0.95,
    n_resamples: int = 200,
    random_state: Seed = None,
) -> Propensities:
    """Intervention harvesting (AllPairs, Agarwal et al. 2019) from documents shown at two positions for one query.

    Lists of several rankers, or of one that changed, are experiments that happened by themselves. Per pair of positions
    (k, k'), clicks ĉ and their absence are summed over the documents shown at both, and the likelihood of p_k · r_kk'
    is maximised, where r_kk' = r_k'k is the mean relevance of these documents. The sums use weights of Mantel and
    Haenszel: a document shown a times at k and b times at k' weighs ab / (a + b), at both positions alike.

    Examples
    --------
    >>> from rankwise import load_sample
    >>> from rankwise.clicks import harvested_bias, simulate_clicks
    >>> data = load_sample()
    >>> log = simulate_clicks(data, data.X[:, [0, 5]].T, n_lists=20_000, random_state=0).log
    >>> found = harvested_bias(log.top(3), random_state=0)
    >>> found.values.round(1).tolist()                     # users look at position k with probability 1 / k
    [1.0, 0.5, 0.3]
    >>> bool(found.lower[1] < 1 / 2 < found.upper[1])
    True
    """
    cells = Cells.of(log)
    one, two = cells.pairs()
    k, other = cells.position[one], cells.position[two]
    n_positions = cells.positions.size
    pair_codes, pair = np.unique(np.minimum(k, other) * n_positions + np.maximum(k, other), return_inverse=True)
    group = k * pair_codes.size + pair
    shape = (n_positions, pair_codes.size)

    def estimate(weights: Floats) -> Floats:
        shown, clicked = cells.counts(weights)
        total = shown[one] + shown[two]
        share = np.divide(shown[two], total, out=np.zeros(total.size), where=total > 0)
        hits = sums(group, clicked[one] * share, n_positions * pair_codes.size).reshape(shape)
        misses = sums(group, (shown - clicked)[one] * share, hits.size).reshape(shape)
        return log_linear_propensities(hits, misses)

    return _known(log, cells.positions, estimate, over, confidence, n_resamples, random_state)


def em_bias(
    log: ClickLog,
    *,
    over: str = "queries",
    confidence: float = 0.95,
    n_resamples: int = 200,
    random_state: Seed = None,
) -> Propensities:
    """Expectation maximisation over whether users looked, and whether they found the document relevant.

    Too high at lower positions if documents were shown less than about ten times at each of their positions, with
    intervals that do not hold the truth: it then warns. `harvested_bias` needs the same logs and has no such bias.

    Examples
    --------
    >>> from rankwise import load_sample
    >>> from rankwise.clicks import em_bias, simulate_clicks
    >>> data = load_sample()
    >>> log = simulate_clicks(data, data.X[:, [0, 5]].T, n_lists=20_000, random_state=0).log
    >>> found = em_bias(log.top(3), n_resamples=20, random_state=0)
    >>> bool(abs(found.values - [1, 1 / 2, 1 / 3]).max() < 0.1)     # users look at position k with probability 1 / k
    True
    """
    cells = Cells.of(log).informative()
    repeats = len(cells.rows[0]) / max(cells.item.size, 1)
    if 0 < repeats < FEW_REPEATS:
        warnings.warn(
            f"documents were shown {repeats:.1f} times per position on average, and with less than {FEW_REPEATS} "
            "em_bias comes out too high at lower positions: use harvested_bias",
            stacklevel=2,
        )
    start = np.full(cells.positions.size, 0.5), np.full(cells.n_items, 0.5)
    if cells.connected(np.ones(log.n_lists)).all():
        start = _climb(cells, np.ones(log.n_lists), *start)

    def estimate(weights: Floats) -> Floats:
        known = cells.connected(weights)
        looked = _climb(cells, weights, *start)[0] if known[1:].any() else np.ones(known.size)
        return np.where(known, looked / looked[0], np.nan)

    return _known(log, cells.positions, estimate, over, confidence, n_resamples, random_state)


def _climb(cells: Cells, weights: Floats, looked: Floats, relevance: Floats) -> tuple[Floats, Floats]:
    """The propensities and relevances at which EM ends, from given ones.

    EM creeps along where the two are nearly exchangeable, so two steps of it are extrapolated (SQUAREM, Varadhan and
    Roland 2008), and a third one follows from there.
    """
    shown, clicked = cells.counts(weights)
    missed = shown - clicked
    at_position, of_item = cells.totals(shown)
    n_positions = looked.size
    totals = np.concatenate((at_position, of_item))

    def step(x: Floats) -> Floats:
        p, r = x[cells.position], x[n_positions + cells.item]
        not_both = missed / np.maximum(1 - p * r, SURE)  # times the probability of each way not to click
        looks = sums(cells.position, clicked + not_both * p * (1 - r), n_positions)
        relevances = sums(cells.item, clicked + not_both * (1 - p) * r, cells.n_items)
        return np.divide(np.concatenate((looks, relevances)), totals, out=x.copy(), where=totals > 0)

    x = np.concatenate((looked, relevance))
    for _ in range(EM_STEPS):
        once = step(x)
        before, after = x[:n_positions] / x[0], once[:n_positions] / once[0]
        if (np.abs(after - before) <= EM_TOL * before).all():
            x = once
            break
        twice = step(once)
        first, second = once - x, twice - 2 * once + x
        length = max(1.0, float(np.linalg.norm(first)) / max(float(np.linalg.norm(second)), SURE))
        x = step(np.clip(x + 2 * length * first + length**2 * second, SURE, 1.0))
    return x[:n_positions], x[n_positions:]


def _known(
    log: ClickLog,
    positions: Ints,
    estimate: Callable[[Floats], Floats],
    over: str,
    confidence: float,
    n_resamples: int,
    random_state: Seed,
) -> Propensities:
    """The estimate with its intervals; an error if the log does not tell some of the positions."""
    if not log.click.any():
        raise ValueError("the log has no clicks: there is nothing to estimate from")
    values = estimate(np.ones(log.n_lists))
    unknown = positions[~np.isfinite(values)]
    if unknown.size:
        raise ValueError(
            f"position {unknown[0]} cannot be compared with position 1: there are too few clicks, or no documents that "
            f"were shown at both; log.top({unknown[0] - 1}) (--top {unknown[0] - 1}) leaves out the positions from "
            f"{unknown[0]} on"
        )
    lower, upper = interval(
        log,
        estimate,
        positions=positions,
        over=over,
        confidence=confidence,
        n_resamples=n_resamples,
        random_state=random_state,
    )
    return Propensities.of(positions, values, lower, upper)


def _other_positions(log: ClickLog, swapped: Mapping[Any, int] | Array) -> Ints:
    if isinstance(swapped, Mapping):
        ids = log.lists.tolist()
        unknown = set(swapped) - set(ids)
        if unknown:
            raise ValueError(f"swapped names the list {next(iter(unknown))!r}, which is not in the log")
        swapped = np.array([swapped.get(one, 0) for one in ids])
    other = np.asarray(swapped)
    if other.shape != (log.n_lists,) or other.dtype.kind not in "iu" or (other < 0).any():
        raise ValueError(f"swapped must hold a position, or 0, for each of the {log.n_lists} lists of the log")
    return other.astype(np.int64)


def _clicks_at(log: ClickLog, position: Ints) -> Floats:
    """Whether the document at a position of each list was clicked; the position may differ between lists."""
    lists = log.list_of_row
    return sums(lists, log.click & (log.position == position[lists]), log.n_lists)
