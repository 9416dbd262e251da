"""Newton's method with a line search. With the Hessian written out and factorised, nothing is faster for few features;
the inner solve can also be iterative, by products with the Hessian alone (Chapelle and Keerthi's PRSVM).

Near separability few pairs are active and they change at every step. A trust region then shrinks to steps that change
only a few of them, while a line search crosses many: this is why "auto" prefers it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rankwise.foundation.devices import AnyFloats
from rankwise.foundation.functions import Expansion, Function
from rankwise.solvers.base import (
    Callback,
    Journal,
    Result,
    Start,
    agrees,
    decrease,
    require,
    went_as_predicted,
)
from rankwise.solvers.conjugate import ModelStep, Preconditioner, conjugate_gradients, make_preconditioner
from rankwise.solvers.equations import Inverse, scaled_inverse
from rankwise.solvers.line_search import line_search
from rankwise.solvers.stuck import Detour, Rescue, can_help, near_separable, rescued

INNERS = ("cholesky", "cg")
LOOSELY, STAGE = 0.1, 50  # tolerance and steps for each C of a detour
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
    rescue: Rescue | None = None

    def __call__(
        self, objective: Function, start: AnyFloats | Start | None = None, callback: Callback | None = None
    ) -> Result:
        journal = Journal(objective, start, self.tol, callback, self.stopping)
        here = journal.begin()
        require(here, "newton", "hessian_matrix" if self.inner == "cholesky" else "hessian")
        model = Model(self, objective, start.hessian if isinstance(start, Start) else None)
        return self.follow(model, journal, here)

    @property
    def stage(self) -> "Newton":
        """The same for a stage of a detour, whose optimum need not be exact."""
        most = min(STAGE, self.max_iter)
        return replace(self, tol=LOOSELY, max_iter=most, stopping="gap", detours=0, rescue=None)

    def follow(self, model: "Model", journal: Journal, here: Expansion, detail: str = "") -> Result:
        """Go on from `here`: steps to the minimum of the model, each with a line search, until the journal ends it."""
        objective, detour = model.objective, Detour(self.stage, self.detours, journal)
        estimate, sound = np.inf, False  # the gap at most by the last model, and whether its step went as it predicted
        while True:
            step, estimate = _looked_at_again(model, journal, here, estimate)
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

    def _at_rest(self, objective: Function, journal: Journal, here: Expansion, attainable: float) -> Result:
        """Where the line search finds no decrease, only rounding is left, or another solver."""
        journal.estimate = attainable
        journal.converged = (
            journal.rule == "gap" and journal.near(here.value, attainable) and journal.beyond_proof(here)
        )
        result = journal.result(here, "the line search failed: rounding allows no further decrease")
        left = self.max_iter - result.iterations
        hopeful = left > 0 and near_separable(result.value, journal.value_at_zero) and journal.rule == "gap"
        if result.converged or not hopeful or self.rescue is None or not can_help(objective, self.rescue):
            return result
        rescue = replace(self.rescue, max_iter=left)
        return rescued(result, rescue, objective, journal.value_at_zero, journal.callback)


def _looked_at_again(
    model: "Model", journal: Journal, here: Expansion, estimate: float
) -> tuple[ModelStep | None, float]:
    """The next step if it is known already, and what to believe of an estimate that would end the run.

    A proof is better: where little is left to do, a step with the last Hessian makes the gradient small enough for one.
    Where rounding allows none, the model at the new point must agree.
    """
    if not journal.seems_near(here, estimate):
        return None, estimate
    if not journal.beyond_proof(here):
        return model.as_before(here), np.inf
    step = model.minimum(here, journal.enough(here.value))
    return step, estimate if agrees(estimate, step.predicted, here.value) else np.inf


class Model:
    """The quadratic model of an objective at the points of one run, and how it is minimised.

    hessian  the matrix to take the first step with; None: that of the first point
    """

    def __init__(self, options: Newton, objective: Function, hessian: AnyFloats | None = None) -> None:
        if options.inner not in INNERS and not callable(options.inner):
            raise ValueError(f"inner must be one of {', '.join(map(repr, INNERS))}; got {options.inner!r}")
        self.options, self.objective = options, objective
        self.products = self.last = 0
        self.hessian = hessian  # the last one that was written out
        self._hessian_at: Expansion | None = None  # and the expansion that it is of
        self.fresh = False  # whether it was computed in this run
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

    def matrix(self, here: Expansion) -> AnyFloats:
        """The Hessian there, not computed twice in a row; for the first step, the one that was given."""
        given, self._first = self._first, False
        if self.hessian is None or not (given or self._hessian_at is here):
            self._hessian_at, self.hessian = here, here.hessian_matrix()
            self.fresh = True
        return self.hessian

    def as_before(self, here: Expansion) -> ModelStep | None:
        """The minimum with the Hessian of an earlier point, if there is one; what it allows is not known."""
        if self._inverse is None and self.hessian is not None:
            self._inverse = scaled_inverse(self.hessian)
        if self._inverse is None:
            return None
        step = -self._inverse(here.gradient)
        return ModelStep(step, 0.0, -0.5 * float(here.gradient @ step), np.inf, 0)

    def minimum(self, here: Expansion, enough: float | None = 0.0) -> ModelStep:
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
        model_step = conjugate_gradients(here, self._preconditioner(here, self.last), enough=enough or 0.0)
        self.last = model_step.products
        self.products += model_step.products
        return model_step
