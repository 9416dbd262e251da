"""The baselines against finite differences, double loops, and RankBoost's own bound."""

import numpy as np
import pytest
from experiments.baselines import ListNet, RankBoost, RankNet
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import check_grad
from scipy.special import softmax

from rankwise import RankSVM, load_sample


@st.composite
def problems(draw):
    """Few small integers, so that labels, features and queries tie; at least one pair."""
    n = draw(st.integers(3, 12))
    column = st.lists(st.integers(0, 3), min_size=n, max_size=n)
    X = np.array([draw(column), draw(column)], dtype=float).T
    y, qid = np.array(draw(column), dtype=float), np.array(draw(column))
    y[0], y[1], qid[1] = 0, 1, qid[0]
    return X, y, qid


def pairs(y, qid):
    return [(i, j) for i in range(len(y)) for j in range(len(y)) if qid[i] == qid[j] and y[i] > y[j]]


@pytest.mark.parametrize("ranker", [RankNet(), ListNet()], ids=type)
@given(problem=problems(), seed=st.integers(0, 99))
def test_gradients_are_slopes(ranker, problem, seed):
    _, y, qid = problem
    loss = ranker.loss(y, qid)
    scores = np.random.default_rng(seed).normal(0, 2, y.size)
    assert check_grad(lambda s: loss(s)[0], lambda s: loss(s)[1], scores) < 1e-6


@given(problem=problems())
def test_ranknet_is_the_logistic_loss_of_the_pairs(problem):
    X, y, qid = problem
    scores = X[:, 0]
    wanted = np.mean([np.log1p(np.exp(scores[j] - scores[i])) for i, j in pairs(y, qid)])
    assert RankNet().loss(y, qid)(scores)[0] == pytest.approx(wanted)


@given(problem=problems())
def test_listnet_is_the_cross_entropy_of_who_comes_first(problem):
    X, y, qid = problem
    scores = X[:, 0]
    wanted = [-softmax(y[qid == q]) @ np.log(softmax(scores[qid == q])) for q in np.unique(qid)]
    assert ListNet().loss(y, qid)(scores)[0] == pytest.approx(np.mean(wanted))


def test_linear_ranknet_is_ranksvm_with_the_logistic_loss():
    data = load_sample()
    X = data.X / np.abs(data.X).max(axis=0)
    net = RankNet(alpha=0.01, max_iter=1000).fit(X, data.y, data.qid)
    svm = RankSVM(C=100, loss="logistic:1e-4", normalize_pairs="mean", tol=1e-7).fit(X, data.y, data.qid)
    assert_allclose(net.coef_, svm.coef_, atol=2e-3 * np.abs(svm.coef_).max())


def test_rankboost_by_hand():
    """Four documents, best first; x > 1.5 has the two best above: 4 pairs of 6 told apart, none wrongly."""
    X, y = np.array([[2.0], [3.0], [1.0], [0.0]]), np.array([3, 2, 1, 0])
    model = RankBoost(1).fit(X, y, np.zeros(4))
    r = 4 / 6
    assert model.rounds_ == [(0, 1.5, pytest.approx(0.5 * np.log((1 + r) / (1 - r))))]
    # Four pairs shrink by exp(-a) = sqrt((1-r)/(1+r)), the two others stay.
    assert model.factors_ == [pytest.approx(4 / 6 * np.sqrt((1 - r) / (1 + r)) + 2 / 6)]
    assert (model.predict(X) > 0).tolist() == [True, True, False, False]


@given(problem=problems())
def test_rankboost_keeps_its_bound(problem):
    X, y, qid = problem
    model = RankBoost(8).fit(X, y, qid)
    bound = np.concatenate([[1.0], np.cumprod(model.factors_)])
    scores = [np.zeros(y.size), *model.staged_predict(X)]
    for staged, limit in zip(scores, bound, strict=True):
        wrong = np.mean([staged[i] <= staged[j] for i, j in pairs(y, qid)])
        assert wrong <= limit + 1e-9
    r = np.tanh([weight for *_, weight in model.rounds_])
    assert (np.array(model.factors_) <= np.sqrt(1 - r**2) + 1e-9).all()


@given(problem=problems())
def test_rankboost_takes_the_best_split(problem):
    X, y, qid = problem
    listed = pairs(y, qid)
    best = 0.0
    for column in X.T:
        for threshold in np.unique(column)[:-1] + 0.5:
            above = column > threshold
            best = max(best, abs(np.mean([float(above[i]) - float(above[j]) for i, j in listed])))
    rounds = RankBoost(1).fit(X, y, qid).rounds_
    found = abs(np.tanh(rounds[0][2])) if rounds else 0.0
    assert found == pytest.approx(best, abs=1e-6)


def test_rows_may_come_in_any_order():
    data = load_sample()
    mixed = data.select(np.random.default_rng(0).permutation(len(data)))
    for ranker in (RankNet(), ListNet(), RankBoost(5)):
        plain = ranker.fit(data.X, data.y, data.qid).predict(data.X)
        again = ranker.fit(mixed.X, mixed.y, mixed.qid).predict(data.X)
        assert_allclose(again, plain, rtol=1e-3, atol=1e-3 * np.abs(plain).max())
