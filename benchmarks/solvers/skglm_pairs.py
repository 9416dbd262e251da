"""skglm's proximal Newton method over listed pairs: L1, elastic net and weights that must not be negative."""

from typing import Any

import numpy as np
from numba import float64
from skglm.datafits.base import BaseDatafit
from skglm.penalties import L1_plus_L2
from skglm.solvers import ProxNewton


class SquaredHinge(BaseDatafit):  # type: ignore[misc]
    """C Σ max(0, 1 - margin)², the margins being those of the pairs; compiled by skglm."""

    def __init__(self, C: float) -> None:
        self.C = C

    def get_spec(self) -> Any:
        return (("C", float64),)

    def params_to_dict(self) -> dict[str, float]:
        return {"C": self.C}

    def value(self, y: Any, w: Any, margins: Any) -> Any:
        return self.C * np.sum(np.maximum(1.0 - margins, 0.0) ** 2)

    def raw_grad(self, y: Any, margins: Any) -> Any:
        return -2.0 * self.C * np.maximum(1.0 - margins, 0.0)

    def raw_hessian(self, y: Any, margins: Any) -> Any:
        return 2.0 * self.C * (margins < 1.0)


def solve(differences: Any, C: float, l1_ratio: float, positive: bool, tol: float) -> Any:
    """The weights; `tol` bounds the largest entry of the shortest subgradient."""
    solver = ProxNewton(tol=tol, max_iter=200, fit_intercept=False)
    penalty = L1_plus_L2(1.0, l1_ratio, positive)
    return solver.solve(differences, np.ones(len(differences)), SquaredHinge(C), penalty)[0]
