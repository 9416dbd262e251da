"""The regularised risk of a linear model: the chain rule, once.

    f(w) = ½|w|² + C · risk(X w),   ∇f = w + C Xᵀ g,   ∇²f v = v + C Xᵀ H (X v)

Every term is a sum over queries, so X and its preferences are cut into parts of whole queries that fit the cache. A
part goes all the way (scores, pair sums, back to features) before the next is looked at: X is read once a product.
"""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankwise import losses
from rankwise.arrays import Array, Floats
from rankwise.features import BLOCK_BYTES, Features, in_order, lanes
from rankwise.losses import Loss
from rankwise.preferences import Preferences
from rankwise.queries import cut
from rankwise.risk import Risk, RiskHessian
from rankwise.threads import one_blas_thread, share

LARGE = 2  # a part larger than this many blocks is worked on by all threads together


@dataclass(frozen=True)
class Part:
    """Some whole queries: their rows of X and the risk of their scores."""

    features: Features
    risk: Risk
    large: bool


class RegularizedRisk:
    """f(w) = ½|w|² + C risk(X w), computed as a sum over the parts. A query's rows must lie together.

    `rows` are the numbers that the rows had where they came from, if they were put into another order.
    """

    def __init__(self, features: Features, risk: Risk, C: float, rows: Array | None = None) -> None:
        self.rows = rows
        self.features = features
        self.risk = risk
        self.C = C
        self.size = features.n_features
        self.parts = parts = list(_cut(features, risk))
        self._small = [i for i, part in enumerate(parts) if not part.large]
        self._small_bytes = sum(parts[i].features.nbytes for i in self._small)
        self._large = [i for i, part in enumerate(parts) if part.large]

    @property
    def loss(self) -> Loss:
        return self.risk.loss

    @property
    def preferences(self) -> Preferences:
        """For the solvers that look at single pairs."""
        if hasattr(self.risk, "preferences"):
            return self.risk.preferences
        raise ValueError("this solver draws pairs from labels and query ids: it cannot take a list of pairs")

    @property
    def any(self) -> bool:
        """Whether there is a preference pair at all."""
        return self.risk.any

    def at(self, w: Floats) -> "Expansion":
        hessians: list[Any] = [None] * len(self.parts)  # filled by whichever thread has the part

        def look(i: int) -> Floats:
            part = self.parts[i]
            risk = part.risk.at(part.features.dot(w))
            hessians[i] = risk.hessian
            return np.append(part.features.transposed_dot(risk.gradient), (risk.value, risk.moment, risk.terms))

        sums = self.total(look, self.size)
        value, moment, terms = (self.C * float(one) for one in sums[-3:])
        gradient = w + self.C * sums[:-3]
        return Expansion(self, w, 0.5 * float(w @ w) + value, gradient, hessians, moment, terms)

    def total(self, work: Callable[[int], Floats], size: int) -> Floats:
        """The sum of work(i), an array of that size, over the parts i, always added in the same order."""
        small = lanes(self._small, self._small_bytes, size)
        by_lane = share(lambda lane: in_order([work(i) for i in lane]), small, self.features.n_threads)
        return in_order(by_lane + [work(i) for i in self._large])

    def smoothed(self, width: float) -> "RegularizedRisk":
        """The same with the hinge's corner rounded over `width`."""
        if self.loss.name != "hinge":
            raise ValueError(f"solver 'smoothing' is for the hinge loss: {self.loss} is smooth, take 'auto'")
        loss = losses.huber(width)
        other = copy(self)
        other.risk = replace(self.risk, loss=loss)
        other.parts = [replace(part, risk=replace(part.risk, loss=loss)) for part in self.parts]
        return other

    def sampled(self, share_of_queries: float, seed: int) -> "RegularizedRisk":
        """An estimate of f from some of the queries, drawn at random."""
        starts = self.risk.starts
        n = starts.size - 1
        chosen = np.random.default_rng(seed).permutation(n)[: max(1, round(share_of_queries * n))]
        queries = np.sort(chosen)
        rows = np.concatenate([np.arange(starts[q], starts[q + 1]) for q in queries])
        threads = self.features.n_threads
        risk = self.risk.select(queries, rows, threads)
        return RegularizedRisk(self.features.select(rows, threads), risk, self.C * self.features.n_rows / rows.size)

    def along(self, start: Floats, direction: Floats) -> "Ray":
        """f on the ray start + t · direction; X is read here and not again."""
        return Ray(self, start, direction)


