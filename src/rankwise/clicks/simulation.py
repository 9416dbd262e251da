"""Clicks with a known bias of positions, as in the papers: a user looks at position k with probability (1/k)^eta, and
clicks on a document looked at with probability noise + (1 - noise) · (2^y - 1) / (2^max y - 1)."""

from typing import NamedTuple

import numpy as np

from rankwise.clicks.log import ClickLog, Coded
from rankwise.clicks.propensities import Propensities
from rankwise.data.records import RankingData
from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.pairs.queries import Queries

MOST = 31  # the largest label: 2^y must not lose the others beside it


class Simulated(NamedTuple):
    """Simulated clicks, and what an estimate of their bias can be compared with.

    log           what was shown and clicked
    swapped       per list, the position that was exchanged with position 1 by a fair coin; None without swaps
    propensities  the true ones
    """

    log: ClickLog
    swapped: Ints | None
    propensities: Propensities


def simulate_clicks(
    data: RankingData,
    scores: Array,
    n_lists: int,
    *,
    eta: float = 1.0,
    noise: float = 0.1,
    depth: int = 10,
    swaps: bool = False,
    random_state: int | np.random.Generator | None = None,
) -> Simulated:
    """Show lists for random queries and let users click.

    data      queries, labels (whole numbers from 0 on) and document ids; without ids a document is its row number
    scores    of the ranker that makes the lists, one per row; or a row of scores per ranker, of which every list draws
              one
    depth     the documents shown per list
    swaps     exchange position 1 and a random other one by a fair coin, in every list

    Examples
    --------
    >>> from rankwise import load_sample
    >>> from rankwise.clicks import simulate_clicks
    >>> data = load_sample()
    >>> log, swapped, propensities = simulate_clicks(data, data.X[:, 0], n_lists=1000, random_state=0)
    >>> log.n_lists, swapped
    (1000, None)
    >>> propensities.values[:4].round(2).tolist()
    [1.0, 0.5, 0.33, 0.25]
    """
    rankers = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    if rankers.shape[1] != len(data):
        raise ValueError(f"scores must hold one number for each of the {len(data)} rows, got {rankers.shape[1]}")
    random = np.random.default_rng(random_state)
    queries = Queries(data.qid, len(data))
    shown = np.stack([_best(one, queries, depth) for one in rankers])  # by ranker, query and position; -1: nothing
    query, ranker = random.integers(0, len(queries), n_lists), random.integers(0, len(rankers), n_lists)
    rows = shown[ranker, query]
    swapped = _swap(rows, random) if swaps else None
    examined = np.arange(1.0, depth + 1) ** -eta
    clicks = random.random(rows.shape) < examined * _attraction(data.y, noise)[rows]
    lists, position = np.nonzero(rows >= 0)
    flat = rows[lists, position]
    docs = Coded.of(np.arange(len(data)) if data.docid is None else data.docid)
    log = ClickLog(
        lists=np.arange(n_lists),
        starts=np.concatenate(([0], np.cumsum(np.bincount(lists, minlength=n_lists)))),
        query=query,
        doc=docs.codes[flat],
        position=position + 1,
        click=clicks[lists, position],
        queries=queries.ids,
        docs=docs.ids,
    )
    return Simulated(log, swapped, Propensities.of(np.arange(1, depth + 1), examined))


def _best(scores: Floats, queries: Queries, depth: int) -> Ints:
    """The rows of the best documents of each query, -1 after the last one."""
    order = np.lexsort((-scores, queries.codes))
    starts, sizes = queries.starts[:-1, None], queries.sizes[:, None]
    place = np.arange(depth)
    return np.where(place < sizes, order[np.minimum(starts + place, len(scores) - 1)], -1)


def _swap(rows: Ints, random: np.random.Generator) -> Ints:
    """Exchange position 1 and another in some lists, in place; returns the other position of each list, from 1."""
    every, sizes = np.arange(len(rows)), (rows >= 0).sum(axis=1)
    other = np.where(sizes > 1, random.integers(1, np.maximum(sizes, 2)), 0)
    swap = every[random.random(len(rows)) < 0.5]
    rows[swap, 0], rows[swap, other[swap]] = rows[swap, other[swap]], rows[swap, 0]
    return other + 1


def _attraction(y: Floats, noise: float) -> Floats:
    if not ((y >= 0) & (y <= MOST) & (y == np.floor(y))).all():
        raise ValueError(f"clicks are simulated from labels that are grades, whole numbers from 0 to {MOST}")
    gain = np.exp2(y) - 1
    return noise + (1 - noise) * gain / max(float(gain.max()), 1.0)
