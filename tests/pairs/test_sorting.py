"""The sort within queries and the numbering of labels, against NumPy's."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.pairs import compiled, sorting
from rankwise.pairs.graph import Layout

KINDS = {
    "few values": lambda rng, n: rng.integers(-2, 3, n).astype(float),
    "both zeros": lambda rng, n: rng.choice([-0.0, 0.0, 1.0, -1.0], n),
    "all sizes": lambda rng, n: rng.normal(size=n) * 10.0 ** rng.integers(-300, 300, n),
    "infinite": lambda rng, n: rng.choice([-np.inf, np.inf, 0.0, 2.0], n),
    "near each other": lambda rng, n: 1.0 + rng.integers(0, 1000, n) * 2.0**-52,
    "tiny": lambda rng, n: rng.integers(-5, 6, n) * 5e-324,
}


@pytest.mark.parametrize("kind", KINDS)
@given(sizes=st.lists(st.sampled_from([1, 2, 40, sorting.SHORT, sorting.SHORT + 1, 300]), min_size=1, max_size=4))
def test_the_sort_is_stable(kind, sizes):
    rng = np.random.default_rng(len(sizes))
    starts = np.concatenate(([0], np.cumsum(sizes)))
    n = int(starts[-1])
    scores, level, rows = KINDS[kind](rng, n), rng.integers(0, 5, n).astype(np.int32), rng.permutation(n)
    layout = Layout(starts, rows, level, np.full(len(sizes), 5, np.int32), None)
    order, ascending, levels = compiled.Engine(layout).ranked(scores).arrays
    for first, last in pairwise(starts):
        of_query = rows[first:last]
        np.testing.assert_array_equal(order[first:last], of_query[np.argsort(scores[of_query], kind="stable")])
    np.testing.assert_array_equal(ascending, scores[order])
    np.testing.assert_array_equal(levels, level[order])


@given(labels=st.lists(st.sampled_from([-1.5, -0.0, 0.0, 2.0, 2.5, np.pi]), min_size=1), most=st.integers(0, 6))
def test_few_labels_are_numbered(labels, most):
    labels = np.array(labels)
    level = np.empty(labels.size, np.int32)
    distinct = np.unique(labels)
    found = sorting.number_few(labels, most, level)
    assert found == (distinct.size if distinct.size <= most else 0)
    if found:
        np.testing.assert_array_equal(distinct[level], labels)
