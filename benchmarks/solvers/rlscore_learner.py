"""RLScore's QueryRankRLS: the squared loss in closed form, a query weighing 1 / its number of documents."""

from benchmarks.solvers import Solver


class RLScoreSolver(Solver):
    name = "RLScore QueryRankRLS"
    package = "rlscore"
    advice = (
        "does not install from Python 3.11 on: the C files of its release 0.8.1 include longintrepr.h, which is gone "
        "(and its setup.py imports numpy, which an isolated build does not have)"
    )
    solves = (None,)
    tolerances = (0.0,)

    def prepare(self) -> None:
        from rlscore.learner import QueryRankRLS

        self.make = QueryRankRLS

    def run(self, tol: float) -> None:
        learner = self.make(self.objective.X, self.objective.y, self.objective.qid, regparam=1.0)
        self.w = learner.predictor.W.ravel()
