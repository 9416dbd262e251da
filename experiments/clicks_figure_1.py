"""Training on clicks as they are, with true and with estimated propensities, and on the judgements."""

from pathlib import Path
from typing import Any

import numpy as np

from experiments.clicks_training import (
    DATA,
    NOTE,
    clicks,
    harvested,
    ndcg,
    production,
    split,
    trained,
    trained_on_clicks,
)
from experiments.pages import Report, Table
from experiments.pictures import COLOURS, legend_below, panels
from experiments.units import Unit
from rankwise import Preferences

TITLE = "Joachims et al.: learning from clicks"
NEEDS = ("mq2007", "mq2008")
QUICK_NEEDS = ()
SEEDS = 2
SIZES = (1_000, 10_000, 100_000, 1_000_000)
ETAS, NOISES = (0.0, 0.5, 1.0, 1.5, 2.0), (0.1, 0.3)
USUAL = {"n_clicks": 100_000, "eta": 1.0, "noise": 0.1}
SETTINGS = [USUAL | {"n_clicks": n} for n in SIZES]
SETTINGS += [one for noise in NOISES for eta in ETAS if (one := USUAL | {"eta": eta, "noise": noise}) != USUAL]
CLICKED = ("clicks as they are", "weighted, true propensities", "weighted, estimated propensities")
METHODS = (*CLICKED, "judgements", "production rankers")


def units(quick: bool) -> list[Unit]:
    names, settings, seeds = (("sample",), SETTINGS[:2], 1) if quick else (NEEDS, SETTINGS, SEEDS)
    of_clicks = [
        Unit(
            f"{name} {seed} {_label(setting)}",
            on_clicks,
            {"name": name, "seed": seed} | setting,
            limit=300,
            timed=False,
        )
        for seed in range(seeds)
        for setting in settings
        for name in names
    ]
    return [*(Unit(name, on_judgements, {"name": name}, timed=False) for name in names), *of_clicks]


def _label(setting: dict[str, Any]) -> str:
    return f"{setting['n_clicks']} clicks, eta {setting['eta']:g}, noise {setting['noise']:g}"


def on_judgements(data: Path, name: str) -> float:
    of = split(data, name)
    n_pairs = Preferences(of.train.y, of.train.qid).active(np.zeros(len(of.train))).n_pairs
    return trained(of.train, of, float(n_pairs))


def on_clicks(data: Path, name: str, seed: int, n_clicks: int, eta: float, noise: float) -> dict[str, float | None]:
    """NDCG@10 of every method that learns from the log, and the mean of the rankers that made it."""
    of, random = split(data, name), np.random.default_rng(seed)
    rankers = production(of.train, random)
    log, true = clicks(of.train, rankers @ of.train.X.T, n_clicks, eta, noise, random)
    estimated = harvested(log)
    naive = trained_on_clicks(log, of, None)
    weighted = naive if eta == 0 else trained_on_clicks(log, of, true)  # all weights are 1 without position bias
    last = None if estimated is None else trained_on_clicks(log, of, estimated)
    found = dict(zip(CLICKED, (naive, weighted, last), strict=True))
    return found | {"production rankers": float(np.mean([ndcg(of.test, coef) for coef in rankers]))}


def report(found: dict[str, Any]) -> Report:
    rows = _rows(found)
    means = _means(rows)
    return Report(_claim(means), rows, _tables(means), _why(), _picture(means))


def _rows(found: dict[str, Any]) -> list[dict[str, Any]]:
    """One row per simulated log."""
    return [
        {"data": DATA[name], "seed": seed} | setting | one | {"judgements": found[name]}
        for name in DATA
        for setting in SETTINGS
        for seed in range(SEEDS)
        if (one := found.get(f"{name} {seed} {_label(setting)}")) is not None and found[name] is not None
    ]


