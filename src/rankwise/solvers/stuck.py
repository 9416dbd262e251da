"""What to do where a solver hardly advances: near separability few pairs are unsatisfied, and other ones at every step.

A detour by way of smaller C comes first. Then a *rescue* takes over, if the pairs are few enough to list them: ascent
in the dual, which is at its best there.
"""

import time
from collections.abc import Callable
from dataclasses import Field, replace
from typing import Any, ClassVar, Protocol, TypeGuard

import numpy as np

from rankwise.foundation.devices import AnyFloats
from rankwise.foundation.functions import E, Expandable, Function, Scalable
from rankwise.objective.objective import Objective
from rankwise.solvers.base import CORNER, Callback, Result, Step, converged_by, gap_scale

CUT_SHORT = 0.02  # share of a full step
BLOCKED = 3  # steps cut short, after which there is a detour
SHARES = 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1.0  # of C
SEPARABLE = 0.05  # share of f(0) below which few pairs are left unsatisfied; above it the dual is far slower


class Run(Protocol):
    """What is written down of the steps so far."""

    began: float
    callback: Callback | None
    history: list[Step]


Stage = Callable[[Function, AnyFloats, Callback], Result]


class Rescue(Protocol):
    """A solver that lists the pairs: a dataclass of options, like all solvers here."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def tol(self) -> float: ...
    def worth_listing(self, objective: Objective) -> bool:
        """Whether the pairs are few enough to list them unasked."""
        ...

    def __call__(self, objective: Objective, start: None, callback: Callback | None) -> Result: ...


class Detour:
    """By way of smaller C, where pairs that become active cut steps short again and again.

    At the optimum of a smaller C fewer of them are beyond their margin, and from one C to the next few change. Such a
    path takes some steps for every power of ten, and is worth it only where the direct way is blocked.
    """

    def __init__(self, stage: Stage, times: int, run: Run) -> None:
        """stage  solves the problem of each C: see `Newton.stage`
        times  how many detours there may be
        run    whose callback hears of it
        """
        self.stage, self.left, self.run = stage, times, run
        self.blocked = self.steps = 0
        self.stopped = False  # by the callback

    def instead(self, objective: Expandable[E], here: E, there: E | None, length: float) -> tuple[E | None, float]:
        """The end of such a path where it is time for one and it leads lower, else what is given."""
        self.blocked += length < CUT_SHORT
        if not self.left or (there is not None and self.blocked < BLOCKED) or not isinstance(objective, Scalable):
            return there, length
        self.left, self.blocked = self.left - 1, 0
        w = 0.0 * here.point
        for share in SHARES:
            result = self.stage(objective.times(share), w, self._tell)
            w, self.steps = result.point, self.steps + result.iterations
            if self.stopped:
                return there, length
        end = objective.at(w)
        return (end, 0.0) if end.value < (there or here).value else (there, length)

    def _tell(self, step: Step) -> object:
        run = self.run
        if run.callback is None:
            return False
        iteration = run.history[-1].iteration if run.history else 0
        seconds = time.perf_counter() - run.began
        step = replace(step, iteration=iteration, seconds=seconds, detail=f"smaller C, {step.detail}")
        self.stopped = bool(run.callback(step))
        return self.stopped


def can_help(objective: Function, rescue: Rescue | None) -> TypeGuard[Objective]:
    """Whether there is another solver to turn to, and few enough pairs for it."""
    return rescue is not None and isinstance(objective, Objective) and rescue.worth_listing(objective)


def near_separable(value: float, at_zero: float) -> bool:
    return value <= SEPARABLE * at_zero


def rescued(one: Result, rescue: Rescue, objective: Objective, at_zero: float, callback: Callback | None) -> Result:
    """The better point of `one` and of what `rescue` finds, with the better of the two bounds."""

    def later(step: Step) -> Step:
        return replace(step, iteration=one.iterations + step.iteration, seconds=spent + step.seconds)

    spent = one.history[-1].seconds
    other = rescue(objective, None, callback and (lambda step: callback(later(step))))
    best = _better(one, other, CORNER * at_zero)
    bound = max(result.value - result.gap for result in (one, other) if result.gap is not None)
    gap = max(best.value - bound, 0.0)
    scale = gap_scale(best.value, at_zero, gap)
    proven = gap <= rescue.tol * scale
    message = other.message
    if not other.converged:
        failure = f"after {one.iterations} steps, in the dual: {message}"
        message = converged_by("certified", gap, scale, rescue.tol) if proven else failure
    return replace(
        best,
        iterations=one.iterations + other.iterations,
        converged=other.converged or proven,
        message=message,
        history=one.history + [later(step) for step in other.history],
        gap=gap,
        gap_estimate=gap,
        dual=None,
    )


def _better(one: Result, other: Result, rounding: float) -> Result:
    """The one of smaller value, or, where rounding may be all the difference, of the smaller bound on its gap."""
    if abs(one.value - other.value) > rounding:
        return one if one.value < other.value else other
    gaps = [np.inf if result.gap is None else result.gap for result in (one, other)]
    return one if gaps[0] < gaps[1] else other
