"""Newton's method with a line search. For few features the Hessian is formed and factorised, which is fastest; the
inner solve can also be iterative, with Hessian products only (Chapelle and Keerthi's PRSVM).

Near separability few pairs are active and they change at every step. A trust region then shrinks to steps that change
only a few of them, while a line search can cross many; this is why "auto" prefers it on all but large data.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Protocol, Self, cast

import numpy as np

from rankwise.foundation.compiling import clock
from rankwise.foundation.devices import AnyFloats, inner
from rankwise.foundation.functions import Expansion, Function
from rankwise.foundation.names import one_of
from rankwise.objective.objective import Objective
from rankwise.objective.penalties import ElasticNet
from rankwise.solvers.accelerated import accelerated_step
from rankwise.solvers.base import (
    STOPPED,
    Callback,
    Journal,
    Result,
    Start,
    agrees,
    begun,
    continued,
    decrease,
    require,
    went_as_predicted,
)
from rankwise.solvers.conjugate import ModelStep, Preconditioner, conjugate_gradients, make_preconditioner
from rankwise.solvers.corners import Penalised, cornered_step
from rankwise.solvers.equations import Solve, scaled_inverse
from rankwise.solvers.line_search import line_search
from rankwise.solvers.stuck import Detour, Rescue, can_help, near_separable, rescued

INNERS = ("cholesky", "cg")
LOOSELY, STAGE = 0.1, 50  # tolerance and most steps for each C of a detour
CORNERED, FEW = 300, 3000  # patience with corners, and the number of features up to which it ends
InnerSolve = Callable[[Expansion], ModelStep]


class Successor(Protocol):
    """A solver that continues where another one stops."""

    def within(self, max_iter: int) -> Self:
        """The same with at most so many steps."""
        ...

    def __call__(self, objective: Objective, start: Start | None, callback: Callback | None) -> Result: ...


@dataclass(frozen=True)
class Newton:
    """Newton's method with a line search; `tol`, `max_iter` and `stopping` end it.

    inner         "cholesky" of the Hessian matrix, "cg" with Hessian products, or a function of an expansion that
                  returns a `ModelStep`
    precondition  of "cg": None, "diagonal", or "sampled", the Hessian of a sample of the rows
    patience      of "cg": the number of products after which the Hessian is formed instead; None: never
    then          the solver in the span of the rows that takes over after `patience` products, so that the Hessian is
                  not formed, or if steps are cut short
    detours       how often to solve a sequence of smaller C first if steps are cut short
    rescue        the solver that continues if the line search fails near separability; None: stop there

    Examples
    --------
    >>> from rankwise import load_sample, losses
    >>> from rankwise.objective.building import build
    >>> from rankwise.solvers import Newton
    >>> data = load_sample()
    >>> objective = build(data.X, data.y, data.qid, loss=losses.squared_hinge(), C=0.01)
    >>> Newton(tol=1e-6)(objective).converged
    True
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
    then: Successor | None = None

    def __call__(
        self, objective: Function, start: AnyFloats | Start | None = None, callback: Callback | None = None
    ) -> Result:
        began = clock()
        current, at_zero = begun(objective, start)
        journal = Journal(began, at_zero, self.tol, callback, self.stopping)
        require(current, "newton", "hessian_matrix" if self.inner == "cholesky" else "hessian")
        model = Model(self, objective, start.hessian if isinstance(start, Start) else None)
        return self.follow(model, journal, current)

    @property
    def takes_penalties(self) -> bool:
        return not callable(self.inner)

    @property
    def _too_few(self) -> str:
        return f"max_iter = {self.max_iter} iterations were not enough"

    @property
    def stage(self) -> "Newton":
        """The solver for one C of a detour, whose optimum need not be exact."""
        most = min(STAGE, self.max_iter)
        return replace(self, tol=LOOSELY, max_iter=most, stopping="gap", detours=0, rescue=None)

    def follow(self, model: "Model", journal: Journal, current: Expansion, detail: str = "") -> Result:
        """Continue from `current`: steps towards the minimum of the model, by line searches, until the journal ends."""
        objective, detour = model.objective, Detour(self.stage, self.detours, journal)
        estimate, sound = np.inf, False  # of the gap, by the last model, and whether its step went as predicted
        while True:
            step, estimate = _step_or_estimate(model, journal, current, estimate)
            if not journal.goes_on(current, detail, estimate):
                return journal.result(current, hessian=model.hessian)
            left = self.max_iter - journal.iterations
            if left <= 0:
                return journal.result(current, self._too_few)
            hard = model.written_out or detour.due
            if self.then is not None and hard and isinstance(objective, Objective):
                return _continued_by(self.then.within(left), objective, journal.result(current), journal.callback)
            step = step or model.minimum(current)
            trial, length = detour.instead(objective, current, *line_search(objective, current, step.step), left - 1)
            if detour.stopped:
                return journal.result(current, STOPPED)
            if trial is None:
                return self._at_rest(objective, journal, current, step.attainable if sound else np.inf)
            sound = length == 1.0 and went_as_predicted(step.predicted, decrease(current, trial))
            estimate = step.attainable if sound else np.inf
            current, detail = trial, f"step {length:.3g}" + (f", {step.products} products" if step.products else "")

    def _at_rest(self, objective: Function, journal: Journal, current: Expansion, attainable: float) -> Result:
        """The result if the line search finds no decrease: because of rounding, or that of the rescue."""
        left = self.max_iter - journal.iterations
        if left <= 0:  # a detour took them
            return journal.result(current, self._too_few)
        journal.estimate = attainable
        journal.converged = (
            journal.rule == "gap" and journal.near(current.value, attainable) and journal.beyond_proof(current)
        )
        result = journal.result(current, "the line search failed: rounding allows no further decrease")
        hopeful = near_separable(result.value, journal.value_at_zero) and journal.rule == "gap"
        if result.converged or not hopeful or self.rescue is None or not can_help(objective, self.rescue):
            return result
        rescue = replace(self.rescue, max_iter=left)
        return rescued(result, rescue, objective, journal.value_at_zero, journal.callback)


