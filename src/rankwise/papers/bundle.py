"""Cutting planes: f(w) = ½|w|² + R(w), where the convex R is bounded from below by planes R(w) ≥ a·w + b (BMRM).

The minimum of the model ½|w|² + max(a·w + b) is a lower bound on min f, and the best value so far an upper bound; the
gap between them is the certificate. With a line search (Franc and Sonnenburg) the best point moves to the minimum on
the ray towards the model's minimiser, and the next plane is tangent near it, which takes far fewer planes.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Protocol

import numpy as np
from scipy import optimize

from rankwise.foundation.arrays import Floats
from rankwise.foundation.compiling import clock
from rankwise.foundation.devices import length_of
from rankwise.foundation.functions import Certified, Expansion, Function, Ray, Searchable
from rankwise.solvers.base import (
    CORNER,
    ROUNDED,
    STALLED,
    STOPPED,
    Callback,
    Result,
    Start,
    Step,
    check_range,
    converged_by,
    gap_scale,
    may_overflow,
    point_of,
    relative,
    require,
    uncertified,
    within,
)

NEXT_PLANE = 0.1  # point of the next tangent plane, as a share of the way from the best point to the model's minimiser
PLANES = 2.0  # rounding errors of planes, compared with those at the best point
IDLE = 50  # a plane that was not active at the model's minimum for this many iterations is dropped


class Lined(Function, Searchable, Protocol):
    """An objective whose slopes on a ray take no product with X."""


@dataclass(frozen=True)
class Bundle:
    """Stops when f(best) - bound ≤ tol · min(f(best), f(0) - bound)."""

    needs: ClassVar = ("NumPy arrays",)

    tol: float = 1e-3
    max_iter: int = 5000
    line_search: bool = True

    def __call__(
        self, objective: Lined, start: Floats | Start | None = None, callback: Callback | None = None
    ) -> Result:
        require(objective, "bundle", "along")
        began = clock()
        first = point_of(objective, start)
        with may_overflow():
            best = touched = objective.at(first)
            value_at_zero = check_range(objective.at(np.zeros(objective.size)) if first.any() else best)[1]
        planes = _Planes(objective.size)
        history: list[Step] = []
        message, bound = "", 0.0  # neither |w|² nor a loss is negative
        least, settled, idle = np.inf, 0, 0  # `settled` and `idle` count planes with no gap and without a smaller one
        while not message:
            planes.add(touched)
            proposed, lower = planes.minimum()
            best, touched = self._next(objective, best, proposed)
            idle = 0 if lower > bound or best.value < least else idle + 1
            bound, least = max(bound, lower), best.value
            gap = max(best.value - bound, 0.0)
            scale = gap_scale(best.value, value_at_zero, gap)
            share = relative(gap, scale)
            small = share <= self.tol
            rounding = _rounding(best) if small else 0.0
            done = within(self.tol, gap, rounding, best.value, value_at_zero) and not _left_at_zero(best)
            settled += gap <= ROUNDED[0] * self.tol * scale
            last = len(history) + 1 >= self.max_iter
            norm = float(np.linalg.norm(best.gradient))
            detail = f"{len(planes.heights)} planes, relative gap {share:.2g}"
            step = Step(len(history), best.value, norm, clock() - began, detail)
            history.append(step)
            stopped = callback is not None and bool(callback(step))
            if done:
                message = converged_by("certified", gap, scale, self.tol)
            elif stopped:
                message = STOPPED
            elif idle >= STALLED or (small and (settled > ROUNDED[1] or last)):
                hidden = gap + _rounding(best)  # f(0) - min f may be that much too: 0 would be no scale for it
                message = uncertified(relative(hidden, gap_scale(best.value, value_at_zero, hidden)))
            elif last:
                message = f"max_iter = {self.max_iter} planes were not enough: the relative gap is {share:.3g}"
        result = Result(best.point, best.value, norm, len(history), done, message, history)
        return replace(result, gap=gap + _rounding(best) + CORNER * value_at_zero, gap_estimate=gap)

    def _next(self, objective: Lined, best: Expansion, proposed: Floats) -> tuple[Expansion, Expansion]:
        """The new best point, and the point of the next tangent plane."""
        if not self.line_search:
            touched: Expansion = objective.at(proposed)
            return (touched if touched.value < best.value else best), touched
        direction = proposed - best.point
        length = _minimum_on(objective.along(best.point, direction))
        if length > 0:
            moved = objective.at(best.point + length * direction)
            best = moved if moved.value < best.value else best
        return best, objective.at(best.point + NEXT_PLANE * (proposed - best.point))


bmrm = partial(Bundle, line_search=False)


def _rounding(best: Expansion) -> float:
    """A bound on the rounding error of the lower bound: active planes are tangent near the best point."""
    if not isinstance(best, Certified):
        return 0.0
    in_gradient, in_value = best.certificate.errors()
    furthest = 2.0 * (2.0 * max(best.value, 0.0)) ** 0.5  # |w| ≤ √2f, at the tangent point and at the optimum
    return float(PLANES * (in_gradient * furthest + in_value))


def _left_at_zero(best: Expansion) -> bool:
    """Whether the best point is 0 only because rounding hides the decrease from it: the gradient there is not 0."""
    if best.point.any():
        return False
    in_gradient = best.certificate.errors()[0] if isinstance(best, Certified) else 0.0
    return bool(length_of(best.gradient) > in_gradient)


def _minimum_on(ray: Ray) -> float:
    """The minimiser of a convex function of t ≥ 0, the root of its slope, to five digits."""
    low, high = 0.0, 1.0
    if ray.slope(low) >= 0:
        return 0.0
    while ray.slope(high) < 0:
        low, high = high, 2 * high
    return float(optimize.brentq(ray.slope, low, high, xtol=1e-6, rtol=1e-5))


class _Planes:
    """The planes a·w + b, and their dual variables, the shares."""

    def __init__(self, size: int) -> None:
        # R is not negative, so the first plane is 0.
        self.normals, self.heights = np.zeros((1, size)), np.zeros(1)
        self.shares, self.idle = np.ones(1), np.zeros(1, np.int64)
        self.products = np.zeros((1, 1))

    def add(self, touched: Expansion) -> None:
        normal = touched.gradient - touched.point
        risk = touched.value - 0.5 * float(touched.point @ touched.point)
        with_others = self.normals @ normal
        self.products = np.block([[self.products, with_others[:, None]], [with_others[None], normal @ normal]])
        self.normals = np.vstack((self.normals, normal))
        self.heights = np.append(self.heights, risk - normal @ touched.point)
        self.shares, self.idle = np.append(self.shares, 0.0), np.append(self.idle, 0)

    def minimum(self) -> tuple[Floats, float]:
        """The minimiser of ½|w|² + max(a·w + b) and its value, by the dual: ½ s·AAᵀs - b·s on the simplex, w = -Aᵀs."""
        self.shares = simplex_minimum(self.products, self.heights, self.shares)
        w = -(self.shares @ self.normals)
        value = float(self.shares @ self.heights) - 0.5 * float(w @ w)
        self.idle = np.where(self.shares > 0, 0, self.idle + 1)
        kept = self.idle <= IDLE
        self.normals, self.heights, self.shares = self.normals[kept], self.heights[kept], self.shares[kept]
        self.idle, self.products = self.idle[kept], self.products[np.ix_(kept, kept)]
        return w, value


def simplex_minimum(products: Floats, heights: Floats, start: Floats) -> Floats:
    """The s ≥ 0, Σs = 1 that minimises ½ s·P s - h·s, by an active-set method from `start`.

    A new plane changes the last solution little, so starting from it takes a few solves with the few active planes; a
    general solver would start from scratch every time.
    """
    scale = max(float(np.abs(np.diag(products)).max()), float(np.abs(heights).max()), 1e-300)
    P, h = products / scale, heights / scale
    shares = start.copy()
    used: list[int] = np.flatnonzero(shares > 0).tolist()
    for _ in range(20 * h.size + 100):
        wanted = _on_face(P, h, used)
        negative = wanted < 0
        if negative.any():
            # Move towards it up to the boundary of the simplex, and remove the planes whose shares become 0.
            now = shares[used]
            length = float(np.min(now[negative] / (now[negative] - wanted[negative])))
            moved = np.maximum(now + length * (wanted - now), 0.0)
            moved[np.flatnonzero(negative)[np.argmin(now[negative] / (now[negative] - wanted[negative]))]] = 0.0
            shares[used] = moved
            used = [i for i, share in zip(used, moved, strict=True) if share > 0]
            continue
        shares[used] = wanted
        slopes = P @ shares - h
        level = float(shares @ slopes)
        best = int(np.argmin(slopes))
        if slopes[best] >= level - 1e-13 or best in used:
            break
        used.append(best)
    shares /= shares.sum()
    return shares


def _on_face(P: Floats, h: Floats, used: list[int]) -> Floats:
    """The minimiser with Σs = 1 over these coordinates, of any sign."""
    n = len(used)
    system = np.ones((n + 1, n + 1))
    system[:n, :n] = P[np.ix_(used, used)] + 1e-14 * np.eye(n)  # planes may be linearly dependent
    system[n, n] = 0.0
    right = np.append(h[used], 1.0)
    try:
        solution: Floats = np.linalg.solve(system, right)[:n]
    except np.linalg.LinAlgError:
        solution = np.linalg.lstsq(system, right)[0][:n]
    return solution
