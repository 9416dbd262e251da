"""Preferences: who should be above whom, from labels and query ids. Independent of features and loss."""

from functools import cached_property

import numpy as np

from rankwise.foundation.arrays import Array, Floats, Ints, exact, finite
from rankwise.foundation.devices import (
    AnyArray,
    AnyFloats,
    Numbers,
    Selection,
    library_of,
    namespace,
    on_device_of,
    some_rows,
    to_host,
)
from rankwise.foundation.threads import thread_count
from rankwise.pairs import costs as costs_of
from rankwise.pairs.composite import SCOPES, CostEngine, SumEngine, check_scope
from rankwise.pairs.costs import Costs, check_costs
from rankwise.pairs.device_layout import Grouping
from rankwise.pairs.device_layout import levels as levels_on_device
from rankwise.pairs.graph import Engine, Layout, PairGraph, Ranking
from rankwise.pairs.queries import Queries, QueryIds, grouped
from rankwise.pairs.schemes import Scheme, check_scheme, find_scheme

# So many distinct labels are numbered once for all queries: not more than compiled.FEW_LEVELS, or short queries would
# lose its tables.
FEW_LABELS = 12


class Preferences:
    """All pairs (i, j) of the same query with labels[i] > labels[j], each of weight weights[i] · weights[j] · δ_ij.

    labels   any real numbers
    queries  ids of any type, in any order; None means one query
    weights  one per document; None means 1
    scope    "all" pairs, or only those of "adjacent" levels of a query
    costs    δ_ij (see `rankwise.pairs.costs`); None means 1
    scheme   the algorithm that sums over pairs: a name or an object (see `rankwise.pairs.schemes`)

    Examples
    --------
    >>> from rankwise import Preferences
    >>> preferences = Preferences([2, 0, 1, 1, 0], ["tea", "tea", "tea", "mug", "mug"])
    >>> graph = preferences.active([0.5, 0.4, 0.1, 3.0, 0.0], threshold=1.0)
    >>> graph.n_pairs
    3
    >>> graph.degree
    array([2., 2., 2., 0., 0.])
    """

    def __init__(
        self,
        labels: Numbers,
        queries: QueryIds | Queries | None = None,
        weights: Numbers | None = None,
        *,
        scope: str = "all",
        costs: Costs | None = None,
        scheme: str | Scheme = "auto",
        n_jobs: int | None = None,
    ) -> None:
        scope, costs = check_scope(scope), check_costs(costs)
        values = finite(exact(labels, "labels", by_order=costs is None), "labels")
        n = values.shape[0]
        groups = grouped(queries, n)
        level, n_levels = _levels(values, groups, FEW_LABELS if scope == "all" else 0)
        rows = None if groups.rows is None else groups.rows.astype(np.int32 if n < 2**31 else np.int64)
        scales = None if weights is None else _weights(on_device_of(values, weights), n)
        products = None if costs is None else _products(costs, values, groups)
        layout = Layout(groups.starts, rows, level, n_levels, scales)
        self._settle(layout, scope, products, scheme, thread_count(n_jobs))

    def _settle(
        self,
        layout: Layout,
        scope: str,
        products: tuple[AnyFloats, AnyFloats] | None,
        scheme: str | Scheme,
        n_threads: int,
    ) -> None:
        self.scheme = check_scheme(scheme)
        if library_of(layout.level):
            self.scheme = "portable" if self.scheme == "auto" else self.scheme
            if not getattr(find_scheme(self.scheme), "takes_devices", False):
                raise ValueError(f"scheme={scheme!r} takes arrays of NumPy only: for other arrays use scheme='auto'")
        self.layout, self.scope, self.products, self.n_threads = layout, scope, products, n_threads

    @cached_property
    def pairs(self) -> Engine:
        """The pair engine, built on first use; if the rows are divided into chunks, only the chunks' engines are."""
        scheme = find_scheme(self.scheme)
        engines = tuple(scheme(one, self.n_threads) for one in self.layouts)
        pairs: Engine = engines[0] if len(engines) == 1 else SumEngine(self.layout, engines)
        return pairs if self.products is None else CostEngine(pairs, self.layout, *self.products)

    @property
    def layouts(self) -> list[Layout]:
        """The layouts whose pairs together are those of the scope."""
        return SCOPES[self.scope](self.layout)

    def select(self, queries: Selection, rows: Selection, n_threads: int) -> "Preferences":
        """The preferences of these queries, whose rows are `rows` (slices or arrays) and are stored query by query."""
        weights = None if self.layout.weights is None else some_rows(self.layout.weights, rows)
        return self._part(queries, rows, np.diff(self.layout.starts)[queries], weights, n_threads)

    def sampled(self, queries: Ints, rows: Ints, sizes: Ints, scales: Floats, n_threads: int) -> "Preferences":
        """The preferences among `sizes` rows of each of these queries, whose weights are multiplied by `scales`."""
        weights = on_device_of(self.layout.level, scales)
        if self.layout.weights is not None:
            weights = weights * some_rows(self.layout.weights, rows)
        return self._part(queries, rows, sizes, weights, n_threads)

    def _part(
        self, queries: Selection, rows: Selection, sizes: Ints, weights: AnyFloats | None, n_threads: int
    ) -> "Preferences":
        layout, products = self.layout, self.products
        starts = np.concatenate(([0], np.cumsum(sizes)))
        of_part = Layout(starts, None, some_rows(layout.level, rows), layout.n_levels[queries], weights)
        of_rows = None if products is None else (some_rows(products[0], rows), some_rows(products[1], rows))
        part = object.__new__(Preferences)
        part._settle(of_part, self.scope, of_rows, self.scheme, n_threads)
        return part

    def __len__(self) -> int:
        """The number of documents."""
        return self.layout.n_rows

    @property
    def plain(self) -> bool:
        """Whether this is all pairs, without costs, by the compiled engine."""
        return self.scope == "all" and self.products is None and self.scheme in ("auto", "compiled")

    @property
    def any(self) -> bool:
        """Whether there is any preference pair of positive weight."""
        layout = self.layout
        if self.products is not None:
            return bool(self.pairs_per_query().any())
        if library_of(layout.level):
            weights = None if layout.weights is None else self._grouped(layout.weights)
            return self._grouping.differ(self._grouped(layout.level), weights)
        rows = np.arange(len(self)) if layout.rows is None else layout.rows
        level = layout.level[rows].astype(np.int64)
        counts = np.ones(len(self), bool) if layout.weights is None else layout.weights[rows] > 0
        first = layout.starts[:-1]
        least = np.minimum.reduceat(np.where(counts, level, np.iinfo(np.int64).max), first)
        return bool((least < np.maximum.reduceat(np.where(counts, level, -1), first)).any())

    def active(self, scores: Numbers, threshold: float = np.inf) -> PairGraph:
        """The graph of the pairs with scores[i] - scores[j] < threshold."""
        return self.ranked(finite(scores, "scores", len(self))).active(threshold)

    def ranked(self, scores: AnyFloats) -> Ranking:
        """The documents sorted by score; its `active(threshold)` does not sort again."""
        return self.pairs.ranked(scores)

    def pairs_per_query(self) -> Floats:
        """For each query, the number of its pairs; with weights or costs, their total weight."""
        level = self.layout.level
        zeros = namespace(level).zeros_like(level, dtype=namespace(level).float64)
        below = self.active(zeros).below(zeros + 1.0)
        sums: Floats = np.add.reduceat(to_host(self._grouped(below)), self.layout.starts[:-1])
        return sums

    def centred(self, scores: AnyFloats, weights: AnyFloats) -> AnyFloats:
        """The scores minus, per query, their weighted mean, or on a device that of a document of positive weight.

        If no weight is positive, the scores of a query have no effect, and become 0.
        """
        starts, rows = self.layout.starts, self.layout.rows
        grouped, weights = self._grouped(scores), self._grouped(weights)
        if library_of(scores):
            shifted: AnyFloats = self._grouping.centred(grouped, weights)
        else:
            totals = np.add.reduceat(weights, starts[:-1])
            means = np.add.reduceat(weights * grouped, starts[:-1]) / np.where(totals > 0, totals, 1.0)
            shifted = np.where(np.repeat(totals > 0, np.diff(starts)), grouped - np.repeat(means, np.diff(starts)), 0.0)
        if rows is None:
            return shifted
        out: AnyFloats = namespace(shifted).empty_like(shifted)
        out[on_device_of(out, rows)] = shifted
        return out

    def _grouped(self, by_row: Array) -> Array:
        """Values by row, query after query."""
        return by_row if self.layout.rows is None else some_rows(by_row, self.layout.rows)

    @cached_property
    def _grouping(self) -> Grouping:
        return Grouping.of(self.layout.level, self.layout.starts)


