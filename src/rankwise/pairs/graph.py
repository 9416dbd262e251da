"""The interface of pair engines: a `Layout` of documents and scores in, a `PairGraph` out.

A preference pair is (i, j) with the same query and level[i] > level[j]. At given scores s, the edges of the graph G(t)
are the pairs with s_i - s_j < t, with the weights weights[i] * weights[j]. An engine implements two sums over the edges
of a document, `below` and `above`, which are transposes of each other; everything else follows from them.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from rankwise.foundation.arrays import Ints
from rankwise.foundation.devices import AnyArray, AnyFloats, ArrayFunctions, DeviceArray, namespace


@dataclass(frozen=True)
class Layout:
    """Documents grouped by query: query q owns `rows[starts[q]:starts[q + 1]]`; no `rows` means 0, 1, 2, ...

    level     int32 per row: orders the labels within a query
    n_levels  int32 per query: every level of the query is below it
    weights   float64 per row, or None if all are 1
    """

    starts: Ints
    rows: Ints | None
    level: AnyArray
    n_levels: Ints
    weights: AnyFloats | None

    @property
    def n_rows(self) -> int:
        return int(self.level.shape[0])


class Ranking(Protocol):
    """The documents at given scores."""

    def active(self, threshold: float) -> "PairGraph":
        """G(threshold)."""
        ...


class Engine(Protocol):
    """An algorithm that sums over pairs: built once for a layout, evaluated at many scores."""

    def ranked(self, scores: AnyFloats) -> Ranking: ...


class PairGraph(ABC):
    """G(t). Methods take and return one value per document, or one row of values: v of shape (n,) or (n, m)."""

    layout: Layout
    xp: ArrayFunctions = np  # the arrays' namespace

    @abstractmethod
    def below(self, v: AnyFloats) -> AnyFloats:
        """For each i, the sum of v_j over the active j that i is preferred to."""

    @abstractmethod
    def above(self, v: AnyFloats) -> AnyFloats:
        """For each j, the sum of v_i over the active i preferred to j."""

    def sums(self, v: AnyFloats) -> tuple[AnyFloats, AnyFloats]:
        """below(v), above(v)."""
        return self.below(v), self.above(v)

    def adjacency(self, v: AnyFloats) -> AnyFloats:
        """below(v) + above(v)."""
        below, above = self.sums(v)
        below += above
        return below

    def laplacian(self, v: AnyFloats) -> AnyFloats:
        """degree * v - below(v) - above(v)."""
        degree = self.degree if v.ndim == 1 else self.degree[:, None]
        sums = self.adjacency(v)  # before the product, as it needs memory of its own
        out: AnyFloats = degree * v
        out -= sums
        return out

    @property
    def countable(self) -> bool:
        """Whether every edge has weight 1, so that the pairs can be counted exactly."""
        return self.layout.weights is None

    @property
    def n_pairs(self) -> int | float:
        """The number of active pairs; with weights, their total weight."""
        if not self.countable:
            return float(self.total)
        below = (self.degree + self.balance) / 2
        return int(self.xp.sum(self.xp.astype(below, self.xp.int64)))  # exact even if a float64 sum is not

    @property
    def total(self) -> float | DeviceArray:
        """`n_pairs` as a float64 on the device of the arrays."""
        return self._counts[0]

    @property
    def balance(self) -> AnyFloats:
        """below(1) - above(1)."""
        return self._counts[1]

    @property
    def degree(self) -> AnyFloats:
        """below(1) + above(1)."""
        return self._counts[2]

    @cached_property
    def _counts(self) -> tuple[float | DeviceArray, AnyFloats, AnyFloats]:
        below, above = self.counted()
        return self.xp.sum(below), below - above, below + above

    def counted(self) -> tuple[AnyFloats, AnyFloats]:
        """below(1), above(1)."""
        level = self.layout.level
        return self.sums(namespace(level).ones_like(level, dtype=self.xp.float64))
