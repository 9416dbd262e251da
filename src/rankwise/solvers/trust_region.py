"""Truncated Newton in a trust region: the step minimises the quadratic model within |s| ≤ Δ by conjugate gradients
(Steihaug), and Δ follows how well the model foretold the decrease (Lin and Moré's rule, with Lee and Lin's constants).
"""

from dataclasses import dataclass

import numpy as np

from rankwise.arrays import Floats
from rankwise.solvers.base import Callback, Expansion, Journal, Objective, Result, decrease, require

ACCEPT, POOR, GOOD = 1e-4, 0.25, 0.75  # Lee and Lin's η0, η1, η2
SHRINK, HALVE, GROW = 0.25, 0.5, 4.0  # and σ1, σ2, σ3
INNER_TOLERANCE = 0.1  # conjugate gradients stop at this share of the gradient's norm


@dataclass(frozen=True)
class TrustRegion:
    tol: float = 1e-3
    max_iter: int = 1000

    def __call__(self, objective: Objective, start: Floats | None = None, callback: Callback | None = None) -> Result:
        journal = Journal(objective, start, self.tol, callback)
        here: Expansion = journal.start
        require(here, "trust-region", "hessian")
        radius = float(np.linalg.norm(here.gradient))
        detail = ""
        while journal.goes_on(here, detail):
            if len(journal.history) > self.max_iter:
                return journal.result(here, f"max_iter = {self.max_iter} iterations were not enough")
            step, foretold, products = steihaug(here, radius)
            there = objective.at(here.point + step)
            gained = decrease(here, there)
            ratio = gained / foretold
            if len(journal.history) == 1:
                radius = min(radius, float(np.linalg.norm(step)))
            radius = _next_radius(radius, float(np.linalg.norm(step)), ratio, float(here.gradient @ step), gained)
            if ratio > ACCEPT:
                here = there
            elif radius <= np.finfo(float).eps * max(1.0, float(np.linalg.norm(here.point))):
                return journal.result(here, "the trust region vanished: rounding allows no further decrease")
            detail = f"{products} products, radius {radius:.3g}"
        return journal.result(here)


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


def steihaug(here: Expansion, radius: float) -> tuple[Floats, float, int]:
    """The step, the decrease that the quadratic model foretells for it, and the number of Hessian products."""
    step = np.zeros_like(here.gradient)
    residual = -here.gradient
    direction = residual.copy()
    square = float(residual @ residual)
    goal = INNER_TOLERANCE**2 * square
    products = 0
    while square > goal and products < max(100, 2 * step.size):
        curved = here.hessian(direction)
        products += 1
        length = square / float(direction @ curved)
        ahead = step + length * direction
        if np.linalg.norm(ahead) >= radius:
            length = _to_boundary(step, direction, radius)
            step = step + length * direction
            residual = residual - length * curved
            break
        step = ahead
        residual = residual - length * curved
        previous, square = square, float(residual @ residual)
        direction = residual + (square / previous) * direction
    foretold = 0.5 * float(step @ (residual - here.gradient))
    return step, foretold, products


def _to_boundary(step: Floats, direction: Floats, radius: float) -> float:
    """The positive length at which step + length · direction leaves the ball, in the form that does not cancel."""
    a, b, c = float(direction @ direction), float(step @ direction), float(step @ step) - radius * radius
    root = float(np.sqrt(b * b - a * c))
    return (root - b) / a if b < 0 else -c / (b + root)
