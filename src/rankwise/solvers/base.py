"""What a solver sees, when it may stop, and what it returns. Nothing here knows about ranking.

The objectives are f(w) = ½|w|² + something convex, so f is 1-strongly convex and ½|∇f(w)|² is a proven bound on
f(w) - min f. Where the columns of X differ in scale that bound is far too large, and the decrease that the quadratic
model at w predicts, ½ ∇f·H⁻¹∇f, estimates the same gap closely. Solvers stop by either; `Result` reports both.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields

import numpy as np

from rankwise.foundation.devices import AnyFloats, SparseMatrix, half_square, length_of, on_device_of
from rankwise.foundation.functions import Certificate, Certified, Expansion, Function, Located, Scalable
from rankwise.foundation.tabular import Columns, Tabular
from rankwise.foundation.texts import counted

RULES = ("gap", "gradient")
CORNER = 16 * float(np.finfo(float).eps)  # share of f(0): covers pairs that only rounding makes seem satisfied
AT_ROUNDING = 10.0  # times its rounding error: a gradient so small cannot be made much smaller
VISIBLE = 0.1  # share of the value up to which its rounding error leaves something to estimate
NEGLIGIBLE = 1e-9  # share of the value that rounding may take where there is nothing to gain
STALLED = 100  # steps without a smaller value or gradient: only rounding is left
SMALLEST = 1e-150  # the square of a gradient below this underflows
SHRINKS = 0.1  # what a model predicts, as a share of what it allowed before the last step
NOTHING = 1e-12  # share of the value below which an estimate is rounding
SOUND = 0.8, 1.25  # an estimate counts where the last step gained between so many times the predicted decrease


@dataclass(frozen=True)
class Step:
    """One line of a solver's history."""

    iteration: int
    value: float
    gradient_norm: float
    seconds: float
    detail: str = ""


Callback = Callable[[Step], object]  # a true answer stops the solver


@dataclass(frozen=True)
class Start:
    """Where a solver begins, with what is known already.

    expansion  of its objective, at the point where it begins
    at_zero    |∇f(0)| and f(0)
    hessian    to take the first step with, if it is not to be that of the expansion: one from a point nearby saves
               computing it
    """

    expansion: Expansion
    at_zero: tuple[float, float]
    hessian: AnyFloats | None = None

    def times(self, factor: float) -> "Start":
        """The same for the objective with C times a factor."""
        hessian = self.hessian
        if hessian is not None:
            hessian = factor * hessian
            hessian.reshape(-1)[:: hessian.shape[0] + 1] += 1.0 - factor  # ½|w|² stays as it is
        if not isinstance(self.expansion, Scalable):
            raise lacking(self.expansion, "path", "times")
        norm, value = self.at_zero
        return Start(self.expansion.times(factor), (factor * norm, factor * value), hessian)


@dataclass(frozen=True, repr=False)
class Result(Tabular):
    """Where a solver ended; `to_frame()` is its history, one row per step.

    gap           a proven bound on value - optimum, rounding included; inf where rounding leaves none; None where
                  the solver has none
    gap_estimate  what value - optimum is estimated to be; None where the solver has no estimate
    dual          the proof of the gap, where the solver works in the dual
    end           for a solver of a problem nearby to start from; it holds what the objective does
    """

    point: AnyFloats
    value: float
    gradient_norm: float
    iterations: int
    converged: bool
    message: str
    history: list[Step] = field(repr=False)
    gap: float | None = None
    dual: SparseMatrix | None = field(default=None, repr=False)
    gap_estimate: float | None = None
    end: Start | None = field(default=None, repr=False, compare=False)

    def summary(self) -> str:
        end = "" if self.converged else "did not converge: "
        gap = "" if self.gap is None else f", gap at most {self.gap:.3g}"
        return f"value {self.value:.9g}{gap} after {counted(self.iterations, 'steps')}; {end}{self.message}"

    def __repr__(self) -> str:
        return f"<Result: {self.summary()}>"

    def table_columns(self) -> Columns:
        return {column.name: [getattr(step, column.name) for step in self.history] for column in fields(Step)}


