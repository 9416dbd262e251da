"""The cost of ranking a pair in the wrong order: δ_ij = Σ_r left_ir · right_jr, so that pairs need not be enumerated.

a vector δ     (δ_i - δ_j)²
"gain"         the same with δ_i = 2^y_i - 1
"dcg"          (2^y_i - 2^y_j)(d_i - d_j), d the discount 1 / log2(1 + rank) in the ideal ranking of the query, averaged
               over documents of equal label: the loss of DCG if the two were swapped
"ndcg"         the same divided by the query's ideal DCG
a k × k table  table[a, b] for the a-th and b-th of the k distinct labels, counted from the smallest
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from rankwise.foundation.arrays import Floats, Ints, finite
from rankwise.foundation.devices import SparseMatrix
from rankwise.foundation.names import spelled
from rankwise.pairs.queries import Queries

Costs: TypeAlias = str | ArrayLike | SparseMatrix | Callable[[Ints, Ints], ArrayLike]
NAMES = ("gain", "dcg", "ndcg")
LARGEST_LABEL = 60  # for larger labels, 2^y makes the gains of all other labels negligible


def per_document(costs: Costs, labels: Floats) -> Floats | None:
    """The vector δ with δ_ij = (δ_i - δ_j)², if the costs are of that form."""
    if isinstance(costs, str):
        return _gains(labels) if costs == "gain" else None
    given = np.asarray(costs)
    return finite(given, "costs", labels.size) if given.ndim == 1 else None


def rises(delta: Floats, labels: Floats, queries: Queries) -> bool:
    """Whether within every query a higher label never has a lower δ, so that δ_i - δ_j is a margin for every pair."""
    order = np.lexsort((delta, labels, queries.codes))
    same_query = queries.codes[order[1:]] == queries.codes[order[:-1]]
    higher = labels[order[1:]] > labels[order[:-1]]
    return not (same_query & higher & (delta[order[1:]] < delta[order[:-1]])).any()


def separable(costs: Costs, labels: Floats, queries: Queries) -> tuple[Floats, Floats]:
    """The factors left and right of δ_ij = Σ_r left_ir · right_jr, one row per document."""
    delta = per_document(costs, labels)
    one = np.ones(labels.size)
    if delta is not None:
        # Only differences matter; the squares of values with a large offset would lose their digits.
        delta = delta - (np.bincount(queries.codes, delta, minlength=len(queries)) / queries.sizes)[queries.codes]
        return np.column_stack((delta**2, one, -2 * delta)), np.column_stack((one, delta**2, delta))
    if isinstance(costs, str):
        return _dcg(labels, queries, normalised=costs == "ndcg")
    return _table(np.asarray(costs, dtype=np.float64), labels)


def known(costs: Costs) -> bool:
    """Whether the costs are sums of products; those of a callable or of a sparse n × n matrix are not."""
    return isinstance(costs, str | np.ndarray | list | tuple)


def check_costs(costs: Costs | None) -> Costs | None:
    """The costs, a name as NAMES spells it."""
    others = "an array, a sparse matrix or a callable"
    return spelled("costs", costs, NAMES, also=others) if isinstance(costs, str) else costs


def _gains(labels: Floats) -> Floats:
    if labels.min(initial=0) < 0 or labels.max(initial=0) > LARGEST_LABEL:
        raise ValueError(
            f"costs from gains 2^y - 1 need labels from 0 to {LARGEST_LABEL}: pass a vector of costs instead"
        )
    return np.exp2(labels) - 1.0


def _dcg(labels: Floats, queries: Queries, normalised: bool) -> tuple[Floats, Floats]:
    gains = _gains(labels)
    order = np.lexsort((-labels, queries.codes))
    codes, sorted_labels = queries.codes[order], labels[order]
    first = queries.starts[:-1]
    place = np.arange(labels.size) - np.repeat(first, queries.sizes)
    discounts = 1.0 / np.log2(2.0 + place)
    ties = np.flatnonzero(np.r_[True, (np.diff(codes) != 0) | (np.diff(sorted_labels) != 0)])
    sizes = np.diff(np.append(ties, labels.size))
    shared = np.empty(labels.size)
    shared[order] = np.repeat(np.add.reduceat(discounts, ties) / sizes, sizes)
    one = np.ones(labels.size)
    left = np.column_stack((gains * shared, -gains, -shared, one))
    right = np.column_stack((one, shared, gains, gains * shared))
    if normalised:
        ideal = np.bincount(queries.codes, gains * shared, minlength=len(queries))
        left /= np.where(ideal > 0, ideal, 1.0)[queries.codes][:, None]
    return left, right


def _table(table: Floats, labels: Floats) -> tuple[Floats, Floats]:
    distinct, level = np.unique(labels, return_inverse=True)
    k = distinct.size
    if (
        table.ndim == 2
        and table.shape[0] == table.shape[1] > k
        and bool(np.isin(distinct, np.arange(len(table))).all())
    ):
        k, level = len(table), labels.astype(np.intp)  # labels 0, 1, ... index the table even if some do not occur
    if table.shape != (k, k):
        raise ValueError(f"costs has the shape {table.shape}: the labels have {k} levels, so a table must be {k} × {k}")
    if not np.isfinite(table).all() or (np.tril(table, -1) < 0).any():
        raise ValueError("costs must be finite and not negative below the diagonal: costs[a, b] is for level a above b")
    return np.eye(k)[level], np.ascontiguousarray(table.T[level])
