"""risk(X w) as a function of w: chunks of whole queries, added up by an executor.

Every term is a sum over queries. A chunk goes all the way (scores, pair sums, back to features) before the next one is
looked at, so that X is read once per product.
"""

from dataclasses import dataclass
from math import prod
from operator import attrgetter, methodcaller

from rankwise.foundation.arrays import Ints
from rankwise.foundation.devices import AnyFloats
from rankwise.objective import losses
from rankwise.objective.chunks import SCALARS
from rankwise.objective.executors import Executor, State
from rankwise.objective.losses import Loss

NEAR_CORNER = 1e-6  # how far beyond a corner pairs may be there by rounding, with terms of scores up to 10^9


@dataclass(frozen=True)
class Sum:
    """The risk of the scores X w."""

    executor: Executor

    @property
    def loss(self) -> Loss:
        return self.executor.loss

    def at(self, w: AnyFloats) -> "SumExpansion":
        return self.expansion(w, self.executor.state(methodcaller("at", w)))

    def expansion(self, w: AnyFloats, state: State) -> "SumExpansion":
        """The sum of the chunks' expansions at w, which are the state."""
        return SumExpansion(self, w, state, state.total(attrgetter("sums"), size=w.shape[0] + SCALARS))

    def with_loss(self, loss: Loss) -> "Sum":
        return self if loss is self.loss else Sum(self.executor.with_loss(loss))

    def select(self, queries: Ints) -> "Sum":
        """The share of these queries."""
        return Sum(self.executor.select(queries))

    def sampled(self, n_rows: int, seed: int) -> "Sum":
        """An estimate from about `n_rows` of the rows, drawn at random."""
        return Sum(self.executor.sampled(n_rows, seed))

    def along(self, start: AnyFloats, direction: AnyFloats) -> "Ray":
        """The risk on the ray start + t · direction; X is read once and not again."""
        return Ray(self.executor.state(methodcaller("along", start, direction)))


@dataclass(frozen=True)
class SumExpansion:
    """The sum of the chunks' expansions."""

    of: Sum
    point: AnyFloats
    state: State
    sums: AnyFloats

    @property
    def gradient(self) -> AnyFloats:
        return self.sums[:-SCALARS]

    @property
    def value(self) -> float:
        return float(self.sums[-3])

    @property
    def moment(self) -> float:
        return float(self.sums[-2])

    @property
    def terms(self) -> float:
        return float(self.sums[-1])

    def with_loss(self, loss: Loss) -> "SumExpansion":
        """The same point with another loss: scores are not computed and sorted again."""
        return self.of.with_loss(loss).expansion(self.point, self.state.with_loss(loss))

    def hessian(self, v: AnyFloats) -> AnyFloats:
        return self.state.total(methodcaller("hessian", v), size=prod(v.shape))

    def hessian_matrix(self) -> AnyFloats:
        return self.state.total(methodcaller("hessian_matrix"), size=self.point.shape[0] ** 2)

    def hessian_diagonal(self) -> AnyFloats:
        return self.state.total(methodcaller("hessian_diagonal"), size=self.point.shape[0])

    def sizes(self) -> AnyFloats:
        """The sizes of what was added up, which rounding grows with: see `chunks.sizes`.

        A hinge has its slope up to the corner, so that pairs which rounding alone puts beyond it count too.
        """
        state = self.state if self.of.loss.smooth else self.state.with_loss(losses.beyond(-NEAR_CORNER))
        return state.total(methodcaller("sizes"), size=self.point.shape[0] + 2)


@dataclass(frozen=True)
class Ray:
    """risk(X (start + t · direction)) as a function of t."""

    state: State

    def slope(self, t: float) -> AnyFloats:
        """The derivative with respect to t."""
        return self.state.total(methodcaller("slope", t), size=1)
