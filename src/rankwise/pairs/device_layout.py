"""The levels and queries of a layout, computed on the device where the labels are stored."""

from dataclasses import dataclass

import numpy as np

from rankwise.foundation.arrays import Ints
from rankwise.foundation.devices import AnyArray, device_of, namespace, on_device_of
from rankwise.pairs.queries import Queries


def levels(labels: AnyArray, queries: Queries, few: int) -> tuple[AnyArray, Ints]:
    """An int32 per row that orders the labels within a query, and per query a number above all of its levels.

    Up to `few` distinct labels are numbered once for all queries; more are numbered within each query.
    """
    xp = namespace(labels)
    distinct = xp.unique_values(labels)
    if distinct.shape[0] <= few:
        level = xp.astype(xp.searchsorted(distinct, labels), xp.int32)
        return level, np.full(len(queries), distinct.shape[0], np.int32)
    rows = None if queries.rows is None else on_device_of(labels, queries.rows)
    grouped = labels if rows is None else xp.take(labels, rows)
    grouping = Grouping.of(labels, queries.starts)
    query = grouping.query
    order = xp.argsort(grouped, stable=True)
    order = xp.take(order, xp.argsort(xp.take(query, order), stable=True))
    ascending = xp.take(grouped, order)
    rises = xp.zeros(labels.shape[0], dtype=xp.int32, device=device_of(labels))
    rises[1:] = xp.astype(ascending[1:] != ascending[:-1], xp.int32)
    ranks = xp.cumulative_sum(rises, dtype=xp.int32)
    ranks = ranks - xp.take(ranks, xp.take(grouping.starts, query))
    level = xp.empty_like(ranks)
    level[order if rows is None else xp.take(rows, order)] = ranks
    return level, np.full(len(queries), int(xp.max(ranks)) + 1, np.int32)


@dataclass(frozen=True)
class Grouping:
    """Rows stored query by query on a device: where each query begins, and the query of each row."""

    starts: AnyArray
    query: AnyArray

    @classmethod
    def of(cls, like: AnyArray, starts: Ints) -> "Grouping":
        xp = namespace(like)
        numbers = xp.arange(starts.shape[0] - 1, dtype=xp.int32, device=device_of(like))
        return cls(on_device_of(like, starts[:-1]), xp.repeat(numbers, on_device_of(like, np.diff(starts))))

    def differ(self, level: AnyArray, weights: AnyArray | None) -> bool:
        """Whether two documents of one query and of positive weight differ in level."""
        xp, query = namespace(level), self.query
        if weights is not None:
            counts = xp.nonzero(weights > 0)[0]
            level, query = xp.take(level, counts), xp.take(query, counts)
        return bool(xp.any((level[1:] != level[:-1]) & (query[1:] == query[:-1])))

    def centred(self, scores: AnyArray, weights: AnyArray) -> AnyArray:
        """The scores minus, per query, that of its first document with a positive weight; 0 if there is none."""
        xp = namespace(scores)
        counted = xp.cumulative_sum(xp.astype(weights > 0, xp.int32), dtype=xp.int32, include_initial=True)
        first = xp.searchsorted(counted[1:], xp.take(counted, self.starts) + 1)
        offsets = xp.take(scores, xp.clip(first, 0, scores.shape[0] - 1))
        of_query = xp.concat((xp.take(counted, self.starts)[1:], counted[-1:])) > xp.take(counted, self.starts)
        shifted = scores - xp.take(offsets, self.query)
        return xp.where(xp.take(of_query, self.query), shifted, xp.zeros_like(shifted))
