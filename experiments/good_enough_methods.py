"""The rankers of "Is a linear ranker good enough?", the grid of each, and how a setting is chosen.

Every method tries the same number of settings: all of its grid if that has so many, else as many drawn at random.
Ensembles of trees search more: how many trees they have is chosen beside the budget, by early stopping on the
validation part.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import Ridge

from experiments.lee_lin_data import count_pairs
from rankwise import KernelRankSVM, RankingData, RankRLS, RankSVM, evaluate

MEASURE = "ndcg@10"
BUDGET = 8
MOST_TREES, PATIENCE = 300, 30
LANDMARKS = 300
HALF_DECADES = tuple(10.0 ** (k / 2) for k in range(1, 9))  # 3 … 10,000
DECADES = HALF_DECADES[1::2]  # 10 … 10,000

Setting = dict[str, Any]


class Trained(NamedTuple):
    scores: Callable[[Any], Any]  # of rows of features
    setting: Setting  # what trains the same ranker without validation data


@dataclass(frozen=True)
class Method:
    """`train(train, valid, **setting)` for each setting of the grid; valid is None when the setting was chosen."""

    train: Callable[..., Trained]
    grid: Mapping[str, tuple[Any, ...]]

    def settings(self, budget: int) -> list[Setting]:
        every = [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]
        drawn = np.random.default_rng(0).permutation(len(every))[:budget]
        return [every[place] for place in sorted(drawn)]


def best(method: Method, train: RankingData, valid: RankingData, budget: int) -> tuple[Setting, float]:
    """The setting with the best NDCG@10 on the validation part, and that value."""
    values, settings = [], []
    for setting in method.settings(budget):
        trained = method.train(train, valid, **setting)
        values.append(evaluate(valid.y, trained.scores(valid.X), valid.qid, MEASURE)[MEASURE])
        settings.append(trained.setting)
    place = int(np.argmax(values))
    return settings[place], values[place]


def rank_svm(train: RankingData, valid: RankingData | None, weight: float) -> Trained:
    ranker = RankSVM(weight / count_pairs(train), n_jobs=1).fit(train.X, train.y, train.qid)
    return Trained(ranker.predict, {"weight": weight})


def rank_rls(train: RankingData, valid: RankingData | None, weight: float, ties: str) -> Trained:
    ranker = RankRLS(count_pairs(train) / weight, ties=ties, n_jobs=1).fit(train.X, train.y, train.qid)
    return Trained(ranker.predict, {"weight": weight, "ties": ties})


def kernel_rank_svm(train: RankingData, valid: RankingData | None, weight: float, gamma: float) -> Trained:
    landmarks = min(LANDMARKS, len(train))
    C = weight / count_pairs(train)
    ranker = KernelRankSVM("rbf", C, gamma=gamma, n_components=landmarks, random_state=0, n_jobs=1)
    return Trained(ranker.fit(train.X, train.y, train.qid).predict, {"weight": weight, "gamma": gamma})


def ridge(train: RankingData, valid: RankingData | None, weight: float) -> Trained:
    return Trained(Ridge(len(train) / weight).fit(train.X, train.y).predict, {"weight": weight})


def lambdarank(train: RankingData, valid: RankingData | None, **setting: Any) -> Trained:
    return _lightgbm("lambdarank", train, valid, **setting)


def boosted_regression(train: RankingData, valid: RankingData | None, **setting: Any) -> Trained:
    return _lightgbm("regression", train, valid, **setting)


def _lightgbm(
    objective: str, train: RankingData, valid: RankingData | None, trees: int = MOST_TREES, **setting: Any
) -> Trained:
    import lightgbm

    rows = lightgbm.Dataset(train.X, train.y, group=sizes(train))
    judged = [] if valid is None else [lightgbm.Dataset(valid.X, valid.y, group=sizes(valid), reference=rows)]
    callbacks = [lightgbm.early_stopping(PATIENCE, verbose=False)] if judged else []
    fixed = {"objective": objective, "metric": "ndcg", "eval_at": [10], "num_threads": 1, "seed": 0, "verbose": -1}
    booster = lightgbm.train(fixed | setting, rows, trees, judged, callbacks=callbacks)
    used = booster.best_iteration if judged else trees
    return Trained(lambda X: booster.predict(X, num_iteration=used, num_threads=1), setting | {"trees": used})


def xgboost_ndcg(train: RankingData, valid: RankingData | None, trees: int = MOST_TREES, **setting: Any) -> Trained:
    import xgboost

    rows = xgboost.QuantileDMatrix(train.X, train.y, group=sizes(train))
    judged = [] if valid is None else [(xgboost.QuantileDMatrix(valid.X, valid.y, group=sizes(valid), ref=rows), "")]
    patience = PATIENCE if judged else None
    fixed = {"objective": "rank:ndcg", "eval_metric": "ndcg@10", "tree_method": "hist", "nthread": 1, "seed": 0}
    booster = xgboost.train(
        fixed | setting, rows, trees, evals=judged, early_stopping_rounds=patience, verbose_eval=False
    )
    used = booster.best_iteration + 1 if judged else trees
    return Trained(lambda X: booster.inplace_predict(X, iteration_range=(0, used)), setting | {"trees": used})


def sizes(data: RankingData) -> Any:
    """How many documents each query has; the documents of a query are together."""
    starts = np.flatnonzero(np.r_[True, data.qid[1:] != data.qid[:-1]])
    return np.diff(np.r_[starts, len(data)])


LEAVES = {
    "learning_rate": (0.05, 0.1, 0.2),
    "num_leaves": (4, 8, 16, 32),
    "min_data_in_leaf": (5, 20, 100),
    "feature_fraction": (0.5, 1.0),
    "lambda_l2": (0.0, 10.0),
}
DEPTHS = {
    "learning_rate": (0.05, 0.1, 0.2),
    "max_depth": (2, 3, 4, 6),
    "min_child_weight": (0.1, 1.0, 10.0),
    "colsample_bytree": (0.5, 1.0),
    "reg_lambda": (0.0, 10.0),
}
METHODS = {
    "RankSVM": Method(rank_svm, {"weight": HALF_DECADES}),
    "RankRLS": Method(rank_rls, {"weight": DECADES, "ties": ("include", "exclude")}),
    "ridge regression": Method(ridge, {"weight": HALF_DECADES}),
    "kernel RankSVM": Method(kernel_rank_svm, {"weight": (10.0, 300.0, 1e4, 1e5), "gamma": (0.01, 0.03)}),
    "boosted regression": Method(boosted_regression, LEAVES),
    "LightGBM lambdarank": Method(lambdarank, LEAVES),
    "XGBoost rank:ndcg": Method(xgboost_ndcg, DEPTHS),
}
BASELINE = "RankSVM"
LINEAR = ("RankSVM", "RankRLS", "ridge regression")
TREES = ("boosted regression", "LightGBM lambdarank", "XGBoost rank:ndcg")