class Journal:
    """Keeps the history of one run, which began at that time with |∇f(0)| and f(0), and says when it is over.

    rule "gap"       f(w) - min f ≤ tol · min(f(w), f(0) - min f), by the proven bound or by an estimate
    rule "gradient"  |∇f(w)| ≤ tol · |∇f(0)|, as in the papers: it says nothing about the distance to the optimum
    """

    def __init__(
        self,
        began: float,
        at_zero: tuple[float, float],
        tol: float,
        callback: Callback | None,
        rule: str = "gap",
        stalls: bool = True,
    ) -> None:
        if rule not in RULES:
            raise ValueError(f"stopping must be 'gap' or 'gradient', got {rule!r}")
        self.began = began
        self.norm_at_zero, self.value_at_zero = at_zero
        self.callback, self.tol, self.rule = callback, tol, rule
        self.stalls = stalls  # whether to stop where neither value nor gradient falls any more
        self.history: list[Step] = []
        self.message = ""
        self.converged = False
        self.estimate = np.inf
        self.least, self.progress = (np.inf, np.inf), 0  # value and gradient so far, and the step that reached either

    def scale(self, value: float, gap: float) -> float:
        """See `gap_scale`."""
        return gap_scale(value, self.value_at_zero, gap)

    def near(self, value: float, gap: float) -> bool:
        """Whether a gap of that size is within the tolerance."""
        return gap <= self.tol * self.scale(value, gap)

    def seems_near(self, here: Expansion, estimate: float) -> bool:
        """Whether an estimate would end the run and the gradient would not, so that it is worth a second look."""
        proven = half_square(length_of(here.gradient))
        return self.rule == "gap" and self.near(here.value, SHRINKS * estimate) and not self.near(here.value, proven)

    def beyond_proof(self, here: Expansion) -> bool:
        """Whether only an estimate can tell more: of the gradient rounding alone is left, but not of the value."""
        if not isinstance(here, Certified):
            return True
        in_gradient, in_value = here.certificate.errors()
        return bool(length_of(here.gradient) <= AT_ROUNDING * in_gradient and in_value <= VISIBLE * here.value)

    def enough(self, value: float) -> float | None:
        """The decrease still possible at which to stop; None where the gradient decides."""
        return self.tol * self.scale(value, 0.0) if self.rule == "gap" else None

    def goes_on(self, here: Expansion, detail: str = "", estimate: float = np.inf) -> bool:
        """Write down where the solver stands; False when there is nothing left to do."""
        norm = length_of(here.gradient)
        self.estimate = estimate
        step = Step(len(self.history), here.value, norm, time.perf_counter() - self.began, detail)
        self.history.append(step)
        if here.value < self.least[0] or norm < self.least[1]:
            self.least, self.progress = (min(here.value, self.least[0]), min(norm, self.least[1])), step.iteration
        stopped = self.callback is not None and bool(self.callback(step))
        if self.rule == "gradient":
            self.converged = norm <= self.tol * self.norm_at_zero
        else:
            self.converged = self.near(here.value, min(half_square(norm), estimate))
        if stopped and not self.converged:
            self.message = "stopped by the callback"
        elif self.stalls and step.iteration - self.progress >= STALLED and not self.converged:
            self.message = "rounding allows no further decrease"
        return not (self.converged or self.message)

    def bounded(self, here: Expansion, gap: float) -> float:
        """A bound on the gap with what pairs may add that only rounding makes seem satisfied."""
        return gap + CORNER * self.value_at_zero + self.unseen(here)

    def unseen(self, here: Expansion) -> float:
        """What pairs may add that only rounding makes seem satisfied, by their curvature."""
        return certificate_of(here).unseen() * self.value_at_zero

    def result(self, here: Expansion, message: str = "", hessian: AnyFloats | None = None) -> Result:
        last = self.history[-1]
        gap = self.bounded(here, here.certificate.gap()) if isinstance(here, Certified) else None
        estimate = min(self.estimate, half_square(last.gradient_norm))
        if self.converged:
            message = self._reason(here.value, last.gradient_norm, gap, estimate)
        return Result(
            here.point,
            here.value,
            last.gradient_norm,
            last.iteration,
            self.converged,
            self.message or message,
            self.history,
            gap=gap,
            gap_estimate=estimate,
            end=Start(here, (self.norm_at_zero, self.value_at_zero), hessian),
        )

    def _reason(self, value: float, norm: float, gap: float | None, estimate: float) -> str:
        """Why the solver stopped, in words."""
        if self.rule == "gradient":
            return f"converged (relative gradient {norm / max(self.norm_at_zero, 1e-300):.2g} ≤ {self.tol:g})"
        if gap is not None and self.near(value, gap):
            return converged_by("certified", gap, self.scale(value, gap), self.tol)
        return converged_by("estimated", estimate, self.scale(value, estimate), self.tol)


def gap_scale(value: float, value_at_zero: float, gap: float) -> float:
    """What a gap is compared with: the value, or all that can be gained where that is less (C is small)."""
    return max(min(abs(value), value_at_zero - value + gap), 0.0)


