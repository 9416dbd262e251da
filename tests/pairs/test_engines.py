"""Every pair engine against the double loop, and the laws that the sums obey."""

import array_api_strict
import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems, thresholds

from rankwise import Preferences
from rankwise.pairs import compiled, portable, swept

engines = pytest.mark.parametrize("engine", ["compiled", "portable"])


def graph_of(problem, threshold, engine, n_jobs=None):
    labels, queries, weights, scores = problem
    return Preferences(labels, queries, weights, scheme=engine, n_jobs=n_jobs).active(scores, threshold)


def vectors(n, seed=0, columns=None):
    return np.random.default_rng(seed).normal(size=n if columns is None else (n, columns))


@engines
@given(problem=problems(), threshold=thresholds)
def test_sums_are_those_of_the_double_loop(engine, problem, threshold):
    A = oracle.adjacency(*problem, threshold)
    graph = graph_of(problem, threshold, engine)
    n = len(problem.labels)
    v, V = vectors(n), vectors(n, columns=3)
    assert graph.n_pairs == A.sum()
    np.testing.assert_array_equal(graph.degree, A.sum(0) + A.sum(1))
    np.testing.assert_array_equal(graph.balance, A.sum(1) - A.sum(0))
    for given_, expected in ((v, A @ v), (V, A @ V)):
        np.testing.assert_allclose(graph.below(given_), expected, rtol=1e-12, atol=1e-12)
    for given_, expected in ((v, A.T @ v), (V, A.T @ V)):
        np.testing.assert_allclose(graph.above(given_), expected, rtol=1e-12, atol=1e-12)
    laplacian = np.diag(A.sum(0) + A.sum(1)) - A - A.T
    np.testing.assert_allclose(graph.laplacian(V), laplacian @ V, rtol=1e-12, atol=1e-11)


@engines
@given(problem=problems(), threshold=thresholds, seed=st.integers(0, 99))
def test_laws(engine, problem, threshold, seed):
    graph = graph_of(problem, threshold, engine)
    n = len(problem.labels)
    u, v = vectors(n, seed), vectors(n, seed + 1)
    close = {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(u @ graph.below(v), v @ graph.above(u), **close)
    np.testing.assert_allclose(graph.laplacian(np.ones(n)), 0, **close)
    np.testing.assert_allclose(u @ graph.laplacian(v), v @ graph.laplacian(u), **close)
    assert v @ graph.laplacian(v) >= -1e-10


@given(problem=problems(), threshold=thresholds, shift=st.integers(-1000, 1000))
def test_only_differences_within_a_query_count(problem, threshold, shift):
    v = vectors(len(problem.labels))
    queries = problem.queries
    offset = shift * (np.zeros(len(v)) if queries is None else (queries == queries[0]).astype(float))
    moved = problem._replace(scores=problem.scores + offset)
    renamed = problem._replace(queries=None if queries is None else np.array([f"query {q}!" for q in queries]))
    relabelled = problem._replace(labels=np.exp(problem.labels / 10))
    expected = graph_of(problem, threshold, "compiled").laplacian(v)
    for other in (moved, renamed, relabelled):
        np.testing.assert_array_equal(graph_of(other, threshold, "compiled").laplacian(v), expected)


@given(problem=problems(), threshold=thresholds)
def test_the_portable_engine_uses_the_array_api_alone(problem, threshold):
    layout = Preferences(*problem[:3]).layout
    graph = portable.Engine(layout).ranked(array_api_strict.asarray(problem.scores)).active(threshold)
    v = vectors(len(problem.labels))
    expected = graph_of(problem, threshold, "portable").laplacian(v)
    np.testing.assert_array_equal(np.asarray(graph.laplacian(array_api_strict.asarray(v))), expected)


@pytest.mark.parametrize("n_levels", [3, 12, 13, 200, 10**9])
def test_many_documents_levels_and_queries(n_levels, monkeypatch):
    """Both engines, several pieces and both ways of keeping the levels, against sums over a dense matrix."""
    for module in (compiled, swept):
        monkeypatch.setattr(module, "PIECE", 100)
    rng = np.random.default_rng(n_levels)
    n = 1000
    labels, queries = rng.integers(0, n_levels, n), rng.integers(0, 4, n)
    scores, v = rng.normal(size=n), rng.normal(size=(n, 2))
    same = (queries[:, None] == queries) & (labels[:, None] > labels)
    A = (same & (scores[:, None] - scores < 1.0)).astype(float)
    for engine in ("compiled", "portable"):
        graph = Preferences(labels, queries, scheme=engine).active(scores, 1.0)
        assert graph.n_pairs == A.sum()
        np.testing.assert_allclose(graph.below(v), A @ v, rtol=1e-11, atol=1e-10)
        np.testing.assert_allclose(graph.above(v), A.T @ v, rtol=1e-11, atol=1e-10)


def test_threads_do_not_change_a_bit():
    rng = np.random.default_rng(5)
    n = 100_000
    labels, queries, scores, v = rng.integers(0, 40, n), rng.integers(0, 300, n), rng.normal(size=n), rng.normal(size=n)
    one, two = (Preferences(labels, queries, n_jobs=j).active(scores, 1.0).laplacian(v) for j in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(("labels", "most"), [("eight levels", 64), ("distinct", 300)])
def test_memory(labels, most):
    """Bytes a document beyond the input, for the preferences, one point and one product."""
    import tracemalloc

    rng = np.random.default_rng(0)
    n = 400_000
    y = rng.integers(0, 8, n).astype(float) if labels == "eight levels" else rng.normal(size=n)
    qid, scores = np.sort(rng.integers(0, 2000, n)), rng.normal(size=n)
    Preferences(y[:1000], qid[:1000]).active(scores[:1000], 1.0).laplacian(scores[:1000])  # compile
    tracemalloc.start()
    Preferences(y, qid).active(scores, 1.0).laplacian(scores)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak / n <= most
