"""RankSVM: scikit-learn's checks, the invariances of ranking, and optima found by others."""

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, sparse
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from versions import ROUTED_IN_PIPELINES

from rankwise import RankSVM, evaluate, make_ranking
from rankwise.pairs.preferences import Preferences

DATA = make_ranking(n_queries=25, docs_per_query=12, n_features=6, random_state=0)
EXACT = {"tol": 1e-9, "C": 0.1}


@parametrize_with_checks([RankSVM(), RankSVM(solver="trust-region"), RankSVM(loss="huber:0.5", solver="newton")])
def test_scikit_learn(estimator, check):
    check(estimator)


def fitted(X=DATA.X, y=DATA.y, qid=DATA.qid, weight=None, **params):
    return RankSVM(**(EXACT | params)).fit(X, y, qid, weight).coef_


@pytest.mark.parametrize("solver", ["newton", "trust-region"])
@pytest.mark.parametrize("loss", ["squared_hinge", "huber:0.5"])
def test_the_objective_is_the_sum_over_all_pairs(solver, loss):
    """Against scipy on the naive sum."""
    rows = DATA.qid < np.unique(DATA.qid)[6]
    X, y, qid = DATA.X[rows], DATA.y[rows], DATA.qid[rows]
    ranker = RankSVM(solver=solver, loss=loss, **EXACT).fit(X, y, qid)
    shape = {
        "squared_hinge": lambda m: max(0.0, 1 - m) ** 2,
        "huber:0.5": lambda m: 0.0 if m > 1 else (1 - m) ** 2 if m > 0.5 else 0.75 - m,
    }[loss]

    def naive(w):
        return 0.5 * w @ w + 0.1 * oracle.risk(shape, y, qid, None, X @ w)

    assert ranker.result_.value == pytest.approx(naive(ranker.coef_), rel=1e-12)
    assert naive(ranker.coef_) <= optimize.minimize(naive, ranker.coef_, method="Powell").fun + 1e-9


def test_agrees_with_a_classifier_on_explicit_pairs():
    C = 0.1
    pairs = oracle.pairs(DATA.y, DATA.qid)
    differences = np.array([DATA.X[i] - DATA.X[j] for i, j in pairs])
    signs = np.where(np.arange(len(pairs)) % 2, 1, -1)
    peer = LinearSVC(C=C, loss="squared_hinge", dual=False, fit_intercept=False, tol=1e-10, max_iter=10_000)
    peer.fit(differences * signs[:, None], signs)
    np.testing.assert_allclose(fitted(C=C), peer.coef_.ravel(), rtol=1e-5, atol=1e-7)


def test_what_must_not_matter():
    expected = fitted()
    shuffle = np.random.default_rng(0).permutation(len(DATA))
    same = {
        "row order": fitted(DATA.X[shuffle], DATA.y[shuffle], DATA.qid[shuffle]),
        "query names": fitted(qid=np.array([f"q{q * 7919 % 10007}" for q in DATA.qid])),
        "monotone labels": fitted(y=np.exp(DATA.y) * 3 - 100),
        "a shift of the features": fitted(X=DATA.X + 5),
        "one-document queries": fitted(
            np.vstack((DATA.X, DATA.X[:2])), np.append(DATA.y, [9, 0]), np.append(DATA.qid, [-1, -2])
        ),
        "one-level queries": fitted(
            np.vstack((DATA.X, DATA.X[:3])), np.append(DATA.y, [2, 2, 2]), np.append(DATA.qid, [-1, -1, -1])
        ),
        "fortran order": fitted(X=np.asfortranarray(DATA.X)),
        "sparse": fitted(X=sparse.csr_array(DATA.X)),
        "csc": fitted(X=sparse.csc_matrix(DATA.X)),
        "solver": fitted(solver="trust-region"),
        "unit weights": fitted(weight=np.ones(len(DATA))),
    }
    for what, coef in same.items():
        np.testing.assert_allclose(coef, expected, rtol=1e-6, atol=1e-9, err_msg=what)
    np.testing.assert_array_equal(fitted(n_jobs=1), fitted(n_jobs=2))


def test_float32_is_kept_and_agrees():
    single, double = (RankSVM(**EXACT).fit(DATA.X.astype(t), DATA.y, DATA.qid) for t in (np.float32, np.float64))
    assert single.result_.value == pytest.approx(double.result_.value, rel=1e-6)
    np.testing.assert_allclose(single.coef_, double.coef_, rtol=1e-4, atol=1e-5)


