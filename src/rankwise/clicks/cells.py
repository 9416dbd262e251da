"""Cells: the impressions of a log by query, document and position, which is all that estimators of bias need."""

from dataclasses import dataclass, replace

import numpy as np

from rankwise.clicks.log import ClickLog
from rankwise.foundation.arrays import Array, Floats, Ints


@dataclass(frozen=True, eq=False)
class Cells:
    """One cell per document of a query (an item) and position at which it was shown; cells are sorted by item.

    positions  the positions of the log, ascending from 1
    position   per cell, the number of its position in `positions`
    item       per cell, the number of its item
    n_items    the number of items
    rows       per impression that counts: its cell, its list, and whether it was clicked
    """

    positions: Ints
    position: Ints
    item: Ints
    n_items: int
    rows: tuple[Ints, Ints, Array]

    @classmethod
    def of(cls, log: ClickLog) -> "Cells":
        positions, position = _distinct(log.position)
        if not positions.size or positions[0] != 1:
            raise ValueError(
                "the log has no document at the top position, with which all positions are compared: is first_position "
                "(--first-position) right?"
            )
        items, item = _distinct(log.query_of_row * len(log.docs) + log.doc)
        codes, cell = _distinct(item * positions.size + position)
        rows = cell, log.list_of_row, log.click
        return cls(positions, codes % positions.size, codes // positions.size, items.size, rows)

    def counts(self, weights: Floats) -> tuple[Floats, Floats]:
        """The impressions and the clicks of each cell, with weights of the lists."""
        cell, lists, click = self.rows
        weight = weights[lists]
        n = self.item.size
        return sums(cell, weight, n), sums(cell, weight * click, n)

    def totals(self, values: Floats) -> tuple[Floats, Floats]:
        """The sums of values of cells by position and by item."""
        return sums(self.position, values, self.positions.size), sums(self.item, values, self.n_items)

    def informative(self) -> "Cells":
        """Without items that tell nothing about positions: those shown at one position, and those never clicked."""
        clicked = self.counts(np.ones(int(self.rows[1].max(initial=-1)) + 1))[1]
        several = np.bincount(self.item, minlength=self.n_items) > 1
        kept = (several & (self.totals(clicked)[1] > 0))[self.item]
        items, item = np.unique(self.item[kept], return_inverse=True)
        cell, lists, click = self.rows
        counts = kept[cell]
        rows = (np.cumsum(kept) - 1)[cell[counts]], lists[counts], click[counts]
        return replace(self, position=self.position[kept], item=item, n_items=items.size, rows=rows)

    def pairs(self) -> tuple[Ints, Ints]:
        """All ordered pairs of two cells of one item; at most as many per cell as there are positions."""
        sizes = np.bincount(self.item, minlength=self.n_items)
        starts = np.cumsum(sizes) - sizes
        partners = sizes[self.item]
        one = np.repeat(np.arange(self.item.size), partners)
        offset = np.arange(one.size) - np.repeat(np.cumsum(partners) - partners, partners)
        two = starts[self.item[one]] + offset
        return one[one != two], two[one != two]

    def connected(self, weights: Floats) -> Array:
        """Per position, whether clicked items shown at several positions link it to position 1, which has clicks."""
        shown, clicked = self.counts(weights)
        at_position, of_item = self.totals(clicked)
        used = (shown > 0) & (of_item > 0)[self.item] & (at_position[0] > 0)
        return linked_to_first(self.position[used], self.item[used], self.positions.size)


def linked_to_first(position: Ints, item: Ints, n_positions: int) -> Array:
    """Per position, whether a chain of items that have two positions each leads to position 0."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = n_positions + int(item.max(initial=-1)) + 1
    edges = coo_array((np.ones(item.size), (position, n_positions + item)), shape=(n, n))
    _, component = connected_components(edges, directed=False)
    linked: Array = component[:n_positions] == component[0]
    return linked


def _distinct(codes: Ints) -> tuple[Ints, Ints]:
    """`np.unique` with the inverse, of numbers from 0 on; without sorting unless a table of them would be too long."""
    if not codes.size or codes.max() > 8 * codes.size:
        return np.unique(codes, return_inverse=True)
    occurs = np.bincount(codes) > 0
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[codes]


def sums(codes: Ints, values: Array, n: int) -> Floats:
    """The sum of the values of each code from 0 to n - 1."""
    return np.asarray(np.bincount(codes, values, n), dtype=np.float64)
