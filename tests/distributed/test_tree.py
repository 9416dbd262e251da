"""The sum over partitions is the same to the last bit, whoever adds up what."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rankwise.distributed.tree import add, merge, missing, total


def written_out(values):
    """The tree's sum by its definition."""
    while len(values) > 1:
        pairs = [values[i : i + 2] for i in range(0, len(values), 2)]
        values = [pair[0] + pair[1] if len(pair) == 2 else pair[0] for pair in pairs]
    return values[0]


@given(st.data())
def test_order_and_owners_do_not_matter(data):
    n = data.draw(st.integers(1, 20))
    values = [np.array([v]) for v in data.draw(st.lists(st.floats(-1e3, 1e3), min_size=n, max_size=n))]
    owner = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    parts = [{} for _ in range(4)]
    for leaf in data.draw(st.permutations(range(n))):
        add(parts[owner[leaf]], (0, leaf), values[leaf], n)
    nodes = {}
    for part in data.draw(st.permutations(parts)):
        merge(nodes, part, n)
    assert missing(nodes, n) == []
    assert total(nodes) == written_out(values)


@given(st.integers(1, 20).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1)))))
def test_what_is_missing(case):
    n, known = case
    nodes = {}
    for leaf in known:
        add(nodes, (0, leaf), np.ones(1), n)
    assert set(missing(nodes, n)) == set(range(n)) - known
    assert sum(float(value[0]) for value in nodes.values()) == len(known)


def test_few_nodes_are_left():
    nodes = {}
    for leaf in range(100, 900):
        add(nodes, (0, leaf), np.ones(1), 1000)
    assert len(nodes) <= 2 * 10
