"""The Laplacian of compared pairs against the one written out, and against the pair engines."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems

from rankwise import Preferences
from rankwise.least_squares.comparisons import compare
from rankwise.pairs.queries import Queries

CHOICES = [(ties, scaling) for ties in ("include", "exclude") for scaling in ("pairs", "query")]


def laplacian(labels, queries, weights, ties, scaling):
    """D - W, pair by pair."""
    n = len(labels)
    queries = np.zeros(n) if queries is None else queries
    weights = np.ones(n) if weights is None else weights
    W = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j and queries[i] == queries[j] and (ties == "include" or labels[i] != labels[j]):
                W[i, j] = weights[i] * weights[j]
                if scaling == "query" and W[i, j]:
                    W[i, j] /= weights[queries == queries[i]].sum()
    return np.diag(W.sum(axis=1)) - W


@given(problem=problems(max_documents=20), choice=st.sampled_from(CHOICES))
def test_against_the_matrix_written_out(problem, choice):
    labels, queries, weights, scores = problem
    L = laplacian(labels, queries, weights, *choice)
    ours = compare(labels, Queries(queries, labels.size), weights, *choice)
    V = np.column_stack((scores, labels, np.arange(labels.size) % 3))
    near = {"rtol": 1e-12, "atol": 1e-9}
    np.testing.assert_allclose(ours.laplacian(V), L @ V, **near)
    np.testing.assert_allclose(ours.laplacian(scores.astype(np.float32)), L @ scores, **near)
    pulled, form = ours.form(scores + 1e3)
    np.testing.assert_allclose(pulled, L @ scores, **near)
    assert form == pytest.approx(scores @ L @ scores, rel=1e-12, abs=1e-12)
    roots = ours.root(np.eye(labels.size))
    np.testing.assert_allclose(roots.T @ roots, L, **near)
    np.testing.assert_allclose(ours.transposed_root(ours.root(V)), L @ V, **near)
    by_query = np.bincount(Queries(queries, labels.size).codes, np.diag(L)) / 2
    np.testing.assert_allclose(ours.pairs_by_query, by_query, **near)


@given(problem=problems())
def test_ties_excluded_is_the_graph_of_all_preferences(problem):
    labels, queries, weights, scores = problem
    graph = Preferences(labels, queries, weights).active(np.zeros(labels.size), np.inf)
    ours = compare(labels, Queries(queries, labels.size), weights, "exclude", "pairs")
    np.testing.assert_allclose(ours.laplacian(scores), graph.laplacian(scores), rtol=1e-12, atol=1e-9)
    assert ours.pairs_by_query.sum() == pytest.approx(graph.n_pairs)


@pytest.mark.parametrize("choice", CHOICES)
def test_a_part_is_its_block(choice):
    rng = np.random.default_rng(0)
    labels, codes = rng.integers(0, 3, 30).astype(float), np.repeat([0, 1, 2, 3], [7, 1, 12, 10])
    weights, v = rng.random(30), rng.normal(size=(30, 2))
    ours = compare(labels, Queries(codes, 30), weights, *choice)
    part = ours.select(slice(1, 3), slice(7, 20))
    np.testing.assert_allclose(part.root(v[7:20]), ours.root(v)[7:20], rtol=1e-14)
    np.testing.assert_allclose(part.laplacian(v[7:20]), ours.laplacian(v)[7:20], rtol=1e-12, atol=1e-12)
    blocks = [(rows, v[7:20][rows].copy()) for rows in (slice(0, 5), slice(5, 13))]
    shifts = part.root_shifts(blocks, 2)
    pieces = [part.rooted(values, rows, shifts) for rows, values in blocks]
    np.testing.assert_allclose(np.vstack(pieces), part.root(v[7:20]), rtol=1e-12, atol=1e-12)


def test_a_common_offset_costs_few_digits():
    rng = np.random.default_rng(0)
    labels, codes, v = rng.integers(0, 3, 200).astype(float), np.repeat(np.arange(10), 20), rng.normal(size=200)
    for ties in ("include", "exclude"):
        ours = compare(labels, Queries(codes, 200), None, ties, "pairs")
        np.testing.assert_allclose(ours.root(v + 1e6), ours.root(v), atol=1e-7)
        np.testing.assert_allclose(ours.form(v + 1e6)[0], ours.form(v)[0], atol=1e-6)
        assert ours.form(v + 1e6)[1] == pytest.approx(ours.form(v)[1], rel=1e-9)