def _step_or_estimate(
    model: "Model", journal: Journal, current: Expansion, estimate: float
) -> tuple[ModelStep | None, float]:
    """The next step, if it is known already, and the estimate, or inf if it must not end the run.

    A proof is preferred: near the optimum, a step with the last Hessian makes the gradient small enough for one. If
    rounding rules out a proof, the model at the new point must confirm the estimate.
    """
    if not journal.seems_near(current, estimate):
        return None, estimate
    if not journal.beyond_proof(current):
        return model.as_before(current), np.inf
    step = model.minimum(current, journal.enough(current.value))
    return step, estimate if agrees(estimate, step.predicted, current.value) else np.inf


def _continued_by(then: Successor, objective: Objective, result: Result, callback: Callback | None) -> Result:
    return continued(result, lambda tell: then(objective, result.end, tell), callback, "in the span of the rows")


class Model:
    """The quadratic model of an objective at the points of one run, and how it is minimised.

    hessian  the matrix that counts as that of the first point; None: it is computed there
    """

    def __init__(self, options: Newton, objective: Function, hessian: AnyFloats | None = None) -> None:
        if not callable(options.inner):
            one_of("inner", options.inner, INNERS, also="a function of an expansion")
        self.options, self.objective = options, objective
        self.has_corners = isinstance(objective, Objective) and isinstance(objective.penalty, ElasticNet)
        self.patience = np.inf if options.patience is None else options.patience
        if self.has_corners and objective.size <= FEW:
            self.patience = min(self.patience, CORNERED)
        self.products = self.last = 0
        self.hessian = hessian  # the last matrix that was formed
        self._hessian_at: Expansion | None = None  # the expansion that it belongs to
        self.fresh = False  # whether it was computed in this run
        self._minimise: Callable[[Expansion], ModelStep] | None = None  # by the last matrix that was used
        self._preconditioner: Preconditioner | None = None

    def precondition_by(self, preconditioner: Preconditioner) -> None:
        self._preconditioner = preconditioner

    @property
    def written_out(self) -> bool:
        """Whether the Hessian is formed: always, or because products have taken as long as `patience` allows.

        They have if there is a Hessian from a nearby problem, whose solver formed it.
        """
        patient = self.patience == np.inf or (self.products < self.patience and self.hessian is None)
        return self.options.inner == "cholesky" or not patient

    def matrix(self, current: Expansion) -> AnyFloats:
        """The Hessian at `current`, not computed twice in a row."""
        hessian = self._last_hessian(current)
        if hessian is None or self._hessian_at is not current:
            self._hessian_at, self.hessian, self.fresh = current, current.hessian_matrix(), True
            return self.hessian
        return hessian

    def as_before(self, current: Expansion) -> ModelStep | None:
        """The step with the Hessian of an earlier point, if there is one; its attainable decrease is unknown."""
        hessian = self._last_hessian(current)
        if self._minimise is None and hessian is not None:
            self._minimise = self._by(hessian)
        return None if self._minimise is None else replace(self._minimise(current), attainable=np.inf)

    def _last_hessian(self, current: Expansion) -> AnyFloats | None:
        """The last matrix; the one passed to the model belongs to the first point at which it is needed."""
        if self._hessian_at is None:
            self._hessian_at = current
        return self.hessian

    def minimum(self, current: Expansion, enough: float | None = 0.0) -> ModelStep:
        """The minimum of the model; if it predicts a decrease of at most `enough`, exact enough to be sure of that."""
        if self.written_out:
            self._minimise = self._by(self.matrix(current))
            return self._minimise(current)
        if callable(self.options.inner):
            return self.options.inner(current)
        model_step = self._by_products(current, enough or 0.0)
        self.last = model_step.products
        self.products += model_step.products
        return model_step

    def _by(self, hessian: AnyFloats) -> Callable[[Expansion], ModelStep]:
        """How to minimise models with this Hessian."""
        if self.has_corners:
            return lambda current: cornered_step(hessian, cast(Penalised, current))
        return partial(_by_inverse, scaled_inverse(hessian))

    def _by_products(self, current: Expansion, enough: float) -> ModelStep:
        left = max(self.patience - self.products, 1)
        if self.has_corners:
            return accelerated_step(cast(Penalised, current), enough, left)
        if self._preconditioner is None:
            self._preconditioner = make_preconditioner(self.options.precondition, self.objective)
        inverse = self._preconditioner(current, self.last)
        return conjugate_gradients(current, inverse, enough=enough, patience=left)


def _by_inverse(inverse: Solve, current: Expansion) -> ModelStep:
    step = -inverse(current.gradient)
    predicted = -0.5 * inner(current.gradient, step)
    return ModelStep(step, 0.0, predicted, predicted, 0)
