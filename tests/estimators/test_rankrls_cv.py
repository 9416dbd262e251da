"""RankRLSCV: everything that is left out in closed form is left out for real as well."""

import numpy as np
import pytest
from scipy import sparse
from test_rankrls import CHOICES, DATA, fitted, written_out

from rankwise import evaluate, make_ranking
from rankwise.estimators.rankrls import RankRLS
from rankwise.estimators.rankrls_cv import RankRLSCV
from rankwise.least_squares import leave_pair_out as pairs_left_out
from rankwise.least_squares import spectral
from rankwise.least_squares.paths import path
from rankwise.least_squares.regression import regression

ALPHAS = 2.0 ** np.arange(-5, 11, 3)


@pytest.mark.parametrize("solver", ["primal", "dual"])
@pytest.mark.parametrize(("ties", "scaling"), CHOICES)
def test_every_query_left_out_for_real(ties, scaling, solver):
    rng = np.random.default_rng(3)
    data = make_ranking(n_queries=9, docs_per_query=(1, 30), n_features=5, random_state=4)
    order = rng.permutation(len(data))
    X, y, qid = np.column_stack((data.X, np.zeros(len(data))))[order], data.y[order], data.qid[order]
    for weight in (None, rng.random(len(data))):
        for alpha in ALPHAS:
            model = RankRLSCV([alpha], ranker=RankRLS(ties=ties, scaling=scaling, solver=solver)).fit(X, y, qid, weight)
            check_predictions(model, X, y, qid, weight)


def check_predictions(model, X, y, qid, weight=None):
    """The model's against those of a fit without the query, for each."""
    options = {name: getattr(model.best_ranker_, name) for name in ("alpha", "ties", "scaling")}
    for query in np.unique(qid):
        stay = qid != query
        w = fitted(X[stay], y[stay], qid[stay], None if weight is None else weight[stay], **options)
        np.testing.assert_allclose(model.cv_predictions_[~stay], X[~stay] @ w, rtol=1e-8, atol=1e-8)


def test_short_and_long_queries_left_out_in_two_ways(monkeypatch):
    data = make_ranking(n_queries=12, docs_per_query=(2, 60), n_features=45, random_state=1)
    monkeypatch.setattr(spectral, "CALLS", 0.0)
    pays = spectral.reduction_pays(np.unique(data.qid, return_counts=True)[1], 45, 1)
    assert set(pays) == {True, False}
    model = RankRLSCV([3.0], ranker=RankRLS(ties="exclude", solver="primal")).fit(data.X, data.y, data.qid)
    check_predictions(model, data.X, data.y, data.qid)


@pytest.mark.parametrize("n_features", [3, 40])
@pytest.mark.parametrize(("ties", "scaling"), CHOICES)
@pytest.mark.filterwarnings("ignore:no preference pair")
def test_every_pair_left_out_for_real(ties, scaling, n_features):
    rng = np.random.default_rng(5)
    for n, kind in ((2, "plain"), (3, "plain"), (12, "plain"), (10, "levels of two"), (12, "copies"), (9, "real")):
        X, y = rng.normal(size=(n, n_features)), np.append([0, 1], rng.integers(0, 3, n - 2)).astype(float)
        y = np.arange(n) // 2.0 if kind == "levels of two" else y
        weight = {"copies": rng.integers(1, 3, n).astype(float), "real": rng.random(n)}.get(kind)
        problem = regression(X, y, None, weight, ties=ties, scaling=scaling, n_jobs=1)
        spectrum = path(problem, ALPHAS, n_features <= n).spectrum
        found = pairs_left_out.leave_pair_out(problem, spectrum, ALPHAS, scaling)
        expected = []
        for i, j in np.argwhere(y[:, None] > y):
            stay = np.setdiff1d(np.arange(n), (i, j))
            some = None if weight is None else weight[stay]
            models = [
                written_out(X[stay], y[stay], None, some, alpha, ties, scaling) if stay.size else np.zeros(n_features)
                for alpha in ALPHAS
            ]
            expected.append((X[i] - X[j]) @ np.transpose(models))
        assert len(found.margins) == len(expected)
        ours, theirs = (np.array(sorted(map(tuple, one))) for one in (found.margins, expected))
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8)


def test_pairs_are_drawn_where_there_are_too_many(monkeypatch):
    full = RankRLSCV(ALPHAS).fit(DATA.X, DATA.y)
    monkeypatch.setattr(pairs_left_out, "MOST_PAIRS", 3_000)
    some = RankRLSCV(ALPHAS).fit(DATA.X, DATA.y)
    assert np.abs(some.scores_ - full.scores_).max() < 0.03
    assert (some.scores_ != full.scores_).any()
    monkeypatch.setattr(pairs_left_out, "MOST_SPECTRA", 50)
    weight = np.random.default_rng(0).random(len(DATA))
    assert np.isfinite(
        RankRLSCV(ALPHAS, ranker=RankRLS(ties="exclude")).fit(DATA.X, DATA.y, None, weight).scores_
    ).all()


@pytest.mark.parametrize("solver", ["primal", "dual"])
@pytest.mark.parametrize(("ties", "scaling"), CHOICES)
def test_a_path_value_is_a_fresh_fit(ties, scaling, solver):
    model = RankRLSCV(ranker=RankRLS(ties=ties, scaling=scaling, solver=solver)).fit(DATA.X, DATA.y, DATA.qid)
    assert model.coef_path_.shape == (26, 6)
    for alpha, coef in zip(model.alphas_, model.coef_path_, strict=True):
        fresh = fitted(alpha=alpha, ties=ties, scaling=scaling)
        np.testing.assert_allclose(coef, fresh, rtol=1e-8, atol=1e-10)
    chosen = RankRLS(model.alpha_, ties, scaling).fit(DATA.X, DATA.y, DATA.qid)
    np.testing.assert_allclose(model.coef_, chosen.coef_, rtol=1e-8)
    assert model.result_.value == pytest.approx(chosen.result_.value)