def test_weights_are_copies():
    """A query given twice is C doubled; weight 2 is the document given twice; weight 0 is the document left out."""
    twice = np.vstack((DATA.X, DATA.X)), np.tile(DATA.y, 2), np.append(DATA.qid, DATA.qid + 1000)
    np.testing.assert_allclose(fitted(*twice), fitted(C=0.2), rtol=1e-6, atol=1e-9)
    copies = np.random.default_rng(1).integers(0, 3, len(DATA))
    rows = np.repeat(np.arange(len(DATA)), copies)
    repeated = fitted(DATA.X[rows], DATA.y[rows], DATA.qid[rows])
    np.testing.assert_allclose(fitted(weight=copies.astype(float)), repeated, rtol=1e-6, atol=1e-9)


@given(seed=st.integers(0, 1000))
def test_tiny_problems_with_ties(seed):
    """Integers everywhere, and a one-dimensional optimum found by a bounded search."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 15))
    X, y, qid = rng.integers(-2, 3, (n, 1)).astype(float), rng.integers(0, 3, n), rng.integers(0, 2, n)
    pairs = oracle.pairs(y, qid)
    if not pairs:
        return
    w = float(RankSVM(C=0.5, tol=1e-10).fit(X, y, qid).coef_[0])

    def naive(w):
        return 0.5 * w * w + 0.5 * sum(max(0.0, 1 - w * (X[i, 0] - X[j, 0])) ** 2 for i, j in pairs)

    best = optimize.minimize_scalar(naive, bounds=(-20, 20), method="bounded", options={"xatol": 1e-10})
    assert naive(w) <= best.fun + 1e-9


def test_auc_is_one_query_of_two_labels():
    from sklearn.metrics import roc_auc_score

    y = (DATA.y > 1).astype(int)
    ranker = RankSVM(C=1e-3).fit(DATA.X, y)
    scores = ranker.predict(DATA.X)
    assert evaluate(y, scores, None, ["auc"])["auc"] == pytest.approx(roc_auc_score(y, scores), abs=1e-12)
    assert roc_auc_score(y, scores) > 0.6


def test_real_labels_and_one_large_query():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 4))
    truth = np.array([1.0, -2.0, 0.5, 0.0])
    y = X @ truth + 0.1 * rng.normal(size=30_000)
    coef = RankSVM(C=1e-7).fit(X, y).coef_
    assert coef @ truth / np.linalg.norm(coef) / np.linalg.norm(truth) > 0.999


def test_score_is_the_mean_over_queries():
    X, y, qid = np.array([[1.0], [0], [1], [0]]), [1, 0, 0, 1], [1, 1, 2, 2]
    ranker = RankSVM().fit(X[:2], y[:2])
    short = 1 / np.log2(3)  # the relevant document in second place
    assert ranker.score(X, y, qid) == pytest.approx((1 + short) / 2)
    assert ranker.score(X, y, qid, sample_weight=[3, 3, 1, 1]) == pytest.approx((3 + short) / 4)


def test_warm_start_and_history():
    ranker = RankSVM(C=0.1, tol=1e-8, warm_start=True).fit(DATA.X, DATA.y, DATA.qid)
    assert ranker.n_iter_ == len(ranker.result_.history) - 1 > 0
    again = ranker.coef_.copy()
    assert ranker.fit(DATA.X, DATA.y, DATA.qid).n_iter_ == 0
    np.testing.assert_array_equal(ranker.coef_, again)
    with pytest.raises(ValueError, match="warm_start: the last fit had 6 features, X has 3"):
        ranker.fit(DATA.X[:, :3], DATA.y, DATA.qid)


def test_nothing_of_an_earlier_fit_is_left():
    ranker = RankSVM(C=0.01, solver="dual", random_state=0).fit(DATA.X, DATA.y, DATA.qid)
    assert ranker.set_params(solver="sgd").fit(DATA.X, DATA.y, DATA.qid).coef_.size == 6
    assert not hasattr(ranker, "dual_coef_")
    ranker.partial_fit(DATA.X, DATA.y, DATA.qid)
    assert not hasattr(ranker, "result_")
    ranker.fit(DATA.X[:, :3], DATA.y, DATA.qid)
    assert ranker.partial_fit(DATA.X[:, :3], DATA.y, DATA.qid).coef_.size == 3


def test_a_warm_start_at_the_optimum_of_another_loss_ends():
    ranker = RankSVM(C=0.01, loss="huber:1.0", tol=1e-10, warm_start=True).fit(DATA.X, DATA.y, DATA.qid)
    result = ranker.set_params(loss="hinge", tol=1e-4).fit(DATA.X, DATA.y, DATA.qid).result_
    assert result.converged


def test_equal_rows_get_equal_scores():
    rng = np.random.default_rng(0)
    wide = make_ranking(n_queries=10, docs_per_query=10, n_features=300, random_state=0)
    ranker = RankSVM(C=0.01).fit(wide.X, wide.y, wide.qid)
    rows = np.repeat(rng.normal(size=(1, 300)), 1001, axis=0)
    for X in (rows, rows.astype(np.float32), sparse.csr_array(rows)):
        assert np.unique(ranker.predict(X)).size == 1


def test_entries_given_twice_are_added():
    twice = sparse.csr_matrix((np.ones(4), [0, 0, 1, 2], [0, 2, 3, 4]), shape=(3, 3))
    plain = RankSVM(**EXACT).fit(twice.toarray(), [2, 1, 0]).coef_
    for solver in ("newton", "trust-region", "sgd-queries"):
        ranker = RankSVM(**(EXACT | {"tol": 1e-7}), solver=solver, random_state=0).fit(twice, [2, 1, 0])
        np.testing.assert_allclose(ranker.coef_, plain, rtol=1e-2, atol=1e-3)
    assert twice.nnz == 4  # left as it was


def test_more_features_than_memory():
    X = sparse.csr_array(([1.0, 1.0], ([0, 1], [0, 2**31 - 2])), shape=(2, 2**31 - 1))
    with pytest.raises(MemoryError, match=r"a solver.s work on 2,147,483,647 features takes [0-9.]+ GB"):
        RankSVM().fit(X, [0, 1])


def test_verbose_and_callback(capsys):
    seen = []
    RankSVM(verbose=1, callback=seen.append).fit(DATA.X, DATA.y, DATA.qid)
    assert len(capsys.readouterr().err.splitlines()) == len(seen) > 1


def test_warnings():
    top = (DATA.y == DATA.y.max()).astype(float)
    for given_ in ((DATA.X, np.ones(len(DATA)), DATA.qid), (DATA.X, DATA.y, DATA.qid, top)):
        with pytest.warns(UserWarning, match="no preference pair"):
            ranker = RankSVM().fit(*given_)
        assert not ranker.coef_.any()
    with pytest.warns(UserWarning, match="no preference pair"):
        RankSVM().fit(DATA.X, pairs=[[0, 1]], pair_weight=[0.0])
    with pytest.warns(ConvergenceWarning, match="max_iter = 1 "):
        RankSVM(tol=1e-12, max_iter=1).fit(DATA.X, DATA.y, DATA.qid)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"C": 0}, "C must be a positive number, got 0"),
        ({"C": "1"}, "C must be a positive number or 'auto', got '1'"),
        ({"tol": -1}, "tol must be a positive number"),
        ({"max_iter": 0}, "max_iter must be a positive whole number"),
        ({"max_iter": 1.5}, "max_iter must be a positive whole number"),
        ({"C": 1e308}, "the objective overflows at w = 0"),
        ({"loss": "hinged"}, "loss must be one of 'hinge', .*; got 'hinged'. Did you mean 'hinge'"),
        (
            {"solver": "newtom"},
            "solver must be one of 'auto', .*'trust-region', .*; got 'newtom'. Did you mean 'newton'",
        ),
        ({"n_jobs": 0}, "n_jobs is 0"),
    ],
)
def test_bad_parameters_are_one_sentence(params, words):
    with pytest.raises(ValueError, match=words):
        RankSVM(**params).fit(DATA.X, DATA.y, DATA.qid)


@pytest.mark.parametrize(
    ("X", "y", "qid", "words"),
    [
        (np.full((2, 1), np.nan), [0, 1], None, "NaN"),
        (np.zeros((2, 1)), [0, np.nan], None, "NaN"),
        (np.zeros((2, 1)), [0, 1], [1, 2, 3], "qid must hold one id per row: expected 2 ids"),
        (np.zeros((2, 1)), [0, 1, 2], None, "inconsistent numbers of samples"),
        (np.zeros((0, 1)), [], None, "0 sample"),
    ],
)
def test_bad_data_are_one_sentence(X, y, qid, words):
    with pytest.raises(ValueError, match=words):
        RankSVM().fit(X, y, qid)


@ROUTED_IN_PIPELINES
def test_metadata_routing_carries_qid_everywhere():
    with config_context(enable_metadata_routing=True):
        plain = cross_validate(
            RankSVM(C=0.1), DATA.X, DATA.y, cv=GroupKFold(3), params={"groups": DATA.qid, "qid": DATA.qid}
        )["test_score"]
        piped = cross_validate(
            make_pipeline(StandardScaler(with_std=False), RankSVM(C=0.1)),
            DATA.X, DATA.y, cv=GroupKFold(3), params={"groups": DATA.qid, "qid": DATA.qid},
        )["test_score"]  # fmt: skip
        search = GridSearchCV(RankSVM(), {"C": [1e-3, 1e-1]}, cv=GroupKFold(3))
        search.fit(DATA.X, DATA.y, groups=DATA.qid, qid=DATA.qid)
    expected = []
    for train, test in GroupKFold(3).split(DATA.X, DATA.y, DATA.qid):
        ranker = RankSVM(C=0.1).fit(DATA.X[train], DATA.y[train], DATA.qid[train])
        scores = ranker.predict(DATA.X[test])
        expected.append(evaluate(DATA.y[test], scores, DATA.qid[test], ["ndcg@10"])["ndcg@10"])
    np.testing.assert_allclose(plain, expected)
    np.testing.assert_allclose(piped, expected, atol=1e-3)
    assert search.best_score_ >= np.mean(expected) - 1e-12


def test_names_of_a_data_frame():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(DATA.X, columns=[f"feature {i}" for i in range(6)])
    ranker = RankSVM(**EXACT).fit(frame, pandas.Series(DATA.y), pandas.Series(DATA.qid))
    assert ranker.feature_names_in_.tolist() == frame.columns.tolist()
    np.testing.assert_allclose(ranker.predict(frame), DATA.X @ fitted())


# Optima of the squared hinge on LETOR training sets of fold 1, found by an independent program.
OPTIMA = [
    ("mq2008", 2**-5, 927.10754160),
    ("mq2008", 1, 29566.522846),
    ("mq2008", 100, 2955408.0333),
    ("mq2007", 2**-5, 5944.3499852),
    ("mq2007", 1, 190063.39302),
    ("ohsumed", 1e-4, 33.169834500),
    ("ohsumed", 1, 326882.42354),
]


@pytest.mark.parametrize("solver", ["newton", "trust-region"])
@pytest.mark.parametrize(("name", "C", "optimum"), OPTIMA)
def test_known_optima(read_parts, name, C, optimum, solver):
    data = read_parts(name, 1, 2, 3)
    ranker = RankSVM(C=C, tol=1e-8, solver=solver).fit(data.X, data.y, data.qid)
    assert ranker.result_.value == pytest.approx(optimum, rel=1e-8)


def test_the_default_C_is_30_over_the_number_of_pairs():
    ranker = RankSVM(tol=1e-8).fit(DATA.X, DATA.y, DATA.qid)
    pairs = Preferences(DATA.y, DATA.qid).active(np.zeros(len(DATA))).n_pairs
    assert pytest.approx(30 / pairs, rel=1e-14) == ranker.C_
    explicit = RankSVM(C=30 / pairs, tol=1e-8).fit(DATA.X, DATA.y, DATA.qid)
    mean = RankSVM(C=30.0, normalize_pairs="mean", tol=1e-8).fit(DATA.X, DATA.y, DATA.qid)
    for other in (explicit, mean):
        assert pytest.approx(ranker.C_, rel=1e-14) == other.C_
        np.testing.assert_allclose(other.coef_, ranker.coef_, rtol=1e-6)
    by_query = RankSVM(normalize_pairs="query").fit(DATA.X, DATA.y, DATA.qid)
    expected = RankSVM(C=30.0, normalize_pairs="query").fit(DATA.X, DATA.y, DATA.qid)
    np.testing.assert_array_equal(by_query.coef_, expected.coef_)
    listed = RankSVM().fit(DATA.X, pairs=[[0, 1], [2, 3]])
    assert listed.C_ == 15.0


def test_the_default_C_of_a_stream_is_over_all_its_pairs():
    ranker, pairs = RankSVM(solver="sgd", random_state=0), 0
    for part in np.array_split(np.unique(DATA.qid), 3):
        rows = np.isin(DATA.qid, part)
        ranker.partial_fit(DATA.X[rows], DATA.y[rows], DATA.qid[rows])
        pairs += Preferences(DATA.y[rows], DATA.qid[rows]).active(np.zeros(rows.sum())).n_pairs
        assert pytest.approx(30 / pairs, rel=1e-12) == ranker.C_
