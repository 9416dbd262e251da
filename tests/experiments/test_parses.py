"""The graph kernel of the parse ranking, against nested names written out in full."""

from collections import Counter

import numpy as np
import pytest
from experiments.pahikkala_parses import Graph, make_corpus, weisfeiler_lehman
from hypothesis import given
from hypothesis import strategies as st


def neighbourhood(graph, node, radius):
    """A nested tuple that two nodes share exactly where they look alike up to that radius."""
    if radius == 0:
        return graph.labels[node]
    near = sorted((kind, neighbourhood(graph, j, radius - 1)) for kind, j in graph.links[node])
    return (neighbourhood(graph, node, radius - 1), tuple(near))


def naive(g, h, depth):
    total = 0
    for radius in range(depth + 1):
        ours, theirs = (Counter(neighbourhood(x, i, radius) for i in range(len(x.labels))) for x in (g, h))
        total += sum(ours[name] * theirs[name] for name in ours)
    return total


def renumbered(graph, rng):
    place = rng.permutation(len(graph.labels))
    back = np.argsort(place)
    links = [[(kind, int(place[j])) for kind, j in graph.links[i]] for i in back]
    return Graph([graph.labels[i] for i in back], links)


@given(seed=st.integers(0, 10_000), depth=st.integers(0, 3))
def test_the_kernel_counts_equal_neighbourhoods(seed, depth):
    graphs, _, _ = make_corpus(2, 2, seed)
    graphs.append(renumbered(graphs[0], np.random.default_rng(seed)))
    K = weisfeiler_lehman(graphs, depth)
    plain = np.array([[naive(g, h, depth) for h in graphs] for g in graphs], dtype=float)
    norms = np.sqrt(plain.diagonal())
    np.testing.assert_allclose(K, plain / norms / norms[:, None], atol=1e-12)
    assert K[0, -1] == pytest.approx(1)  # the names of nodes do not matter


def test_goodness_is_the_share_of_right_links():
    graphs, goodness, sentence = make_corpus(30, 5, 1)
    assert len(graphs) == 150
    assert np.bincount(sentence).tolist() == [5] * 30
    assert goodness.min() >= 0
    assert goodness.max() == 1
    assert np.unique(goodness).size > 10
