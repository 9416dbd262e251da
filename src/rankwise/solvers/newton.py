"""Newton's method with a line search. With the Hessian written out and factorised, nothing is faster for few features;
the inner solve can also be iterative, by products with the Hessian alone (Chapelle and Keerthi's PRSVM).

Near separability few pairs are active and they change at every step. A trust region then shrinks to steps that change
only a few of them, while a line search crosses many: this is why "auto" prefers it.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import optimize

from rankwise.foundation.arrays import Floats
from rankwise.foundation.devices import length_of
from rankwise.foundation.functions import Expansion, Function
from rankwise.solvers.base import (
    Callback,
    Journal,
    Result,
    Start,
    Step,
    agrees,
    decrease,
    require,
    went_as_predicted,
)
from rankwise.solvers.conjugate import ModelStep, Preconditioner, conjugate_gradients, make_preconditioner
from rankwise.solvers.equations import Inverse, scaled_inverse
from rankwise.solvers.rescue import can_help, near_separable, rescued

DECREASE = 1e-4  # Armijo's share of the slope
ENOUGH = 0.25  # share of the slope that a full step must gain; where the model is right it gains half of it
ROUGHLY = 0.01  # relative exactness of the minimum on the way
CUT_SHORT = 0.02  # share of a full step
BLOCKED = 3  # steps cut short, after which there is a detour
EASED = 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1.0  # shares of C
LOOSELY, STAGE = 0.1, 50  # tolerance and steps for each of them
SHORTEST = 1e-300  # where the curvature at w = 0 says nothing, a step is too long by the square of the features' size
INNERS = ("cholesky", "cg")
InnerSolve = Callable[[Expansion], ModelStep]


@dataclass(frozen=True)
class Newton:
    """inner         "cholesky" of the Hessian matrix, "cg" on Hessian products, or a function of an expansion that
                  returns a `ModelStep`
    precondition  of "cg": None, "diagonal", or "sampled", the Hessian of a sample of the rows
    patience      of "cg": the number of products after which the Hessian is written out instead; None: never
    detours       how often to go by way of smaller C where steps are cut short
    rescue        a solver to turn to where the line search fails near separability; None: give up there
    """

    needs: ClassVar = ("smooth loss",)

    tol: float = 1e-3
    max_iter: int = 1000
    inner: str | InnerSolve = "cholesky"
    precondition: str | None = None
    patience: int | None = None
    stopping: str = "gap"
    detours: int = 1
    rescue: Any = None

    def __call__(
        self, objective: Function, start: Floats | Start | None = None, callback: Callback | None = None
    ) -> Result:
        journal = Journal(objective, start, self.tol, callback, self.stopping)
        here = journal.begin()
        require(here, "newton", "hessian_matrix" if self.inner == "cholesky" else "hessian")
        model = Model(self, objective, start.hessian if isinstance(start, Start) else None)
        return self.follow(model, journal, here)

    def follow(self, model: "Model", journal: Journal, here: Expansion, detail: str = "") -> Result:
        """Go on from `here`."""
        objective = model.objective
        step: ModelStep | None = None
        estimate, sound = np.inf, False
        detour = Detour(self, self.detours, journal)
        while True:
            if journal.seems_near(here, estimate):
                if journal.beyond_proof(here):
                    step = model.minimum(here, journal.enough(here.value))
                    estimate = estimate if agrees(estimate, step.predicted, here.value) else np.inf
                else:  # little is left to do, so that the last Hessian serves again, and then there is a proof
                    step, estimate = model.as_before(here), np.inf
            if not journal.goes_on(here, detail, estimate):
                return journal.result(here, hessian=model.hessian)
            if len(journal.history) + detour.steps > self.max_iter:
                return journal.result(here, f"max_iter = {self.max_iter} iterations were not enough")
            step = step or model.minimum(here)
            there, length = detour.instead(objective, here, *line_search(objective, here, step.step))
            if there is None:
                return self._at_rest(objective, journal, here, step.attainable if sound else np.inf)
            sound = length == 1.0 and went_as_predicted(step.predicted, decrease(here, there))
            estimate = step.attainable if sound else np.inf
            here, detail = there, f"step {length:.3g}" + (f", {step.products} products" if step.products else "")
            step = None

    def _at_rest(self, objective: Function, journal: Journal, here: Expansion, attainable: float) -> Result:
        """Where the line search finds no decrease, only rounding is left, or another solver."""
        journal.estimate = attainable
        journal.converged = (
            journal.rule == "gap" and journal.near(here.value, attainable) and journal.beyond_proof(here)
        )
        result = journal.result(here, "the line search failed: rounding allows no further decrease")
        left = self.max_iter - result.iterations
        hopeful = left > 0 and near_separable(result.value, journal.value_at_zero) and can_help(self.rescue, objective)
        if result.converged or journal.rule != "gap" or not hopeful:
            return result
        rescue = replace(self.rescue, max_iter=left)
        return rescued(result, rescue, objective, journal.value_at_zero, journal.callback)


class Detour:
    """By way of smaller C, where pairs that become active cut steps short again and again.

    At the optimum of a smaller C fewer of them are beyond their margin, and from one C to the next few change. Such a
    path takes some steps for every power of ten, and is worth it only where the direct way is blocked.
    """

    def __init__(self, options: "Newton", times: int, run: Any) -> None:
        most = min(STAGE, options.max_iter)
        self.stage = replace(options, tol=LOOSELY, max_iter=most, stopping="gap", detours=0, rescue=None)
        self.left, self.run = times, run  # whose callback hears of it
        self.blocked = self.steps = 0

    def instead(
        self, objective: Any, here: Expansion, there: Expansion | None, length: float
    ) -> tuple[Expansion | None, float]:
        """The end of such a path where it is time for one and it leads lower, else what is given."""
        self.blocked += length < CUT_SHORT
        if not self.left or (there is not None and self.blocked < BLOCKED) or not hasattr(objective, "times"):
            return there, length
        self.left, self.blocked = self.left - 1, 0
        w = 0.0 * here.point
        for share in EASED:
            found = self.stage(objective.times(share), w, self._told)
            w, self.steps = found.point, self.steps + found.iterations
        end = objective.at(w)
        return (end, 0.0) if end.value < (there or here).value else (there, length)

    def _told(self, step: Step) -> Any:
        run = self.run
        if run.callback is None:
            return False
        iteration = run.history[-1].iteration if run.history else 0
        seconds = time.perf_counter() - run.began
        return run.callback(replace(step, iteration=iteration, seconds=seconds, detail=f"smaller C, {step.detail}"))


class Model:
    """The quadratic model of an objective at the points of one run, and how it is minimised.

    hessian  the matrix to take the first step with; None: that of the first point
    """

    def __init__(self, options: Newton, objective: Any, hessian: Floats | None = None) -> None:
        if options.inner not in INNERS and not callable(options.inner):
            raise ValueError(f"inner must be one of {', '.join(map(repr, INNERS))}; got {options.inner!r}")
        self.options, self.objective = options, objective
        self.products = self.last = 0
        self.hessian = hessian  # the last one that was written out
        self._hessian_at: Any = None  # and the expansion that it is of
        self._first = hessian is not None
        self._inverse: Inverse | None = None
        self._preconditioner: Preconditioner | None = None

    def precondition_by(self, preconditioner: Preconditioner) -> None:
        self._preconditioner = preconditioner

    @property
    def written_out(self) -> bool:
        """Whether the Hessian is factorised: from the start, or because products have cost as much by now."""
        patience = self.options.patience
        return self.options.inner == "cholesky" or (patience is not None and self.products >= patience)

    def matrix(self, here: Any) -> Any:
        """The Hessian there, not computed twice in a row; for the first step, the one that was given."""
        if self._first:
            self._first = False
        elif self._hessian_at is not here:
            self._hessian_at, self.hessian = here, here.hessian_matrix()
        return self.hessian

    def as_before(self, here: Any) -> ModelStep | None:
        """The minimum with the Hessian of an earlier point, if there is one; what it allows is not known."""
        if self._inverse is None:
            return None
        step = -self._inverse(here.gradient)
        return ModelStep(step, 0.0, -0.5 * float(here.gradient @ step), np.inf, 0)

    def minimum(self, here: Any, enough: float | None = 0.0) -> ModelStep:
        """Of the model; where it predicts a decrease of at most `enough`, as exact as it takes to be sure of that."""
        if self.written_out:
            self._inverse = scaled_inverse(self.matrix(here))
            step = -self._inverse(here.gradient)
            predicted = -0.5 * float(here.gradient @ step)
            return ModelStep(step, 0.0, predicted, predicted, 0)
        if callable(self.options.inner):
            return self.options.inner(here)
        if self._preconditioner is None:
            self._preconditioner = make_preconditioner(self.options.precondition, self.objective)
        found = conjugate_gradients(here, self._preconditioner(here, self.last), enough=enough or 0.0)
        self.last = found.products
        self.products += found.products
        return found


def line_search(objective: Any, here: Expansion, direction: Floats) -> tuple[Expansion | None, float]:
    """The full step if it gains what a right model promises, else the minimum on the way there.

    Where pairs become active on the way, f bends up again long before a full step, at a place that backtracking from
    the far end finds badly: steps a tenth as long as they could be made it ten times as many. Slopes along the way cost
    no product with X.
    """
    slope = float(here.gradient @ direction)
    if not slope < 0:
        return None, 1.0
    there = _at(objective, here, direction, 1.0)
    if decrease(here, there) >= -ENOUGH * slope:
        return there, 1.0
    length = _minimum_on(objective.along(here.point, direction)) if hasattr(objective, "along") else 1.0
    return _backtracked(objective, here, direction, slope, length)


def _minimum_on(ray: Any) -> float:
    """Where a convex function that falls at t = 0 is least among t ≤ 1, roughly."""
    if not ray.slope(1.0) > 0:
        return 1.0
    low, high = 0.1, 1.0
    while ray.slope(low) > 0:
        low, high = low * low, low
        if low < SHORTEST:
            return high
    while low < 0.1 * high:
        middle = math.sqrt(low) * math.sqrt(high)  # their product may underflow
        low, high = (low, middle) if ray.slope(middle) > 0 else (middle, high)
    return float(optimize.brentq(ray.slope, low, high, xtol=ROUGHLY * high, rtol=ROUGHLY, disp=False))


def _backtracked(
    objective: Function, here: Expansion, direction: Floats, slope: float, length: float
) -> tuple[Expansion | None, float]:
    """Backtracking from a length, each time to the minimum of the parabola through what is known."""
    # Where the Hessian says little (a narrow loss at w = 0) a step may be too long by many orders of magnitude.
    shortest = max(SHORTEST, float(np.finfo(float).eps) * length_of(here.point) / max(length_of(direction), SHORTEST))
    while length > shortest:
        there = _at(objective, here, direction, length)
        gained = decrease(here, there)
        if gained >= -DECREASE * length * slope:
            return there, length
        excess = -gained - length * slope
        shorter = -0.5 * length * slope / excess if np.isfinite(excess) else 0.0
        length *= float(np.clip(shorter, 0.1, 0.5))
    return None, length


def _at(objective: Function, here: Expansion, direction: Floats, length: float) -> Expansion:
    with np.errstate(over="ignore", invalid="ignore"):  # too long a step is shortened
        there: Expansion = objective.at(here.point + length * direction)
    return there