@dataclass(frozen=True)
class Expansion:
    """What is known of f at w."""

    objective: RegularizedRisk
    point: Floats
    value: float
    gradient: Floats
    hessians: list[RiskHessian]
    moment: float
    terms: float

    @property
    def bound(self) -> float:
        """A lower bound on the optimum of f with the hinge in place of a smoothed one.

        The slopes C loss'(u) are dual feasible for the hinge, and the dual's value there is
        Σ alpha margin - ½|w(alpha)|², with w(alpha) = w - ∇f and Σ alpha margin = C Σ loss'(u) u + w(alpha)·w. What
        rounding may have added to it is taken off.
        """
        w_alpha = self.point - self.gradient
        return self.moment + float(w_alpha @ self.point) - 0.5 * float(w_alpha @ w_alpha) - self.bound_error

    @property
    def bound_error(self) -> float:
        """An estimate of the rounding in `bound`: pieces of a narrow loss are large and nearly cancel.

        What they lose in the moment, as a share of it, they lose in ∇f and so in w(alpha) too.
        """
        w_alpha = self.point - self.gradient
        lost = 8 * float(np.finfo(float).eps) * self.terms
        along = float(w_alpha @ w_alpha) + abs(float(w_alpha @ self.point))
        return lost * (1.0 + along / max(abs(self.moment), 1e-300))

    def hessian(self, v: Array) -> Floats:
        """∇²f v, for a vector or a matrix of columns."""
        parts = self.objective.parts

        def product(i: int) -> Floats:
            features = parts[i].features
            return features.transposed_dot(self.hessians[i](features.dot(v)))

        return v + self.objective.C * self.objective.total(product, v.size)

    def hessian_matrix(self) -> Floats:
        """∇²f, by matrix products."""
        parts = self.objective.parts

        def product(i: int) -> Floats:
            features = parts[i].features
            width = max(8, 4 * BLOCK_BYTES // (8 * features.n_rows))  # bounds the memory that a large part takes
            groups = [(j, min(j + width, features.n_features)) for j in range(0, features.n_features, width)]
            return np.hstack([features.transposed_dot(self.hessians[i].half(features.columns(*g))) for g in groups])

        with one_blas_thread():
            half = self.objective.C * self.objective.total(product, self.objective.size**2)
        matrix = half + half.T
        matrix[np.diag_indices_from(matrix)] += 1.0
        return matrix

    def hessian_diagonal(self) -> Floats:
        """The diagonal of I + C Xᵀ D X, D the diagonal of the risk's Hessian: near ∇²f's own, for one pass over X."""
        parts = self.objective.parts

        def column_sums(i: int) -> Floats:
            features = parts[i].features
            return features.squared_transposed_dot(self.hessians[i].diagonal())

        return 1.0 + self.objective.C * self.objective.total(column_sums, self.objective.size)


class Ray:
    """f(start + t · direction) as a function of t."""

    def __init__(self, objective: RegularizedRisk, start: Floats, direction: Floats) -> None:
        self.objective = objective
        self.at_start, self.bend = float(start @ direction), float(direction @ direction)
        both = [[part.features.dot(v) for v in (start, direction)] for part in objective.parts]
        self.scores, self.slopes = zip(*both, strict=True)

    def slope(self, t: float) -> float:
        def look(i: int) -> Floats:
            risk = self.objective.parts[i].risk.at(self.scores[i] + t * self.slopes[i])
            return np.array([risk.gradient @ self.slopes[i]])

        return self.at_start + t * self.bend + self.objective.C * float(self.objective.total(look, 1)[0])


def _cut(features: Features, risk: Risk) -> Iterator[Part]:
    starts = risk.starts
    for first, last in cut(starts, features.block_rows):
        low, high = int(starts[first]), int(starts[last])
        large = high - low > LARGE * features.block_rows
        threads = features.n_threads if large else 1
        rows = slice(low, high)
        yield Part(features.select(rows, threads), risk.select(slice(first, last), rows, threads), large)
