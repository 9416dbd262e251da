"""Proximal Newton, for penalties with corners: weights of a given sign, few features (`objective.penalties`).

Every step goes towards the minimum of the quadratic model of the risk plus the penalty itself, so there are about as
many steps, and passes over the data, as in Newton's method. The model is minimised on the host, by `minimum_of`.
"""

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.devices import AnyFloats, diagonal_of, inner, on_device_of, to_host
from rankwise.objective.losses import squared
from rankwise.objective.objective import Objective, ObjectiveExpansion
from rankwise.objective.penalties import ElasticNet
from rankwise.solvers.base import Callback, Journal, Result, Start, begun, decrease, point_of, went_as_predicted
from rankwise.solvers.conjugate import MOST_PRODUCTS
from rankwise.solvers.equations import scaled_inverse
from rankwise.solvers.line_search import line_search

MOST_FACES = 500  # sets of free weights that are tried for one model
SOLVED = 1e-12  # a model is solved if the last set gained at most this share of the total gain
NEWTON_CUTS, GRADIENT_CUTS = 8, 60  # how often a step is halved
ENOUGH = 0.1  # share of the slope that a step must gain; an exact one gains half
DAMPING = 1e-6  # without a ridge: share of the largest possible curvature that is added to the model
RESIDUAL = 1e-3  # of conjugate gradients on the free weights, relative


@dataclass(frozen=True)
class ProximalNewton:
    """inner  "cholesky": the Hessian is formed; "cg": products with it only, for many features."""

    needs: ClassVar = ("smooth loss",)
    takes_penalties: ClassVar = True

    tol: float = 1e-3
    max_iter: int = 1000
    inner: str = "cholesky"
    stopping: str = "gap"

    def __call__(
        self, objective: Objective, start: AnyFloats | Start | None = None, callback: Callback | None = None
    ) -> Result:
        began = time.perf_counter()
        penalty = objective.penalty if isinstance(objective.penalty, ElasticNet) else ElasticNet()  # the same as L2
        if not isinstance(start, Start) and start is not None:
            start = penalty.allowed(point_of(objective, start))
        current, at_zero = begun(objective, start)
        assert isinstance(current, ObjectiveExpansion)
        journal = Journal(began, at_zero, self.tol, callback, self.stopping)
        return self._follow(objective, penalty, journal, current)

    def _follow(
        self, objective: Objective, penalty: ElasticNet, journal: Journal, current: ObjectiveExpansion
    ) -> Result:
        detail, sound = "", False
        damping = np.zeros(1) if penalty.ridge else DAMPING * _most_curvature(current)
        while journal.goes_on(current, detail):
            if len(journal.history) > self.max_iter:
                return journal.result(current, f"max_iter = {self.max_iter} iterations were not enough")
            step, predicted = self._towards_minimum(penalty, current, damping)
            trial, length = line_search(objective, current, on_device_of(current.point, step))
            if trial is None:
                return _at_rest(journal, current, predicted if sound else np.inf)
            sound = length == 1.0 and went_as_predicted(predicted, decrease(current, trial))
            current = trial
            kept = int((current.point != 0.0).sum())
            detail = f"step {length:.3g}, {kept} features"
        return journal.result(current)

    def _towards_minimum(
        self, penalty: ElasticNet, current: ObjectiveExpansion, damping: Floats
    ) -> tuple[Floats, float]:
        """The step to the minimum of the model, and the decrease that it predicts."""
        w = to_host(current.point)
        smooth = penalty.ridge * w + current.C * to_host(current.sum.gradient)
        model = Products(current, damping) if self.inner == "cg" else written(current, damping)
        minimum, gained = minimum_of(model, penalty, w, smooth)
        return minimum - w, gained


def _most_curvature(current: ObjectiveExpansion) -> Floats:
    """The diagonal of the Hessian if all pairs had the largest curvature of the loss.

    Without a ridge, and with no pair where the loss is curved, the model would have no minimum.
    """
    most = sum(abs(piece.curvature) for piece in current.loss.pieces)
    all_pairs = to_host(current.with_loss(squared()).sum.hessian_diagonal())  # each with the curvature 2
    return 0.5 * current.C * most * all_pairs


def _at_rest(journal: Journal, current: ObjectiveExpansion, attainable: float) -> Result:
    """The result if the line search finds no decrease: by rounding alone, if the model was right so far."""
    journal.estimate = attainable
    journal.converged = (
        journal.rule == "gap" and journal.near(current.value, attainable) and journal.beyond_proof(current)
    )
    return journal.result(current, "the line search failed: rounding allows no further decrease")


