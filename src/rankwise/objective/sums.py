"""risk(X w) as a function of w: the sum over parts of whole queries, side by side in threads.

Every term is a sum over queries, so X and its preferences are cut into parts that fit the cache. A part goes all the
way (scores, pair sums, back to features) before the next is looked at: X is read once per product.
"""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.threads import one_blas_thread, share
from rankwise.objective import losses
from rankwise.objective.chunks import Chunk, Expansion
from rankwise.objective.losses import Loss
from rankwise.objective.risks import PairwiseRisk, Risk
from rankwise.objective.rows import MemoryRows, in_order, lanes
from rankwise.pairs.queries import cut

NEAR_CORNER = 1e-6  # how far beyond a corner pairs may be there by rounding, with terms of scores up to 10^9
LARGE = 2  # a part larger than this many blocks is worked on by all threads together


class Sum:
    """The risk of the scores X w. A query's rows must lie together."""

    def __init__(self, features: MemoryRows, risk: Risk) -> None:
        self.features = features
        self.risk = risk
        self.parts = list(_cut(features, risk))

    def at(self, w: Floats) -> "SumExpansion":
        parts: list[Any] = [None] * len(self.parts)  # filled by whichever thread has the part

        def look(i: int) -> Floats:
            parts[i] = here = self.parts[i].at(w)
            sums: Floats = here.sums
            return sums

        sums = self.total(look, w.shape[0])
        return SumExpansion(self, parts, sums[:-3], *sums[-3:].tolist())

    @property
    def zero(self) -> Floats:
        """The origin, where w lies."""
        zero: Floats = self.features.zero
        return zero

    def total(self, work: Callable[[int], Floats], size: int) -> Floats:
        """The sum of work(i), an array of that size, over the parts i, always added in the same order."""
        small = [i for i, part in enumerate(self.parts) if not part.large]
        large = [i for i, part in enumerate(self.parts) if part.large]
        dealt = lanes(small, sum(self.parts[i].features.nbytes for i in small), size)
        by_lane = share(lambda lane: in_order([work(i) for i in lane]), dealt, self.features.n_threads)
        return in_order(by_lane + [work(i) for i in large])

    def with_loss(self, loss: Loss) -> "Sum":
        other = copy(self)
        other.risk = replace(self.risk, loss=loss)
        other.parts = [replace(part, risk=replace(part.risk, loss=loss)) for part in self.parts]
        return other

    def sampled(self, n_rows: int, seed: int) -> "Sum":
        """An estimate from about `n_rows` of the rows, drawn at random."""
        threads = self.features.n_threads
        risk, rows = self.risk.sampled(n_rows, seed, threads)
        return Sum(self.features.select(rows, threads).centred(risk.starts), risk)

    def along(self, start: Floats, direction: Floats) -> "Ray":
        """The risk on the ray start + t · direction; X is read here and not again."""
        return Ray(self, start, direction)


@dataclass(frozen=True)
class SumExpansion:
    """What is known of the risk at w; `moment` and `terms` as in `risk.RiskExpansion`."""

    of: Sum
    parts: list[Expansion]
    gradient: Floats
    value: float
    moment: float
    terms: float

    def hessian(self, v: Array) -> Floats:
        """∇² v, for a vector or a matrix of columns."""
        return self.of.total(lambda i: self.parts[i].hessian(v), prod(v.shape))

    def half_hessian(self) -> Floats:
        """A matrix M with M + Mᵀ = ∇²."""
        with one_blas_thread():
            return self.of.total(lambda i: self.parts[i].half_hessian(), self.gradient.shape[0] ** 2)

    def diagonal(self) -> Floats:
        """Near the diagonal of ∇², for one pass over X."""
        return self.of.total(lambda i: self.parts[i].diagonal(), self.gradient.shape[0])

    def sizes(self, w: Floats) -> Floats:
        """The sizes of what was added up at w, which rounding grows with: see `parts.sizes`.

        A hinge has its slope up to the corner, so that pairs which rounding alone puts beyond it count too.
        """
        near = self if self.of.risk.loss.smooth else self.of.with_loss(losses.beyond(-NEAR_CORNER)).at(w)
        return self.of.total(lambda i: near.parts[i].sizes(w), self.gradient.shape[0] + 2)


class Ray:
    def __init__(self, of: Sum, start: Floats, direction: Floats) -> None:
        self.of = of
        both = [[part.features.dot(v) for v in (start, direction)] for part in of.parts]
        self.scores, self.slopes = zip(*both, strict=True)

    def slope(self, t: float) -> float:
        """The derivative with respect to t."""

        def look(i: int) -> Floats:
            risk = self.of.parts[i].risk.at(self.scores[i] + t * self.slopes[i])
            slope: Floats = risk.gradient @ self.slopes[i]
            return slope

        return float(self.of.total(look, 1))


def _cut(features: MemoryRows, risk: Risk) -> Iterator[Any]:
    starts = risk.starts
    for first, last in cut(starts, features.block_rows):
        low, high = int(starts[first]), int(starts[last])
        large = high - low > LARGE * features.block_rows
        threads = features.n_threads if large else 1
        rows = slice(low, high)
        rows_of, risk_of = features.select(rows, threads), risk.select(slice(first, last), rows, threads)
        if not large and isinstance(risk_of, PairwiseRisk) and risk_of.preferences.plain:
            from rankwise.objective.fused import FusedChunk

            yield FusedChunk(rows_of, risk_of)
        else:
            yield Chunk(rows_of, risk_of, large)
