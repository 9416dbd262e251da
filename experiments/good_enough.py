"""What the two figures of "Is a linear ranker good enough?" share: the data, the units, and sums over test queries."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from experiments import datasets
from experiments.good_enough_methods import (
    BASELINE,
    BUDGET,
    LANDMARKS,
    MEASURE,
    METHODS,
    MOST_TREES,
    PATIENCE,
    best,
)
from experiments.processor import timed
from experiments.units import Unit
from rankwise import RankingData, evaluate, load_sample
from rankwise.metrics.significance import bootstrap_interval

SAMPLE = "sample"  # what --quick takes: it is part of rankwise
LABELS = {"ohsumed": "OHSUMED", "mq2008": "MQ2008", "mq2007": "MQ2007", SAMPLE: "sample (synthetic)"}
NEEDS = ("ohsumed", "mq2008", "mq2007")
ALL = 0  # as a number of training queries
SIZES = {
    "ohsumed": (10, 20, 50, ALL),
    "mq2008": (10, 20, 50, 100, 200, ALL),
    "mq2007": (10, 20, 50, 100, 200, 500, ALL),
    SAMPLE: (10, ALL),
}
FOLDS = range(1, 6)
QUICK_BUDGET = 2
SCORED = 20_000  # documents at least, while scoring is timed
HOW = (
    "Training, validation and test parts of LETOR's five folds, as published. Every method tried "
    f"{BUDGET} settings per fold and kept the one with the best NDCG@10 on the validation part; the grids are in "
    "`experiments/good_enough_methods.py`. Those of the linear and kernel rankers cover what the validation parts "
    "chose from wider grids, those of trees are convention after two trials on one fold; test parts played no role. "
    f"The number of trees, at most {MOST_TREES}, was chosen beside this budget by early stopping on the validation "
    f"part ({PATIENCE} rounds): trees searched more than the others, which can help, and can overfit a small "
    f"validation part. Kernel RankSVM has {LANDMARKS} landmarks; boosted regression is LightGBM's. Features are as "
    "published. Each query is tested once, in one of the five folds; intervals are 95 % bootstrap intervals over these "
    "queries, so they do not cover another choice of training queries. A query without a relevant document counts as "
    "0 for every method. MQ2007 is a reconstruction of the published set."
)
QUICK_HOW = (
    f"A quick run on rankwise's synthetic sample, with {QUICK_BUDGET} settings per method: it shows that the "
    "experiment runs, and nothing about the methods."
)


def how(found: dict[str, Any]) -> str:
    """How the units were measured, and with which versions of the ensembles of trees."""
    import lightgbm
    import xgboost

    used = f"LightGBM {lightgbm.__version__}, XGBoost {xgboost.__version__}."
    return f"{QUICK_HOW if any(name.startswith(SAMPLE) for name in found) else HOW} {used}"


def units(names: Iterable[str], sizes: dict[str, tuple[int, ...]], quick: bool) -> list[Unit]:
    budget, folds = (QUICK_BUDGET, FOLDS[:1]) if quick else (BUDGET, FOLDS)
    options = [
        {"name": name, "method": method, "fold": fold, "queries": queries, "budget": budget}
        for name in names
        for queries in sizes[name]
        for fold in folds
        for method in METHODS
    ]
    keys = ("name", "method", "fold", "queries")
    return [Unit(unit_name(*(one[key] for key in keys)), tested, one, limit=600.0, timed=False) for one in options]


def unit_name(name: str, method: str, fold: int, queries: int) -> str:
    return f"{name}, {method}, fold {fold}, {queries or 'all'} queries"


@cache
def parts(data: Path, name: str, fold: int) -> tuple[RankingData, RankingData, RankingData]:
    if name == SAMPLE:
        return load_sample("train"), load_sample("vali"), load_sample("test")
    return datasets.fold(data, name, fold)


def some_queries(train: RankingData, queries: int) -> RankingData:
    """That many queries, drawn at random: more contain fewer."""
    ids = np.unique(train.qid)
    if queries in (ALL, ids.size):
        return train
    drawn = np.random.default_rng(0).permutation(ids)[:queries]
    return train.select(np.isin(train.qid, drawn))


def tested(data: Path, name: str, method: str, fold: int, queries: int, budget: int) -> dict[str, Any]:
    """The chosen setting on the test part: NDCG@10 of its queries, CPU seconds to train it and to score with it."""
    train, valid, test = parts(data, name, fold)
    train, ranker = some_queries(train, queries), METHODS[method]
    with threadpool_limits(1):
        setting, value = best(ranker, train, valid, budget)
    seconds, trained = timed(lambda: ranker.train(train, None, **setting))
    per_query = evaluate(test.y, trained.scores(test.X), test.qid, MEASURE).per_query[MEASURE]
    times = -(-SCORED // len(test))
    scoring, _ = timed(lambda: [trained.scores(test.X) for _ in range(times)])
    return {
        "queries": train.n_queries,
        "setting": setting,
        "validation": value,
        "test": per_query.tolist(),
        "seconds": seconds,
        "seconds per 1,000": scoring / (times * len(test)) * 1000,
    }


@dataclass(frozen=True)
class Point:
    """A method, trained on so many queries: its folds, test queries pooled."""

    name: str
    method: str
    folds: list[int]
    outcomes: list[dict[str, Any]]
    baseline: list[dict[str, Any]]

    @property
    def values(self) -> Any:
        return pooled(self.outcomes)

    @property
    def differences(self) -> Any:
        """From RankSVM, query by query."""
        return self.values - pooled(self.baseline)

    def mean(self, column: str) -> float:
        return float(np.mean([one[column] for one in self.outcomes]))

    def summary(self) -> dict[str, Any]:
        values, differences = self.values, self.differences
        (low, least), (high, most) = bootstrap_interval(np.column_stack((values, differences)))
        row = {"data": LABELS[self.name], "method": self.method, "training queries": round(self.mean("queries"))}
        row |= {"test queries": len(values), "NDCG@10": values.mean(), "low": low, "high": high}
        if self.method == BASELINE:
            return row
        return row | {"difference": differences.mean(), "difference, low": least, "difference, high": most}


def pooled(outcomes: list[dict[str, Any]]) -> Any:
    return np.concatenate([one["test"] for one in outcomes])


def points(found: dict[str, Any], queries: int) -> list[Point]:
    """A point per data set and method. A data set of which a unit is missing has none: folds are not equally hard."""
    made = []
    for name in LABELS:
        by_method = {
            method: {fold: found[key] for fold in FOLDS if (key := unit_name(name, method, fold, queries)) in found}
            for method in METHODS
        }
        folds = list(by_method[BASELINE])
        if folds and all(one for outcomes in by_method.values() for one in outcomes.values()):
            baseline = list(by_method[BASELINE].values())
            made += [Point(name, key, folds, list(one.values()), baseline) for key, one in by_method.items()]
    return made


def missing(found: dict[str, Any]) -> str:
    """A sentence on units that were not finished, empty if there are none."""
    late = [name for name, one in found.items() if one is None]
    if not late:
        return ""
    return (
        f"\n\nNot finished, and left out with all folds of that data set and size: {len(late)} of {len(found)} units "
        f"({'; '.join(late)})."
    )


def listed(texts: list[str]) -> str:
    """A, B and C."""
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))
