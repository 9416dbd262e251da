"""Documents grouped by query and, within it, by level, lowest first.

In this order a document is preferred to all documents of its query before its own level.
"""

from dataclasses import dataclass

import numpy as np

from rankwise.foundation.arrays import Ints
from rankwise.pairs.graph import Layout


@dataclass(frozen=True)
class Levels:
    """rows     the row numbers, query after query, level after level
    starts   group g, one level of one query, owns rows[starts[g]:starts[g + 1]]; no group is empty
    groups   query q owns the groups groups[q], ..., groups[q + 1] - 1
    """

    rows: Ints
    starts: Ints
    groups: Ints

    @property
    def pairs(self) -> Ints:
        """For each group, the number of pairs whose better document is in it."""
        before = self.starts[:-1] - np.repeat(self.starts[self.groups[:-1]], np.diff(self.groups))
        pairs: Ints = np.diff(self.starts) * before
        return pairs


def by_level(layout: Layout) -> Levels:
    n, n_queries = layout.n_rows, layout.n_levels.size
    rows = np.arange(n, dtype=np.int32 if n < 2**31 else np.int64) if layout.rows is None else layout.rows
    query = np.repeat(np.arange(n_queries), np.diff(layout.starts))
    level = layout.level[rows]
    order = np.lexsort((level, query))
    level = level[order]
    begins = np.ones(n, bool)
    begins[1:] = (level[1:] != level[:-1]) | (query[1:] != query[:-1])
    first = np.flatnonzero(begins)
    return Levels(rows[order], np.append(first, n), np.searchsorted(first, layout.starts))
