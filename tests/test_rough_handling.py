"""What a hostile tester of the public surface found, each once."""

import numpy as np
import pytest

import rankwise
from rankwise import RankRLS, RankSVM, RankSVMCV, evaluate, losses
from rankwise.foundation.registry import Registry

RNG = np.random.default_rng(0)
Q = np.repeat(np.arange(20), 6)
X = RNG.normal(size=(120, 4))
Y = np.clip(np.round(X[:, 0] + RNG.normal(size=120) + 1), 0, 4)


def test_a_measure_that_writes_into_its_arguments_spoils_no_other():
    def mine(labels, scores):
        labels.sort()
        scores[:] = 0.0
        return 1.0

    alone = evaluate(Y, X[:, 0], Q, ["ndcg@10"])["ndcg@10"]
    assert evaluate(Y, X[:, 0], Q, [mine, "ndcg@10"])["ndcg@10"] == alone


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_rankrls_on_a_device_is_exact_beside_a_large_offset(form):
    torch = pytest.importorskip("torch")
    x, y = RNG.normal(size=(12, 2)) + 1e9, RNG.normal(size=12)
    given = torch.as_tensor(x) if form == "dense" else torch.as_tensor(x).to_sparse_csr()
    expected = RankRLS().fit(x, y).coef_
    np.testing.assert_allclose(RankRLS().fit(given, torch.as_tensor(y)).coef_.numpy(), expected, rtol=1e-9)


def test_rankrls_on_a_device_warns_where_it_did_not_converge():
    torch = pytest.importorskip("torch")
    x = torch.as_tensor(X * 10.0 ** np.arange(-6, 6, 3))
    with pytest.warns(UserWarning, match="RankRLS did not converge: max_iter = 1"):
        RankRLS(solver="cg", max_iter=1).fit(x, torch.as_tensor(Y), Q)


def test_frames_whose_columns_have_numbers_for_names():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X)
    frame["label"], frame["query"] = Y, Q
    found = RankSVM().fit(frame, y="label", qid="query")
    np.testing.assert_array_equal(found.coef_, RankSVM().fit(X, Y, Q).coef_)


def test_two_columns_of_one_name_are_refused():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(np.column_stack((X, Y, Q)), columns=["a", "a", "b", "c", "label", "query"])
    with pytest.raises(ValueError, match="X has two columns named 'a': rename one of them"):
        RankSVM().fit(frame, y="label", qid="query")


def test_a_model_without_names_does_not_guess_columns():
    pd = pytest.importorskip("pandas")
    found = RankSVM().fit(X[:, :3], Y, Q)
    with pytest.raises(ValueError, match="4 features"), pytest.warns(UserWarning, match="feature names"):
        found.predict(pd.DataFrame(X, columns=["f0", "f1", "f2", "f3"]))


def test_a_batch_without_pairs_leaves_C_as_it_was():
    found = RankSVM(solver="sgd", random_state=0).partial_fit(X, Y, Q)
    before = found.C_
    assert before == found.partial_fit(X[:2], [1, 1], [0, 0]).C_


def test_pairs_of_data_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match=r"fit accepts pairs for rows in an array only: give data\.X"):
        RankSVM().fit(rankwise.load_sample(), pairs=[[0, 1]])
    found = RankSVM().fit(X, Y, Q).fit(X, pairs=[[0, 1]])
    assert not hasattr(found, "n_queries_")


def test_a_registration_that_cannot_be_imported_harms_no_other():
    registry: Registry = Registry("thing", {})
    registry.register("bad", "no.such.module:thing")
    registry.register("good", len)
    assert registry.name_of(len) == "good"
    assert registry.name_of(max) is None


def test_a_loss_that_is_zero_for_equal_scores():
    loss = losses.Loss("late", (losses.Piece(-1.0, 4.0, -4.0, 2.0),))
    with pytest.warns(UserWarning, match="loss late does not fall with the margin at 0: .* so coef_ is 0"):
        found = RankSVM(loss=loss, C=1.0).fit(X, Y, Q)
    assert not found.coef_.any()
    assert found.result_.converged


@pytest.mark.parametrize(
    ("cv", "words"),
    [
        ([], "cv is empty"),
        ([([], [1])], r"cv\[0\] has no training rows"),
        ([([0, 1], [9999])], r"cv\[0\] names row 9999: X has 120 rows"),
        ([([0, 1], [2, -121])], r"cv\[0\] names row -121: X has 120 rows"),
        (2.5, "cv must be an integer, a splitter or a list of .*; got 2.5"),
    ],
)
def test_folds_that_make_no_sense(cv, words):
    with pytest.raises(ValueError, match=words):
        RankSVMCV(cv=cv).fit(X, Y, Q)


@pytest.mark.filterwarnings("ignore:C = ")
def test_cross_validation_judges_labels_of_any_kind():
    found = RankSVMCV(Cs=[0.01, 0.1]).fit(X, Y - 2.5, Q)
    assert found.measure_ == "pairwise-accuracy"
    assert RankSVMCV(Cs=[0.01, 0.1]).fit(X, Y, Q).measure_ == "ndcg@10"


def test_a_score_with_weights_of_another_library():
    torch = pytest.importorskip("torch")
    x, y, q, ones = (torch.as_tensor(one) for one in (X, Y, Q, np.ones(120)))
    found = RankSVM().fit(x, y, Q)
    assert found.score(x, y, q, ones) == pytest.approx(found.score(x, y, q))


