"""The regularised risk of a linear model: the chain rule, once.

    f(w) = ½|w|² + C · risk(X w),   ∇f = w + C Xᵀ g,   ∇²f v = v + C Xᵀ H (X v)

Every term is a sum over queries, so X and its preferences are cut into parts of whole queries that fit the cache. A
part goes all the way (scores, pair sums, back to features) before the next is looked at: X is read once a product.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from rankwise.arrays import Array, Floats
from rankwise.features import BLOCK_BYTES, Features, in_order, lanes
from rankwise.losses import Loss
from rankwise.preferences import Preferences
from rankwise.queries import Queries, cut
from rankwise.risk import PairHessian, PairwiseRisk
from rankwise.threads import share, thread_count

LARGE = 8  # a part larger than this many blocks is worked on by all threads together


@dataclass(frozen=True)
class Part:
    """Some whole queries: their rows of X and the risk of their scores."""

    features: Features
    risk: PairwiseRisk
    large: bool


class RegularizedRisk:
    """f(w) = ½|w|² + C risk(X w), computed as a sum over the parts.

    `features` and `preferences` are those of all rows, for solvers that draw from them; a query's rows lie together.
    """

    def __init__(self, features: Features, preferences: Preferences, loss: Loss, C: float) -> None:
        self.features = features
        self.preferences = preferences
        self.loss = loss
        self.C = C
        self.n_threads = features.n_threads
        self.size = features.n_features
        self.parts = parts = _parts(features, preferences, loss)
        small = [i for i, part in enumerate(parts) if not part.large]
        nbytes = sum(parts[i].features.nbytes for i in small)
        self._lanes = lanes(small, nbytes, self.size)
        self._large = [i for i, part in enumerate(parts) if part.large]

    def at(self, w: Floats) -> "Expansion":
        hessians: list[Any] = [None] * len(self.parts)

        def look(i: int) -> Floats:
            part = self.parts[i]
            risk = part.risk.at(part.features.dot(w))
            hessians[i] = risk.hessian
            return np.append(part.features.transposed_dot(risk.gradient), risk.value)

        sums = self.total(look)
        value = 0.5 * float(w @ w) + self.C * float(sums[-1])
        return Expansion(self, w, value, w + self.C * sums[:-1], hessians)

    def total(self, work: Callable[[int], Floats]) -> Floats:
        """The sum of work(i) over the parts i, always added in the same order."""
        by_lane = share(lambda lane: in_order([work(i) for i in lane]), self._lanes, self.n_threads)
        return in_order(by_lane + [work(i) for i in self._large])


@dataclass(frozen=True)
class Expansion:
    """What is known of f at w."""

    objective: RegularizedRisk
    point: Floats
    value: float
    gradient: Floats
    hessians: list[PairHessian]

    def hessian(self, v: Array) -> Floats:
        """∇²f v, for a vector or a matrix of columns."""
        parts = self.objective.parts

        def product(i: int) -> Floats:
            features = parts[i].features
            return features.transposed_dot(self.hessians[i](features.dot(v)))

        return v + self.objective.C * self.objective.total(product)

    def hessian_matrix(self) -> Floats:
        """∇²f, by matrix products."""
        parts = self.objective.parts

        def product(i: int) -> Floats:
            features = parts[i].features
            width = max(8, 4 * BLOCK_BYTES // (8 * features.n_rows))  # bounds the memory that a large part takes
            groups = [(j, min(j + width, features.n_features)) for j in range(0, features.n_features, width)]
            return np.hstack([features.transposed_dot(self.hessians[i](features.columns(*g))) for g in groups])

        with _blas().limit(limits=1, user_api="blas"):  # the threads are ours
            matrix = self.objective.C * self.objective.total(product)
        matrix[np.diag_indices_from(matrix)] += 1.0
        return matrix


@cache
def _blas() -> Any:
    return ThreadpoolController()  # finding the libraries takes a millisecond or two


def build(
    X: Any,
    labels: Any,
    queries: Any = None,
    weights: Any = None,
    *,
    loss: Loss,
    C: float,
    n_jobs: int | None = None,
) -> RegularizedRisk:
    """The objective of a linear ranker on rows X; they are copied only where a query's rows do not lie together."""
    groups = Queries(queries, X.shape[0])
    labels = np.asarray(labels, dtype=np.float64)
    if groups.rows is not None:
        X, labels = X[groups.rows], labels[groups.rows]
        weights = None if weights is None else np.asarray(weights)[groups.rows]
        groups = groups.gathered()
    features = Features(X, thread_count(n_jobs))
    return RegularizedRisk(features, Preferences(labels, groups, weights, n_jobs=n_jobs), loss, C)


def _parts(features: Features, preferences: Preferences, loss: Loss) -> list[Part]:
    parts = []
    starts = preferences.layout.starts
    for first, last in cut(starts, features.block_rows):
        low, high = int(starts[first]), int(starts[last])
        large = high - low > LARGE * features.block_rows
        threads = features.n_threads if large else 1
        risk = PairwiseRisk(preferences.part(first, last, threads), loss)
        parts.append(Part(features.part(low, high, threads), risk, large))
    return parts
