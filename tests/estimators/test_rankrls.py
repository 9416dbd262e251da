"""RankRLS: scikit-learn's checks, the Laplacian written out, and what must not matter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks
from strategies import problems

from rankwise import RankSVM, make_ranking
from rankwise.estimators.rankrls import RankRLS
from rankwise.estimators.rankrls_cv import RankRLSCV
from rankwise.least_squares.parts import Part
from rankwise.least_squares.regression import cheapest, regression

DATA = make_ranking(n_queries=25, docs_per_query=12, n_features=6, random_state=0)
CHOICES = [(ties, scaling) for ties in ("include", "exclude") for scaling in ("pairs", "query")]
SOLVERS = ("primal", "dual", "cg")


@parametrize_with_checks(
    [
        RankRLS(),
        RankRLS(ties="exclude", solver="dual"),
        RankRLS(scaling="query", solver="cg"),
        RankRLSCV(),
        RankRLSCV(ranker=RankRLS(ties="exclude", solver="dual")),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


def fitted(X=DATA.X, y=DATA.y, qid=DATA.qid, weight=None, **params):
    return RankRLS(**({"alpha": 0.3, "tol": 1e-13} | params)).fit(X, y, qid, weight).coef_


def written_out(X, y, qid, weight, alpha, ties, scaling):
    """(XᵀLX + alpha I)⁻¹ XᵀLy by numpy.linalg, L from the matrix of pairs."""
    n = len(y)
    qid = np.zeros(n) if qid is None else np.asarray(qid)
    weight = np.ones(n) if weight is None else weight
    W = (qid[:, None] == qid) * np.outer(weight, weight)
    if ties == "exclude":
        W = W * (y[:, None] != y)
    if scaling == "query":
        W = W / np.maximum([weight[qid == q].sum() for q in qid], 1e-300)[:, None]
    L = np.diag(W.sum(axis=1)) - W
    return np.linalg.solve(X.T @ L @ X + alpha * np.eye(X.shape[1]), X.T @ L @ y)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("ties", "scaling"), CHOICES)
def test_solves_the_equations_of_the_paper(ties, scaling, solver):
    weight = np.random.default_rng(1).random(len(DATA))
    for weights in (None, weight):
        expected = written_out(DATA.X, DATA.y, DATA.qid, weights, 0.3, ties, scaling)
        found = fitted(weight=weights, ties=ties, scaling=scaling, solver=solver)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


@given(problem=problems(max_documents=15), choice=st.sampled_from(CHOICES), solver=st.sampled_from(SOLVERS))
@pytest.mark.filterwarnings("ignore:no preference pair")
def test_tiny_problems_with_ties(problem, choice, solver):
    y, qid, weight, scores = problem
    if weight is not None and not weight.any():
        return
    X = np.column_stack((scores, np.arange(y.size) % 3, (scores * y) % 2, scores - 1))
    expected = written_out(X, y, qid, weight, 0.5, *choice)
    found = fitted(X, y, qid, weight, alpha=0.5, ties=choice[0], scaling=choice[1], solver=solver)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_the_objective_is_the_sum_over_pairs():
    rows = slice(0, 60)
    X, y, qid = DATA.X[rows], DATA.y[rows], DATA.qid[rows]
    for ties in ("include", "exclude"):
        ranker = RankRLS(0.7, ties).fit(X, y, qid)
        s = ranker.predict(X)
        total = sum(
            (y[i] - y[j] - (s[i] - s[j])) ** 2
            for i in range(60)
            for j in range(i)
            if qid[i] == qid[j] and (ties == "include" or y[i] != y[j])
        )
        assert ranker.result_.value == pytest.approx(total + 0.7 * ranker.coef_ @ ranker.coef_, rel=1e-12)
        assert ranker.result_.converged
        assert ranker.result_.gradient_norm < 1e-9 * ranker.result_.value


def test_what_must_not_matter():
    shuffle = np.random.default_rng(0).permutation(len(DATA))
    for ties in ("include", "exclude"):
        expected = fitted(ties=ties)
        same = {
            "row order": fitted(DATA.X[shuffle], DATA.y[shuffle], DATA.qid[shuffle], ties=ties),
            "query names": fitted(qid=np.array([f"q{q * 7919 % 10007}" for q in DATA.qid]), ties=ties),
            "a shift of the labels by query": fitted(y=DATA.y + DATA.qid % 5, ties=ties),
            "a shift of the features": fitted(X=DATA.X + 5, ties=ties),
            "one-document queries": fitted(
                np.vstack((DATA.X, DATA.X[:2])), np.append(DATA.y, [9, 0]), np.append(DATA.qid, [-1, -2]), ties=ties
            ),
            "fortran order": fitted(X=np.asfortranarray(DATA.X), ties=ties),
            "unit weights": fitted(weight=np.ones(len(DATA)), ties=ties),
        }
        for solver in SOLVERS:
            same[f"sparse, {solver}"] = fitted(X=sparse.csr_array(DATA.X), ties=ties, solver=solver)
        for what, coef in same.items():
            np.testing.assert_allclose(coef, expected, rtol=1e-9, atol=1e-11, err_msg=what)
        np.testing.assert_array_equal(fitted(ties=ties, n_jobs=1), fitted(ties=ties, n_jobs=2))
    extra = np.vstack((DATA.X, DATA.X[:3])), np.append(DATA.y, [2, 2, 2]), np.append(DATA.qid, [-1, -1, -1])
    np.testing.assert_allclose(fitted(*extra, ties="exclude"), fitted(ties="exclude"), rtol=1e-9)
    assert np.abs(fitted(*extra, ties="include") - fitted(ties="include")).max() > 1e-4  # tied documents draw together


@pytest.mark.parametrize("solver", SOLVERS)
def test_weights_are_copies(solver):
    copies = np.random.default_rng(1).integers(0, 3, len(DATA))
    rows = np.repeat(np.arange(len(DATA)), copies)
    for ties, scaling in CHOICES:
        options = {"ties": ties, "scaling": scaling, "solver": solver}
        repeated = fitted(DATA.X[rows], DATA.y[rows], DATA.qid[rows], **options)
        np.testing.assert_allclose(fitted(weight=copies.astype(float), **options), repeated, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
def test_float32_is_kept_and_agrees(solver):
    X = DATA.X.astype(np.float32)
    single = RankRLS(solver=solver, tol=1e-12).fit(X, DATA.y, DATA.qid)
    np.testing.assert_allclose(single.coef_, fitted(X=X.astype(float), alpha=1.0), rtol=1e-8)
    assert single.predict(X).dtype == np.float64


def test_without_query_ids_and_ties_it_is_ridge_regression():
    """One query of n documents: L is n times centring, which an intercept does as well."""
    found = fitted(qid=None, alpha=2.0)
    np.testing.assert_allclose(found, Ridge(2.0 / len(DATA)).fit(DATA.X, DATA.y).coef_, rtol=1e-9)


def test_a_query_much_larger_than_a_block(monkeypatch):
    data = make_ranking(n_queries=3, docs_per_query=(50, 900), n_features=4, random_state=2)
    for ties in ("include", "exclude"):
        expected = fitted(data.X, data.y, data.qid, ties=ties)
        blocks = list(_small_blocks(monkeypatch, data, ties).whole._blocks())
        assert len(blocks) > 20
        np.testing.assert_allclose(fitted(data.X, data.y, data.qid, ties=ties), expected, rtol=1e-9)
        monkeypatch.undo()


def _small_blocks(monkeypatch, data, ties):
    monkeypatch.setattr(Part, "piece_rows", 16)
    return regression(data.X, data.y, data.qid, None, ties=ties, scaling="pairs", n_jobs=2)


def test_dual_coefficients_give_the_weights():
    shuffle = np.random.default_rng(0).permutation(len(DATA))
    X = DATA.X[shuffle]
    ranker = RankRLS(solver="dual", ties="exclude").fit(X, DATA.y[shuffle], DATA.qid[shuffle])
    np.testing.assert_allclose(X.T @ ranker.dual_coef_, ranker.coef_, rtol=1e-8)
    assert not hasattr(ranker.set_params(solver="primal").fit(X, DATA.y[shuffle]), "dual_coef_")


def test_which_solver_is_taken():
    assert cheapest(42_000, 46, 42_000 * 46) == "primal"
    assert cheapest(200, 100_000, 200 * 100_000) == "dual"
    assert cheapest(1_000_000, 100_000, 30_000_000) == "cg"
    assert cheapest(50_000, 50_000, 2_500_000) == "cg"
    wide = sparse.random_array((300, 4000), density=0.01, format="csr", rng=0)
    y = np.arange(300.0) % 4
    auto, direct = (RankRLS(0.1, solver=s, tol=1e-12).fit(wide, y, np.arange(300) // 10) for s in ("auto", "dual"))
    assert "conjugate" in auto.result_.message
    np.testing.assert_allclose(auto.coef_, direct.coef_, rtol=1e-7, atol=1e-9)


def test_warnings():
    with pytest.warns(UserWarning, match="no preference pair"):
        assert not RankRLS().fit(DATA.X, np.ones(len(DATA)), DATA.qid).coef_.any()
    with pytest.warns(ConvergenceWarning, match="max_iter = 2 products"):
        RankRLS(solver="cg", max_iter=2).fit(DATA.X, DATA.y, DATA.qid)


@pytest.mark.parametrize(
    ("ranker", "words"),
    [
        (RankRLS(0), "alpha must be a positive number, got 0"),
        (RankRLS(ties="drop"), "ties must be one of 'include', 'exclude'; got 'drop'"),
        (RankRLS(scaling="mean"), "scaling must be one of 'pairs', 'query'; got 'mean'"),
        (RankRLS(solver="svd"), "solver is 'svd': there are 'auto', 'primal', 'dual', 'cg'"),
        (RankRLS(solver="cg", tol=0), "tol must be a positive number"),
        (RankRLSCV([]), "alphas is empty"),
        (RankRLSCV([1, -1]), "alphas must be a positive number"),
        (RankRLSCV(measure="ndgc"), "Did you mean 'ndcg'"),
        (RankRLSCV(ranker=RankRLS(solver="cg")), "solver is 'cg': there are 'auto', 'primal', 'dual'; cv=5 chooses"),
        (RankRLSCV(ranker=RankSVM()), "ranker is a RankSVM: it must be a RankRLS"),
        (RankRLSCV(cv=3, measure="squared-error"), "needs every query left out exactly: leave cv out"),
    ],
)
def test_bad_parameters_are_one_sentence(ranker, words):
    with pytest.raises(ValueError, match=words):
        ranker.fit(DATA.X, DATA.y, DATA.qid)


def test_agrees_with_rlscore():
    """Weights as RLScore 0.8.1's QueryRankRLS(regparam=0.5) gives them."""
    n = np.arange(12)
    X, y, qid = np.column_stack((n * 7 % 5, n * n % 7, n % 4)).astype(float), n * 5 % 3, n // 4
    weights = [0.13369151897874637, -0.10760847423100439, -0.03965505534053097]
    np.testing.assert_allclose(RankRLS(0.5, scaling="query").fit(X, y, qid).coef_, weights, rtol=1e-12)
