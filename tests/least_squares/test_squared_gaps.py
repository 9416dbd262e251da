"""RankRLS's risk against the double loop over compared pairs, and its objective on every engine."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from strategies import problems

from rankwise import RankRLS, make_ranking, open_chunks, write_chunks
from rankwise.foundation.devices import move, to_host
from rankwise.least_squares.regression import build, regression
from rankwise.objective import losses
from rankwise.objective import rows as features
from rankwise.objective.executors import Threads
from rankwise.objective.objective import Objective
from rankwise.objective.sums import Sum

CHOICES = [(ties, scaling) for ties in ("include", "exclude") for scaling in ("pairs", "query")]
NEAR = {"rtol": 1e-11, "atol": 1e-9}


def double_loop(scores, labels, queries, weights, ties, scaling):
    """Value, gradient and Hessian, pair by pair."""
    n = len(labels)
    queries = np.zeros(n) if queries is None else queries
    weights = np.ones(n) if weights is None else weights
    value, gradient, hessian = 0.0, np.zeros(n), np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            if queries[i] == queries[j] and (ties == "include" or labels[i] != labels[j]):
                weight = weights[i] * weights[j]
                if scaling == "query" and weight:
                    weight /= weights[queries == queries[i]].sum()
                gap = labels[i] - labels[j] - (scores[i] - scores[j])
                value += weight * gap**2
                direction = np.zeros(n)
                direction[i], direction[j] = 1.0, -1.0
                gradient -= 2 * weight * gap * direction
                hessian += 2 * weight * np.outer(direction, direction)
    return value, gradient, hessian


def executor_of(X, labels, queries, weights, ties, scaling, n_jobs=1):
    return build(X, labels, queries, weights, ties=ties, scaling=scaling, n_jobs=n_jobs)


def gathered(queries, n):
    """The order that brings the rows of each query together."""
    if queries is None:
        return np.arange(n)
    first = {q: list(queries).index(q) for q in set(queries)}
    return np.argsort([first[q] for q in queries], kind="stable")


@given(problem=problems(max_documents=15), choice=st.sampled_from(CHOICES))
def test_against_the_double_loop(problem, choice):
    labels, queries, weights, scores = problem
    n = labels.size
    order = gathered(queries, n)
    value, gradient, hessian = double_loop(scores, labels, queries, weights, *choice)
    risk = executor_of(np.zeros((n, 1)), labels, queries, weights, *choice).risk
    at = risk.at(scores[order])
    assert at.value == pytest.approx(value, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(at.gradient, gradient[order], **NEAR)
    ours = at.hessian_matrix()
    np.testing.assert_allclose(ours, hessian[np.ix_(order, order)], **NEAR)
    np.testing.assert_allclose(at.hessian(scores[order]), ours @ scores[order], **NEAR)
    half = at.half_hessian(np.eye(n))
    np.testing.assert_allclose(half + half.T, ours, **NEAR)
    assert (at.hessian_diagonal() >= np.diag(ours) - 1e-9).all()
    assert at.moved == pytest.approx(scores[order] @ ours @ scores[order] / 2, rel=1e-12, abs=1e-12)
    assert at.moment == pytest.approx(2 * value, rel=1e-12, abs=1e-12)
    assert risk.totals.sum() == pytest.approx(np.trace(hessian) / 4, rel=1e-12)
    parts = np.zeros(n) if queries is None else queries
    assert risk.any == any(np.ptp(labels[parts == q]) > 0 for q in set(parts))


@given(problem=problems(max_documents=20), choice=st.sampled_from(CHOICES), seed=st.integers(0, 99))
def test_some_queries(problem, choice, seed):
    """The share of a query is the same beside any others, for runs of queries and for numbers in any order."""
    labels, queries, weights, scores = problem
    scores = scores[gathered(queries, labels.size)]
    risk = executor_of(np.zeros((labels.size, 1)), labels, queries, weights, *choice).risk
    n_queries = risk.starts.size - 1
    chosen = np.random.default_rng(seed).permutation(n_queries)[: 1 + seed % n_queries]
    rows = np.concatenate([np.arange(risk.starts[q], risk.starts[q + 1]) for q in chosen])
    some = risk.select(chosen, rows, 1)
    at, whole = some.at(scores[rows]), risk.at(scores)
    np.testing.assert_allclose(at.gradient, whole.gradient[rows], **NEAR)
    np.testing.assert_allclose(at.hessian(scores[rows]), whole.hessian(scores)[rows], **NEAR)
    np.testing.assert_allclose(some.totals, risk.totals[chosen], **NEAR)
    run = slice(int(chosen[0]), n_queries)
    place = slice(int(risk.starts[chosen[0]]), labels.size)
    np.testing.assert_allclose(risk.select(run, place, 1).at(scores[place]).gradient, whole.gradient[place], **NEAR)


@pytest.mark.parametrize("choice", CHOICES)
def test_a_sample_estimates_the_whole(choice):
    data = make_ranking(n_queries=6, docs_per_query=(60, 90), n_features=2, random_state=0)
    executor = executor_of(data.X, data.y, data.qid, None, *choice)
    w = np.ones(2)
    samples = [Sum(executor.sampled(150, seed)).at(w).value for seed in range(200)]
    expected = Sum(executor).at(w).value
    assert np.mean(samples) == pytest.approx(expected, abs=4 * np.std(samples) / np.sqrt(len(samples)))
    assert 0 < np.std(samples) < expected


def engines(X, place):
    """The same rows, as each engine has them."""
    yield "dense", X
    yield "csr", sparse.csr_array(X)
    yield "disk", place
    try:
        import torch  # noqa: F401
    except ImportError:
        return
    yield "torch", move(X, "torch:cpu")


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("choice", CHOICES)
def test_the_objective_on_every_engine(choice, long, tmp_path, monkeypatch):
    data = make_ranking(n_queries=12, docs_per_query=(1, 20), n_features=4, random_state=0)
    if long:
        data.qid[: len(data) // 2] = data.qid[0]
    write_chunks(tmp_path / "rows", [data])
    monkeypatch.setattr(features, "BLOCK_BYTES", 1 << 10)
    monkeypatch.setattr(features, "LEAST_BLOCK", 1 << 9)
    alpha, w, v = 0.3, np.linspace(-1, 1, 4), np.array([1.0, 0.0, -2.0, 0.5])
    value, gradient, hessian = double_loop(data.X @ w, data.y, data.qid, None, *choice)
    for engine, X in engines(data.X, open_chunks(tmp_path / "rows")):
        on = (lambda x: move(x, "torch:cpu")) if engine == "torch" else np.asarray
        executor = executor_of(X, on(data.y), data.qid, None, *choice)
        assert len(executor.chunks) > 1 or engine == "torch"
        at = Objective(Sum(executor), 1 / (2 * alpha)).at(on(w))
        assert float(at.value) == pytest.approx((value + alpha * w @ w) / (2 * alpha), rel=1e-12), engine
        expected = w + data.X.T @ gradient / (2 * alpha)
        np.testing.assert_allclose(to_host(at.gradient), expected, rtol=1e-10, err_msg=engine)
        H = np.eye(4) + data.X.T @ hessian @ data.X / (2 * alpha)
        np.testing.assert_allclose(to_host(at.hessian(on(v))), H @ v, rtol=1e-10, err_msg=engine)
        np.testing.assert_allclose(to_host(at.hessian_matrix()), H, rtol=1e-10, atol=1e-9, err_msg=engine)


@pytest.mark.parametrize("choice", CHOICES)
def test_the_gradient_is_the_slope_of_the_value(choice):
    data = make_ranking(n_queries=5, docs_per_query=10, n_features=3, random_state=1)
    objective = regression(
        data.X, data.y, data.qid, np.linspace(0, 2, len(data)), ties=choice[0], scaling=choice[1], n_jobs=1
    ).objective(0.7)
    w, step = np.array([0.3, -1.0, 0.2]), 1e-4
    for direction in np.eye(3):
        above, below = objective.at(w + step * direction), objective.at(w - step * direction)
        slope = (above.value - below.value) / (2 * step)
        assert objective.at(w).gradient @ direction == pytest.approx(slope, rel=1e-6)
        np.testing.assert_allclose(
            objective.at(w).hessian(direction), (above.gradient - below.gradient) / (2 * step), rtol=1e-6, atol=1e-6
        )


def test_another_loss_is_refused():
    risk = executor_of(np.ones((2, 1)), np.arange(2.0), None, None, "include", "pairs").risk
    assert risk.with_loss(losses.squared()) is risk
    with pytest.raises(ValueError, match="least squares on differences of labels: loss hinge"):
        risk.with_loss(losses.hinge())


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("solver", ["auto", "primal", "cg"])
def test_rows_on_disk_give_the_model_of_rows_in_memory(form, solver, tmp_path, monkeypatch):
    data = make_ranking(n_queries=30, docs_per_query=(1, 20), n_features=4, random_state=0)
    data = replace(data, X=form(data.X * 10.0 ** np.array([0, 6, -6, 3])))
    write_chunks(tmp_path / "rows", [data])
    monkeypatch.setattr(features, "BLOCK_BYTES", 1 << 10)
    monkeypatch.setattr(features, "LEAST_BLOCK", 1 << 9)
    stored = open_chunks(tmp_path / "rows")
    for options in ({}, {"ties": "exclude", "scaling": "query"}):
        found = RankRLS(0.1, solver=solver, **options).fit(stored)
        expected = RankRLS(0.1, solver=solver, **options).fit(data.X, data.y, data.qid)
        assert found.n_queries_ == expected.n_queries_
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9)
        assert found.result_.value == pytest.approx(expected.result_.value, rel=1e-12)


def test_what_rows_on_disk_do_not_go_with(tmp_path):
    data = make_ranking(n_queries=3, n_features=2, random_state=0)
    write_chunks(tmp_path / "rows", [data])
    stored = open_chunks(tmp_path / "rows")
    for ranker, arguments, words in (
        (RankRLS(solver="dual"), (stored,), "solver 'dual' takes rows in memory"),
        (RankRLS(device="torch:cpu"), (stored,), "rows on disk are processed on the CPU"),
        (RankRLS(), (stored, data.y), "data on disk have labels and query ids already"),
    ):
        with pytest.raises(ValueError, match=words):
            ranker.fit(*arguments)


@pytest.mark.parametrize("solver", ["primal", "cg"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_number_on_disk_that_is_not_finite_is_named(bad, solver, tmp_path, monkeypatch):
    monkeypatch.setattr("rankwise.data.chunk_files.check_finite", lambda data: None)  # as if written by somebody else
    data = make_ranking(n_queries=3, n_features=2, random_state=0)
    data.X[4, 1] = bad
    write_chunks(tmp_path / "rows", [data])
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="every feature must be a finite number"):
        RankRLS(solver=solver).fit(open_chunks(tmp_path / "rows"))


def test_answers_are_merged_in_order_however_many_threads(monkeypatch):
    data = make_ranking(n_queries=40, docs_per_query=10, n_features=3, random_state=0)
    monkeypatch.setattr(features, "BLOCK_BYTES", 1 << 10)
    monkeypatch.setattr(features, "LEAST_BLOCK", 1 << 9)
    monkeypatch.setattr(features, "LANES", (2, 2))
    executors = [executor_of(data.X, data.y, data.qid, None, "include", "pairs", n_jobs) for n_jobs in (1, 3)]
    labels = [one.state(labels_of).merged(list, list.__add__, size=1) for one in executors]
    assert isinstance(executors[0], Threads)
    assert len(executors[0].chunks) > 4
    assert labels[0] == labels[1] == data.y.tolist()


def labels_of(chunk):
    return chunk.risk.labels.tolist()
