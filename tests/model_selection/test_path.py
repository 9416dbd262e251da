"""The path over C: each point is the optimum that a fit of its own finds."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from rankwise import RankSVM, make_ranking
from rankwise.model_selection import c_path

DATA = make_ranking(n_queries=25, docs_per_query=12, n_features=6, random_state=0)
CS = 2.0 ** np.arange(-8, 5, 2)
EXACT = 1e-14


@pytest.mark.parametrize("direction", ["up", "down"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "huber:0.5"},
        {"solver": "trust-region"},
        {"normalize_pairs": "mean"},
        {"normalize_pairs": "query", "scope": "adjacent"},
        {"costs": "ndcg"},
    ],
)
def test_every_point_is_a_fit_of_its_own(direction, options):
    Cs = CS * (1000 if options.get("normalize_pairs") else 1)
    rows = np.random.default_rng(0).permutation(len(DATA))
    X, y, qid = DATA.X[rows], DATA.y[rows], DATA.qid[rows]
    path = c_path(X, y, qid, Cs, ranker=RankSVM(tol=EXACT, **options), direction=direction)
    for C, coef, result in zip(Cs, path.coef, path.results, strict=True):
        alone = RankSVM(C=C, tol=EXACT, **options).fit(X, y, qid)
        np.testing.assert_allclose(coef, alone.coef_, rtol=1e-5, atol=1e-7)
        assert result.value == pytest.approx(alone.result_.value, rel=1e-9)


def test_the_hinge_is_certified_along_the_path():
    path = c_path(DATA.X, DATA.y, DATA.qid, CS, ranker=RankSVM(loss="hinge", tol=1e-4))
    for C, result in zip(CS, path.results, strict=True):
        alone = RankSVM(C=C, loss="hinge", tol=1e-4).fit(DATA.X, DATA.y, DATA.qid).result_
        assert result.gap <= 1e-4 * result.value
        assert result.value == pytest.approx(alone.value, rel=2e-4)


def test_weights_reach_the_objective():
    weight = np.random.default_rng(1).random(len(DATA))
    path = c_path(DATA.X, DATA.y, DATA.qid, [0.1], ranker=RankSVM(tol=EXACT), sample_weight=weight)
    alone = RankSVM(C=0.1, tol=EXACT).fit(DATA.X, DATA.y, DATA.qid, weight)
    np.testing.assert_allclose(path.coef[0], alone.coef_, rtol=1e-6)


def test_any_order_of_cs_comes_back_in_that_order():
    given = [1.0, 0.01, 0.1]
    path = c_path(DATA.X, DATA.y, DATA.qid, given)
    sorted_path = c_path(DATA.X, DATA.y, DATA.qid, sorted(given))
    assert path.Cs.tolist() == given
    np.testing.assert_array_equal(path.coef, sorted_path.coef[[2, 0, 1]])


def test_a_path_takes_fewer_steps_than_its_fits():
    steps = sum(result.iterations for result in c_path(DATA.X, DATA.y, DATA.qid).results)
    alone = sum(RankSVM(C=2.0**k).fit(DATA.X, DATA.y, DATA.qid).n_iter_ for k in range(-15, 11))
    assert steps < 0.6 * alone


def test_faults():
    with pytest.raises(ValueError, match="Cs is empty"):
        c_path(DATA.X, DATA.y, DATA.qid, [])
    with pytest.raises(ValueError, match="Cs must be a positive number, got -1"):
        c_path(DATA.X, DATA.y, DATA.qid, [1.0, -1.0])
    with pytest.raises(ValueError, match="direction must be one of 'up', 'down'; got 'both'"):
        c_path(DATA.X, DATA.y, DATA.qid, direction="both")
    with pytest.warns(ConvergenceWarning, match=r"did not converge at C = 10: max_iter = 1"):
        c_path(DATA.X, DATA.y, DATA.qid, [10.0], ranker=RankSVM(max_iter=1, tol=1e-9))


def test_on_mq2008(read_parts):
    data = read_parts("mq2008", 1, 2, 3)
    Cs = [2.0**-5, 1.0, 2.0**5]
    path = c_path(data.X, data.y, data.qid, Cs, ranker=RankSVM(tol=1e-6))
    for C, result in zip(Cs, path.results, strict=True):
        alone = RankSVM(C=C, tol=1e-6).fit(data.X, data.y, data.qid).result_
        assert result.value == pytest.approx(alone.value, rel=1e-8)
