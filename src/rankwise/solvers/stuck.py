"""What solvers do if they hardly progress: near separability few pairs are active, and they differ at every step.

First they take a *detour*: they solve the problem for smaller C first. Then a *rescue* takes over, if the pairs are few
enough to list them: ascent in the dual, which works best near separability.
"""

from dataclasses import Field, replace
from typing import Any, ClassVar, Protocol, TypeGuard

import numpy as np

from rankwise.foundation.compiling import clock
from rankwise.foundation.devices import AnyFloats
from rankwise.foundation.functions import E, Expandable, Function, Scalable
from rankwise.objective.objective import Objective
from rankwise.solvers.base import CORNER, STOPPED, Callback, Result, Step, continued, converged_by, gap_scale

CUT_SHORT = 0.02  # a step below this share of the full step is cut short
BLOCKED = 3  # steps cut short after which a detour is taken
SHARES = 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1.0  # of C, on a detour
SEPARABLE = 0.05  # with f below this share of f(0), few pairs are active; above it the dual is far slower


class Run(Protocol):
    """The record of the steps so far."""

    began: float
    callback: Callback | None
    iterations: int


class Stage(Protocol):
    """A solver, a dataclass of options, for one C of a detour."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def max_iter(self) -> int: ...
    def __call__(self, objective: Function, start: AnyFloats, callback: Callback) -> Result: ...


class Rescue(Protocol):
    """A solver that lists the pairs: a dataclass of options, like all solvers here."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def tol(self) -> float: ...
    def worth_listing(self, objective: Objective) -> bool:
        """Whether the pairs are few enough to list them."""
        ...

    def __call__(self, objective: Objective, start: None, callback: Callback | None) -> Result: ...


class Detour:
    """A path over smaller C, for problems in which pairs that become active cut steps short again and again.

    From one C to the next, few pairs become active or inactive. Such a path takes several steps per C, so it pays only
    if direct steps fail.
    """

    def __init__(self, stage: Stage, times: int, run: Run) -> None:
        """stage  solves the problem for each C: see `Newton.stage`
        times  the largest number of detours
        run    its callback is called with the steps of the detour, and its iterations include them
        """
        self.stage, self.left, self.run = stage, times, run
        self.blocked = self.steps = 0
        self.stopped = False  # by the callback

    @property
    def due(self) -> bool:
        """Whether steps were cut short so often that a detour is better."""
        return self.blocked >= BLOCKED

    def instead(
        self, objective: Expandable[E], current: E, trial: E | None, length: float, left: int
    ) -> tuple[E | None, float]:
        """The end of a path, with length 0, if steps are blocked and its value is lower; else `trial` and `length`.

        left  the largest number of steps
        """
        self.blocked += length < CUT_SHORT
        if not self.left or (trial is not None and not self.due) or not isinstance(objective, Scalable):
            return trial, length
        self.left, self.blocked = self.left - 1, 0
        w = 0.0 * current.point
        for share in SHARES:
            if left <= 0:
                break
            stage = replace(self.stage, max_iter=min(self.stage.max_iter, left))
            result = stage(objective.times(share), w, self._tell)
            self.run.iterations += result.iterations
            w, self.steps, left = result.point, self.steps + result.iterations, left - result.iterations
            if self.stopped:
                return trial, length
        end = objective.at(w)
        return (end, 0.0) if end.value < (trial or current).value else (trial, length)

    def _tell(self, step: Step) -> object:
        run = self.run
        if run.callback is None:
            return False
        iteration, seconds = run.iterations + step.iteration, clock() - run.began
        step = replace(step, iteration=iteration, seconds=seconds, detail=f"smaller C, {step.detail}")
        self.stopped = bool(run.callback(step))
        return self.stopped


def can_help(objective: Function, rescue: Rescue | None) -> TypeGuard[Objective]:
    """Whether there is a rescue, and few enough pairs for it."""
    return rescue is not None and isinstance(objective, Objective) and rescue.worth_listing(objective)


def near_separable(value: float, at_zero: float) -> bool:
    return value <= SEPARABLE * at_zero


def rescued(one: Result, rescue: Rescue, objective: Objective, at_zero: float, callback: Callback | None) -> Result:
    """The better of the points of `one` and of `rescue`, with the better of the two bounds.

    If `one` converged by an estimate, it stands unless the rescue finds a value that is lower by more than the
    tolerance.
    """
    other = continued(one, lambda tell: rescue(objective, None, tell), callback, "in the dual")
    best = _better(one, other, CORNER * at_zero)
    bound = max(result.value - result.gap for result in (one, other) if result.gap is not None)
    gap = max(best.value - bound, 0.0)
    scale = gap_scale(best.value, at_zero, gap)
    converged, message = other.converged, other.message
    if gap <= rescue.tol * scale and not converged:
        converged, message = True, converged_by("certified", gap, scale, rescue.tol)
    elif one.converged and not converged and message != STOPPED and one.value - best.value <= rescue.tol * scale:
        converged, message = True, one.message
    return replace(
        best,
        iterations=other.iterations,
        converged=converged,
        message=message,
        history=other.history,
        gap=gap,
        gap_estimate=gap,
        dual=None,
    )


def _better(one: Result, other: Result, rounding: float) -> Result:
    """The result of smaller value; if the values differ by rounding only, that with the smaller bound on its gap."""
    if abs(one.value - other.value) > rounding:
        return one if one.value < other.value else other
    gaps = [np.inf if result.gap is None else result.gap for result in (one, other)]
    return one if gaps[0] < gaps[1] else other
