"""The hinge loss by a sequence of smooth problems: Huber losses whose width shrinks.

At the optimum for width h, a pair in the rounded corner, 0 < u < h, has u = h alpha / C. When h shrinks, alpha changes
little, so u is about proportional to h: one linear system predicts the next optimum, and one or two Newton steps
correct it. The slopes of the Huber loss are dual feasible for the hinge, which gives a certificate at any w:

    f(w) - min f ≤ slack + ½|∇f_h(w)|²,     slack = C Σ (u - u²/h) over the pairs in the corner

The ray from 0 through w has better points: a longer w satisfies pairs that are just unsatisfied in the rounded corner.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from rankwise.foundation.compiling import clock
from rankwise.foundation.devices import AnyFloats, inner, length_of
from rankwise.objective import losses
from rankwise.objective.objective import Objective, ObjectiveExpansion, hinge_gap, hinge_slack
from rankwise.solvers.base import (
    CORNER,
    STOPPED,
    VISIBLE,
    Callback,
    Result,
    Start,
    Step,
    begun,
    converged_by,
    decrease,
    gap_scale,
    is_cold,
    origin,
    point_of,
    relative,
    require,
    went_as_predicted,
    within,
)
from rankwise.solvers.conjugate import Sample, sample_size
from rankwise.solvers.line_search import line_search
from rankwise.solvers.narrowing import Narrowed, minimum_near_one
from rankwise.solvers.newton import Model, Newton
from rankwise.solvers.stuck import Detour, Rescue, can_help, near_separable, rescued

WIDE, NARROW = 1.0, 0.1  # the first width, and that of a warm start
NARROWER = 0.5, 0.8  # least and greatest ratio of a width to the last one
SETTLED = 0.3  # a width is done when the remaining decrease is at most this share of the slack
ALMOST = 0.7  # share of the tolerance that an estimate must meet before the certificate is computed
DETOURS = 3  # most detours by smaller C
PATIENCE = 60  # steps after which a rescue takes over
LATE = 4.0  # the ray through w is searched if the slack is at most this many times the tolerance,
SHORT = 0.01  # or if lengthening w by this share would gain more than the slack
POLISH = 20  # most steps at the last width, to make the gradient in the certificate negligible
EXACT = 1e-14  # a decrease below this share of the value is rounding
SAMPLE_TOLERANCE = 1e-2  # of the solution on a sample


@dataclass(frozen=True)
class Smoothing:
    """Stops when f(w) - bound ≤ tol · min(f(w), f(0) - bound), for the objective with the hinge.

    inner   the solver of the smooth problems
    rescue  the solver that takes over if the data are nearly separable: after `PATIENCE` steps, or if rounding ends
            the run without a proof

    Examples
    --------
    >>> from rankwise import load_sample, losses
    >>> from rankwise.objective.building import build
    >>> from rankwise.solvers import Smoothing
    >>> data = load_sample()
    >>> objective = build(data.X, data.y, data.qid, loss=losses.hinge(), C=0.01)
    >>> result = Smoothing(tol=1e-4)(objective)
    >>> result.gap <= 1e-4 * result.value
    True
    """

    needs: ClassVar = ("hinge loss",)

    tol: float = 1e-3
    max_iter: int = 1000
    inner: Newton = field(default_factory=Newton)
    rescue: Rescue | None = None

    @property
    def takes_penalties(self) -> bool:
        return self.inner.takes_penalties

    def __call__(
        self, objective: Objective, start: AnyFloats | Start | None = None, callback: Callback | None = None
    ) -> Result:
        require(objective, "smoothing", "smoothed", "along")
        run = _Run(objective, self, callback, start)
        w, width = run.start(start), WIDE if is_cold(start) else NARROW
        smooth, model = run.smoothed(width)
        current = smooth.at(w)
        while True:
            current = run.minimise(smooth, model, current)
            if run.over(current, width):
                break
            if run.almost:
                current = run.polish(smooth, model, current)
                if run.over(current, width, polished=True):
                    break
            if run.stuck:
                break
            narrower = run.factor
            predicted, hessian = run.predicted(model, current, width, narrower)
            width *= narrower
            smooth, model = run.smoothed(width, hessian, model.products)
            current = run.lower(smooth, current, predicted)
        if self.rescue is None or (run.message and not run.unproven):
            return run.result()
        rescue = replace(self.rescue, max_iter=self.max_iter - run.iterations)
        return rescued(run.result(), rescue, objective, run.at_zero, callback)


class _Run:
    """The best point and the best bound so far, which need not come from the same width."""

    def __init__(
        self, objective: Objective, options: Smoothing, callback: Callback | None, start: AnyFloats | Start | None
    ) -> None:
        self.objective, self.options, self.callback = objective, options, callback
        self.began = clock()
        self.point = origin(objective)
        self.norms = start.at_zero if isinstance(start, Start) else begun(objective, None)[1]
        self.at_zero = self.norms[1]
        self.best: ObjectiveExpansion | None = None  # the expansion with the hinge at `point`
        self.value, self.bound = self.at_zero, 0.0  # neither |w|² nor a loss is negative
        self.estimate, self.rounding, self.norm = np.inf, 0.0, 0.0
        self.proof = np.inf  # the bound on the gap but for the slack
        self.floor = self.blur = 0.0  # its rounding error and that of the value, at a point where the bound is small
        self.width = np.inf  # the last one
        self.least = 0.0  # least credible estimate: the gap shrinks at most as the square of the width
        self.last = np.inf  # the value with the hinge at the optimum of the last width
        self.left, self.slack = np.inf, np.inf  # remaining decrease at this width, and slack at the last
        self.iterations = 0
        self.history: list[Step] = []
        self.converged, self.message = False, ""
        self.rounded = False  # whether rounding allows no further steps
        self.sample: Objective | None = None
        self.detour = Detour(options.inner.stage, DETOURS, self)

    @property
    def gap(self) -> float:
        return max(self.value - self.bound, 0.0)

    def scale(self, gap: float) -> float:
        """See `gap_scale`."""
        return gap_scale(self.value, self.at_zero, gap)

    @property
    def tolerable(self) -> float:
        """The gap at which to stop, by the estimate where there is one: before a proof, the gap is the value itself."""
        return self.options.tol * self.scale(min(self.gap, self.estimate))

    def near(self, gap: float, share: float = 1.0) -> bool:
        return gap <= share * self.options.tol * self.scale(gap)

    @property
    def certified(self) -> bool:
        """Whether the gap is proven to be within the tolerance."""
        exact = max(self.gap - self.rounding, 0.0)
        return self.near(self.gap) or within(self.options.tol, exact, self.rounding, self.value, self.at_zero)

    @property
    def stuck(self) -> bool:
        """Whether the rescue should take over because the run takes long."""
        return self.iterations - self.detour.steps >= PATIENCE and self.rescue_helps

    @property
    def unproven(self) -> bool:
        """Whether the rescue should take over because rounding hides how near the optimum is."""
        return self.rounded and not self.certified and self.rescue_helps

    @property
    def rescue_helps(self) -> bool:
        """Whether the rescue would be of use."""
        left = self.iterations < self.options.max_iter
        return left and near_separable(self.value, self.at_zero) and self.rescuable

    @cached_property
    def rescuable(self) -> bool:
        """Whether there is a rescue, and few enough pairs for it."""
        return can_help(self.objective, self.options.rescue)

    @property
    def almost(self) -> bool:
        """Whether, by the estimate, a certificate is within reach at this width."""
        return self.near(self.estimate, ALMOST)

    @property
    def factor(self) -> float:
        wanted = 0.5 * self.tolerable / max(self.slack, 1e-300)
        return float(np.clip(wanted, *NARROWER))

    def start(self, start: AnyFloats | Start | None) -> AnyFloats:
        """The starting point: `start`, or if there is a sample and no start, the optimum of the sample."""
        if self.options.inner.precondition == "sampled":
            self.sample = self.objective.sampled(sample_size(self.objective.size), seed=0)
            if is_cold(start):
                return Smoothing(SAMPLE_TOLERANCE)(self.sample).point
        return point_of(self.objective, start)

    def smoothed(self, width: float, hessian: AnyFloats | None = None, products: int = 0) -> tuple[Objective, Model]:
        """The objective with the Huber loss of this width, and its quadratic model, with a Hessian if one is known.

        The products of all widths together decide whether the Hessian is formed.
        """
        smooth = self.objective.smoothed(width)
        model = Model(self.options.inner, smooth, hessian)
        model.products = products
        if self.sample is not None:
            model.precondition_by(Sample(self.sample.smoothed(width)))
        return smooth, model

    def minimise(self, smooth: Objective, model: Model, current: ObjectiveExpansion) -> ObjectiveExpansion:
        """The optimum at this width, only as exact as its expected slack requires."""
        expected, sound, steps = self.factor**2 * self.slack, False, 0
        self.detour.blocked = 0
        while self.iterations < self.options.max_iter and not self.stuck:
            precise = max(0.1 * self.tolerable, EXACT * current.value)
            enough = max(SETTLED * min(expected, current.value), precise)
            believed = model.as_before(current) if sound or not steps else None
            if believed is not None and believed.predicted <= enough:
                self.left = believed.predicted
                break
            step, steps = model.minimum(current, enough), steps + 1
            self.left = step.attainable
            near = sound or hinge_gap(current) <= enough
            if step.attainable <= enough and near and (self.history or steps > 1):  # at w = 0 nothing is known yet
                break
            trial, length = self._advance(smooth, current, step.step)
            if trial is None:
                break
            sound = length == 1.0 and went_as_predicted(step.predicted, decrease(current, trial))
            current = trial
        return current

    def polish(self, smooth: Objective, model: Model, current: ObjectiveExpansion) -> ObjectiveExpansion:
        """Steps at the same width until the gradient is negligible in the certificate."""
        enough = 0.1 * self.tolerable
        for taken in range(POLISH):
            if self.near(hinge_gap(current), 0.1) or self.iterations >= self.options.max_iter:
                break
            step = (model.as_before(current) if not taken else None) or model.minimum(current, enough)
            trial = self._advance(smooth, current, step.step)[0]
            if trial is None:
                break
            current = trial
        self.left = model.minimum(current, enough).attainable
        return current

    def _advance(
        self, smooth: Objective, current: ObjectiveExpansion, direction: AnyFloats
    ) -> tuple[ObjectiveExpansion | None, float]:
        left = self.options.max_iter - self.iterations - 1
        trial, length = self.detour.instead(smooth, current, *line_search(smooth, current, direction), left)
        self.iterations += 1
        return None if self.detour.stopped else trial, length

    def over(self, current: ObjectiveExpansion, width: float, polished: bool = False) -> bool:
        """Evaluate the objective with the hinge, and its bound, at the optimum of a width; True if the run is over."""
        if width < self.width:
            self.least = (width / self.width) ** 2 * self.estimate if self.estimate < np.inf else 0.0
        self.width = width
        hinge, left = current.with_loss(self.objective.loss), self.left
        self.last = hinge.value
        self._keep(hinge)
        self.norm = length_of(current.gradient)
        self.slack = max(hinge_slack(current, hinge.value), 0.0)
        self._keep_scaled(hinge)
        self.proof = hinge_gap(current)
        bound = hinge.value - self.slack - self.proof
        # Far from the optimum of this width, the slack is not what it is there: no estimate then.
        settled = left <= SETTLED * (self.slack if not polished else self.tolerable)
        self.estimate = max(self.value - (hinge.value - self.slack - left), left) if settled else np.inf
        if polished or self.near(self.value - bound):
            certificate = current.certificate
            self.blur = certificate.errors()[1]
            rounding = hinge_gap(current, certificate.in_slopes) - self.proof + self.blur
            self.floor = rounding
            self.bound, self.rounding = max((self.bound, self.rounding), (bound - rounding, rounding))
        self.estimate = min(self.estimate, self.gap)
        rounded = polished and self.floor > 0.5 * (self.value - self.bound)
        if rounded:  # then the slack may be small by rounding alone
            doubted = self.near(self.estimate) and not self.near(self.least)
            self.estimate = max(self.estimate, self.least)
            if doubted and not near_separable(self.value, self.at_zero):
                rounded = False  # `least` shrinks with the width: the next one may confirm the estimate
        return self._written(width, rounded)

    def _keep(self, hinge: ObjectiveExpansion) -> None:
        if hinge.value <= self.value:  # with tiny features all values are equal: prefer any other point to 0
            self.value, self.point, self.best = hinge.value, hinge.point, hinge

    def _keep_scaled(self, hinge: ObjectiveExpansion) -> None:
        """Try the best point on the ray from 0 through this one, if it may help: near the end, or if w is too short."""
        slope = inner(hinge.gradient, hinge.point)
        if not (self.near(self.slack, LATE) or -SHORT * slope > self.slack):
            return
        ray = self.objective.along(0.0 * hinge.point, hinge.point)
        scale = minimum_near_one(ray, self.width)
        if scale != 1.0:
            self._keep(self.objective.at(scale * hinge.point))

    def _written(self, width: float, rounded: bool) -> bool:
        tol, share = self.options.tol, relative(self.estimate, self.scale(self.estimate))
        detail = f"width {width:.2g}, relative gap {share:.2g}"
        step = Step(self.iterations, self.value, self.norm, clock() - self.began, detail)
        self.history.append(step)
        stopped = self.detour.stopped or (self.callback is not None and bool(self.callback(step)))
        self.rounded = not stopped and (rounded or width < EXACT)
        if self.certified:  # rounding is bounded separately, as in the other solvers
            gap = self.gap if self.near(self.gap) else max(self.gap - self.rounding, 0.0)
            self.converged, self.message = True, converged_by("certified", gap, self.scale(gap), tol)
        elif rounded and self.proof <= self.floor and self.blur <= VISIBLE * self.value and self.near(self.estimate):
            reason = converged_by("estimated", self.estimate, self.scale(self.estimate), tol)
            self.converged, self.message = True, reason
        elif stopped:
            self.message = STOPPED
        elif max(self.iterations, len(self.history)) >= self.options.max_iter:
            self.message = f"max_iter = {self.options.max_iter} steps were not enough: the relative gap is {share:.3g}"
        elif rounded and self.near(self.estimate):
            self.message = f"rounding hides how near the optimum is: the relative gap is estimated to be {share:.3g}"
        elif self.rounded:
            self.message = f"rounding allows no smaller relative gap than {share:.3g}"
        return bool(self.message)

    def predicted(
        self, model: Model, current: ObjectiveExpansion, width: float, narrower: float
    ) -> tuple[AnyFloats, AnyFloats | None]:
        """The optimum at a narrower width and the Hessian at it, if the same pairs stay in the corner.

        A Hessian predicted twice in a row would be too far off: then there is none.
        """
        linear, fresh = current.with_loss(losses.beyond(width)), model.fresh
        hessian = model.matrix(current) if model.written_out and model.hessian is None else model.hessian
        narrowed = Narrowed(current, hessian, 1.0 / narrower, linear.slopes)
        step = model.minimum(narrowed).step
        return current.point + step, model.hessian if fresh else None

    def lower(self, smooth: Objective, current: ObjectiveExpansion, predicted: AnyFloats) -> ObjectiveExpansion:
        """The expansion at the point predicted for the next width, or at the last one if that is lower."""
        trial = smooth.at(predicted)
        if trial.value <= self.last:  # the hinge is an upper bound on what it is at the last point
            return trial
        return min(current.with_loss(smooth.loss), trial, key=lambda one: one.value)

    def result(self) -> Result:
        hidden = CORNER * self.at_zero  # loss of pairs that seem satisfied only because of rounding
        if self.best is not None and near_separable(self.value, self.at_zero):  # elsewhere the gap is far larger
            hidden += self.best.certificate.errors()[1]
        return Result(
            self.point,
            self.value,
            self.norm,
            self.iterations,
            self.converged,
            self.message,
            self.history,
            gap=self.gap + hidden,
            gap_estimate=self.estimate,
            end=None if self.best is None else Start(self.best, self.norms),
        )
