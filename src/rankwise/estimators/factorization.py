"""L(V) = ½|w|² + C Σ loss(w·x_i - w·x_j) with w = Σ (v_i·v_j) (x_i - x_j), its gradient, and two ways to minimise it.

With flow(V) = below(V) - above(V) on the graph of all pairs, w = Xᵀz where z_i = v_i·flow(V)_i, and with a = X ∂L/∂w
the gradient is a flow(V) - flow(a V): O(l (K log k + n)) per evaluation.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from rankwise.foundation.arrays import Floats
from rankwise.foundation.compiling import clock
from rankwise.objective.chunks import PlainChunk
from rankwise.objective.executors import Threads
from rankwise.objective.losses import Loss
from rankwise.objective.objective import Objective
from rankwise.objective.risks import PairwiseRisk
from rankwise.objective.rows import Rows
from rankwise.objective.sums import Sum
from rankwise.pairs.preferences import Preferences
from rankwise.solvers import Step
from rankwise.solvers.base import CLOSE, check_range

WINDOW = 10  # iterations over which the decrease of the objective is compared with the tolerance


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
        whole = Threads(features, self.risk, [PlainChunk(features, self.risk, large=True)])  # rows are in any order
        at_zero = Objective(Sum(whole), C).at(features.zero)
        norm, self.value_at_zero = check_range(at_zero)
        self.is_flat = norm <= at_zero.certificate.errors()[0]  # at w = 0, within rounding

    def flow(self, v: Floats) -> Floats:
        below, above = self.graph.sums(v)
        return below - above

    def weights(self, V: Floats, flow: Floats | None = None) -> Floats:
        return self.features.transposed_dot(np.einsum("ik,ik->i", V, self.flow(V) if flow is None else flow))

    def at(self, V: Floats) -> Point:
        flow = self.flow(V)
        w = self.weights(V, flow)
        risk = self.risk.at(self.features.dot(w))
        by_weight = w + self.C * self.features.transposed_dot(risk.gradient)
        a = self.features.dot(by_weight)[:, None]
        gradient = a * flow - self.flow(a * V)
        return Point(V, w, 0.5 * float(w @ w) + self.C * risk.value, gradient)


class Progress:
    """The history, the best point by validation, and the stopping rule."""

    def __init__(self, tol: float, validate: Callable[[Floats], float] | None, patience: int) -> None:
        self.began = clock()
        self.tol, self.validate, self.patience = tol, validate, patience
        self.history: list[Step] = []
        self.best_score, self.best_at = -np.inf, 0
        self.message, self.converged = "", False
        self.point: Point | None = None

    def goes_on(self, point: Point) -> bool:
        """Record a point; false if the stopping rule is met."""
        detail = ""
        n = len(self.history)
        if self.validate is not None:
            score = self.validate(point.weights)
            detail = f"validation {score:.4f}"
            if score > self.best_score:
                self.best_score, self.best_at, self.point = score, n, point
            elif n - self.best_at >= self.patience:
                self.converged = True
                self.message = (
                    f"no improvement on validation for {self.patience} iterations; kept iteration {self.best_at}"
                )
        else:
            self.point = point
        norm = float(np.linalg.norm(point.gradient))
        self.history.append(Step(n, point.value, norm, clock() - self.began, detail))
        before = self.history[max(0, n - WINDOW)].value
        if not point.gradient.any() or (n >= WINDOW and before - point.value <= self.tol * abs(before)):
            self.converged = True
            self.message = self.message or f"the objective decreased by less than {self.tol:g} in {WINDOW} iterations"
        return not self.message


def descend(objective: FactorizedRisk, start: Floats, progress: Progress, max_iter: int, rate: float) -> None:
    """The paper's gradient descent: V ← V - rate ∇L(V)."""
    point = objective.at(start)
    for _ in range(max_iter):
        if not progress.goes_on(point):
            return
        point = objective.at(point.latent - rate * point.gradient)
        if not np.isfinite(point.value) or point.value > 10 * progress.history[0].value:
            progress.message = f"diverged: learning_rate={rate:g} is too large, divide it by 10"
            return
    if progress.goes_on(point):
        progress.message = f"max_iter = {max_iter} iterations were not enough"


def quasi_newton(objective: FactorizedRisk, start: Floats, progress: Progress, max_iter: int, random: bool) -> None:
    """scipy's L-BFGS, stopped by `progress`; `random` says whether the start is.

    At a corner of the loss the line search finds no decrease, so this may be the end of a fit that has converged. With
    features of an unusual scale, it finds none at the start.
    """
    last: list[Point] = [objective.at(start)]

    def at(flat: Floats) -> tuple[float, Floats]:
        last[0] = objective.at(flat.reshape(start.shape))
        return last[0].value, last[0].gradient.ravel()

    def after_step(intermediate_result: optimize.OptimizeResult) -> None:
        point = last[0]
        if not np.array_equal(point.latent.ravel(), intermediate_result.x):  # the line search tried others after it
            point = objective.at(intermediate_result.x.reshape(start.shape))
        if not progress.goes_on(point):
            raise StopIteration

    if not progress.goes_on(last[0]):
        return
    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "ftol": 0.0, "gtol": 0.0}
    result = optimize.minimize(at, start.ravel(), jac=True, method="L-BFGS-B", callback=after_step, options=options)
    if not progress.message:
        first, value = progress.history[0].value, progress.history[-1].value
        learned = value <= (1 + progress.tol) * objective.value_at_zero and (
            not random or first - value > CLOSE * first
        )
        if result.status == 1:
            progress.message = f"max_iter = {max_iter} iterations were not enough"
        elif learned:
            progress.converged, progress.message = True, "the line search finds no further decrease"
        else:
            progress.message = "the line search finds no decrease near the start: scale the features"
