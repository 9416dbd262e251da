"""Kernel rankers: scikit-learn's checks, the linear ranker on the same data, and Newton's method on β itself."""

import warnings

import numpy as np
import oracle
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankwise import RankSVM, evaluate, make_ranking
from rankwise.estimators.kernel import KernelRankSVM
from rankwise.estimators.kernel_rankrls import KernelRankRLS
from rankwise.estimators.rankrls import RankRLS

DATA = make_ranking(n_queries=12, docs_per_query=10, n_features=5, random_state=0)
X = (DATA.X - DATA.X.mean(axis=0)) / DATA.X.std(axis=0)
TEST = make_ranking(n_queries=6, docs_per_query=10, n_features=5, random_state=1).X
EXACT = {"tol": 1e-10, "C": 0.1}


@parametrize_with_checks(
    [
        KernelRankSVM(),
        KernelRankSVM(kernel="precomputed"),
        KernelRankSVM(kernel="laplacian"),
        KernelRankRLS(),
        KernelRankRLS(kernel="precomputed"),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


def fitted(objects=X, **params):
    return KernelRankSVM(**(EXACT | params)).fit(objects, DATA.y, DATA.qid)


def newton_in_beta(K, y, qid, C):
    """½ β·Kβ + C Σ max(0, 1 - (Kβ)_i + (Kβ)_j)² over listed pairs: β by Newton steps on the active ones."""
    pairs = np.array(oracle.pairs(y, qid))
    D = np.zeros((len(pairs), len(y)))
    D[np.arange(len(pairs)), pairs[:, 0]] = 1
    D[np.arange(len(pairs)), pairs[:, 1]] = -1

    def value(beta):
        return 0.5 * beta @ K @ beta + C * np.square(np.maximum(0, 1 - D @ K @ beta)).sum()

    beta = np.zeros(len(y))
    for _ in range(100):
        active = D[D @ K @ beta < 1]
        # K β + 2C K Dᵀ(D K β - 1) = 0 on the active pairs, less the common factor K
        step = np.linalg.solve(np.eye(len(y)) + 2 * C * active.T @ active @ K, 2 * C * active.sum(axis=0)) - beta
        length = 1.0
        while value(beta + length * step) > value(beta) and length > 1e-9:
            length /= 2
        beta = beta + length * step
    return beta, value(beta)


@pytest.mark.parametrize("solver", ["newton", "trust-region"])
def test_the_optimum_is_that_of_the_problem_in_beta(solver):
    K, test = rbf_kernel(X, gamma=0.2), rbf_kernel(TEST, X, gamma=0.2)
    beta, value = newton_in_beta(K, DATA.y, DATA.qid, C=0.1)
    ranker = fitted(gamma=0.2, solver=solver)
    assert ranker.result_.value == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(ranker.predict(X), K @ beta, atol=1e-7)
    np.testing.assert_allclose(ranker.predict(TEST), test @ beta, atol=1e-6)


@pytest.mark.parametrize("loss", ["squared_hinge", "huber:0.5"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_linear_kernel_is_the_linear_ranker(loss, form):
    linear = RankSVM(loss=loss, **EXACT).fit(X, DATA.y, DATA.qid)
    ranker = fitted(form(X), kernel="linear", loss=loss)
    assert ranker.result_.value == pytest.approx(linear.result_.value, rel=1e-9)
    np.testing.assert_allclose(ranker.predict(form(TEST)), linear.predict(TEST), rtol=1e-6, atol=1e-6)
    assert len(ranker.dual_coef_) == X.shape[1]  # five documents span all


def test_all_documents_as_landmarks_are_exact():
    exact = fitted().predict(TEST)
    for landmarks in ("random", "leverage"):
        np.testing.assert_allclose(fitted(n_components=len(X), landmarks=landmarks).predict(TEST), exact, atol=1e-6)


def test_more_landmarks_come_nearer():
    exact = fitted().result_.value
    values = [fitted(n_components=m, random_state=0).result_.value for m in (5, 20, 60)]
    assert values[0] > values[1] > values[2] > exact


@pytest.mark.parametrize("landmarks", ["random", "kmeans", "leverage"])
def test_few_landmarks_rank_nearly_as_well(landmarks):
    data = make_ranking(n_queries=60, docs_per_query=20, n_features=4, random_state=2)
    rows = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    params = {"C": 0.01, "landmarks": landmarks, "random_state": 0}
    exact, rough = (KernelRankSVM(n_components=m, **params).fit(rows, data.y, data.qid) for m in (None, 60))
    assert len(rough.dual_coef_) <= 60
    assert rough.score(rows, data.y, data.qid) > exact.score(rows, data.y, data.qid) - 0.03


@pytest.mark.parametrize(("loss", "n"), [("squared_hinge", 260), ("squared_hinge", 60), ("hinge", 260)])
def test_the_solver_left_to_us_finds_the_optimum(loss, n):
    """Few features, more than Newton is taken for, and a loss with a corner."""
    data = make_ranking(n_queries=n // 10, docs_per_query=10, n_features=4, random_state=3)
    params = {"kernel": "laplacian", "gamma": 1.0, "C": 0.01, "loss": loss}
    auto = KernelRankSVM(tol=1e-6, **params).fit(data.X, data.y, data.qid)
    assert (auto.map_.basis.coefficients(np.zeros(len(auto.X_fit_))).size > 240) == (n == 260)
    other = KernelRankSVM(tol=1e-6, solver="smoothing" if loss == "hinge" else "newton", **params)
    other.fit(data.X, data.y, data.qid)
    assert auto.result_.value == pytest.approx(other.result_.value, rel=1e-5)


def test_precomputed_is_the_kernel_it_holds():
    K, test = rbf_kernel(X, gamma=0.2), rbf_kernel(TEST, X, gamma=0.2)
    named, given = fitted(gamma=0.2), fitted(K, kernel="precomputed")
    np.testing.assert_allclose(given.predict(test), named.predict(TEST), atol=1e-7)
    np.testing.assert_array_equal(given.X_fit_, named.support_)
    np.testing.assert_allclose(test[:, given.X_fit_] @ given.dual_coef_, given.predict(test))


def test_a_kernel_sees_what_a_line_cannot():
    """Relevance is a document's distance from the middle: no linear ranker orders that."""
    rng = np.random.default_rng(0)
    rows, qid = rng.normal(size=(300, 2)), np.repeat(np.arange(30), 10)
    y = np.round(np.linalg.norm(rows, axis=1))
    measure = ["pairwise-accuracy"]
    line, curve = (
        evaluate(y, model.fit(rows[:200], y[:200], qid[:200]).predict(rows), qid, measure).per_query[measure[0]][20:]
        for model in (RankSVM(), KernelRankSVM())
    )
    assert np.nanmean(line) < 0.7
    assert np.nanmean(curve) > 0.95


def test_ranking_words():
    """Any objects: words ranked by how many vowels they have, from a kernel on their letters."""
    words = ["queue", "sky", "pair", "rhythm", "audio", "rank", "tree", "score", "axiom", "myth"]

    def letters(a, b, power=1):
        return float(sum(a.count(c) * b.count(c) for c in set(a))) ** power

    vowels = [sum(c in "aeiou" for c in word) for word in words]
    for objects in (words, tuple(words), np.array(words, dtype=object)):
        ranker = KernelRankSVM(kernel=letters).fit(objects, vowels)
        assert np.corrcoef(ranker.predict(["aeiou", "xyz"]), [1, 0])[0, 1] > 0
        assert evaluate(vowels, ranker.predict(objects), None, ["pairwise-accuracy"])["pairwise-accuracy"] > 0.95
    squared = KernelRankSVM(kernel=letters, kernel_params={"power": 2}).fit(words, vowels)
    np.testing.assert_allclose(squared.map_.kernel.matrix(["aab"], ["ab"]), [[9.0]])


def test_a_callable_on_rows_is_the_kernel_of_that_name():
    ranker = fitted(kernel=lambda a, b: float(np.exp(-0.2 * np.square(a - b).sum())))
    np.testing.assert_allclose(ranker.predict(TEST), fitted(gamma=0.2).predict(TEST), atol=1e-6)
    with pytest.raises(ValueError, match="NaN"):
        ranker.predict(TEST * np.nan)


def test_parameters_reach_the_kernel():
    near, far = fitted(gamma=0.01), fitted(gamma=5.0)
    assert np.abs(near.predict(X) - far.predict(X)).max() > 0.1
    cubic = fitted(kernel="polynomial", degree=2, gamma=1.0, coef0=0)
    by_hand = fitted((X @ X.T) ** 2, kernel="precomputed")
    np.testing.assert_allclose(cubic.predict(TEST), by_hand.predict((TEST @ X.T) ** 2), atol=1e-5)


@pytest.mark.parametrize(
    ("params", "objects", "words"),
    [
        ({"kernel": "precomputed"}, X, r"fit needs X of shape \(n, n\); got \(120, 5\)"),
        ({"kernel": "precomputed"}, np.triu(np.ones((120, 120))), r"must be symmetric: X\[0, 1\] is not X\[1, 0\]"),
        ({"kernel": "rfb"}, X, "kernel must be one of .*; got 'rfb'"),
        ({"gamma": "scale"}, X, r"gamma is 'scale': give a number, such as 1 / \(X.shape"),
        ({"n_components": 0}, X, "n_components must be a positive number"),
        ({"C": -1}, X, "C must be a positive number"),
        ({"kernel": lambda a, b: 1.0}, ["only", "two"], "inconsistent numbers of samples"),
    ],
)
def test_mistakes_are_one_sentence(params, objects, words):
    with pytest.raises(ValueError, match=words):
        KernelRankSVM(**params).fit(objects, DATA.y, DATA.qid)


def laplacian(y, qid, ties):
    """The graph of compared pairs, written out."""
    same = qid[:, None] == qid
    compared = same & ((ties == "include") | (y[:, None] != y)) & ~np.eye(len(y), dtype=bool)
    return np.diag(compared.sum(axis=1)) - compared.astype(float)


@pytest.mark.parametrize("ties", ["include", "exclude"])
@pytest.mark.parametrize("form", ["rbf", "precomputed"])
def test_least_squares_solve_the_papers_dual(ties, form):
    """β = (L K + αI)⁻¹ L y, every alpha at once and one at a time."""
    K, test = rbf_kernel(X, gamma=0.2), rbf_kernel(TEST, X, gamma=0.2)
    L = laplacian(DATA.y, DATA.qid, ties)
    given, new = (K, test) if form == "precomputed" else (X, TEST)
    alphas = [0.01, 1.0, 100.0]
    path = KernelRankRLS(kernel=form, gamma=0.2, alpha=alphas, ties=ties).fit(given, DATA.y, DATA.qid)
    for k, alpha in enumerate(alphas):
        beta = np.linalg.solve(L @ K + alpha * np.eye(len(K)), L @ DATA.y)
        np.testing.assert_allclose(path.predict(new)[:, k], test @ beta, atol=1e-8)
        single = KernelRankRLS(kernel=form, gamma=0.2, alpha=alpha, ties=ties).fit(given, DATA.y, DATA.qid)
        np.testing.assert_allclose(single.predict(new), test @ beta, atol=1e-8)
        gaps = DATA.y - K @ beta
        assert single.result_.value == pytest.approx(gaps @ L @ gaps + alpha * beta @ K @ beta, rel=1e-9)


@pytest.mark.parametrize("scaling", ["pairs", "query"])
def test_least_squares_with_the_linear_kernel_are_linear(scaling):
    weight = np.random.default_rng(0).integers(0, 3, len(DATA)).astype(float)
    shuffle = np.random.default_rng(1).permutation(len(DATA))
    linear = RankRLS(alpha=2.0, scaling=scaling).fit(X, DATA.y, DATA.qid, weight).predict(TEST)
    ranker = KernelRankRLS("linear", 2.0, scaling=scaling)
    ranker.fit(X[shuffle], DATA.y[shuffle], DATA.qid[shuffle], weight[shuffle])
    np.testing.assert_allclose(ranker.predict(TEST), linear, atol=1e-8)
    whole = KernelRankRLS("linear", 2.0, scaling=scaling, n_components=len(X)).fit(X, DATA.y, DATA.qid, weight)
    np.testing.assert_allclose(whole.predict(TEST), linear, atol=1e-7)


@pytest.mark.parametrize(
    ("alpha", "words"), [(0, "alpha must be a positive"), ([1.0, -1.0], "alpha must be a positive"), ([], "empty")]
)
def test_alphas_are_positive(alpha, words):
    with pytest.raises(ValueError, match=words):
        KernelRankRLS(alpha=alpha).fit(X, DATA.y, DATA.qid)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("ranker", [KernelRankSVM, KernelRankRLS])
def test_kernel_values_outside_float64_are_one_sentence(ranker):
    for form in (np.asarray, sparse.csr_matrix):
        with pytest.raises(ValueError, match="scores underflow: scale the features"):
            ranker(kernel="linear").fit(form(1e-170 * X), DATA.y, DATA.qid)
    for kernel, scale in (("rbf", 1e155), ("linear", 1e155), ("linear", 1e300)):
        for components in (None, 10):
            with pytest.raises(ValueError, match="overflows: scale the features"):
                ranker(kernel=kernel, n_components=components).fit(scale * X, DATA.y, DATA.qid)
    assert not ranker(kernel="linear").fit(0.0 * X, DATA.y, DATA.qid).predict(X).any()  # 0 as it is


@pytest.mark.parametrize("kernel", ["linear", "polynomial"])
@pytest.mark.parametrize("n_components", [None, 40])
def test_features_lost_in_large_kernel_values_are_no_silent_model(kernel, n_components):
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(60, 3)), np.repeat(np.arange(10), 6)
    y = np.digitize(X[:, 1] + 0.3 * rng.normal(size=60), [-0.5, 0.5])
    stamps = 1.7e9 + 1e5 * qid  # constant within queries
    ranker = KernelRankSVM(kernel, C=10.0, n_components=n_components, random_state=0)
    for rows in (np.column_stack([X, stamps]), X + 1e8):
        with pytest.warns(ConvergenceWarning, match="KernelRankSVM loses digits: .* lost to rounding; scale"):
            ranker.fit(rows, y, qid)
        assert not ranker.result_.converged
        assert "lost to rounding" in ranker.result_.message
    with warnings.catch_warnings(action="error"):
        assert ranker.fit(X + 1e4, y, qid).result_.converged
