"""Pair engines composed of others: sums of graphs, and edge weights that are sums of products.

The pairs of adjacent levels form two graphs, each of problems with two levels: (0 1)(2 3)... and (1 2)(3 4)...
An edge weight δ_ij = Σ_r left_ir · right_jr takes r sums instead of one, with any engine.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from rankwise.foundation.arrays import Array
from rankwise.foundation.devices import AnyFloats, namespace, to_host
from rankwise.foundation.names import spelled
from rankwise.pairs.graph import Engine, Layout, PairGraph, Ranking


@dataclass(frozen=True)
class SumEngine:
    """The graph whose edges are those of all the engines."""

    layout: Layout
    engines: tuple[Engine, ...]

    def ranked(self, scores: AnyFloats) -> "SumRanking":
        return SumRanking(self.layout, tuple(engine.ranked(scores) for engine in self.engines))


@dataclass(frozen=True)
class SumRanking:
    layout: Layout
    rankings: tuple[Ranking, ...]

    def active(self, threshold: float) -> PairGraph:
        return SumGraph(self.layout, [ranking.active(threshold) for ranking in self.rankings])


class SumGraph(PairGraph):
    def __init__(self, layout: Layout, graphs: list[PairGraph]) -> None:
        self.layout = layout
        self.xp = graphs[0].xp
        self.graphs = graphs

    def below(self, v: AnyFloats) -> AnyFloats:
        return sum((graph.below(v) for graph in self.graphs[1:]), self.graphs[0].below(v))

    def above(self, v: AnyFloats) -> AnyFloats:
        return sum((graph.above(v) for graph in self.graphs[1:]), self.graphs[0].above(v))


@dataclass(frozen=True)
class CostEngine:
    """The graph of `engine`, with the weight of edge (i, j) multiplied by left[i] · right[j]."""

    engine: Engine
    layout: Layout
    left: AnyFloats
    right: AnyFloats

    def ranked(self, scores: AnyFloats) -> "CostRanking":
        return CostRanking(self, self.engine.ranked(scores))


@dataclass(frozen=True)
class CostRanking:
    costs: CostEngine
    ranking: Ranking

    def active(self, threshold: float) -> PairGraph:
        return CostGraph(self.costs, self.ranking.active(threshold))


class CostGraph(PairGraph):
    def __init__(self, costs: CostEngine, graph: PairGraph) -> None:
        self.layout = costs.layout
        self.xp = graph.xp
        self.costs = costs
        self.graph = graph

    @property
    def countable(self) -> bool:
        return False

    def below(self, v: AnyFloats) -> AnyFloats:
        return _in_products(self.graph.below, self.costs.left, self.costs.right, v)

    def above(self, v: AnyFloats) -> AnyFloats:
        return _in_products(self.graph.above, self.costs.right, self.costs.left, v)


def _in_products(sums: Callable[[Array], AnyFloats], outer: AnyFloats, inner: AnyFloats, v: AnyFloats) -> AnyFloats:
    """Σ_r outer_r · sums(inner_r · v)."""
    if v.ndim == 1:
        product: AnyFloats = (outer * sums(inner * v[:, None])).sum(1)
        return product
    total: AnyFloats = namespace(v).zeros_like(v)
    for r in range(outer.shape[1]):
        total += outer[:, r, None] * sums(inner[:, r, None] * v)
    return total


def adjacent(layout: Layout) -> list[Layout]:
    """The two layouts that together have the pairs of adjacent levels; levels must be 0, 1, 2, ... in each query."""
    rows = np.arange(layout.n_rows) if layout.rows is None else layout.rows
    at_host = to_host(layout.level)
    query = np.repeat(np.arange(layout.n_levels.size), np.diff(layout.starts))
    layouts = []
    for shift in (0, 1):
        level = at_host + np.int32(shift)
        group = level[rows] // 2
        order = np.lexsort((group, query))
        changes = np.flatnonzero((np.diff(query[order]) != 0) | (np.diff(group[order]) != 0)) + 1
        starts = np.concatenate(([0], changes, [layout.n_rows]))
        two = np.full(starts.size - 1, 2, np.int32)
        layouts.append(replace(layout, starts=starts, rows=rows[order], level=level % np.int32(2), n_levels=two))
    return layouts


SCOPES: dict[str, Callable[[Layout], list[Layout]]] = {  # name -> layouts that together have the pairs of the scope
    "all": lambda layout: [layout],
    "adjacent": adjacent,
}


def check_scope(scope: str) -> str:
    """The scope as SCOPES spells it."""
    return spelled("scope", scope, SCOPES)
