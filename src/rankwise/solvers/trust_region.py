"""Truncated Newton in a trust region: the step minimises the quadratic model within |s| ≤ Δ by conjugate gradients
(Steihaug), and Δ follows how well the model foretold the decrease (Lin and Moré's rule, with Lee and Lin's constants).
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import mul
from typing import Any

import numpy as np

from rankwise.arrays import Floats
from rankwise.solvers.base import Callback, Expansion, Journal, Objective, Result, decrease, length_of, require
from rankwise.solvers.equations import lifted_inverse
from rankwise.solvers.newton import Newton

ACCEPT, POOR, GOOD = 1e-4, 0.25, 0.75  # Lee and Lin's η0, η1, η2
SHRINK, HALVE, GROW = 0.25, 0.5, 4.0  # and σ1, σ2, σ3
STALE = 6  # products of a step from which on the sample's Hessian is taken anew
PATIENCE = 8  # steps; a sample that shows the way needs fewer
SAMPLE_TOLERANCE = 1e-3  # how far the sample's own problem is solved
INNER_TOLERANCE = 0.1  # conjugate gradients stop at this share of the gradient's norm


@dataclass(frozen=True)
class TrustRegion:
    """precondition: None, "diagonal", or "sampled": the Hessian of a sample of the rows, factorised.

    The region is then a ball in the preconditioner's norm. With a sample, the sample's own optimum is the start.
    """

    tol: float = 1e-3
    max_iter: int = 1000
    precondition: str | None = None

    def __call__(self, objective: Objective, start: Floats | None = None, callback: Callback | None = None) -> Result:
        began = time.perf_counter()
        preconditioner = self._preconditioner(objective)
        if isinstance(preconditioner, Sample) and (start is None or not bool((start != 0).any())):
            start = Newton(SAMPLE_TOLERANCE)(preconditioner.objective).point
        journal = Journal(objective, start, self.tol, callback, began)
        here: Expansion = journal.begin()
        require(here, "trust-region", "hessian")
        precondition = preconditioner(here, 0)
        radius = math.sqrt(float(here.gradient @ precondition(here.gradient)))
        detail = ""
        while journal.goes_on(here, detail):
            if len(journal.history) > self.max_iter:
                return journal.result(here, f"max_iter = {self.max_iter} iterations were not enough")
            step, length, foretold, products = steihaug(here, radius, precondition)
            there = objective.at(here.point + step)
            gained = decrease(here, there)
            ratio = gained / foretold
            if len(journal.history) == 1:
                radius = min(radius, length)
            radius = _next_radius(radius, length, ratio, float(here.gradient @ step), gained)
            if ratio > ACCEPT:
                here = there
                precondition = preconditioner(here, products)
            elif radius <= np.finfo(float).eps * max(1.0, length_of(here.point)):
                return journal.result(here, "the trust region vanished: rounding allows no further decrease")
            detail = f"{products} products, radius {radius:.3g}"
            if isinstance(preconditioner, Sample) and len(journal.history) >= PATIENCE:
                # Near separability few pairs are left, and a sample sees too few of them: all rows from here on.
                return Newton(self.tol, self.max_iter).follow(objective, journal, here, detail)
        return journal.result(here)

    def _preconditioner(self, objective: Any) -> Callable[[Any, int], Callable[[Floats], Floats]]:
        """For each point, the inverse of something like the Hessian there; also told the products of the last step."""
        if self.precondition is None:
            return lambda here, products: lambda v: v
        if self.precondition == "diagonal":
            return lambda here, products: partial(mul, 1.0 / here.hessian_diagonal())
        require(objective, "trust-region with a sampled preconditioner", "sampled")
        return Sample(objective.sampled(sample_size(objective.size), seed=0))


def sample_size(n_features: int) -> int:
    """Rows enough to see every direction many times over."""
    return max(5000, 150 * n_features)


class Sample:
    """Preconditions by the Hessian of a sample, kept as long as it does well."""

    def __init__(self, objective: Any) -> None:
        self.objective = objective
        self.inverse: Callable[[Floats], Floats] | None = None

    def __call__(self, here: Expansion, products: int) -> Callable[[Floats], Floats]:
        if self.inverse is None or products >= STALE:
            self.inverse = lifted_inverse(self.objective.at(here.point).hessian_matrix())
        return self.inverse


def _next_radius(radius: float, length: float, ratio: float, slope: float, gained: float) -> float:
    """Lin and Moré: interpolate the decrease along the step, and keep the radius within the bounds of its class."""
    excess = -gained - slope
    wanted = (GROW if excess <= 0 else max(SHRINK, -0.5 * slope / excess)) * length
    if ratio < ACCEPT:
        return min(max(wanted, SHRINK * length), HALVE * radius)
    if ratio < POOR:
        return max(SHRINK * radius, min(wanted, HALVE * radius))
    if ratio < GOOD:
        return max(SHRINK * radius, min(wanted, GROW * radius))
    return max(radius, min(wanted, GROW * radius))


def steihaug(
    here: Expansion, radius: float, precondition: Callable[[Floats], Floats]
) -> tuple[Floats, float, float, int]:
    """The step and its length, the decrease that the quadratic model foretells, and the number of Hessian products.

    Lengths are in the norm of M, whose inverse is `precondition`; M itself is not needed: M step and M direction follow
    the recurrences of step and direction, with the residual in place of the preconditioned one.
    """
    step, M_step = 0.0 * here.gradient, 0.0 * here.gradient
    residual = -here.gradient
    direction, M_direction = precondition(residual), residual
    square = float(residual @ direction)
    goal = INNER_TOLERANCE**2 * square
    products = 0
    while square > goal and products < max(100, 2 * step.shape[0]):
        curved = here.hessian(direction)
        products += 1
        length = square / float(direction @ curved)
        ahead, M_ahead = step + length * direction, M_step + length * M_direction
        outside = float(ahead @ M_ahead) >= radius * radius
        if outside:
            products_of = float(direction @ M_direction), float(step @ M_direction), float(step @ M_step)
            length = _to_boundary(*products_of, radius)
            ahead, M_ahead = step + length * direction, M_step + length * M_direction
        step, M_step = ahead, M_ahead
        residual = residual - length * curved
        if outside:
            break
        preconditioned = precondition(residual)
        previous, square = square, float(residual @ preconditioned)
        direction = preconditioned + (square / previous) * direction
        M_direction = residual + (square / previous) * M_direction
    foretold = 0.5 * float(step @ (residual - here.gradient))
    return step, math.sqrt(max(float(step @ M_step), 0.0)), foretold, products


def _to_boundary(dd: float, sd: float, ss: float, radius: float) -> float:
    """The positive length at which s + length · d leaves the ball, in the form that does not cancel."""
    a, b, c = dd, sd, ss - radius * radius
    root = math.sqrt(b * b - a * c)
    return (root - b) / a if b < 0 else -c / (b + root)
