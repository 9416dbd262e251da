"""What a solver sees and what it gives back. No word of ranking here."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from rankwise.arrays import Array, Floats
from rankwise.device import namespace, on_device_of


class Expansion(Protocol):
    """What is known of a function at one point."""

    @property
    def point(self) -> Floats: ...
    @property
    def value(self) -> float: ...
    @property
    def gradient(self) -> Floats: ...
    def hessian(self, v: Array) -> Floats: ...


class Objective(Protocol):
    """All a solver ever sees."""

    @property
    def size(self) -> int: ...
    def at(self, w: Floats) -> Any: ...


@dataclass(frozen=True)
class Step:
    """One line of a solver's history."""

    iteration: int
    value: float
    gradient_norm: float
    seconds: float
    detail: str = ""


Callback = Callable[[Step], Any]  # a true answer stops the solver


@dataclass(frozen=True)
class Result:
    """Where a solver ended; `gap` bounds value - optimum where the solver can certify it, `dual` is then its proof."""

    point: Floats
    value: float
    gradient_norm: float
    iterations: int
    converged: bool
    message: str
    history: list[Step] = field(repr=False)
    gap: float | None = None
    dual: Any = field(default=None, repr=False)


class Journal:
    """Keeps the history of one run and says when it is over: |∇f(w)| ≤ tol · |∇f(0)|."""

    def __init__(
        self,
        objective: Objective,
        start: Floats | None,
        tol: float,
        callback: Callback | None,
        began: float | None = None,
    ) -> None:
        self.began = time.perf_counter() if began is None else began
        self.callback = callback
        self.history: list[Step] = []
        self.message = ""
        self.converged = False
        zero = origin(objective)
        with np.errstate(over="ignore"):  # told below, in a sentence
            at_zero = objective.at(zero)
        here = point_of(objective, start)
        self._start: Any = objective.at(here) if bool((here != 0).any()) else at_zero
        norm = length_of(at_zero.gradient)
        if not np.isfinite(norm * norm + at_zero.value):
            raise ValueError("the objective overflows at w = 0: scale the features, or take a smaller C")
        self.goal = tol * norm
        self.tol = tol

    def begin(self) -> Any:
        """What is known where the solver starts; it is not kept, as it takes memory."""
        start, self._start = self._start, None
        return start

    def goes_on(self, here: Expansion, detail: str = "") -> bool:
        """Write down where the solver stands; False when there is nothing left to do."""
        norm = length_of(here.gradient)
        seconds = time.perf_counter() - self.began
        step = Step(len(self.history), here.value, norm, seconds, detail)
        self.history.append(step)
        stopped = self.callback is not None and bool(self.callback(step))
        if norm <= self.goal:
            self.converged = True
            self.message = f"gradient norm {norm:.3g} is at most {self.tol:g} of that at zero"
        elif stopped:
            self.message = "stopped by the callback"
        return not self.message

    def result(self, here: Expansion, message: str = "") -> Result:
        last = self.history[-1]
        message = self.message or message
        return Result(here.point, here.value, last.gradient_norm, last.iteration, self.converged, message, self.history)


def origin(objective: Any) -> Floats:
    """0, where the objective's points lie."""
    zero: Floats = objective.zero if hasattr(objective, "zero") else np.zeros(objective.size)
    return zero


def point_of(objective: Any, start: Any) -> Floats:
    """A copy of `start` where the objective's points lie, or the origin."""
    zero = origin(objective)
    return zero if start is None else zero + on_device_of(zero, start)


def length_of(v: Floats) -> float:
    """|v|."""
    return float(namespace(v).linalg.norm(v))


ROUNDING = 1e-9  # below this share of the value, a difference of values is mostly rounding


def decrease(here: Expansion, there: Expansion) -> float:
    """f(here) - f(there). Near the optimum the values agree in all digits that count; the gradients still tell."""
    by_values = here.value - there.value
    if abs(by_values) > ROUNDING * max(abs(here.value), abs(there.value)):
        return by_values
    return -0.5 * float((here.gradient + there.gradient) @ (there.point - here.point))


def require(here: Any, solver: str, *needs: str) -> None:
    """One sentence instead of an AttributeError in the middle of a solve."""
    for need in needs:
        if not hasattr(here, need):
            raise TypeError(f"solver {solver!r} needs an objective that offers {need!r}, and {here!r} does not")
