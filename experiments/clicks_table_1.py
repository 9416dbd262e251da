"""How often the intervals of the estimators of position bias hold the truth, and how far off the estimates are."""

import warnings
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.pages import Report, Table
from experiments.units import Unit
from rankwise import RankingData, make_ranking
from rankwise.clicks import em_bias, harvested_bias, simulate_clicks, swap_bias

TITLE = "Position bias: how often 95 % intervals hold the truth"
NEEDS = ()
DEPTH = 6
RESAMPLES = 100
SIMULATIONS = {"swap_bias": 120, "harvested_bias": 120, "em_bias": 60}  # of each setting
BLOCK = 20  # simulations of a unit
FIRST_SEED = 1_000  # the seeds of the tests are smaller


class Setting(NamedTuple):
    queries: int
    lists: int
    rankers: int = 3
    eta: float = 1.0
    rare: bool = False  # whether nine of ten queries have too few documents for the last position


SETTINGS = {
    "usual": Setting(100, 10_000),
    "eta 2": Setting(100, 10_000, eta=2.0),
    "few queries": Setting(20, 5_000),
    "position 6 rarely shown": Setting(100, 10_000, rare=True),
    "many queries, few repeats": Setting(1_000, 10_000),
    "the same, eta 2": Setting(1_000, 10_000, eta=2.0),
}


def units(quick: bool) -> list[Unit]:
    block, settings = (2, list(SETTINGS)[:1]) if quick else (BLOCK, list(SETTINGS))
    return [
        Unit(f"{name}: {estimator} {first}", simulated, _options(name, estimator, first, block), limit=600, timed=False)
        for name in settings
        for estimator, simulations in SIMULATIONS.items()
        for first in range(0, block if quick else simulations, block)
    ]


def _options(setting: str, estimator: str, first: int, n: int) -> dict[str, Any]:
    return {"setting": SETTINGS[setting]._asdict(), "estimator": estimator, "first": FIRST_SEED + first, "n": n}


def simulated(data: Path, setting: dict[str, Any], estimator: str, first: int, n: int) -> list[dict[str, list[float]]]:
    """Of each simulation, by position from 2 on: whether the interval holds the truth, and estimate over truth."""
    return [_simulated(Setting(**setting), estimator, seed) for seed in range(first, first + n)]


def _simulated(setting: Setting, estimator: str, seed: int) -> dict[str, list[float]]:
    documents = _documents(setting.queries, setting.rare)
    scores = documents.y + 1.5 * np.random.default_rng(1).normal(size=(setting.rankers, len(documents)))
    swaps = estimator == "swap_bias"
    log, swapped, true = simulate_clicks(
        documents, scores, setting.lists, eta=setting.eta, depth=DEPTH, swaps=swaps, random_state=seed
    )
    options: dict[str, Any] = {"n_resamples": RESAMPLES, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of EM, that repeats are few: this is what the table shows
        if swapped is not None:
            found = swap_bias(log, swapped, **options)
        else:
            found = {"harvested_bias": harvested_bias, "em_bias": em_bias}[estimator](log, **options)
    held = (found.lower <= true.values) & (true.values <= found.upper)
    return {"held": held[1:].astype(float).tolist(), "ratio": (found.values / true.values)[1:].tolist()}


@cache
def _documents(queries: int, rare: bool) -> RankingData:
    data = make_ranking(n_queries=queries, docs_per_query=12, n_features=6, random_state=0)
    if not rare:
        return data
    place = np.arange(len(data)) - np.searchsorted(data.qid, data.qid)
    return data.select((place < DEPTH - 1) | (data.qid % 10 == 0))


def report(found: dict[str, Any]) -> Report:
    rows = [row for name in SETTINGS for estimator in SIMULATIONS for row in _rows(name, estimator, found)]
    table = [
        _summary(list(of)) | {"queries": SETTINGS[name].queries, "lists": SETTINGS[name].lists}
        for (name, _), of in groupby(rows, key=lambda row: (row["setting"], row["estimator"]))
    ]
    claim = (
        "An interval of 95 % should hold the true propensity in about 19 of 20 simulations. Swaps and intervention "
        "harvesting do in all settings. EM does if documents were shown often at each of their positions; with few "
        "repeats it is too high at lower positions, and its intervals do not know of it."
    )
    caption = (
        f"Share of the intervals of positions 2 to {DEPTH} that hold the truth, at all positions and at the worst one, "
        "and estimate / truth at the last position (median of the simulations). Clicks are synthetic, on "
        f"`make_ranking`, with three rankers; bootstrap over queries with {RESAMPLES} resamples."
    )
    why = (
        "no paper has this table. EM fits a relevance of its own to every document, and with few impressions of each "
        "these fit the noise: the number of relevances grows with the log, so that more queries do not help."
    )
    shares = dict.fromkeys(("held", "worst position", "estimate / truth"), ".3f")
    return Report(claim, rows, [Table(caption, table, shares | {"lists": ","})], why)


def _rows(name: str, estimator: str, found: dict[str, Any]) -> list[dict[str, Any]]:
    """One row per position."""
    blocks = [one for unit, one in found.items() if one is not None and unit.startswith(f"{name}: {estimator} ")]
    of = [simulation for block in blocks for simulation in block]
    if not of:
        return []
    held, ratio = (np.array([one[what] for one in of]) for what in ("held", "ratio"))
    return [
        {
            "setting": name,
            "estimator": estimator,
            "simulations": len(of),
            "position": i + 2,
            "held": held[:, i].mean(),
            "estimate / truth": np.median(ratio[:, i]),
        }
        for i in range(DEPTH - 1)
    ]


def _summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    shares = [row["held"] for row in rows]
    named = {name: rows[-1][name] for name in ("setting", "estimator", "simulations")}
    return named | {
        "held": float(np.mean(shares)),
        "worst position": min(shares),
        "estimate / truth": rows[-1]["estimate / truth"],
    }
