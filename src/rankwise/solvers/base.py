"""What all solvers share: where they start, when they stop, and what they return. Nothing here depends on ranking.

The objectives are f(w) = ½|w|² plus a convex function, so f is 1-strongly convex and ½|∇f(w)|² is a proven bound on
f(w) - min f. If the columns of X differ in scale, this bound is far too large; the decrease that the quadratic model at
w predicts, ½ ∇f·H⁻¹∇f, is then a better estimate of the gap. Solvers stop by either; `Result` reports both.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace

import numpy as np

from rankwise.foundation.compiling import clock
from rankwise.foundation.devices import (
    AnyFloats,
    SparseMatrix,
    diagonal_of,
    half_square,
    inner,
    largest_of,
    length_of,
    on_device_of,
)
from rankwise.foundation.functions import (
    Certificate,
    Certified,
    Constrained,
    Cornered,
    Expansion,
    Function,
    Located,
    Scalable,
    Underflowing,
)
from rankwise.foundation.names import one_of
from rankwise.foundation.tabular import Columns, Tabular
from rankwise.foundation.texts import counted

RULES = ("gap", "gradient")
CORNER = 16 * float(np.finfo(float).eps)  # share of f(0): covers pairs that seem satisfied only because of rounding
AT_ROUNDING = 10.0  # a gradient of at most this many times its rounding error cannot be made much smaller
VISIBLE = 0.1  # an estimate is of use if the rounding error of the value is at most this share of it
NEGLIGIBLE = 1e-9  # rounding error, as a share of the value, that is accepted if w = 0 is optimal
ROUNDED = 1e-3, 10  # with a gap below this share of the tolerance for so many steps, only rounding is left
STALLED = 100  # after this many steps without a smaller value or gradient, only rounding errors are left
SMALLEST = 1e-150  # the square of a gradient below this underflows
UNDERFLOW = "the objective underflows at w = 0: scale the features up, or use a larger C or larger weights"
SHRINKS = 0.1  # a right model predicts, after its step, at most this share of the decrease it allowed before
NOTHING = 1e-12  # an estimate below this share of the value is rounding
CLOSE = 1e-9  # a difference of values below this share of them is mostly rounding
SOUND = 0.8, 1.25  # a model is trusted if the decrease was between these multiples of the predicted one


@dataclass(frozen=True)
class Step:
    """One line of a solver's history.

    Examples
    --------
    >>> from rankwise import RankSVM, load_sample
    >>> steps = RankSVM().fit(load_sample()).result_.history
    >>> steps[0].iteration, steps[-1].value <= steps[0].value
    (0, True)
    """

    iteration: int
    value: float
    gradient_norm: float
    seconds: float
    detail: str = ""


Callback = Callable[[Step], object]  # a true return value stops the solver
STOPPED = "stopped by the callback"


@dataclass(frozen=True)
class Start:
    """The starting point of a solver, with what is already known there.

    expansion  the expansion of the objective at the starting point
    at_zero    |∇f(0)| and f(0), see `check_range`
    hessian    the Hessian at a nearby point, for the first step; None: it is computed from the expansion

    Examples
    --------
    >>> from rankwise import load_sample, losses
    >>> from rankwise.objective.building import build
    >>> from rankwise.solvers import Newton
    >>> data = load_sample()
    >>> first = Newton()(build(data.X, data.y, data.qid, loss=losses.squared_hinge(), C=0.01))
    >>> again = Newton()(build(data.X, data.y, data.qid, loss=losses.squared_hinge(), C=0.01), first.end)
    >>> again.iterations
    0
    """

    expansion: Expansion
    at_zero: tuple[float, float]
    hessian: AnyFloats | None = None

    def times(self, factor: float) -> "Start":
        """The same start for the objective with C multiplied by `factor`."""
        ridge = self.expansion.ridge if isinstance(self.expansion, Cornered) else 1.0
        hessian = None if self.hessian is None else rescaled(self.hessian, factor, ridge)
        if not isinstance(self.expansion, Scalable):
            raise lacking(self.expansion, "a path over C", "times")
        norm, value = self.at_zero
        if ridge == 1.0 and norm > 0.0 and factor * norm < SMALLEST:  # other penalties may keep all weights at 0
            raise ValueError(too_flat(factor * norm))
        return Start(self.expansion.times(factor), (factor * norm, factor * value), hessian)


@dataclass(frozen=True, repr=False)
class Result(Tabular):
    """The result of a solver; `to_frame()` returns its history, one row per step.

    gap           a proven bound on value - optimum, rounding included; inf if rounding errors are too large for one;
                  None if the solver proves none
    gap_estimate  an estimate of value - optimum; None if the solver has none
    dual          the dual solution that proves the gap, if the solver works in the dual
    end           a start for the solver of a similar problem; it keeps the data of the objective in memory

    Examples
    --------
    >>> from rankwise import RankSVM, load_sample
    >>> result = RankSVM().fit(load_sample()).result_
    >>> result.converged, result.gap <= 1e-3 * result.value
    (True, True)
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
    """Keeps the history of a run, and decides when to stop. `began` is its start time, `at_zero` |∇f(0)| and f(0).

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
        one_of("stopping", rule, RULES)
        self.began = began
        self.norm_at_zero, self.value_at_zero = at_zero
        self.callback, self.tol, self.rule = callback, tol, rule
        self.stalls = stalls  # whether to stop when neither value nor gradient decreases any more
        self.history: list[Step] = []
        self.iterations = 0  # more than there are records, if a detour took some
        self.message = ""
        self.converged = False
        self.estimate = np.inf
        self.least, self.progress = (np.inf, np.inf), 0  # least value and gradient, and the last record of one

    def scale(self, value: float, gap: float) -> float:
        """See `gap_scale`."""
        return gap_scale(value, self.value_at_zero, gap)

    def near(self, value: float, gap: float) -> bool:
        """Whether a gap of that size is within the tolerance."""
        return gap <= self.tol * self.scale(value, gap)

    def seems_near(self, current: Expansion, estimate: float) -> bool:
        """Whether the run would end by an estimate alone, without a proof by the gradient."""
        proven = proven_gap(current)
        return (
            self.rule == "gap" and self.near(current.value, SHRINKS * estimate) and not self.near(current.value, proven)
        )

    def beyond_proof(self, current: Expansion) -> bool:
        """Whether a proof is out of reach: the gradient is mostly rounding error, while the value is not."""
        if not isinstance(current, Certified):
            return True
        in_gradient, in_value = current.certificate.errors()
        return bool(length_of(current.gradient) <= AT_ROUNDING * in_gradient and in_value <= VISIBLE * current.value)

    def enough(self, value: float) -> float | None:
        """The remaining decrease at which to stop; None if the stopping rule is the gradient's."""
        return self.tol * self.scale(value, 0.0) if self.rule == "gap" else None

    def goes_on(self, current: Expansion, detail: str = "", estimate: float = np.inf) -> bool:
        """Record a step; False if the run is over."""
        norm = length_of(current.gradient)
        self.estimate = estimate
        self.iterations += len(self.history) > 0
        step = Step(self.iterations, current.value, norm, clock() - self.began, detail)
        self.history.append(step)
        if current.value < self.least[0] or norm < self.least[1]:
            self.least, self.progress = (min(current.value, self.least[0]), min(norm, self.least[1])), len(self.history)
        stopped = self.callback is not None and bool(self.callback(step))
        if self.rule == "gradient":
            self.converged = norm <= self.tol * self.norm_at_zero
        else:
            self.converged = self.near(current.value, min(proven_gap(current), estimate))
        if stopped and not self.converged:
            self.message = STOPPED
        elif self.stalls and len(self.history) - self.progress >= STALLED and not self.converged:
            self.message = "rounding allows no further decrease"
        return not (self.converged or self.message)

    def bounded(self, current: Expansion, gap: float) -> float:
        """A bound on the gap that includes pairs that seem satisfied only because of rounding."""
        return gap + CORNER * self.value_at_zero + self.unseen(current)

    def unseen(self, current: Expansion) -> float:
        """A bound, by the curvature, on the loss of pairs that seem satisfied only because of rounding."""
        return certificate_of(current).unseen() * self.value_at_zero

    def result(self, current: Expansion, message: str = "", hessian: AnyFloats | None = None) -> Result:
        last = self.history[-1]
        gap = self.bounded(current, current.certificate.gap()) if isinstance(current, Certified) else None
        estimate = min(self.estimate, proven_gap(current))
        if self.converged:
            message = self._reason(current.value, last.gradient_norm, gap, estimate)
        return Result(
            current.point,
            current.value,
            last.gradient_norm,
            self.iterations,
            self.converged,
            self.message or message,
            self.history,
            gap=gap,
            gap_estimate=estimate,
            end=Start(current, (self.norm_at_zero, self.value_at_zero), hessian),
        )

    def _reason(self, value: float, norm: float, gap: float | None, estimate: float) -> str:
        """The message of a run that converged."""
        if self.rule == "gradient":
            return f"converged (relative gradient {norm / max(self.norm_at_zero, 1e-300):.2g} ≤ {self.tol:g})"
        if gap is not None and self.near(value, gap):
            return converged_by("certified", gap, self.scale(value, gap), self.tol)
        return converged_by("estimated", estimate, self.scale(value, estimate), self.tol)


