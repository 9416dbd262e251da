"""A Dask cluster as executor: each worker adds up the chunks of its partitions, then partitions are added up."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import TypeVar

import numpy as np

from rankwise.distributed.partitions import State as PartitionState
from rankwise.distributed.rows import Rows, threads
from rankwise.distributed.samples import sampled
from rankwise.distributed.spread import Columns, Spread
from rankwise.foundation.arrays import Array, Floats
from rankwise.objective.building import Pairing, build, divisor
from rankwise.objective.executors import State, Threads
from rankwise.objective.losses import Loss
from rankwise.objective.objective import Objective
from rankwise.objective.sums import Sum

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Content:
    """Of a partition: its share of the sum, and the rows from which it was built."""

    threads: Threads
    rows: Rows | None


class Cluster:
    """The content of every partition of `data` is a `Content`. One round of messages per sum."""

    def __init__(self, data: Spread, loss: Loss, samples: dict[tuple[int, int], Spread] | None = None) -> None:
        self.data = data
        self.loss = loss
        self._samples = {} if samples is None else samples  # drawn once for all losses

    @property
    def n_features(self) -> int:
        return self.data.n_features

    @property
    def zero(self) -> Floats:
        return np.zeros(self.n_features)

    @property
    def any(self) -> bool:
        return bool(self.data.partitions.state(itself).ask(has_pairs))

    @property
    def totals(self) -> Floats:
        totals = np.zeros(self.data.sizes.size)
        for places, found in zip(self.data.places, self.data.partitions.each(totals_of), strict=True):
            totals[places] = found
        return totals

    def state(self, make: Callable[..., object], *given: object) -> "ClusterState":
        return ClusterState(self.data.partitions.state(state_of, self.loss, make, *given))

    def with_loss(self, loss: Loss) -> "Cluster":
        return Cluster(self.data, loss, self._samples)

    def sampled(self, n_rows: int, seed: int) -> "Cluster":
        if (n_rows, seed) not in self._samples:
            self._samples[n_rows, seed] = sampled(self.data, n_rows, seed)
        return Cluster(self._samples[n_rows, seed], self.loss)


@dataclass(frozen=True)
class ClusterState:
    """On each worker, the states of its partitions."""

    state: PartitionState

    def with_loss(self, loss: Loss) -> "ClusterState":
        """Made anew: a partition keeps but the last few states."""
        _, *made_of = self.state.made_of
        return ClusterState(self.state.of.state(state_of, loss, *made_of))

    def total(self, question: Callable[..., Array], *given: object, size: int) -> Array:
        return self.state.ask(total_of, question, given, size)

    def merged(self, question: Callable[..., T], merge: Callable[[T, T], T], *given: object, size: int) -> T:
        """Merged per partition on its worker, then on the client."""
        state = self.state
        parts: list[T] = state.of.each(merged_of, state.made_of, question, merge, given, size)
        return reduce(merge, parts)


def state_of(content: Content, loss: Loss, make: Callable[..., object], *given: object) -> State:
    return content.threads.with_loss(loss).state(make, *given)


def total_of(state: State, question: Callable[..., Array], given: tuple[object, ...], size: int) -> Array:
    return state.total(question, *given, size=size)


def merged_of(
    content: Content,
    made_of: tuple[Loss, Callable[..., object], *tuple[object, ...]],
    question: Callable[..., T],
    merge: Callable[[T, T], T],
    given: tuple[object, ...],
    size: int,
) -> T:
    return state_of(content, *made_of).merged(question, merge, *given, size=size)


def itself(content: Content) -> Content:
    return content


def has_pairs(content: Content) -> Array:
    return np.array(float(content.threads.any))


def totals_of(content: Content) -> Floats:
    return content.threads.totals


def build_rows(rows: Rows, _: Columns, loss: Loss, pairing: Pairing, n_jobs: int | None) -> Content:
    """The content of a partition."""
    data = rows.data
    unit = build(data.X, data.y, data.qid, rows.weight, loss=loss, C=1.0, pairing=pairing, n_jobs=threads(n_jobs))
    assert isinstance(unit.sum.executor, Threads)
    return Content(unit.sum.executor, rows)


def distributed_objective(data: Spread, loss: Loss, C: float, normalize: str) -> Objective:
    """½|w|² + C · risk(X w) of data that `build_rows` made."""
    cluster = Cluster(data, loss)
    if normalize != "sum":
        C /= divisor(cluster.totals, normalize)
    return Objective(Sum(cluster), C)
