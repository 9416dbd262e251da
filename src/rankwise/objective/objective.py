"""The objective of a linear ranker: f(w) = P(w) + C · risk(X w), with the penalty P(w) = ½|w|² or another."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rankwise.foundation.arrays import Ints
from rankwise.foundation.devices import AnyFloats, diagonal_of, largest_of, length_of
from rankwise.objective import losses
from rankwise.objective.executors import Threads
from rankwise.objective.losses import Loss
from rankwise.objective.penalties import PLAIN, Penalty
from rankwise.objective.risks import PairwiseRisk, Risk
from rankwise.objective.rows import Rows
from rankwise.objective.sums import LEAST_TERM, Ray, Sum, SumExpansion

ROUNDING = 4 * float(np.finfo(float).eps)  # relative error of an operation, with an allowance for sums of many terms


@dataclass(frozen=True)
class Objective:
    """f(w) = P(w) + C · sum.

    order    the original row numbers, if the rows were reordered
    penalty  P: ½|w|² or another of `penalties`
    """

    sum: Sum
    C: float
    order: Ints | None = None
    penalty: Penalty = PLAIN

    @property
    def size(self) -> int:
        return self.sum.executor.n_features

    @property
    def zero(self) -> AnyFloats:
        """The origin, on the device where w is stored."""
        return self.sum.executor.zero

    def allowed(self, w: AnyFloats) -> AnyFloats:
        """The nearest point at which the penalty is finite."""
        return self.penalty.allowed(w)

    @property
    def loss(self) -> Loss:
        return self.sum.loss

    @property
    def rows(self) -> Rows:
        """The rows, if this process has them; for solvers that use single pairs."""
        return self._threads.rows

    @property
    def risk(self) -> Risk:
        """The risk as a function of the scores, if this process has the rows."""
        return self._threads.risk

    @property
    def pairwise(self) -> PairwiseRisk:
        """The risk, if its pairs come from labels and query ids."""
        if isinstance(self.risk, PairwiseRisk):
            return self.risk
        raise ValueError("this solver needs labels and query ids and cannot take a list of pairs: use solver='auto'")

    @property
    def _threads(self) -> Threads:
        if isinstance(self.sum.executor, Threads):
            return self.sum.executor
        raise ValueError("this solver uses single pairs, which are stored on many workers: use solver='auto'")

    def at(self, w: AnyFloats) -> "ObjectiveExpansion":
        return ObjectiveExpansion(w, self.C, self.sum.at(w), self.loss, self.penalty)

    def times(self, factor: float) -> "Objective":
        """The same objective with C multiplied by `factor`."""
        return replace(self, C=factor * self.C)

    def smoothed(self, width: float) -> "Objective":
        """The same objective with the Huber loss of this width in place of the hinge."""
        if self.loss.pieces != losses.hinge().pieces:
            raise ValueError(f"solver 'smoothing' is for the hinge loss: for {self.loss} use 'auto'")
        return replace(self, sum=self.sum.with_loss(losses.huber(width)))

    def sampled(self, n_rows: int, seed: int) -> "Objective":
        """An estimate of f from a random sample of about `n_rows` rows."""
        return Objective(self.sum.sampled(n_rows, seed), self.C, penalty=self.penalty)

    def along(self, start: AnyFloats, direction: AnyFloats) -> "ObjectiveRay":
        """f on the ray start + t · direction; X is read once, however many slopes are computed."""
        return ObjectiveRay(self.penalty.along(start, direction), self.C, self.sum.along(start, direction))


@dataclass(frozen=True)
class ObjectiveExpansion:
    """f at w to second order."""

    point: AnyFloats
    C: float
    sum: SumExpansion
    loss: Loss
    penalty: Penalty

    @property
    def risk(self) -> float:
        """C · sum."""
        risk = self.sum.value
        if risk < 0.0:  # losses are not negative, so this is rounding: report a bound on it instead
            risk = ROUNDING * self.sum.terms
        return self.C * risk

    @cached_property
    def value(self) -> float:
        return self.penalty.value(self.point) + self.risk

    @cached_property
    def slopes(self) -> AnyFloats:
        """C · ∇sum."""
        return self.C * self.sum.gradient

    @cached_property
    def gradient(self) -> AnyFloats:
        """∇f, or the shortest subgradient if the penalty has corners."""
        return self.penalty.subgradient(self.point, self.slopes)

    def underflows(self) -> bool:
        """Whether numbers that underflow take digits of the gradient at w = 0, or of the scores at its optimum.

        The scores there differ by about |∇f(0)| |∇sum| / sum. With corners of the penalty, ∇f(0) may be 0 as it should.
        """
        if self.sum.underflows():
            return True
        largest = largest_of(self.sum.gradient)
        if largest == 0.0:
            return False
        if steepest := largest_of(self.gradient):
            return steepest * (largest / max(self.sum.value, LEAST_TERM)) < LEAST_TERM
        lost = largest_of(self.slopes) == 0.0  # C made them 0; slopes of any size would move a weight
        return (
            lost and largest_of(self.penalty.subgradient(self.point, self.sum.gradient * (LEAST_TERM / largest))) > 0.0
        )

    @property
    def ridge(self) -> float:
        """The curvature of the penalty."""
        return self.penalty.ridge

    def towards(self, direction: AnyFloats) -> AnyFloats:
        """The subgradient whose inner product with a direction is the derivative of f in it."""
        return self.penalty.towards(self.point, self.slopes, direction)

    def gap(self, error: AnyFloats | float = 0.0) -> float:
        """A bound on f(w) - min f; ½|∇f|² if P(w) = ½|w|², as f is 1-strongly convex.

        error  a bound on that of each of the slopes
        """
        return self.penalty.gap(self.point, self.slopes, self.risk, error)

    def hessian(self, v: AnyFloats) -> AnyFloats:
        """That of f apart from corners of the penalty, as are the matrix and its diagonal."""
        return self.ridge * v + self.C * self.sum.hessian(v)

    def hessian_matrix(self) -> AnyFloats:
        matrix = self.C * self.sum.hessian_matrix()
        diagonal_of(matrix)[:] += self.ridge
        return matrix

    def hessian_diagonal(self) -> AnyFloats:
        return self.ridge + self.C * self.sum.hessian_diagonal()

    def with_loss(self, loss: Loss) -> "ObjectiveExpansion":
        """The expansion, at the same point, of the objective with another loss; the scores are not sorted again."""
        return ObjectiveExpansion(self.point, self.C, self.sum.with_loss(loss), loss, self.penalty)

    def times(self, factor: float) -> "ObjectiveExpansion":
        """The expansion, at the same point, of the objective with C multiplied by `factor`."""
        return ObjectiveExpansion(self.point, factor * self.C, self.sum, self.loss, self.penalty)

    @cached_property
    def certificate(self) -> "Certificate":
        """Proven bounds at this point; computing them takes another pass over X."""
        return Certificate(self, self.sum.sizes())


@dataclass(frozen=True)
class Certificate:
    """Proven bounds at one point, rounding errors included; `sizes` are those of `chunks.sizes`."""

    at: ObjectiveExpansion
    sizes: AnyFloats

    def gap(self) -> float:
        """A bound on f(w) - min f: that of the expansion, plus an allowance for rounding."""
        return self.at.gap(self.in_slopes) + self.errors()[1]

    @property
    def in_slopes(self) -> AnyFloats:
        """Bounds on the rounding errors of ∇f, one per weight."""
        return ROUNDING * (abs(self.at.point) + self.at.C * self.sizes[:-2])

    def errors(self) -> tuple[float, float]:
        """Bounds on the rounding error of ∇f (its norm) and on that of f, from the sizes of their terms."""
        C, length = self.at.C, length_of(self.at.point)
        in_gradient = ROUNDING * (length + C * length_of(self.sizes[:-2]))
        in_value = ROUNDING * (self.at.penalty.value(self.at.point) + C * (float(self.sizes[-2]) + self.at.sum.terms))
        return in_gradient, in_value

    def unseen(self) -> float:
        """A bound on the loss of pairs that seem satisfied only because of rounding, as a fraction of f(0).

        A rounding error of δ in a margin hides a loss of at most δ² times the curvature.
        """
        bend = self.at.loss.bend
        return 2.0 * bend * ROUNDING**2 * float(self.sizes[-1]) if bend else 0.0  # the sizes may overflow


def hinge_slack(smooth: ObjectiveExpansion, value: float) -> float:
    """C Σ (max(0, u) - huber'(u) u), where `smooth` has the Huber loss and `value` is the objective with the hinge.

    The slopes C huber'(u) are dual feasible for the hinge; the value of the dual there is value - slack - `hinge_gap`.
    """
    return value - smooth.penalty.value(smooth.point) - smooth.C * smooth.sum.moment


def hinge_gap(smooth: ObjectiveExpansion, error: AnyFloats | float = 0.0) -> float:
    """A bound on the distance to the optimum with the hinge, without the slack; ½|∇f_h|² if P(w) = ½|w|².

    The conjugate of the hinge is linear, so a share of the slopes has that share of C Σ huber'(u) u, not of the risk.
    """
    return smooth.penalty.gap(smooth.point, smooth.slopes, smooth.C * smooth.sum.moment, error)


@dataclass(frozen=True)
class ObjectiveRay:
    """f(start + t · direction) as a function of t."""

    penalty: Callable[[float], float]  # its slope
    C: float
    ray: Ray

    def slope(self, t: float) -> float:
        return self.penalty(t) + self.C * float(self.ray.slope(t))