def continued(one: Result, solve: Callable[[Callback | None], Result], callback: Callback | None, where: str) -> Result:
    """The result of another solver, called with a callback, whose steps are counted from the end of `one`.

    If it fails, its message begins with the steps so far and `where` it continued: its max_iter counts only the rest.
    """

    def later(step: Step) -> Step:
        seconds = one.history[-1].seconds + step.seconds
        return replace(step, iteration=one.iterations + step.iteration, seconds=seconds)

    other = solve(callback and (lambda step: callback(later(step))))
    history = one.history + [later(step) for step in other.history]
    message = other.message
    if not other.converged and message != STOPPED:
        message = f"after {counted(one.iterations, 'steps')}, {where}: {message}"
    return replace(other, iterations=one.iterations + other.iterations, message=message, history=history)


def gap_scale(value: float, value_at_zero: float, gap: float) -> float:
    """The scale of a gap: the value, or the largest possible decrease from w = 0 if that is less (for small C)."""
    return max(min(abs(value), value_at_zero - value + gap), 0.0)


def within(tol: float, gap: float, rounding: float, value: float, value_at_zero: float) -> bool:
    """Whether a gap is within the tolerance, rounding included, or the rounding negligible (if w = 0 is optimal)."""
    scale = gap_scale(value, value_at_zero, gap)
    return gap + rounding <= tol * scale or (gap <= tol * scale and rounding <= NEGLIGIBLE * value)