def within(tol: float, gap: float, rounding: float, value: float, value_at_zero: float) -> bool:
    """Whether a gap is within the tolerance and known well enough; rounding may be all there is where w = 0 is best."""
    scale = gap_scale(value, value_at_zero, gap)
    return gap + rounding <= tol * scale or (gap <= tol * scale and rounding <= NEGLIGIBLE * value)


def converged_by(kind: str, gap: float, scale: float, tol: float) -> str:
    """The message of a solver that stopped at a small gap."""
    return f"converged ({kind} relative gap {relative(gap, scale):.2g} ≤ {tol:g})"


def relative(gap: float, scale: float) -> float:
    """gap / scale, where 0 / 0 is 0."""
    return gap / max(scale, 1e-300) if gap > 0 else 0.0


def check_range(at_zero: Expansion) -> tuple[float, float]:
    """|∇f(0)| and f(0), both in the range that doubles can work with, or one sentence."""
    largest = float(abs(at_zero.gradient).max()) if at_zero.gradient.shape[0] else 0.0
    norm = length_of(at_zero.gradient)
    if not np.isfinite(norm * norm + at_zero.value):
        raise ValueError("the objective overflows at w = 0: scale the features, or take a smaller C")
    if 0 < largest < SMALLEST:
        raise ValueError(f"the gradient at w = 0 is only {largest:.3g}: scale the features up, or take a larger C")
    return norm, at_zero.value


def begun(objective: Function, start: AnyFloats | Start | None) -> tuple[Expansion, tuple[float, float]]:
    """The expansion where to begin, and |∇f(0)| and f(0); nothing is computed where `start` knows it already."""
    if isinstance(start, Start):
        return start.expansion, start.at_zero
    with np.errstate(over="ignore", invalid="ignore"):  # reported in a sentence
        at_zero = objective.at(origin(objective))
    point = point_of(objective, start)
    sizes = check_range(at_zero)
    return objective.at(point) if bool((point != 0).any()) else at_zero, sizes


def origin(objective: Function) -> AnyFloats:
    """0, where the objective's points are stored."""
    return objective.zero if isinstance(objective, Located) else np.zeros(objective.size)


def is_cold(start: AnyFloats | Start | None) -> bool:
    """Whether a start is no better than 0."""
    point = start.expansion.point if isinstance(start, Start) else start
    return point is None or not bool((point != 0).any())


def point_of(objective: Function, start: AnyFloats | Start | None) -> AnyFloats:
    """A copy of `start` where the objective's points are stored, or the origin."""
    zero = origin(objective)
    start = start.expansion.point if isinstance(start, Start) else start
    return zero if start is None else zero + on_device_of(zero, start)


ROUNDING = 1e-9  # below this share of the value, a difference of values is mostly rounding


def decrease(here: Expansion, there: Expansion) -> float:
    """f(here) - f(there). Near the optimum the values agree in all digits that count; the gradients still tell."""
    by_values = here.value - there.value
    if not abs(by_values) <= ROUNDING * max(abs(here.value), abs(there.value)):
        return by_values
    return -0.5 * float((here.gradient + there.gradient) @ (there.point - here.point))


def went_as_predicted(predicted: float, gained: float) -> bool:
    """Whether a full step gained about what the model predicted.

    Where it did not, the model was wrong about the pairs that become active or inactive, and so may its estimate of the
    gap be. A step that meets no curvature at all gains twice what was predicted.
    """
    low, high = SOUND
    return low * predicted <= gained <= high * predicted


def agrees(before: float, now: float, value: float) -> bool:
    """Whether the model at a new point predicts at most a tenth of what the model `before` the step allowed.

    A model that is right about the pairs predicts much less after its step. Where it does not, the step has come to
    where other pairs are active, and much more may be gained in the end than either model says.
    """
    return now <= max(SHRINKS * before, NOTHING * abs(value))


def certificate_of(expansion: Expansion) -> Certificate:
    """What is proven of f at its point."""
    if not isinstance(expansion, Certified):
        raise lacking(expansion, "dual", "certificate")
    return expansion.certificate


def require(given: object, solver: str, *needs: str) -> None:
    """One sentence instead of an AttributeError in the middle of a solve."""
    for need in needs:
        if not hasattr(given, need):
            raise lacking(given, solver, need)


def lacking(given: object, solver: str, need: str) -> TypeError:
    return TypeError(f"solver {solver!r} needs an objective that offers {need!r}, and {given!r} does not")