def test_the_scores_are_those_of_the_predictions():
    X, y, qid = DATA.X, DATA.y, DATA.qid
    for measure in ("ndcg@10", "pairwise-accuracy", "map"):
        model = RankRLSCV(ALPHAS, measure=measure).fit(X, y, qid)
        best = int(np.argmax(model.scores_))
        assert model.alpha_ == ALPHAS[best]
        found = evaluate(y, model.cv_predictions_, qid, measure)
        assert model.best_score_ == found[measure] == model.scores_[best]
        np.testing.assert_array_equal(model.cv_values_[:, best], found.per_query[measure])
    model = RankRLSCV(ALPHAS, measure="squared-error").fit(X, y, qid)
    gap = y - model.cv_predictions_
    alike = np.tril(qid[:, None] == qid, -1)
    assert model.best_score_ == pytest.approx(-((gap[:, None] - gap) ** 2)[alike].mean(), rel=1e-9)


def test_queries_that_cannot_be_judged():
    """One document, one level, weight 0: no value, and no harm."""
    X = np.vstack((DATA.X, DATA.X[:4]))
    y, qid = np.append(DATA.y, [1, 3, 3, 0]), np.append(DATA.qid, [-1, -2, -2, -3])
    weight = np.append(np.ones(len(DATA) + 3), 0.0)
    model = RankRLSCV(ALPHAS, ranker=RankRLS(ties="exclude")).fit(X, y, qid, weight)
    assert np.isnan(model.cv_values_[-3:]).all()
    np.testing.assert_allclose(
        model.scores_, RankRLSCV(ALPHAS, ranker=RankRLS(ties="exclude")).fit(DATA.X, DATA.y, DATA.qid).scores_
    )


def test_a_single_query_is_judged_pair_by_pair():
    rows = slice(0, 40)
    X, y = DATA.X[rows], DATA.y[rows]
    right = []
    for i, j in np.argwhere(y[:, None] > y):
        stay = np.setdiff1d(np.arange(40), (i, j))
        right.append((X[i] - X[j]) @ fitted(X[stay], y[stay], None, alpha=8.0) > 0)
    assert RankRLSCV([8.0]).fit(X, y).best_score_ == pytest.approx(np.mean(right))
    with pytest.raises(ValueError, match=r"if there is only one query; got 'ndcg@10'"):
        RankRLSCV(measure="ndcg@10").fit(X, y)


def test_of_equal_scores_the_largest_alpha():
    X, y, qid = np.array([[1.0], [0.0], [3.0], [1.0]]), [1, 0, 1, 0], [1, 1, 2, 2]
    assert RankRLSCV([1e-3, 10.0, 1.0]).fit(X, y, qid).alpha_ == 10.0


def test_real_data(read_parts):
    data = read_parts("mq2008", 1, 2, 3)
    model = RankRLSCV(measure="ndcg@10").fit(data.X, data.y, data.qid)
    queries = np.unique(data.qid)[::97]
    for query in queries:
        stay = data.qid != query
        w = fitted(data.X[stay], data.y[stay], data.qid[stay], alpha=model.alpha_)
        np.testing.assert_allclose(model.cv_predictions_[~stay], data.X[~stay] @ w, rtol=1e-8, atol=1e-8)


def test_agrees_with_rlscore_on_what_it_left_out():
    """Scores of left-out queries as RLScore 0.8.1's QueryRankRLS(regparam=0.5) gives them."""
    n = np.arange(12)
    X, y, qid = np.column_stack((n * 7 % 5, n * n % 7, n % 4)).astype(float), n * 5 % 3, n // 4
    left_out = [
        -2.356727394731778e-17, -0.40965159460316813, -1.2728460260884156, -0.5932222367365215,
        -0.020355311545036198, -1.015072253586779, 0.36473817786294993, 1.166519915056711,
        0.3826219512195119, 0.8704268292682922, -0.5548780487804872, -0.06707317073170704,
    ]  # fmt: skip
    model = RankRLSCV([0.5], ranker=RankRLS(scaling="query")).fit(X, y, qid)
    np.testing.assert_allclose(model.cv_predictions_, left_out, rtol=1e-12, atol=1e-12)


def test_threads_storage_and_precision_do_not_matter():
    data = make_ranking(n_queries=300, docs_per_query=40, n_features=30, random_state=0)  # several blocks
    one, two = (RankRLSCV(ALPHAS, n_jobs=n).fit(data.X, data.y, data.qid) for n in (1, 2))
    np.testing.assert_array_equal(one.cv_values_, two.cv_values_)
    np.testing.assert_array_equal(one.coef_path_, two.coef_path_)
    single = data.X.astype(np.float32)
    for X in (sparse.csr_array(single), single):
        other = RankRLSCV(ALPHAS).fit(X, data.y, data.qid)
        exact = RankRLSCV(ALPHAS).fit(single.astype(np.float64), data.y, data.qid)
        np.testing.assert_allclose(other.coef_path_, exact.coef_path_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(other.cv_predictions_, exact.cv_predictions_, rtol=1e-9, atol=1e-9)
