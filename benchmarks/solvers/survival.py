"""scikit-survival's FastSurvivalSVM: the squared hinge over the pairs of one query; its alpha is 2 C."""

from typing import Any

import numpy as np

from benchmarks.solvers import Solver


class SurvivalSolver(Solver):
    name = "FastSurvivalSVM"
    package = "sksurv"
    tolerances = (1e-3, 1e-4, 1e-6)

    def skip(self, objective: Any) -> str | None:
        reason = super().skip(objective)
        if reason is None and objective.qid is not None:
            reason = "takes one query only"
        if reason is None and np.unique(objective.y).size < len(objective.y):
            self.note = "equal labels become preferences: another problem"
        return reason or (None if isinstance(objective.X, np.ndarray) else "takes dense features only")

    def prepare(self) -> None:
        from sksurv.svm import FastSurvivalSVM
        from sksurv.util import Surv

        self.make, self.times_of = FastSurvivalSVM, Surv.from_arrays

    def set_objective(self, objective: Any) -> None:
        self.objective = objective
        # It puts the shortest survival first: the longest time is our least label.
        n = len(objective.y)
        self.times = self.times_of(np.ones(n, bool), objective.y.max() + 1.0 - objective.y)

    def run(self, tol: float) -> None:
        ranker = self.make(alpha=2 * self.objective.C, rank_ratio=1.0, optimizer="rbtree", tol=tol, max_iter=1000)
        self.w = -ranker.fit(self.objective.X, self.times).coef_
