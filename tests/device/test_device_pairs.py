"""The portable pair engine on arrays of torch and CuPy, against the double loop."""

import numpy as np
import oracle
import pytest
from hypothesis import HealthCheck, given, settings
from strategies import problems, thresholds

from rankwise import Preferences
from rankwise.foundation.devices import library_of, to_host
from rankwise.pairs import portable

few = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@few
@given(problem=problems(), threshold=thresholds)
def test_sums_are_those_of_the_double_loop(put, problem, threshold):
    labels, queries, weights, scores = problem
    A = oracle.adjacency(*problem, threshold)
    graph = Preferences(put(labels), queries, put(weights)).active(put(scores), threshold)
    v = np.random.default_rng(0).normal(size=(len(labels), 3))
    assert graph.n_pairs == A.sum()
    np.testing.assert_array_equal(to_host(graph.degree), A.sum(0) + A.sum(1))
    np.testing.assert_array_equal(to_host(graph.balance), A.sum(1) - A.sum(0))
    for given_ in (v[:, 0], v):
        there = put(given_)
        np.testing.assert_allclose(to_host(graph.below(there)), A @ given_, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(to_host(graph.above(there)), A.T @ given_, rtol=1e-12, atol=1e-12)
        laplacian = (A.sum(0) + A.sum(1)) * given_.T - ((A + A.T) @ given_).T
        np.testing.assert_allclose(to_host(graph.laplacian(there)), laplacian.T, rtol=1e-12, atol=1e-11)


@few
@given(problem=problems())
def test_preferences_are_found_where_the_labels_lie(put, problem):
    labels, queries, weights, _ = problem
    here, there = Preferences(labels, queries, weights), Preferences(put(labels), queries, put(weights))
    assert there.any == here.any
    np.testing.assert_allclose(there.pairs_per_query(), here.pairs_per_query())


@pytest.mark.parametrize("n_levels", [2, 8, 9, 64, 65, 10**9])
def test_one_digit_or_many(put, n_levels, monkeypatch):
    monkeypatch.setattr(portable, "BLOCK", 8)  # several blocks, and blocks of blocks
    rng = np.random.default_rng(n_levels)
    n = 700
    labels, queries, scores = rng.integers(0, n_levels, n), rng.integers(0, 3, n), rng.normal(size=n)
    same = (queries[:, None] == queries) & (labels[:, None] > labels)
    A = (same & (scores[:, None] - scores < 0.7)).astype(float)
    graph = Preferences(put(labels.astype(float)), put(queries)).active(put(scores), 0.7)
    V = rng.normal(size=(n, 5))
    np.testing.assert_allclose(to_host(graph.below(put(V))), A @ V, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(to_host(graph.above(put(V[:, 0].copy()))), A.T @ V[:, 0], rtol=1e-11, atol=1e-11)


def test_a_query_of_huge_weight_takes_no_digits_from_the_next(put):
    """Prefix sums run through both."""
    rng = np.random.default_rng(0)
    n = 200
    labels, scores, v = rng.integers(0, 4, n).astype(float), rng.normal(size=n), rng.normal(size=n)
    queries = np.repeat([0, 1], n // 2)
    weights = np.where(queries == 0, 1e12, 1.0) * rng.random(n)
    A = oracle.adjacency(labels, queries, weights, scores, 1.0)
    found = to_host(Preferences(put(labels), queries, put(weights)).active(put(scores), 1.0).below(put(v)))
    np.testing.assert_allclose(found[n // 2 :], (A @ v)[n // 2 :], rtol=1e-10, atol=1e-13)


def test_results_stay_there(put, place):
    labels, scores = put(np.arange(6.0)), put(np.zeros(6))
    graph = Preferences(labels).active(scores)
    assert library_of(graph.laplacian(scores)) == ("cupy" if place == "cupy" else "torch")
    assert graph.laplacian(scores).device == scores.device
