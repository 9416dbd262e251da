"""All preference pairs as arrays: for costs that differ from pair to pair, the dual, and the explicit scheme."""

import numpy as np

from rankwise.foundation.arrays import Ints
from rankwise.foundation.jit import kernel
from rankwise.foundation.memory import memory_at_hand
from rankwise.pairs.graph import Layout
from rankwise.pairs.levels import by_level


def list_pairs(layout: Layout, beside: int = 0) -> tuple[Ints, Ints]:
    """(better, worse): the row numbers of every preference pair, query after query.

    An error, before anything is allocated, if the available memory cannot hold the two arrays and the `beside` bytes
    per pair that the caller needs in addition.
    """
    levels = by_level(layout)
    n_pairs = sum(levels.pairs.tolist())  # Python's integers do not overflow
    n_bytes, available = n_pairs * (2 * levels.rows.itemsize + beside), memory_at_hand()
    if n_bytes > available:
        raise ValueError(
            f"listing all {n_pairs:,} preference pairs takes {n_bytes / 1e9:,.1f} GB, but {available / 1e9:,.1f} GB of "
            'memory are available: use scheme="auto" and a solver other than "dual", which need no list'
        )
    better, worse = np.empty(n_pairs, levels.rows.dtype), np.empty(n_pairs, levels.rows.dtype)
    _list(levels.rows, levels.starts, levels.groups, better, worse)
    return better, worse


@kernel
def _list(rows: Ints, starts: Ints, groups: Ints, better: Ints, worse: Ints) -> None:
    """A document is preferred to all documents of its query that come before its level."""
    to = 0
    for q in range(groups.size - 1):
        first = starts[groups[q]]
        for g in range(groups[q], groups[q + 1]):
            for i in range(starts[g], starts[g + 1]):
                for j in range(first, starts[g]):
                    better[to], worse[to] = rows[i], rows[j]
                    to += 1
