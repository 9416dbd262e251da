"""Boosted rankers: another model or another loss, so that only time and the quality of the ranking compare."""

import os
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.solvers import Solver


class Booster(Solver):
    """Both want the rows of a query together, and one of them its ids in order."""

    solves = ("squared_hinge", None)
    tolerances = (0.0,)

    def prepare(self) -> None:
        self.library = import_module(self.package)
        self.n_jobs = self.options.get("n_jobs", os.cpu_count())

    def set_objective(self, objective: Any) -> None:
        self.objective = objective
        qid = np.zeros(len(objective.y), int) if objective.qid is None else objective.qid
        order = np.argsort(qid, kind="stable")
        self.X, self.y, self.groups = objective.X[order], objective.y[order], np.unique(qid, return_counts=True)[1]


class XgboostSolver(Booster):
    """xgboost's linear booster with rank:pairwise: the logistic loss over pairs, by coordinate descent."""

    name = "xgboost gblinear rank:pairwise"
    package = "xgboost"
    note = "another loss (logistic), 100 rounds"

    def set_objective(self, objective: Any) -> None:
        super().set_objective(objective)
        self.rows = self.library.DMatrix(self.X, label=self.y, group=self.groups)

    def run(self, tol: float) -> None:
        options = {"booster": "gblinear", "objective": "rank:pairwise", "updater": "coord_descent", "verbosity": 0}
        self.model = self.library.train(options | {"nthread": self.n_jobs}, self.rows, 100)

    def get_result(self) -> dict[str, Any]:
        return {"predict": lambda X: self.model.predict(self.library.DMatrix(X))}


class LightgbmSolver(Booster):
    """lightgbm's lambdarank: 100 trees of 31 leaves, its defaults."""

    name = "lightgbm lambdarank"
    package = "lightgbm"
    note = "another model (100 trees)"

    def skip(self, objective: Any) -> str | None:
        reason = super().skip(objective)
        if reason is None and np.unique(objective.y).size > 31:
            reason = "takes at most 31 levels"
        sizes = [len(objective.y)] if objective.qid is None else np.unique(objective.qid, return_counts=True)[1]
        return reason or ("takes at most 10,000 documents per query" if max(sizes) > 10_000 else None)

    def run(self, tol: float) -> None:
        self.model = self.library.LGBMRanker(verbose=-1, n_jobs=self.n_jobs).fit(self.X, self.y, group=self.groups)

    def get_result(self) -> dict[str, Any]:
        return {"predict": self.model.booster_.predict}
