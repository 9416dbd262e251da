"""risk(X w) as a function of w, X in partitions on the workers of a cluster.

It offers what `linear_risk.Sum` does, and every partition is one: their values, gradients and Hessians are
added up.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.distributed.partitions import State
from rankwise.distributed.rows import Rows, threads
from rankwise.distributed.samples import sampled
from rankwise.distributed.spread import Columns, Spread
from rankwise.foundation.arrays import Array, Floats
from rankwise.objective.building import Pairing, build
from rankwise.objective.losses import Loss
from rankwise.objective.regularized import Objective
from rankwise.objective.sums import Ray, Sum, SumExpansion


@dataclass(frozen=True)
class Scores:
    """What is known at the client of the risk as a function of scores."""

    loss: Loss
    any: bool


@dataclass(frozen=True, eq=False)
class Content:
    """Of a partition: the objective at C = 1, whose data are looked at, and the rows it was made from."""

    unit: Objective
    rows: Rows | None


class DistributedRisk:
    """The content of every partition is a `Content`."""

    def __init__(self, features: Spread, risk: Scores, samples: dict[Any, Spread] | None = None) -> None:
        self.features = features
        self.risk = risk
        self.samples = {} if samples is None else samples  # drawn once for all losses

    @property
    def zero(self) -> Floats:
        return np.zeros(self.features.n_features)

    def at(self, w: Floats) -> "DistributedExpansion":
        state = self.features.partitions.state(expand, self.risk.loss, w)
        sums = state.ask(sums_of)
        return DistributedExpansion(state, sums[:-3], *map(float, sums[-3:]))

    def with_loss(self, loss: Loss) -> "DistributedRisk":
        return DistributedRisk(self.features, Scores(loss, self.risk.any), self.samples)

    def sampled(self, n_rows: int, seed: int) -> "DistributedRisk":
        if (n_rows, seed) not in self.samples:
            self.samples[n_rows, seed] = sampled(self.features, n_rows, seed)
        return DistributedRisk(self.samples[n_rows, seed], self.risk)

    def along(self, start: Floats, direction: Floats) -> "DistributedRay":
        return DistributedRay(self.features.partitions.state(draw, self.risk.loss, start, direction))


@dataclass(frozen=True)
class DistributedExpansion:
    """As `linear_risk.SumExpansion`; one round of messages an answer."""

    state: State
    gradient: Floats
    value: float
    moment: float
    terms: float

    def hessian(self, v: Array) -> Floats:
        return self.state.ask(SumExpansion.hessian, v)

    def half_hessian(self) -> Floats:
        return self.state.ask(SumExpansion.half_hessian)

    def diagonal(self) -> Floats:
        return self.state.ask(SumExpansion.diagonal)

    def sizes(self, w: Floats) -> Floats:
        return self.state.ask(SumExpansion.sizes, w)


@dataclass(frozen=True)
class DistributedRay:
    state: State

    def slope(self, t: float) -> float:
        return float(self.state.ask(slope_of, t))


def expand(content: Content, loss: Loss, w: Floats) -> SumExpansion:
    return _data(content, loss).at(w)


def draw(content: Content, loss: Loss, start: Floats, direction: Floats) -> Ray:
    return _data(content, loss).along(start, direction)


def sums_of(here: SumExpansion) -> Floats:
    return np.append(here.gradient, (here.value, here.moment, here.terms))


def slope_of(ray: Ray, t: float) -> Array:
    return np.array(ray.slope(t))


def _data(content: Content, loss: Loss) -> Sum:
    unit = content.unit
    return unit.data if unit.loss == loss else unit.data.with_loss(loss)


def build_rows(rows: Rows, _: Columns, loss: Loss, pairing: Pairing, n_jobs: int | None) -> Content:
    """The content of a partition."""
    data = rows.data
    options: Any = {"loss": loss, "C": 1.0, "pairing": pairing, "n_jobs": threads(n_jobs)}
    return Content(build(data.X, data.y, data.qid, rows.weight, **options), rows)


def distributed_objective(data: Spread, loss: Loss, C: float, normalize: str) -> Objective:
    """½|w|² + C · risk(X w) of data that `build_rows` made."""
    n_with_pairs, norm = data.partitions.state(itself).ask(counts, normalize)
    risk: Any = DistributedRisk(data, Scores(loss, bool(n_with_pairs)))
    return Objective(risk, C if normalize == "sum" else C / (float(norm) or 1.0))


def itself(content: Any) -> Any:
    return content


def counts(content: Content, normalize: str) -> Floats:
    """Whether there is a pair, and what C is divided by on account of this partition: both add up over partitions."""
    unit = content.unit
    counted = unit.any or normalize == "svm-rank"  # which counts queries, with pairs or without
    return np.array([float(unit.any), 1.0 / unit.C if counted else 0.0])
