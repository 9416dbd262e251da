"""risk(X w) as a function of w, X in partitions on the workers of a cluster.

It offers what `linear_risk.LinearRisk` does, and every partition is one: their values, gradients and Hessians are
added up.
"""

from dataclasses import dataclass

import numpy as np

from rankwise.arrays import Array, Floats
from rankwise.distributed.partitions import State
from rankwise.distributed.rows import Rows, threads
from rankwise.distributed.samples import sampled
from rankwise.distributed.spread import Columns, Spread
from rankwise.linear_risk import LinearExpansion, LinearRisk, Ray
from rankwise.losses import Loss
from rankwise.objective import RegularizedRisk
from rankwise.problems import Pairing, build


@dataclass(frozen=True)
class Scores:
    """What is known at the client of the risk as a function of scores."""

    loss: Loss
    any: bool


class DistributedRisk:
    """The content of every partition is a `RegularizedRisk` at C = 1, of which the data are looked at."""

    def __init__(self, features: Spread, risk: Scores) -> None:
        self.features = features
        self.risk = risk

    def at(self, w: Floats) -> "DistributedExpansion":
        state = self.features.partitions.state(expand, self.risk.loss, w)
        sums = state.ask(sums_of)
        return DistributedExpansion(state, sums[:-3], *map(float, sums[-3:]))

    def with_loss(self, loss: Loss) -> "DistributedRisk":
        return DistributedRisk(self.features, Scores(loss, self.risk.any))

    def sampled(self, n_rows: int, seed: int) -> "DistributedRisk":
        return DistributedRisk(sampled(self.features, n_rows, seed), self.risk)

    def along(self, start: Floats, direction: Floats) -> "DistributedRay":
        return DistributedRay(self.features.partitions.state(draw, self.risk.loss, start, direction))


@dataclass(frozen=True)
class DistributedExpansion:
    """As `linear_risk.LinearExpansion`; one round of messages an answer."""

    state: State
    gradient: Floats
    value: float
    moment: float
    terms: float

    def hessian(self, v: Array) -> Floats:
        return self.state.ask(LinearExpansion.hessian, v)

    def half_hessian(self) -> Floats:
        return self.state.ask(LinearExpansion.half_hessian)

    def diagonal(self) -> Floats:
        return self.state.ask(LinearExpansion.diagonal)


@dataclass(frozen=True)
class DistributedRay:
    state: State

    def slope(self, t: float) -> float:
        return float(self.state.ask(slope_of, t))


def expand(unit: RegularizedRisk, loss: Loss, w: Floats) -> LinearExpansion:
    return _data(unit, loss).at(w)


def draw(unit: RegularizedRisk, loss: Loss, start: Floats, direction: Floats) -> Ray:
    return _data(unit, loss).along(start, direction)


def sums_of(here: LinearExpansion) -> Floats:
    return np.append(here.gradient, (here.value, here.moment, here.terms))


def slope_of(ray: Ray, t: float) -> Array:
    return np.array(ray.slope(t))


def _data(unit: RegularizedRisk, loss: Loss) -> LinearRisk:
    return unit.data if unit.loss == loss else unit.data.with_loss(loss)


def build_rows(rows: Rows, _: Columns, loss: Loss, pairing: Pairing, n_jobs: int | None) -> RegularizedRisk:
    """The content of a partition."""
    data = rows.data
    return build(data.X, data.y, data.qid, rows.weight, loss=loss, C=1.0, pairing=pairing, n_jobs=threads(n_jobs))


def distributed_objective(data: Spread, loss: Loss, C: float, normalize: str) -> RegularizedRisk:
    """½|w|² + C · risk(X w) of data that `build_rows` made."""
    n_with_pairs, norm = data.partitions.state(itself).ask(counts, normalize)
    risk = DistributedRisk(data, Scores(loss, bool(n_with_pairs)))
    return RegularizedRisk(risk, C if normalize == "sum" else C / (float(norm) or 1.0))  # type: ignore[arg-type]


def itself(unit: RegularizedRisk) -> RegularizedRisk:
    return unit


def counts(unit: RegularizedRisk, normalize: str) -> Floats:
    """Whether there is a pair, and what C is divided by on account of this partition: both add up over partitions."""
    counted = unit.any or normalize == "svm-rank"  # which counts queries, with pairs or without
    return np.array([float(unit.any), 1.0 / unit.C if counted else 0.0])
