"""Dual coordinate ascent: against LinearSVC on the differences, Newton's optimum, and the conditions of optimality."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import LinearSVC
from strategies import problems

from rankwise import make_ranking
from rankwise.objective import losses
from rankwise.objective.building import Pairing, build, build_from_pairs
from rankwise.solvers import Newton, dual
from rankwise.solvers.dual import DualCoordinateAscent

DATA = make_ranking(n_queries=12, n_features=5, random_state=3)
X = (DATA.X - DATA.X.mean(0)) / DATA.X.std(0)
WEIGHTS = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
FORMATS = {
    "dense": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_array,
    "csr32": lambda X: sparse.csr_array(X.astype(np.float32)),
}


def objective(loss="hinge", C=0.1, convert=np.asarray, weights=None, pairing=None):
    loss = losses.parse(loss)
    return build(convert(X), DATA.y, DATA.qid, weights, loss=loss, C=C, pairing=pairing)


def preferred(problem, weights=None):
    """Every pair of some weight by the double loop, and its weight, in the objective's rows."""
    layout = problem.pairwise.preferences.layout
    found = {}
    for first, last in zip(layout.starts, layout.starts[1:], strict=False):
        for i in range(first, last):
            for j in range(first, last):
                weight = 1.0 if weights is None else weights[i] * weights[j]
                if layout.level[i] > layout.level[j] and weight:
                    found[i, j] = weight
    return found


@pytest.mark.parametrize("C", [1e-3, 1.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_agrees_with_linear_svc_on_the_differences(loss, C):
    result = DualCoordinateAscent(tol=1e-8, max_iter=20_000)(objective(loss, C))
    assert result.converged, result.message
    pairs = np.array(list(preferred(objective())))
    signs = np.where(np.arange(len(pairs)) % 2, 1, -1)
    differences = signs[:, None] * (X[pairs[:, 0]] - X[pairs[:, 1]])
    peer = LinearSVC(C=C, loss=loss, dual=True, fit_intercept=False, tol=1e-9, max_iter=10**6).fit(differences, signs)
    np.testing.assert_allclose(result.point, peer.coef_[0], rtol=1e-3, atol=1e-4)
    assert result.value <= objective(loss, C).at(peer.coef_[0]).value * (1 + 1e-7)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("loss", ["squared_hinge", "huber:0.5", "huber:3.0"])
def test_reaches_newtons_optimum(loss, format_, weights):
    problem = objective(loss, 0.3, FORMATS[format_], weights)
    result = DualCoordinateAscent(tol=1e-6, max_iter=5000)(problem)
    best = Newton(tol=1e-10)(problem).value
    assert result.converged
    assert best <= result.value * (1 + 1e-12)
    assert result.value - result.gap <= best * (1 + 1e-12)  # the gap is a bound, and no larger than promised
    assert result.gap <= 1e-6 * result.value


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "huber:0.5"])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_optimality(loss, weights):
    C = 0.05
    problem = objective(loss, C, weights=weights)
    result = DualCoordinateAscent(tol=1e-9, max_iter=20_000)(problem)
    assert result.converged
    expected = preferred(problem, weights)
    alpha = result.dual
    assert alpha.shape == (len(X), len(X))
    assert set(zip(*alpha.nonzero(), strict=True)) <= set(expected)
    marginals = alpha.sum(1) - alpha.sum(0)
    np.testing.assert_allclose(result.point, X.T @ marginals, rtol=1e-10, atol=1e-12)
    close = 2e-3
    for (i, j), weight in expected.items():
        slack = 1 - (X[i] - X[j]) @ result.point
        if loss == "squared_hinge":
            assert alpha[i, j] == pytest.approx(2 * C * weight * max(slack, 0), abs=close)
            continue
        assert 0 <= alpha[i, j] <= C * weight
        if loss == "huber:0.5":
            assert alpha[i, j] == pytest.approx(C * weight * min(max(slack / 0.5, 0), 1), abs=close)
            continue
        if slack > close:
            assert alpha[i, j] == C * weight
        elif slack < -close:
            assert alpha[i, j] == 0