def written(current: ObjectiveExpansion, damping: Floats) -> "Written":
    matrix = to_host(current.hessian_matrix())
    diagonal_of(matrix)[:] += damping
    return Written(matrix)


@dataclass(frozen=True)
class Written:
    """A Hessian that is formed."""

    matrix: Floats

    def product(self, v: Floats) -> Floats:
        product: Floats = self.matrix @ v
        return product

    @property
    def diagonal(self) -> Floats:
        return np.diagonal(self.matrix)

    def newton(self, free: Array, gradient: Floats) -> Floats:
        """-H⁻¹ gradient over the free weights; 0 for all others."""
        step = np.zeros_like(gradient)
        step[free] = -scaled_inverse(self.matrix[np.ix_(free, free)], least=0.0)(gradient[free])
        return step


class Products:
    """A Hessian of which only products are formed."""

    def __init__(self, current: ObjectiveExpansion, damping: Floats) -> None:
        self.current, self.damping = current, damping
        self.diagonal: Floats = to_host(current.hessian_diagonal()) + damping

    def product(self, v: Floats) -> Floats:
        product: Floats = to_host(self.current.hessian(on_device_of(self.current.point, v))) + self.damping * v
        return product

    def newton(self, free: Array, gradient: Floats) -> Floats:
        """-H⁻¹ gradient over the free weights, by preconditioned conjugate gradients; 0 for all others."""
        scale = np.where(free & (self.diagonal > 0.0), 1.0 / np.where(self.diagonal > 0.0, self.diagonal, 1.0), 0.0)
        step, residual = np.zeros_like(gradient), -gradient
        direction = scale * residual
        square = inner(residual, direction)
        goal = RESIDUAL**2 * square
        for _ in range(min(max(MOST_PRODUCTS[0], 2 * int(free.sum())), MOST_PRODUCTS[1])):
            curved = self.product(direction)
            bend = inner(direction, curved)
            if not 0.0 < bend < np.inf:
                break
            step = step + (square / bend) * direction
            residual = residual - (square / bend) * curved
            before, square = square, inner(residual, scale * residual)
            if square <= goal:
                break
            direction = scale * residual + (square / before) * direction
        return step


def minimum_of(model: Written | Products, penalty: ElasticNet, w: Floats, smooth: Floats) -> tuple[Floats, float]:
    """The minimum over x of smooth·(x - w) + ½ (x - w)·H (x - w) + the corners of P, and the decrease from w to it.

    The ridge of P is part of `smooth` and of H. Weights whose subgradient is 0 at a corner stay; the free ones take a
    Newton step together, and those that would change their sign stop at 0 (Bertsekas 1982). If such steps have to be
    short, as when a weight near 0 changes its sign, a step along the scaled subgradient is taken instead.
    """
    x, total = w, 0.0
    for _ in range(MOST_FACES):
        subgradient = penalty.corners(x, smooth)
        sides = np.where(x != 0.0, np.sign(x), -np.sign(subgradient))
        free = sides != 0.0
        arc = Arc(model, x, sides, subgradient)
        move = arc.move(model.newton(free, subgradient * free), NEWTON_CUTS) if subgradient.any() else None
        move = move or arc.move(-subgradient / np.where(model.diagonal > 0.0, model.diagonal, 1.0), GRADIENT_CUTS)
        if move is None:
            break
        x, smooth, total = x + move.step, smooth + move.curved, total + move.gain
        if move.gain <= SOLVED * total:
            break
    return x, total


@dataclass(frozen=True)
class Move:
    """A step, its product with the Hessian, and the decrease of the model."""

    step: Floats
    curved: Floats
    gain: float


@dataclass(frozen=True)
class Arc:
    """Steps from x, in which weights that would leave their side of 0 stop there."""

    model: Written | Products
    x: Floats
    sides: Floats
    subgradient: Floats

    def move(self, direction: Floats, cuts: int) -> Move | None:
        """The step along a direction, halved until the model decreases enough; None if it does not after all cuts."""
        for _ in range(cuts):
            ahead = self.x + direction
            step = np.where(ahead * self.sides > 0.0, ahead, 0.0) - self.x
            slope = inner(self.subgradient, step)
            if slope < 0.0:
                curved = self.model.product(step)
                gain = -slope - 0.5 * inner(step, curved)
                if gain >= -ENOUGH * slope:
                    return Move(step, curved, gain)
            direction = 0.5 * direction
        return None