def _products(costs: Costs, labels: AnyArray, queries: Queries) -> tuple[AnyFloats, AnyFloats]:
    left, right = costs_of.separable(costs, to_host(labels), queries)
    return on_device_of(labels, left), on_device_of(labels, right)


def _weights(given: AnyArray, n: int) -> AnyFloats:
    weights = finite(given, "weights", n)
    if (weights < 0).any():
        row = int(namespace(weights).nonzero(weights < 0)[0][0])
        raise ValueError(f"weights must not be negative: weights[{row}] is {float(weights[row])}")
    return weights


def _levels(labels: AnyFloats, queries: Queries, few: int) -> tuple[Ints, Ints]:
    """An int32 per row that orders the labels within a query, and per query a number above all of its levels.

    Up to `few` distinct labels are numbered once for all queries; more are numbered within each query.
    """
    if library_of(labels):
        return levels_on_device(labels, queries, few)
    from rankwise.pairs import compiled, sorting

    level = np.empty(labels.size, np.int32)
    distinct = sorting.number_few(labels, few, level)
    if distinct:
        return level, np.full(len(queries), distinct, np.int32)
    one_level = Layout(queries.starts, queries.rows, np.zeros_like(level), np.ones(len(queries), np.int32), None)
    order, ascending, _ = compiled.Engine(one_level).ranked(labels).arrays
    rises = np.zeros(labels.size, np.int32)
    rises[1:] = ascending[1:] != ascending[:-1]
    rises[queries.starts[:-1]] = 0
    ranks = np.cumsum(rises, dtype=np.int32)
    ranks -= np.repeat(ranks[queries.starts[:-1]], queries.sizes)
    level[order] = ranks
    return level, ranks[queries.starts[1:] - 1] + np.int32(1)
