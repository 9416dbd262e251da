"""Linear classifiers on the differences of all pairs: the same optimum, where there is room for the pairs."""

from typing import Any

import numpy as np

from benchmarks.solvers import Solver

MOST_BYTES = 1.5e9  # of differences


class ListedPairsSolver(Solver):
    """Listing the pairs is not timed. Half of them are turned round: a classifier wants two classes."""

    solves = ("squared_hinge", "hinge")
    tolerances = (1e-1, 1e-2, 1e-3, 1e-4)

    def skip(self, objective: Any) -> str | None:
        reason = super().skip(objective)
        if reason is None:
            n_pairs = count_pairs(objective.y, objective.qid)
            if 8 * n_pairs * objective.X.shape[1] > MOST_BYTES:
                reason = f"too many pairs: {n_pairs:,} x {objective.X.shape[1]:,} features"
        return reason

    def set_objective(self, objective: Any) -> None:
        self.objective = objective
        better, worse = list_pairs(objective.y, objective.qid)
        self.signs = np.where(np.arange(better.size) % 2, 1.0, -1.0)
        self.differences = (objective.X[better] - objective.X[worse]) * self.signs[:, None]


class LinearSVCSolver(ListedPairsSolver):
    name = "LinearSVC on all pairs"

    def prepare(self) -> None:
        from sklearn.svm import LinearSVC

        self.make = LinearSVC

    def run(self, tol: float) -> None:
        loss, C = self.objective.loss, self.objective.C
        options = {"dual": loss == "hinge", "fit_intercept": False, "max_iter": 10_000, "random_state": 0}
        self.w = self.make(C=C, loss=loss, tol=tol, **options).fit(self.differences, self.signs).coef_.ravel()


class LiblinearSolver(ListedPairsSolver):
    """LIBLINEAR's primal Newton method (-s 2) for the squared hinge, its dual (-s 3) for the hinge."""

    name = "LIBLINEAR on all pairs"
    package = "liblinear"

    def prepare(self) -> None:
        from liblinear import liblinear, liblinearutil

        self.module, self.train = liblinear, liblinearutil.train

    def set_objective(self, objective: Any) -> None:
        super().set_objective(objective)
        self.problem = self.module.problem(self.signs, self.differences)

    def run(self, tol: float) -> None:
        kind = 3 if self.objective.loss == "hinge" else 2
        # repr: a weight such as 1e-05 must come through whole
        options = f"-s {kind} -c {self.objective.C!r} -e {tol!r} -B -1 -q"
        model = self.train(self.problem, self.module.parameter(options))
        self.w = model.get_labels()[0] * np.array(model.get_decfun()[0])


def rows_by_query(qid: Any, n: int) -> list[Any]:
    if qid is None:
        return [np.arange(n)]
    order = np.argsort(qid, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(qid[order])) + 1)


def count_pairs(y: Any, qid: Any) -> int:
    """Pairs of one query with different labels: those of all documents less those of equal ones."""
    total = 0
    for rows in rows_by_query(qid, len(y)):
        sizes = np.unique(y[rows], return_counts=True)[1].astype(object)  # 10^6 documents have more pairs than int32
        total += (rows.size * rows.size - int((sizes * sizes).sum())) // 2
    return total


def list_pairs(y: Any, qid: Any) -> tuple[Any, Any]:
    """Rows (better, worse) of every pair."""
    found = []
    for rows in rows_by_query(qid, len(y)):
        better, worse = np.nonzero(y[rows][:, None] > y[rows])
        found.append((rows[better], rows[worse]))
    return tuple(np.concatenate(side) for side in zip(*found, strict=True))  # type: ignore[return-value]
