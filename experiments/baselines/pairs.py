"""Every preference pair, listed: what all pairwise baselines start from."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.intp]


def by_query(qid: Any) -> list[Ints]:
    """The rows of each query."""
    codes = np.unique(qid, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def listed(y: Any, qid: Any) -> tuple[Ints, Ints]:
    """The rows (better, worse) of every pair of one query with y[better] > y[worse]."""
    y = np.asarray(y)
    better, worse = [], []
    for rows in by_query(qid):
        high, low = np.nonzero(y[rows][:, None] > y[rows])
        better.append(rows[high])
        worse.append(rows[low])
    return np.concatenate(better), np.concatenate(worse)
