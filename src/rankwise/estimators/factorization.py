"""L(V) = ½|w|² + C Σ loss(w·x_i - w·x_j) with w = Σ (v_i·v_j) (x_i - x_j), its gradient, and two ways down.

With flow(V) = below(V) - above(V) on the graph of all pairs, w = Xᵀz where z_i = v_i·flow(V)_i, and with a = X ∂L/∂w
the gradient is a flow(V) - flow(a V): O(l (K log k + n)) per evaluation.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize

from rankwise.foundation.arrays import Floats
from rankwise.objective.losses import Loss
from rankwise.objective.risks import PairwiseRisk
from rankwise.objective.rows import Rows
from rankwise.pairs.preferences import Preferences
from rankwise.solvers import Step

WINDOW = 10  # the objective's fall is judged over so many iterations


@dataclass(frozen=True)
class Point:
    """The objective at one V."""

    latent: Floats
    weights: Floats
    value: float
    gradient: Floats


class FactorizedRisk:
    """L(V) = ½|w(V)|² + C risk(X w(V))."""

    def __init__(self, features: Rows, preferences: Preferences, loss: Loss, C: float) -> None:
        self.features = features
        self.risk = PairwiseRisk(preferences, loss)
        self.C = C
        self.graph = preferences.active(np.zeros(len(preferences)))

    def flow(self, v: Floats) -> Floats:
        below, above = self.graph.sums(v)
        return below - above

    def weights(self, V: Floats) -> Floats:
        return self.features.transposed_dot(np.einsum("ik,ik->i", V, self.flow(V)))

    def at(self, V: Floats) -> Point:
        flow = self.flow(V)
        w = self.features.transposed_dot(np.einsum("ik,ik->i", V, flow))
        risk = self.risk.at(self.features.dot(w))
        by_weight = w + self.C * self.features.transposed_dot(risk.gradient)
        a = self.features.dot(by_weight)[:, None]
        gradient = a * flow - self.flow(a * V)
        return Point(V, w, 0.5 * float(w @ w) + self.C * risk.value, gradient)


class Progress:
    """The history, the best point by validation, and the stopping rule."""

    def __init__(self, tol: float, validate: Callable[[Floats], float] | None, patience: int) -> None:
        self.began = time.perf_counter()
        self.tol, self.validate, self.patience = tol, validate, patience
        self.history: list[Step] = []
        self.best_score, self.best_at = -np.inf, 0
        self.message, self.converged = "", False
        self.point: Point | None = None

    def goes_on(self, here: Point) -> bool:
        detail = ""
        n = len(self.history)
        if self.validate is not None:
            score = self.validate(here.weights)
            detail = f"validation {score:.4f}"
            if score > self.best_score:
                self.best_score, self.best_at, self.point = score, n, here
            elif n - self.best_at >= self.patience:
                self.converged = True
                self.message = f"no better on validation for {self.patience} iterations; kept iteration {self.best_at}"
        else:
            self.point = here
        norm = float(np.linalg.norm(here.gradient))
        self.history.append(Step(n, here.value, norm, time.perf_counter() - self.began, detail))
        before = self.history[max(0, n - WINDOW)].value
        if norm == 0 or (n >= WINDOW and before - here.value <= self.tol * abs(before)):
            self.converged = True
            self.message = self.message or f"the objective fell by less than {self.tol:g} in {WINDOW} iterations"
        return not self.message


def descend(objective: FactorizedRisk, start: Floats, progress: Progress, max_iter: int, rate: float) -> None:
    """The paper's gradient descent: V ← V - rate ∇L(V)."""
    here = objective.at(start)
    for _ in range(max_iter):
        if not progress.goes_on(here):
            return
        there = objective.at(here.latent - rate * here.gradient)
        if not np.isfinite(there.value) or there.value > 10 * progress.history[0].value:
            progress.message = f"diverged: learning_rate={rate:g} is too large, divide it by 10"
            return
        here = there
    if progress.goes_on(here):
        progress.message = f"max_iter = {max_iter} iterations were not enough"


def quasi_newton(objective: FactorizedRisk, start: Floats, progress: Progress, max_iter: int) -> None:
    """scipy's L-BFGS, stopped by `progress`."""
    last: list[Point] = [objective.at(start)]

    def look(flat: Floats) -> tuple[float, Floats]:
        last[0] = objective.at(flat.reshape(start.shape))
        return last[0].value, last[0].gradient.ravel()

    def after_step(intermediate_result: Any) -> None:
        here = last[0]
        if not np.array_equal(here.latent.ravel(), intermediate_result.x):  # the line search looked further
            here = objective.at(intermediate_result.x.reshape(start.shape))
        if not progress.goes_on(here):
            raise StopIteration

    if not progress.goes_on(last[0]):
        return
    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "ftol": 0.0, "gtol": 0.0}
    found = optimize.minimize(look, start.ravel(), jac=True, method="L-BFGS-B", callback=after_step, options=options)
    if not progress.message:
        spent = found.status == 1
        progress.converged = not spent
        progress.message = (
            f"max_iter = {max_iter} iterations were not enough"
            if spent
            else "the line search finds no further decrease"
        )