@settings(max_examples=30)
@given(problem=problems(max_documents=20), seed=st.integers(0, 99), loss=st.sampled_from(["hinge", "squared_hinge"]))
def test_the_gap_certifies(problem, seed, loss):
    """Small integers: equal rows, queries of one level, pairs of no weight, as good as no pair at all."""
    labels, queries, weights, _ = problem
    features = np.random.default_rng(seed).integers(-2, 3, (len(labels), 3)).astype(float)
    f = build(features, labels, queries, weights, loss=losses.parse(loss), C=0.5)
    result = DualCoordinateAscent(tol=1e-6, max_iter=3000)(f)
    assert result.converged, result.message
    assert result.gap <= 1e-6 * result.value
    assert result.value == f.at(result.point).value
    dual = result.dual
    bound = dual.sum() - 0.5 * result.point @ result.point
    if loss == "squared_hinge":
        scales = np.ones(len(labels)) if weights is None else weights[f.order] if f.order is not None else weights
        i, j = dual.nonzero()
        bound -= (np.asarray(dual[i, j]) ** 2 / (4 * 0.5 * scales[i] * scales[j])).sum()
    assert result.value - result.gap == pytest.approx(bound, rel=1e-9, abs=1e-9)
    steps = [f.at(result.point + step).value for step in 0.01 * np.vstack((np.eye(3), -np.eye(3)))]
    assert min(steps) >= result.value - result.gap - 1e-12


@pytest.mark.parametrize(
    "pairing",
    [
        Pairing(scope="adjacent"),
        Pairing(costs="gain"),
        Pairing(costs="gain", rescaling="margin"),
        Pairing(costs=lambda better, worse: 1.0 + (better + worse) % 3),
        Pairing(normalize="query"),
    ],
    ids=["adjacent", "slack", "margin", "listed", "by query"],
)
def test_scopes_and_costs(pairing):
    problem = objective("squared_hinge", 0.1, weights=WEIGHTS, pairing=pairing)
    result = DualCoordinateAscent(tol=1e-7, max_iter=10_000)(problem)
    assert result.converged
    assert result.value == pytest.approx(Newton(tol=1e-10)(problem).value, rel=1e-7)


def test_pairs_given_as_a_list():
    pairs = [(0, 5), (3, 2), (2, 7), (0, 5)]
    problem = build_from_pairs(X, pairs, [1.0, 0.5, 0.0, 2.0], loss=losses.parse("squared_hinge"), C=1.0)
    result = DualCoordinateAscent(tol=1e-10)(problem)
    assert result.value == pytest.approx(Newton(tol=1e-12)(problem).value, rel=1e-9)
    assert set(zip(*result.dual.nonzero(), strict=True)) <= {(0, 5), (3, 2)}


def test_equal_rows_cost_what_they_must():
    problem = build(np.ones((2, 3)), [1, 0], loss=losses.hinge(), C=0.7)
    result = DualCoordinateAscent()(problem)
    assert result.converged
    assert result.value == 0.7
    assert result.dual[0, 1] == 0.7


def test_a_seed_settles_the_result():
    one, same, other = (DualCoordinateAscent(max_iter=3, random_state=seed)(objective()).point for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_says_why_it_stopped():
    seen = []
    stopped = DualCoordinateAscent(tol=1e-12)(objective(), None, lambda step: seen.append(step) or len(seen) == 3)
    assert not stopped.converged
    assert stopped.message == "stopped by the callback"
    assert seen == stopped.history
    short = DualCoordinateAscent(tol=1e-12, max_iter=2)(objective())
    assert short.iterations == 2
    assert "max_iter = 2 passes were not enough: the relative gap is" in short.message
    assert short.gap > 0


def test_the_bound_of_a_run_that_was_cut_short_includes_rounding():
    result = DualCoordinateAscent(max_iter=1)(objective())
    assert not result.converged
    assert result.gap > result.gap_estimate


def test_what_it_cannot_do_is_refused(monkeypatch):
    for loss in ("logistic", "squared"):
        with pytest.raises(ValueError, match=f"losses hinge, squared_hinge and huber: for {loss}"):
            DualCoordinateAscent()(objective(loss))
    two_corners = losses.Loss("kinked", (losses.Piece(1, 0, 1, 0), losses.Piece(0, -1, 1, 0)), smooth=False)
    with pytest.raises(ValueError, match="losses hinge, squared_hinge and huber: for kinked"):
        DualCoordinateAscent()(objective(two_corners))
    with pytest.raises(TypeError, match="solver 'dual' needs an objective that offers 'rows'"):
        DualCoordinateAscent()(object())
    monkeypatch.setattr(dual, "memory_at_hand", lambda: 1e4)
    with pytest.raises(ValueError, match=r"solver 'dual' lists every pair, and [0-9,]+ pairs take about [0-9,]+ MB"):
        DualCoordinateAscent()(objective())


@pytest.mark.slow
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_hinge_on_mq2008(read_parts, convert):
    data = read_parts("mq2008", 1, 2, 3)
    problem = build(convert(data.X), data.y, data.qid, loss=losses.hinge(), C=1.0)
    result = DualCoordinateAscent(tol=1e-7, max_iter=2000)(problem)
    assert result.converged
    assert result.value - result.gap <= 24916.6560  # an independent calculation: the optimum lies between these two
    assert result.value >= 24916.6535
    assert result.value <= 24916.6560 * (1 + 1e-7)
