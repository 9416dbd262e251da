"""One evaluator for all solvers: f(w) = ½|w|² + C Σ loss(w·x_i - w·x_j), whoever found w.

The gap of w is (f(w) - bound) / f(w), with a lower bound on the optimum that a reference solution certifies: f is
strongly convex, so a smooth one lies at most ½|∇f|² above its optimum; for the hinge the bound is the dual's value.
"""

import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

REFERENCE = {"squared_hinge": (1e-10, "gradient"), "hinge": (1e-7, "gap")}  # tolerance and of what
MOST_GRADED = 31  # labels beyond this, or that are no grades at all, have no NDCG: its gain is 2^label


@dataclass(frozen=True)
class Objective:
    """`loss` None: nothing to minimise in common, only rankings to compare. `bound` None: no gap is known. `test` is of
    other queries: X, y and qid.
    """

    X: Any
    y: Any
    qid: Any
    loss: str | None
    C: float
    bound: float | None = None
    test: Any = None

    def evaluate_result(self, w: Any = None, scores: Any = None, test_scores: Any = None) -> dict[str, Any]:
        """What is known of the weights w, or of scores where there are no weights: the objective and the pairwise
        accuracy on these data, NDCG on the test data.
        """
        from rankwise.metrics import evaluate

        scores = self.X @ np.asarray(w, np.float64) if scores is None else scores
        row: dict[str, Any] = {"accuracy": evaluate(self.y, scores, self.qid, "pairwise-accuracy")["pairwise-accuracy"]}
        if self.test is not None and self.test.y.min() >= 0 and self.test.y.max() <= MOST_GRADED:
            test_scores = self.test.X @ np.asarray(w, np.float64) if test_scores is None else test_scores
            row["test_ndcg10"] = evaluate(self.test.y, test_scores, self.test.qid, "ndcg@10")["ndcg@10"]
        if self.loss is not None and w is not None:
            here = self.problem().at(np.asarray(w, np.float64))
            row |= {"objective": here.value, "gradient_norm": float(np.linalg.norm(here.gradient))}
            if self.bound is not None:
                row["gap"] = max((here.value - self.bound) / abs(here.value), 0.0)
        return row

    def reference(self) -> dict[str, float]:
        """The optimum, as exactly as it can be had, and the lower bound that goes with it."""
        from rankwise import RankSVM

        assert self.loss is not None
        tol, stopping = REFERENCE[self.loss]
        ranker = RankSVM(C=self.C, loss=self.loss, tol=tol, max_iter=10_000, stopping=stopping)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rounding may stop it earlier; the bound says how exact it is
            result = ranker.fit(self.X, self.y, self.qid).result_
        gap = 0.5 * result.gradient_norm**2 if result.gap is None else result.gap
        return {"value": result.value, "bound": result.value - gap}

    def problem(self) -> Any:
        from rankwise.objective import losses
        from rankwise.objective.building import build

        return build(self.X, self.y, self.qid, loss=losses.parse(self.loss), C=self.C)


def kept_bound(folder: Path) -> float | None:
    """The lower bound that was computed once for the data in this folder."""
    path = folder / "reference.json"
    return json.loads(path.read_text())["bound"] if path.exists() else None