def converged_by(kind: str, gap: float, scale: float, tol: float) -> str:
    """The message of a solver that stopped at a small gap."""
    return f"converged ({kind} relative gap {relative(gap, scale):.2g} ≤ {tol:g})"


def uncertified(gap: float) -> str:
    """The message of a solver that stopped because rounding may hide a relative gap of that size."""
    return f"rounding allows no certificate: the relative gap may be {gap:.2g}"


def relative(gap: float, scale: float) -> float:
    """gap / scale, where 0 / 0 is 0."""
    return gap / max(scale, 1e-300) if gap > 0 else 0.0


def check_range(at_zero: Expansion) -> tuple[float, float]:
    """|∇f(0)|, but for corners of a penalty at 0, and f(0); an error if their squares overflow or underflow.

    Without the corners, both are multiples of C.
    """
    norm = length_of(at_zero.slopes if isinstance(at_zero, Cornered) else at_zero.gradient)
    largest = largest_of(at_zero.gradient)
    if not np.isfinite(norm * norm + at_zero.value):
        raise ValueError("the objective overflows at w = 0: scale the features, or use a smaller C")
    if 0 < largest < SMALLEST:
        raise ValueError(too_flat(largest))
    if isinstance(at_zero, Underflowing) and at_zero.underflows():
        raise ValueError(UNDERFLOW)
    return norm, at_zero.value


def too_flat(size: float) -> str:
    return f"the gradient at w = 0 is only {size:.3g}: scale the features up, or use a larger C"


