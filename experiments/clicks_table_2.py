"""Propensity weighting where users do not behave as it assumes: what it still gains over clicks as they are."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.clicks_figure_1 import on_judgements
from experiments.clicks_training import DATA, NOTE, clicks, harvested, production, split, trained_on_clicks
from experiments.pages import Report, Table
from experiments.units import Unit
from rankwise.clicks import ClickLog, Propensities

TITLE = "Learning from clicks: when the assumption fails"
NEEDS = ("mq2007", "mq2008")
QUICK_NEEDS = ()
SEEDS = 2
N_CLICKS, ETA, NOISE = 100_000, 1.0, 0.1
TRUST = 0.5  # at position 1, the probability of a click on an irrelevant document that is seen, besides the noise


def _satisfied(log: ClickLog, labels: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The clicks of users who stop looking at a list once they clicked on a relevant document."""
    stops = np.append(0, np.cumsum(log.click & (labels > 0)))  # before each row
    return log.click & (stops[:-1] == stops[log.starts[log.list_of_row]])


def _trusting(log: ClickLog, labels: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The clicks of users who take an irrelevant document for relevant the more often, the higher it is."""
    tried = random.random(len(log)) < log.position**-ETA * TRUST / log.position
    return log.click | (tried & (labels == 0))


BEHAVIOURS: dict[str, Callable[[ClickLog, np.ndarray, np.random.Generator], np.ndarray]] = {
    "users stop after a relevant click": _satisfied,
    "users trust the top": _trusting,
}
WRONG_ETAS = {"propensities of eta 0.5 given": 0.5, "propensities of eta 2 given": 2.0}
SETTINGS = ("nothing", *WRONG_ETAS, *BEHAVIOURS)


def units(quick: bool) -> list[Unit]:
    names, n_clicks, seeds = (("sample",), 2_000, 1) if quick else (NEEDS, N_CLICKS, SEEDS)
    of_clicks = [
        {"name": name, "seed": seed, "fails": fails, "n_clicks": n_clicks}
        for seed in range(seeds)
        for fails in SETTINGS
        for name in names
    ]
    return [
        *(Unit(name, on_judgements, {"name": name}, timed=False) for name in names),
        *(Unit("{name} {seed} {fails}".format(**one), on_clicks, one, timed=False) for one in of_clicks),
    ]


def on_clicks(data: Path, name: str, seed: int, fails: str, n_clicks: int) -> dict[str, float]:
    """NDCG@10 of training on clicks as they are, and with the propensities that a user would have."""
    of, random = split(data, name), np.random.default_rng(seed)
    scores = production(of.train, random) @ of.train.X.T
    log, propensities = clicks(of.train, scores, n_clicks, ETA, NOISE, random)
    if fails in WRONG_ETAS:
        propensities = Propensities.of(propensities.positions, propensities.positions ** -WRONG_ETAS[fails])
    elif fails in BEHAVIOURS:
        log = replace(log, click=BEHAVIOURS[fails](log, of.train.y[log.docs[log.doc]], random))
        propensities = harvested(log) or propensities
    naive, weighted = (trained_on_clicks(log, of, given) for given in (None, propensities))
    return {"naive": naive, "weighted": weighted, "last propensity": float(propensities.values[-1])}


def report(found: dict[str, Any]) -> Report:
    rows = [
        {"data": DATA[name], "fails": fails, "seed": seed} | one | {"judgements": found[name]}
        for name in DATA
        for fails in SETTINGS
        for seed in range(SEEDS)
        if (one := found.get(f"{name} {seed} {fails}")) is not None and found[name] is not None
    ]
    table = [
        {"data": name, "what fails": fails, **_means(of)}
        for name in DATA.values()
        for fails in SETTINGS
        if (of := [row for row in rows if (row["data"], row["fails"]) == (name, fails)])
    ]
    claim = (
        "The model says that a click depends on the position and on the document alone. Propensities that fall too "
        "steeply do the most harm, and rank worse than clicks as they are; those that fall too little keep a part of "
        "the gain. Where users stop or trust the top, harvested propensities still gain most of it."
    )
    caption = (
        f"{NOTE} About {N_CLICKS:,} clicks, eta {ETA:g}, noise {NOISE:g}; means of {SEEDS} simulations. Propensities "
        "are the true ones in the first row, those of another eta where the row says so, and harvested from the log "
        "otherwise; the last column has that of position 10."
    )
    why = (
        "no paper has this table. Users who trust the top click on irrelevant documents with the probability "
        f"{NOISE:g} + {TRUST:g} / position, about. Harvested propensities then fall more steeply than users look, "
        "and make up for it."
    )
    formats = dict.fromkeys(("naive", "weighted", "judgements"), ".4f") | {"gain": "+.4f", "last propensity": ".3f"}
    return Report(claim, rows, [Table(caption, table, formats)], why)


def _means(rows: list[dict[str, Any]]) -> dict[str, float]:
    mean = {
        what: float(np.mean([row[what] for row in rows]))
        for what in ("naive", "weighted", "judgements", "last propensity")
    }
    last = mean.pop("last propensity")
    return mean | {"gain": mean["weighted"] - mean["naive"], "last propensity": last}
