"""Solvers, ours and peers: classes with a `name` and benchopt's few methods.

skip(objective)      a sentence where it cannot do this work
prepare()            its imports: counted into the first fit of a process, and into no other
set_objective(...)   the data in the form it wants: not timed, but its memory counts
run(tol)             what is timed, once for each of `tolerances`
get_result()         {"w": weights} or {"predict": a function of X that returns scores}
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

SMOOTH = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6)

WHERE = {
    "ranksvm": "ours:RankSVMSolver",
    "c-path": "ours:CPath",
    "c-path-cold": "ours:CPathCold",
    "rankrls": "ours:RankRLSSolver",
    "rankrls-cv": "ours:RankRLSCVSolver",
    "kernel-ranksvm": "ours:KernelSolver",
    "kernel-nystroem": "ours:NystroemSolver",
    "linearsvc": "listed_pairs:LinearSVCSolver",
    "liblinear-pairs": "listed_pairs:LiblinearSolver",
    "liblinear": "liblinear:ExternalSolver",
    "survival": "survival:SurvivalSolver",
    "dlib": "dlib_ranker:DlibSolver",
    "xgboost": "boosters:XgboostSolver",
    "lightgbm": "boosters:LightgbmSolver",
    "rlscore": "rlscore_learner:RLScoreSolver",
}


class Solver:
    """What most solvers have in common; `solves` are the losses whose optimum it looks for."""

    name: ClassVar[str]
    ours: ClassVar[bool] = False
    package: ClassVar[str | None] = None
    advice: ClassVar[str] = 'not installed: pip install -e ".[peers]"'
    solves: ClassVar[tuple[str | None, ...]] = ("squared_hinge",)
    tolerances: tuple[float, ...] = SMOOTH
    note = ""
    overhead = 0.0  # seconds of the last run that were not training

    def __init__(self, **options: Any) -> None:
        """`options` are those of the command line that a solver may ask for."""
        self.options = options

    def skip(self, objective: Any) -> str | None:
        if self.package is not None and find_spec(self.package) is None:
            return self.advice
        if objective.loss not in self.solves:
            return f"does not minimise {objective.loss}"
        return None

    def prepare(self) -> None:
        pass

    def set_objective(self, objective: Any) -> None:
        self.objective = objective

    def run(self, tol: float) -> None:
        raise NotImplementedError

    def get_result(self) -> dict[str, Any]:
        return {"w": self.w}


def make(key: str, **options: Any) -> Solver:
    module, name = WHERE[key].split(":")
    solver: Solver = getattr(import_module(f"benchmarks.solvers.{module}"), name)(**options)
    return solver