def may_overflow() -> np.errstate:
    """A context without NumPy's warnings: a step too long is shortened, and what overflows is reported otherwise."""
    return np.errstate(over="ignore", invalid="ignore")


def begun(objective: Function, start: AnyFloats | Start | None) -> tuple[Expansion, tuple[float, float]]:
    """The expansion at the start (at 0 if it is None), and |∇f(0)| and f(0); a `Start` has both already."""
    if isinstance(start, Start):
        return start.expansion, start.at_zero
    with may_overflow():  # reported by `check_range`, which may be the first to compute the gradient
        at_zero = objective.at(origin(objective))
        sizes = check_range(at_zero)
    point = point_of(objective, start)
    return objective.at(point) if bool((point != 0).any()) else at_zero, sizes


def origin(objective: Function) -> AnyFloats:
    """The point 0, on the device of the objective's points."""
    return objective.zero if isinstance(objective, Located) else np.zeros(objective.size)


def is_cold(start: AnyFloats | Start | None) -> bool:
    """Whether a start is missing or 0."""
    point = start.expansion.point if isinstance(start, Start) else start
    return point is None or not bool((point != 0).any())


def point_of(objective: Function, start: AnyFloats | Start | None) -> AnyFloats:
    """A copy of `start`, or the point nearest to it that is allowed, on the device of the objective's points.

    The origin, if it is None.
    """
    zero = origin(objective)
    start = start.expansion.point if isinstance(start, Start) else start
    point = zero if start is None else zero + on_device_of(zero, start)
    return objective.allowed(point) if isinstance(objective, Constrained) else point


def rescaled(hessian: AnyFloats, factor: float, ridge: float = 1.0) -> AnyFloats:
    """The Hessian matrix of ½ ridge |w|² + factor · something, from that of ½ ridge |w|² + something."""
    matrix = factor * hessian
    diagonal_of(matrix)[:] += (1.0 - factor) * ridge
    return matrix


def decrease(current: Expansion, trial: Expansion) -> float:
    """f(current) - f(trial). If the values agree in nearly all digits, the gradients give the difference."""
    by_values = current.value - trial.value
    if not abs(by_values) <= CLOSE * max(abs(current.value), abs(trial.value)):
        return by_values
    step = trial.point - current.point
    return -0.5 * inner(gradient_towards(current, step) + gradient_towards(trial, -step), step)


def gradient_towards(current: Expansion, direction: AnyFloats) -> AnyFloats:
    """The gradient; where f has a corner, its slope towards a direction."""
    return current.towards(direction) if isinstance(current, Cornered) else current.gradient


def proven_gap(current: Expansion) -> float:
    """A bound on f(w) - min f, but for rounding: ½|∇f|², if the expansion has none of its own."""
    return current.gap() if isinstance(current, Cornered) else half_square(length_of(current.gradient))


def went_as_predicted(predicted: float, gained: float) -> bool:
    """Whether a full step decreased f by about what the model predicted.

    If it did not, pairs became active or inactive on the way, which the model does not know; its estimate of the gap
    may then be wrong too. Along a step without curvature, f decreases by twice the predicted amount.
    """
    low, high = SOUND
    return low * predicted <= gained <= high * predicted


def agrees(before: float, now: float, value: float) -> bool:
    """Whether the decrease predicted `now` is at most a tenth of that which the model `before` the step allowed.

    If a model is right about the active pairs, much less remains after its step. Otherwise other pairs are active at
    the new point, and f may decrease by much more than either model predicts.
    """
    return now <= max(SHRINKS * before, NOTHING * abs(value))


def certificate_of(expansion: Expansion) -> Certificate:
    """The certificate of an expansion; an error if it has none."""
    if not isinstance(expansion, Certified):
        raise lacking(expansion, "solver 'dual'", "certificate")
    return expansion.certificate


def require(given: object, solver: str, *needs: str) -> None:
    """Raise TypeError, before the solve begins, if an object lacks an attribute that the solver needs."""
    for need in needs:
        if not hasattr(given, need):
            raise lacking(given, f"solver {solver!r}", need)


def lacking(given: object, who: str, need: str) -> TypeError:
    return TypeError(f"{who} needs an objective that offers {need!r}; {given!r} does not")
