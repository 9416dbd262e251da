"""Pairs drawn at random against the listed ones: only these, each as often as it weighs, and their exact number."""

from collections import Counter

import numpy as np
import oracle
import pytest
from hypothesis import given
from scipy import stats
from strategies import problems

from rankwise import Preferences
from rankwise.pairs.sampling import PairSampler


def weighed(labels, queries, weights, adjacent=False):
    """Every pair with its weight, by the double loop."""
    n = len(labels)
    weights = np.ones(n) if weights is None else weights
    queries = np.zeros(n, int) if queries is None else queries

    def is_adjacent(i, j):
        return not any(labels[j] < labels[k] < labels[i] for k in range(n) if queries[k] == queries[i])

    pairs = [(i, j) for i, j in oracle.pairs(labels, queries) if not adjacent or is_adjacent(i, j)]
    return {(i, j): weights[i] * weights[j] for i, j in pairs}


def drawn(sampler, n, seed=0):
    better, worse = sampler.draw(n, np.random.default_rng(seed))
    return Counter(zip(better.tolist(), worse.tolist(), strict=True))


def assert_degree(sampler, expected, n):
    degree = np.zeros(n)
    for pair, weight in expected.items():
        degree[list(pair)] += weight
    np.testing.assert_array_equal(sampler.degree(), degree)


@given(problem=problems(max_documents=15))
def test_only_pairs_of_some_weight_are_drawn(problem):
    labels, queries, weights, _ = problem
    sampler = PairSampler(Preferences(labels, queries, weights).layout)
    expected = weighed(labels, queries, weights)
    assert sampler.n_pairs == sum(expected.values())
    assert_degree(sampler, expected, len(labels))
    if not sampler.n_pairs:
        with pytest.raises(ValueError, match="no preference pair"):
            sampler.draw(1, np.random.default_rng(0))
        return
    assert all(expected[pair] > 0 for pair in drawn(sampler, 300))


@given(problem=problems(max_documents=15))
def test_adjacent_levels(problem):
    labels, queries, weights, _ = problem
    sampler = PairSampler(Preferences(labels, queries, weights).layout, adjacent=True)
    expected = weighed(labels, queries, weights, adjacent=True)
    assert sampler.n_pairs == sum(expected.values())
    assert_degree(sampler, expected, len(labels))
    if sampler.n_pairs:
        assert all(expected[pair] > 0 for pair in drawn(sampler, 300))


TIES = np.array([0, 2, 1, 1, 0, 2, 2, 3, 0, 5, 5, 1.0])
QUERIES = np.array(list("abababccccab"))
WEIGHTS = np.array([1, 2, 0.5, 3, 1, 1, 4, 0, 1, 2, 1, 1])


@pytest.mark.parametrize("adjacent", [False, True])
@pytest.mark.parametrize(
    ("labels", "queries", "weights"),
    [
        (TIES, None, None),
        (TIES, QUERIES, None),
        (TIES, QUERIES, WEIGHTS),
        (np.arange(12.0)[::-1], None, None),
        (np.random.default_rng(1).normal(size=12), QUERIES, np.geomspace(0.1, 10, 12)),
    ],
)
def test_each_pair_as_often_as_it_weighs(labels, queries, weights, adjacent):
    """Chi-square over the pairs that 200,000 draws should show at least five times; the others together as one."""
    expected = weighed(labels, queries, weights, adjacent)
    n = 200_000
    found = drawn(PairSampler(Preferences(labels, queries, weights).layout, adjacent), n)
    total = sum(expected.values())
    frequent = [pair for pair, weight in expected.items() if weight / total * n >= 5]
    seen = [found[pair] for pair in frequent]
    wanted = [expected[pair] / total * n for pair in frequent]
    rest = n - sum(wanted)
    if rest > 5:
        seen, wanted = [*seen, n - sum(seen)], [*wanted, rest]
    wanted = np.array(wanted) * sum(seen) / sum(wanted)
    assert len(seen) >= 7
    assert stats.chisquare(seen, wanted).pvalue > 1e-4


def test_a_seed_settles_the_draws():
    sampler = PairSampler(Preferences(TIES, QUERIES, WEIGHTS).layout)
    assert drawn(sampler, 50, seed=1) == drawn(sampler, 50, seed=1)
    assert drawn(sampler, 50, seed=1) != drawn(sampler, 50, seed=2)


def test_more_pairs_than_a_list_could_hold():
    n = 200_000
    sampler = PairSampler(Preferences(np.arange(n)).layout)
    assert sampler.n_pairs == n * (n - 1) // 2
    better, worse = sampler.draw(10_000, np.random.default_rng(0))
    assert (better > worse).all()
    # the larger of two distinct uniform places has the distribution function x²
    assert stats.kstest(better / n, lambda x: x**2).pvalue > 1e-4