def test_a_solver_that_returns_something_else_is_named():
    class Short:
        def __call__(self, objective, start=None, callback=None):
            return rankwise.solvers.Result(np.zeros(2), 0.0, 0.0, 0, True, "", history=[])

    for solver in (Short(), lambda objective, start=None, callback=None: None):
        with pytest.raises(TypeError, match="solver must return a Result whose point has 4 entries"):
            RankSVM(solver=solver).fit(X, Y, Q)


def test_kernel_and_scaled_rankers_take_rows_in_memory(tmp_path):
    rankwise.write_chunks(tmp_path / "chunks", rankwise.RankingData(X, Y, Q))
    chunks = rankwise.open_chunks(tmp_path / "chunks")
    with pytest.raises(ValueError, match=r"KernelRankSVM needs rows in memory: give data\.read\(\)"):
        rankwise.KernelRankSVM().fit(chunks)
    scaled = rankwise.ScaledRanker(RankSVM(), "zscore")
    for use in (scaled.fit, scaled.fit(X, Y, Q).predict, scaled.score, scaled.rank):
        with pytest.raises(ValueError, match=r"ScaledRanker needs rows in memory: give data\.read\(\)"):
            use(chunks)


@pytest.mark.parametrize("size", [1e-200, 1e200])
@pytest.mark.parametrize(
    "ranker",
    [
        *(RankSVM(loss=loss) for loss in ("hinge", "squared_hinge", "huber", "logistic", "squared")),
        RankRLS(),
        rankwise.KernelRankSVM(),
        rankwise.KernelRankRLS(),
    ],
)
def test_weights_whose_products_no_number_can_hold(ranker, size):
    with pytest.raises(ValueError, match=r"the largest sample_weight is 1e.?200, .* divide all weights by the largest"):
        ranker.fit(X, Y, Q, sample_weight=np.full(120, size))


def test_a_few_tiny_weights_do_no_harm():
    weights = np.where(Q < 10, 1.0, 1e-200)
    found = RankSVM(tol=1e-9).fit(X, Y, Q, sample_weight=weights)
    np.testing.assert_allclose(found.coef_, RankSVM(tol=1e-9).fit(X[Q < 10], Y[Q < 10], Q[Q < 10]).coef_, rtol=1e-4)


@pytest.mark.parametrize("estimator", [RankSVM, rankwise.KernelRankSVM])
def test_a_solver_that_returns_nan_is_named(estimator):
    def hopeless(objective, start=None, callback=None):
        return rankwise.solvers.Result(np.full(objective.size, np.nan), 0.0, 0.0, 0, True, "", history=[])

    with pytest.raises(ValueError, match="solver 'hopeless' returned weights that are not finite"):
        estimator(solver=hopeless).fit(X, Y, Q)


@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore:RankSVM did not converge")
@pytest.mark.parametrize(
    ("ranker", "scale", "given"),
    [
        (RankSVM(loss="hinge"), 1e100, {"y": Y, "qid": Q}),
        (RankSVM(loss="hinge"), 1e140, {"pairs": [[0, 1], [2, 1], [4, 5]]}),
        (RankSVM(solver="newton-cg"), 1e100, {"y": Y, "qid": Q}),
        (RankSVM(solver="trust-region"), 1e100, {"y": Y, "qid": Q}),
        (RankSVM(), 1.0, {"y": Y, "qid": Q, "sample_weight": np.full(120, 1e100)}),
        (rankwise.KernelRankSVM("linear"), 1e100, {"y": Y, "qid": Q}),
    ],
)
def test_what_overflows_on_the_way_is_no_warning(ranker, scale, given):
    assert np.isfinite(ranker.fit(X * scale, **given).predict(X)).all()


def test_the_sample_has_names():
    found = RankSVM().fit(rankwise.load_sample("train"))
    assert found.feature_names_in_[:2].tolist() == ["title_match", "author_match"]


@pytest.mark.parametrize("estimator", [rankwise.KernelRankSVM, rankwise.FactorizedRankSVM])
def test_the_automatic_strength_is_the_same_for_every_sum_over_pairs(estimator, tmp_path):
    expected = 30 / rankwise.Preferences(Y, Q).pairs_per_query().sum()
    found = estimator(C="auto", random_state=0).fit(X, Y, Q)
    assert RankSVM().fit(X, Y, Q).C_ == found.C_ == pytest.approx(expected)
    assert estimator(random_state=0).fit(X, Y, Q).C_ == 1.0
    rankwise.save_model(found, tmp_path / "m.json")
    assert rankwise.load_model(tmp_path / "m.json").C_ == found.C_
    with pytest.raises(ValueError, match="C must be a positive number or 'auto', got 'lots'"):
        estimator(C="lots").fit(X, Y, Q)


@pytest.mark.parametrize(("labels", "expected"), [(Y, "ndcg@10"), (Y - 2.5, "pairwise-accuracy")])
def test_the_default_measure_is_that_of_the_labels(labels, expected):
    selection, ranker = rankwise.model_selection, RankSVM(C=0.01)
    assert selection.cross_validate(ranker, X, labels, Q, cv=2).measures == [expected]
    assert selection.learning_curve(ranker, X, labels, Q, cv=2, sizes=[1.0]).measure == expected
    found = rankwise.FactorizedRankSVM(validation_fraction=0.3, random_state=0).fit(X, labels, Q)
    assert found.measure_ == expected
    assert selection.cross_validate(ranker, X, labels, Q, cv=2, measures=["kendall-tau-b"]).measures == [
        "kendall-tau-b"
    ]