def _means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row per setting: means over the seeds, as far as a method has a figure for each of them."""
    keys = ("data", *USUAL)
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return [
        dict(zip(keys, key, strict=True)) | {method: _mean([row[method] for row in of]) for method in METHODS}
        for key, of in groups.items()
    ]


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def _claim(means: list[dict[str, Any]]) -> str:
    """The paper's claim, and how much of it came out in the setting with the most clicks."""
    text = "The paper: with more clicks, weighted training approaches the ranker trained on judgements; naive does not."
    for name in dict.fromkeys(row["data"] for row in means):
        of = [row for row in means if row["data"] == name]
        curve = [row for row in of if _is_curve(row)]
        unbiased = [row for row in of if (row["eta"], row["noise"]) == (0.0, USUAL["noise"])]
        if curve and unbiased:
            naive, weighted, _, skyline, _ = (curve[-1][method] for method in METHODS)
            best = unbiased[0][CLICKED[0]]
            shares = [_closed(naive, weighted, end) for end in (skyline, best)]
            text += (
                f" On {name}, with {curve[-1]['n_clicks']:,} clicks, naive has {naive:.4f}, weighted {weighted:.4f}, "
                f"judgements {skyline:.4f}: weights close {shares[0]} of the distance to the judgements, and "
                f"{shares[1]} of that to clicks without position bias (eta 0: {best:.4f})."
            )
    return text


def _closed(naive: float, weighted: float, end: float) -> str:
    """The share of the distance from naive to the end that weights close."""
    return "all" if weighted >= end else "none" if weighted <= naive else f"{(weighted - naive) / (end - naive):.0%}"


def _is_curve(row: dict[str, Any]) -> bool:
    return (row["eta"], row["noise"]) == (USUAL["eta"], USUAL["noise"])


def _tables(means: list[dict[str, Any]]) -> list[Table]:
    formats = {"n_clicks": ",", "eta": "g", "noise": "g"} | dict.fromkeys(METHODS, ".4f")
    curve = [row for row in means if _is_curve(row)]
    others = sorted(
        (row for row in means if row["n_clicks"] == USUAL["n_clicks"]),
        key=lambda row: (row["data"], row["noise"], row["eta"]),
    )
    captions = (
        f"By the number of clicks. {NOTE} Means of {SEEDS} simulations. Empty: the log does not tell all propensities.",
        f"By the severity of the bias, with {USUAL['n_clicks']:,} clicks. With eta 0 there is none.",
    )
    return [Table(caption, of, formats) for caption, of in zip(captions, (curve, others), strict=True) if of]


def _why() -> str:
    return (
        "the paper's data are Yahoo's with binary labels, whole lists and one production ranker; documents that no "
        "production ranker puts among the first ten are never shown here, and no weight brings them back. Propensities "
        "below 0.01 count as 0.01."
    )


def _picture(means: list[dict[str, Any]]) -> Any:
    names = list(dict.fromkeys(row["data"] for row in means))
    figure, axes = panels(len(names), 1 + len(NOISES), sharey="row")
    for line, name in zip(axes, names, strict=True):
        of = [row for row in means if row["data"] == name]
        _draw(line[0], [row for row in of if _is_curve(row)], "n_clicks")
        line[0].set_xscale("log")
        line[0].set_title(f"{name}, eta 1, noise 0.1", fontsize=10)
        line[0].set_ylabel("NDCG@10 on test queries")
        for axis, noise in zip(line[1:], NOISES, strict=True):
            same = [row for row in of if (row["n_clicks"], row["noise"]) == (USUAL["n_clicks"], noise)]
            _draw(axis, sorted(same, key=lambda row: row["eta"]), "eta")
            axis.set_title(f"{name}, {USUAL['n_clicks']:,} clicks, noise {noise:g}", fontsize=10)
    for axis, label in zip(axes[-1], ("clicks", "eta", "eta"), strict=True):
        axis.set_xlabel(label)
    legend_below(figure, axes, ncols=3)
    return figure


def _draw(axis: Any, rows: list[dict[str, Any]], along: str) -> None:
    styles = ("o-", "o-", "o--", "-", ":")
    for method, style, colour in zip(METHODS, styles, COLOURS, strict=False):
        values = [np.nan if row[method] is None else row[method] for row in rows]
        axis.plot([row[along] for row in rows], values, style, ms=4, color=colour, label=method)
