"""risk(X w) as a function of w: the sum over chunks of whole queries, computed by an executor.

Value, gradient and Hessian are sums over queries. A thread finishes a chunk (scores, pair sums, back to features)
before it starts the next one, so that X is read once per product.
"""

from dataclasses import dataclass
from math import prod
from operator import attrgetter, methodcaller

import numpy as np

from rankwise.foundation.devices import AnyFloats, largest_of, on_device_of
from rankwise.objective import losses
from rankwise.objective.chunks import SCALARS
from rankwise.objective.executors import Executor, State
from rankwise.objective.losses import Loss

LEAST_TERM, FAR = 1e-300, 2.0**1000  # terms so small lose digits; the length of a ray that shows them
NEAR_CORNER = 1e-6  # bound on the rounding error of a margin, for scores with terms of up to 10^9


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

    def sampled(self, n_rows: int, seed: int) -> "Sum":
        """An estimate from a random sample of about `n_rows` rows."""
        return Sum(self.executor.sampled(n_rows, seed))

    def along(self, start: AnyFloats, direction: AnyFloats) -> "Ray":
        """The risk on the ray start + t · direction; X is read once, however many slopes are computed."""
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
        """The diagonal of Xᵀ D X, D = diag(degrees), for columns of X shifted to mean 0: about that of the Hessian.

        The Hessian does not see a shift, but D does: columns with an offset would seem to have a large curvature. The
        mean is that of all chunks, so that the result does not depend on how the rows are divided.
        """
        d = self.point.shape[0]
        moments = self.state.total(methodcaller("degree_moments"), size=2 * d + 1)
        squares, sums, total = moments[:d], moments[d:-1], float(moments[-1])
        means = sums / total if total > 0.0 else 0.0 * sums  # rounding may leave a total of 0 or less
        return (squares - sums * means).clip(0.0, None)

    def sizes(self) -> AnyFloats:
        """Bounds on rounding errors in units of ε: see `chunks.sizes`.

        A loss with a corner has its full slope up to it, so pairs that rounding may have moved past the corner are
        included.
        """
        loss = self.of.loss
        state = self.state if loss.smooth else self.state.with_loss(losses.reaching(loss, NEAR_CORNER))
        return state.total(methodcaller("sizes"), size=self.point.shape[0] + 2)

    def underflows(self) -> bool:
        """Whether the terms of the gradient, at the point 0, are too small for float64, and not all 0.

        If they are 0 by underflow, the derivative along a very long ray shows it.
        """
        if largest_of(self.gradient) >= LEAST_TERM or not self.of.executor.any:  # on a cluster, `any` is a round
            return False
        if largest_of(self.sizes()[:-2]) >= LEAST_TERM:
            return False
        directions = np.arange(1, self.point.shape[0] + 1) * 0.6180339887498949 % 1 - 0.5  # irregular, and nowhere 0
        ray = self.of.along(self.point, on_device_of(self.point, FAR * directions))
        return float(ray.slope(0.0)) != 0.0


@dataclass(frozen=True)
class Ray:
    """risk(X (start + t · direction)) as a function of t."""

    state: State

    def slope(self, t: float) -> AnyFloats:
        """The derivative with respect to t."""
        return self.state.total(methodcaller("slope", t), size=1)
