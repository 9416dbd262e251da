"""rankwise's own rankers."""

from typing import Any

from benchmarks.solvers import Solver

C_VALUES = tuple(2.0**e for e in range(-15, 11))
GAMMA = 0.05


class RankSVMSolver(Solver):
    name = "rankwise RankSVM"
    ours = True
    solves = ("squared_hinge", "hinge")

    def prepare(self) -> None:
        import numba  # noqa: F401  (a fit would import it)

        from rankwise import RankSVM

        self.make = RankSVM

    def set_objective(self, objective: Any) -> None:
        self.objective = objective
        if objective.loss == "hinge":
            self.tolerances = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)

    def run(self, tol: float) -> None:
        of = self.objective
        self.w = self.make(C=of.C, loss=of.loss, tol=tol, max_iter=10_000).fit(of.X, of.y, of.qid).coef_


class CPathCold(RankSVMSolver):
    """Every C of Lee and Lin's grid from zero; the weights kept are those for the C of the case."""

    name = "26 fits, each from zero"
    solves = ("squared_hinge",)
    tolerances = (1e-3,)

    def run(self, tol: float) -> None:
        of = self.objective
        for C in C_VALUES:
            w = self.make(C=C, loss=of.loss, tol=tol).fit(of.X, of.y, of.qid).coef_
            if of.C == C:
                self.w = w


class CPath(RankSVMSolver):
    """Every C of Lee and Lin's grid, upwards, each from the last one's optimum."""

    name = "26 fits, warm-started"
    solves = ("squared_hinge",)
    tolerances = (1e-3,)

    def prepare(self) -> None:
        super().prepare()
        from rankwise.model_selection import c_path

        self.path = c_path

    def run(self, tol: float) -> None:
        of = self.objective
        found = self.path(of.X, of.y, of.qid, C_VALUES, ranker=self.make(loss=of.loss, tol=tol))
        self.w = found.coef[C_VALUES.index(of.C)]


class RankRLSSolver(Solver):
    name = "rankwise RankRLS"
    ours = True
    solves = (None,)
    tolerances = (0.0,)

    def prepare(self) -> None:
        from rankwise.estimators.rankrls import RankRLS

        self.make = RankRLS

    def run(self, tol: float) -> None:
        self.w = self.make().fit(self.objective.X, self.objective.y, self.objective.qid).coef_


class RankRLSCVSolver(RankRLSSolver):
    """26 alphas with every query left out, exactly."""

    name = "rankwise RankRLSCV, 26 alphas, every query left out"

    def prepare(self) -> None:
        from rankwise.estimators.rankrls_cv import RankRLSCV

        self.make = RankRLSCV


class KernelSolver(Solver):
    name = "rankwise KernelRankSVM, rbf, exact"
    ours = True
    solves = (None,)
    tolerances = (1e-3,)
    settings: dict[str, Any] = {"C": 0.1}  # noqa: RUF012

    def prepare(self) -> None:
        from rankwise.estimators.kernel import KernelRankSVM

        self.make = KernelRankSVM

    def run(self, tol: float) -> None:
        of = self.objective
        self.ranker = self.make(gamma=GAMMA, tol=tol, **self.settings).fit(of.X, of.y, of.qid)

    def get_result(self) -> dict[str, Any]:
        return {"predict": self.ranker.predict}


class NystroemSolver(KernelSolver):
    name = "rankwise KernelRankSVM, rbf, 1,000 landmarks"
    settings = {"C": 0.01, "n_components": 1_000, "random_state": 0}  # noqa: RUF012
