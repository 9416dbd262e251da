"""Synthetic data on which the factorised descent could help, and some on which it should not.

The first step from a random start is along S Σ d, with d the differences of the training pairs and S = Σ d dᵀ:
directions in which documents vary much are learned first. Where relevance depends on these alone, stopping early should
help. RankSVM on features multiplied by S^½ has the same preference without any factors, and is compared too.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.factorized import Rows, best, from_every_start, plain, settings, verdict, with_p
from experiments.good_enough import listed
from experiments.pages import Report, Table
from experiments.pictures import COLOURS, legend_below, panels
from experiments.units import Unit
from rankwise import RankingData, evaluate
from rankwise.metrics.significance import bootstrap_interval

TITLE = "Should I use Factorized RankSVM? Synthetic data on which it could help"
NEEDS = ()
FEATURES, DOCUMENTS = 30, 20
VALIDATION_QUERIES, TEST_QUERIES = 10, 100
SEEDS = 20
COMPONENTS, STARTS = (2, 20), 3
C_VALUES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
MEASURES = {"MAP": "map", "NDCG@10": "ndcg@10"}
BASELINE = "RankSVM"
SCALED = "RankSVM on features times S^½"
HOW = (
    f"All data are synthetic: {FEATURES} independent features, {DOCUMENTS} documents per query with labels 2, 1 and 0, "
    f"10 training queries unless the setting says otherwise, {VALIDATION_QUERIES} for validation, {TEST_QUERIES} for "
    "the test. Relevance is a weighted sum of the features plus noise of the same variance. In the settings with "
    "*directions*, feature k has standard deviation 1/k, and relevance depends on features 1 to 3 (leading) or 11 to "
    "13 (trailing). With *random labels*, 40 % of the documents for training and validation have a label drawn at "
    "random. With *tastes of rank 2*, the weights of each query differ by a random combination of two vectors. C is "
    f"one of {listed([f'{C:g}' for C in C_VALUES])}, chosen by MAP on the validation queries, which also stop the "
    f"factorised descent. Values of the factorised ranker are means over {STARTS} random starts. S^½ is the root of "
    "S = Σ d dᵀ over the training pairs. Intervals are 95 % bootstrap intervals over the seeds; p is that of a "
    "randomisation test over the seeds, corrected by Holm for all comparisons on this page. The settings were laid "
    "out on other seeds, and not changed after that."
)


@dataclass(frozen=True)
class Setting:
    """Features of standard deviation k^-decay, k = 1, 2, …, independent; relevance is a weighted sum plus noise."""

    queries: int = 10  # for training
    decay: float = 0.0
    signal: tuple[int, int] = (0, FEATURES)  # the features that matter, each by the same expected share
    relabelled: float = 0.0  # share of the documents for training and validation whose label is random
    tastes: int = 0  # rank of what distinguishes the weights of one query from another's


SETTINGS = {
    "10 queries": Setting(),
    "3 queries": Setting(queries=3),
    "leading directions": Setting(decay=1.0, signal=(0, 3)),
    "leading directions, 3 queries": Setting(queries=3, decay=1.0, signal=(0, 3)),
    "trailing directions": Setting(decay=1.0, signal=(10, 13)),
    "random labels": Setting(relabelled=0.4),
    "tastes of rank 2": Setting(tastes=2),
}


def units(quick: bool) -> list[Unit]:
    options = [
        {"setting": setting, "seed": seed}
        for setting in (list(SETTINGS)[2:3] if quick else SETTINGS)
        for seed in range(2 if quick else SEEDS)
    ]
    return [Unit("{setting}: {seed}".format(**one), tested, one, timed=False) for one in options]


def tested(data: Path, setting: str, seed: int) -> dict[str, Any]:
    """MAP and NDCG@10 on the test queries by ranker; of the factorised one, by random start."""
    train, valid, test = drawn(SETTINGS[setting], seed)
    turn = root_of_scatter(train)
    turned = [replace(part, X=part.X @ turn) for part in (train, valid, test)]
    values = {
        BASELINE: [value(best([plain(train, valid, C) for C in C_VALUES])[0], test)],
        SCALED: [value(best([plain(turned[0], turned[1], C) for C in C_VALUES])[0], turned[2])],
    }
    for components in COMPONENTS:
        fits = from_every_start(train, valid, settings(components, C_VALUES), STARTS)
        values[f"factorised, K = {components}"] = [value(ranker, test) for ranker, _, _ in fits]
    return values


def value(ranker: Any, test: RankingData) -> list[float]:
    return list(evaluate(test.y, ranker.predict(test.X), test.qid, list(MEASURES.values())).values())


def root_of_scatter(train: RankingData) -> Any:
    """S^½ of the pairs, scaled so that its largest eigenvalue is 1."""
    scatter = np.zeros((FEATURES, FEATURES))
    for query in np.unique(train.qid):
        X, y = train.X[train.qid == query], train.y[train.qid == query]
        differences = (X[:, None] - X[None])[y[:, None] > y[None]]
        scatter += differences.T @ differences
    values, vectors = np.linalg.eigh(scatter)
    return (vectors * np.sqrt(np.maximum(values, 0) / values.max())) @ vectors.T


def drawn(setting: Setting, seed: int) -> list[RankingData]:
    """Training, validation and test data: 20 documents per query, 3 of label 2, 5 of label 1, the others of label 0."""
    rng = np.random.default_rng(seed)
    scale = np.arange(1, FEATURES + 1) ** -setting.decay
    signal = slice(*setting.signal)
    weights = np.zeros(FEATURES)
    weights[signal] = rng.standard_normal(weights[signal].size) / scale[signal]
    tastes = rng.standard_normal((setting.tastes, FEATURES))
    sizes = (setting.queries, setting.relabelled), (VALIDATION_QUERIES, setting.relabelled), (TEST_QUERIES, 0.0)
    return [_part(rng, queries, scale, weights, tastes, relabelled) for queries, relabelled in sizes]


def _part(rng: np.random.Generator, queries: int, scale: Any, weights: Any, tastes: Any, relabelled: float) -> Any:
    X = scale * rng.standard_normal((queries, DOCUMENTS, FEATURES))
    own = weights + rng.standard_normal((queries, len(tastes))) @ tastes
    relevance = np.einsum("qdf,qf->qd", X, own)
    relevance = relevance / relevance.std() + rng.standard_normal(relevance.shape)
    place = (-relevance).argsort(axis=1).argsort(axis=1)
    y = np.where(place < 3, 2, np.where(place < 8, 1, 0)).ravel()
    y = np.where(rng.random(y.size) < relabelled, rng.permutation(y), y)
    return RankingData(X.reshape(-1, FEATURES), y.astype(float), np.repeat(np.arange(queries), DOCUMENTS))


def report(found: dict[str, Any]) -> Report:
    rows, differences = [], []
    for setting in SETTINGS:
        seeds = [one for name, one in found.items() if one is not None and name.startswith(f"{setting}: ")]
        for ranker in seeds[0] if seeds else ():
            if ranker == BASELINE:
                continue
            gains = np.array([np.mean(one[ranker], axis=0) - one[BASELINE][0] for one in seeds])
            starts = np.mean([np.ptp(one[ranker], axis=0) for one in seeds], axis=0)
            baseline = np.mean([one[BASELINE][0] for one in seeds], axis=0)
            low, high = bootstrap_interval(gains)
            rows += [
                {"setting": setting, "ranker": ranker, "measure": measure, "seeds": len(seeds)}
                | {"RankSVM": float(baseline[place]), "gain": float(gains[:, place].mean())}
                | {"low": float(low[place]), "high": float(high[place]), "between starts": float(starts[place])}
                for place, measure in enumerate(MEASURES)
            ]
            differences += list(gains.T)
    rows = with_p(rows, differences)
    formats = dict.fromkeys(("gain", "low", "high"), "+.4f") | {"RankSVM": ".4f", "between starts": ".4f"}
    caption = "Synthetic data: the gain over RankSVM, and how far apart the random starts are on average."
    return Report(
        verdict(rows),
        rows,
        [Table(caption, rows, formats | {"p": ".3g", "p, Holm": ".3g"})],
        HOW,
        _picture(rows),
        lead="How it was measured",
    )


def _picture(rows: Rows) -> Any:
    rankers = list(dict.fromkeys(row["ranker"] for row in rows))
    names = list(dict.fromkeys(row["setting"] for row in rows))
    figure, axes = panels(1, len(MEASURES), sharey=True)
    for measure, one in zip(MEASURES, axes[0], strict=True):
        for place, (ranker, colour) in enumerate(zip(rankers, COLOURS, strict=False)):
            mine = [row for row in rows if (row["ranker"], row["measure"]) == (ranker, measure)]
            gains = np.array([row["gain"] for row in mine])
            ends = np.array([[row["low"], row["high"]] for row in mine]).T
            at = [names.index(row["setting"]) + 0.2 * (place - 1) for row in mine]
            one.errorbar(
                gains, at, xerr=abs(ends - gains), fmt="o", color=colour, capsize=2, markersize=4, label=ranker
            )
        one.axvline(0, color="black", linewidth=0.8)
        one.set_yticks(range(len(names)), names)
        one.set_title("synthetic data", fontsize=10)
        one.set_xlabel(f"{measure} minus RankSVM's", fontsize=9)
        one.locator_params(axis="x", nbins=5)
    axes[0, 0].invert_yaxis()
    legend_below(figure, axes, ncols=len(rankers))
    return figure
