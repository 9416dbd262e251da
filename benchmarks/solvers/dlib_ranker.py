"""dlib's svm_rank_trainer: the hinge by cutting planes, two levels a query; its c is C times the number of pairs."""

from typing import Any

import numpy as np

from benchmarks.solvers import Solver
from benchmarks.solvers.listed_pairs import count_pairs, rows_by_query


class DlibSolver(Solver):
    name = "dlib svm_rank_trainer"
    package = "dlib"
    solves = ("hinge",)
    tolerances = (1e-1, 1e-2, 1e-3, 1e-4)

    def skip(self, objective: Any) -> str | None:
        reason = super().skip(objective)
        return reason or ("takes two levels only" if np.unique(objective.y).size > 2 else None)

    def prepare(self) -> None:
        import dlib

        self.dlib = dlib

    def set_objective(self, objective: Any) -> None:
        self.objective = objective
        X, y = objective.X, objective.y
        self.queries = self.dlib.ranking_pairs()
        for rows in rows_by_query(objective.qid, len(y)):
            relevant = y[rows] > y.min()
            if relevant.any() and not relevant.all():
                pair = self.dlib.ranking_pair()
                for side, chosen in ((pair.relevant, relevant), (pair.nonrelevant, ~relevant)):
                    for x in X[rows[chosen]].tolist():
                        side.append(self.dlib.vector(x))
                self.queries.append(pair)
        self.n_pairs = count_pairs(y, objective.qid)

    def run(self, tol: float) -> None:
        trainer = self.dlib.svm_rank_trainer()
        trainer.c = self.objective.C * self.n_pairs
        trainer.epsilon = tol
        self.w = np.array(trainer.train(self.queries).weights).ravel()
