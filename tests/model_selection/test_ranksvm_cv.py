"""RankSVMCV: every fold against a fit of its own, the rules against tables made by hand, scikit-learn's checks."""

import dataclasses
import warnings

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankwise import (
    KernelRankSVM,
    RankSVM,
    RankSVMCV,
    ScaledRanker,
    evaluate,
    load_model,
    make_ranking,
    open_chunks,
    save_model,
    write_chunks,
)
from rankwise.estimators.ranksvm_cv import best_of_pairs
from rankwise.estimators.ranksvm_path import GRID, usual_grid
from rankwise.model_selection import LetorFolds, QueryKFold, c_path
from rankwise.model_selection.choice import choose, means_and_errors
from rankwise.model_selection.folds import PathFold
from rankwise.model_selection.search import Judged

DATA = make_ranking(n_queries=30, docs_per_query=10, n_features=5, random_state=1)
CS = [1.0, 0.01, 0.1]
EXACT = RankSVM(tol=1e-9)


@parametrize_with_checks([RankSVMCV(Cs=[0.01, 0.1, 1.0], cv=2, measure="pairwise-accuracy")])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("measure", ["ndcg@10", "pairwise-accuracy", "map:relevant=2"])
def test_every_fold_for_real(measure, monkeypatch):
    monkeypatch.setattr("rankwise.estimators.ranksvm_path.SELECTION_TOL", 1e-9)
    folds = QueryKFold(4, shuffle=True, random_state=3)
    model = RankSVMCV(CS, folds, measure, ranker=EXACT).fit(DATA.X, DATA.y, DATA.qid)
    for k, (train, valid) in enumerate(folds.split(DATA.X, DATA.y, DATA.qid)):
        for j, C in enumerate(CS):
            ranker = RankSVM(C=C, tol=1e-9).fit(DATA.X[train], DATA.y[train], DATA.qid[train])
            found = evaluate(DATA.y[valid], ranker.predict(DATA.X[valid]), DATA.qid[valid], measure)[measure]
            assert model.cv_values_[k, j] == pytest.approx(found, abs=1e-12)
    np.testing.assert_allclose(model.scores_, model.cv_values_.mean(axis=0))
    np.testing.assert_allclose(model.standard_errors_, model.cv_values_.std(axis=0, ddof=1) / 2)
    assert model.scores_[CS.index(model.C_)] == model.scores_.max()
    np.testing.assert_allclose(
        model.coef_, RankSVM(C=model.C_, tol=1e-9).fit(DATA.X, DATA.y, DATA.qid).coef_, rtol=1e-6
    )
    np.testing.assert_array_equal(model.predict(DATA.X), model.best_ranker_.predict(DATA.X))


RATIOS = [0.0, 0.5, 1.0]
SIGNS = [1, -1, 0, 0, 1]


@pytest.mark.parametrize(("loss", "tol"), [("squared_hinge", 1e-8), ("hinge", 1e-4)])
def test_C_and_l1_ratio_against_a_naive_loop(loss, tol, monkeypatch):
    monkeypatch.setattr("rankwise.estimators.ranksvm_path.SELECTION_TOL", tol)
    exact = {"tol": tol, "loss": loss, "monotonic_cst": SIGNS}
    folds = QueryKFold(2)
    model = RankSVMCV(CS, folds, "map", ranker=RankSVM(**exact), l1_ratio=RATIOS).fit(DATA.X, DATA.y, DATA.qid)
    naive = np.empty((2, len(RATIOS), len(CS)))
    for k, (train, valid) in enumerate(folds.split(DATA.X, DATA.y, DATA.qid)):
        for i, ratio in enumerate(RATIOS):
            for j, C in enumerate(CS):
                ranker = RankSVM(C=C, l1_ratio=ratio, **exact).fit(DATA.X[train], DATA.y[train], DATA.qid[train])
                scores = ranker.predict(DATA.X[valid])
                naive[k, i, j] = evaluate(DATA.y[valid], scores, DATA.qid[valid], "map")["map"]
    np.testing.assert_allclose(model.cv_values_, naive, atol=1e-12 if loss == "squared_hinge" else 2e-3)
    np.testing.assert_allclose(model.scores_, model.cv_values_.mean(axis=0))
    assert model.scores_.shape == model.standard_errors_.shape == (3, 3)
    table = list(
        zip(*(model.cv_results_[key] for key in ("mean_test_score", "param_l1_ratio", "param_C")), strict=True)
    )
    ranked = sorted(table, key=lambda row: (row[0], row[1], -row[2]))  # of equals the largest l1_ratio
    assert ranked[-1] == (model.best_score_, model.l1_ratio_, model.C_)
    assert len(table) == 9
    alone = RankSVM(C=model.C_, l1_ratio=model.l1_ratio_, **exact).fit(DATA.X, DATA.y, DATA.qid)
    np.testing.assert_allclose(
        model.coef_, alone.coef_, atol=(1e-4 if tol < 1e-4 else 0.02) * np.abs(alone.coef_).max()
    )


def test_which_of_equal_pairs():
    """The largest l1_ratio, then the smallest C; one standard error counts along the C of the best l1_ratio only."""
    Cs, ratios = np.array([2.0, 1.0]), np.array([0.0, 1.0, 0.5])
    flat = np.full((3, 2), 0.5)
    assert best_of_pairs(Cs, ratios, [flat, flat, flat]) == 1
    assert best_of_pairs(Cs, ratios, [flat, flat, flat + np.array([0.0, 0.1])]) == 2
    assert best_of_pairs(Cs, ratios, [flat, flat * np.nan, flat]) == 2


def test_wrong_ratios():
    for wrong, words in (([], "l1_ratio is empty"), ([0.5, 2], "from 0 to 1, got 2"), ("half", "got 'half'")):
        with pytest.raises(ValueError, match=words):
            RankSVMCV(CS, l1_ratio=wrong).fit(DATA.X, DATA.y, DATA.qid)
    with pytest.raises(ValueError, match="solver 'dual' takes neither"):
        RankSVMCV(CS, ranker=RankSVM(solver="dual"), l1_ratio=[0, 1]).fit(DATA.X, DATA.y, DATA.qid)


def test_names_of_signs_on_disk_and_in_frames(tmp_path):
    names = [f"column{i}" for i in range(5)]
    data = dataclasses.replace(DATA, names=names)
    by_name = RankSVM(monotonic_cst={"column0": -1, "column3": 1})
    write_chunks(tmp_path / "chunks", data)
    rankers = {"ranker": by_name, "l1_ratio": [0, 0.8], "measure": "map", "cv": 2}
    model, on_disk = (RankSVMCV(CS, **rankers).fit(one) for one in (data, open_chunks(tmp_path / "chunks")))
    by_place = RankSVMCV(CS, **rankers | {"ranker": RankSVM(monotonic_cst=[-1, 0, 0, 1, 0])})
    by_place.fit(DATA.X, DATA.y, DATA.qid)
    for one in (on_disk, by_place):
        np.testing.assert_allclose(one.coef_, model.coef_, rtol=1e-9)
        np.testing.assert_allclose(one.cv_values_, model.cv_values_)
    save_model(model, tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").l1_ratio == model.l1_ratio_


def test_threads_and_sides_change_nothing(monkeypatch):
    one, two = (RankSVMCV(CS, n_jobs=n).fit(DATA.X, DATA.y, DATA.qid) for n in (1, 2))
    monkeypatch.setattr("rankwise.model_selection.search.SIDE_BY_SIDE", 0)
    three = RankSVMCV(CS, n_jobs=2).fit(DATA.X, DATA.y, DATA.qid)
    for other in (two, three):
        np.testing.assert_array_equal(one.cv_values_, other.cv_values_)
        np.testing.assert_array_equal(one.coef_, other.coef_)


TABLE = np.array(  # folds × (C = 1, 2, 3, 4, 5); means 0.40 0.58 0.60 0.62 0.62
    [
        [0.40, 0.57, 0.60, 0.60, 0.62],
        [0.40, 0.58, 0.60, 0.62, 0.62],
        [0.40, 0.59, 0.60, 0.64, 0.62],
    ]
)


def test_one_standard_error_by_hand():
    means, errors = means_and_errors(TABLE)
    np.testing.assert_allclose(means, [0.40, 0.58, 0.60, 0.62, 0.62])
    np.testing.assert_allclose(errors, [0, 0.01 / 3**0.5, 0, 0.02 / 3**0.5, 0], atol=1e-15)
    Cs = np.arange(1.0, 6.0)
    assert choose(np.round(means, 9), errors, Cs, "best") == 3  # of equals the smallest C
    # within 0.0115 of 0.62 there is only 0.62 itself; with an error of 0.02, 0.60 is near enough, 0.58 is not
    assert choose(np.round(means, 9), errors, Cs, "one-se") == 3
    errors[3] = 0.0200001
    assert choose(np.round(means, 9), errors, Cs, "one-se") == 2
    shuffled = [4, 2, 0, 3, 1]
    assert choose(np.round(means, 9)[shuffled], errors[shuffled], Cs[shuffled], "one-se") == 1
    assert choose(np.array([np.nan, 0.3, 0.2]), np.zeros(3), np.arange(3.0), "best") == 1
    with pytest.raises(ValueError, match="rule must be one of 'best', 'one-se'; got 'worst'"):
        choose(means, errors, Cs, "worst")


def test_folds_without_a_value_do_not_count():
    means, errors = means_and_errors(np.array([[0.5, np.nan], [0.7, np.nan], [np.nan, np.nan]]))
    assert means[0] == pytest.approx(0.6)
    assert errors[0] == pytest.approx(0.1)
    assert np.isnan(means[1])
    assert errors[1] == 0


def score_by(monkeypatch, score):
    """Folds whose rankers score score(fold, C), without being trained."""

    def path(self, strengths, start):
        return (Judged(score(self, C), 0.1, np.zeros(DATA.X.shape[1])) for C in strengths)

    monkeypatch.setattr(PathFold, "path", path)


def test_the_rule_is_the_tables(monkeypatch):
    scores = {0.01: 0.5, 0.1: 0.6, 1.0: 0.62}
    score_by(monkeypatch, lambda fold, C: scores[C] + fold.halves()[1].y.size % 2)
    chosen = {
        rule: RankSVMCV([0.01, 0.1, 1.0], rule=rule).fit(DATA.X, DATA.y, DATA.qid).C_ for rule in ("best", "one-se")
    }
    assert chosen["best"] == 1.0
    model = RankSVMCV([0.01, 0.1, 1.0], rule="one-se").fit(DATA.X, DATA.y, DATA.qid)
    near = model.Cs_[model.scores_ >= model.scores_.max() - model.standard_errors_[2]]
    assert chosen["one-se"] == near.min()


def test_results_are_a_table():
    model = RankSVMCV(CS, cv=3).fit(DATA.X, DATA.y, DATA.qid)
    table = model.cv_results_
    assert table["param_C"].tolist() == CS
    assert table["rank_test_score"].tolist() == rankdata(-model.scores_, "min").tolist()
    np.testing.assert_array_equal(table["split1_test_score"], model.cv_values_[1])
    np.testing.assert_allclose(table["std_test_score"], model.cv_values_.std(axis=0))


def test_a_single_query_is_split_by_documents():
    X, y = DATA.X[:80], DATA.y[:80]
    model = RankSVMCV(CS, cv=4, measure="pairwise-accuracy").fit(X, y)
    assert model.cv_values_.shape == (4, 3)
    assert 0.5 < model.best_score_ < 1


def test_weights_of_zero_are_documents_left_out():
    keep = DATA.qid != DATA.qid[0]
    folds = list(QueryKFold(3).split(DATA.X, groups=DATA.qid))
    weighted = RankSVMCV(CS, folds, ranker=EXACT).fit(DATA.X, DATA.y, DATA.qid, keep.astype(float))
    place = np.cumsum(keep) - 1
    kept = [tuple(place[rows[keep[rows]]] for rows in split) for split in folds]
    alone = RankSVMCV(CS, kept, ranker=EXACT).fit(DATA.X[keep], DATA.y[keep], DATA.qid[keep])
    np.testing.assert_allclose(weighted.cv_values_, alone.cv_values_)
    np.testing.assert_allclose(weighted.coef_, alone.coef_, rtol=1e-6)


@pytest.mark.parametrize("scaled", [False, True])
def test_saved_as_the_ranker_it_chose(tmp_path, scaled):
    model = RankSVMCV(CS, ranker=RankSVM(loss="huber:0.5"))
    model = ScaledRanker(model, "zscore") if scaled else model
    model.fit(DATA.X, DATA.y, DATA.qid)
    save_model(model, tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict(DATA.X), model.predict(DATA.X))
    ranker = again.ranker_ if scaled else again
    assert isinstance(ranker, RankSVM)
    assert (ranker.C, ranker.loss) == ((model.ranker_ if scaled else model).C_, "huber:0.5")


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"Cs": []}, "Cs is empty"),
        ({"rule": "worst"}, "rule must be one of 'best', 'one-se'; got 'worst'"),
        ({"measure": "ndgc"}, "Did you mean 'ndcg'"),
        ({"cv": 31}, "31 folds need as many queries, and there are 30"),
        ({"ranker": ScaledRanker(RankSVM(), "zscore")}, r"got a ScaledRanker: .* ScaledRanker\(RankSVMCV"),
        ({"ranker": KernelRankSVM()}, "ranker must be a RankSVM, whose C is chosen; got a KernelRankSVM"),
        ({"cv": "exclude"}, "cv must be an integer, a splitter or a list of .*; got 'exclude'"),
        ({"ranker": RankSVM(costs=np.ones(300))}, "costs per document or pair"),
        ({"ranker": RankSVM(costs=lambda i, j: np.ones(i.size))}, "costs per document or pair"),
    ],
)
def test_what_cannot_be_is_refused(params, words):
    with pytest.raises(ValueError, match=words):
        RankSVMCV(**params).fit(DATA.X, DATA.y, DATA.qid)


@pytest.mark.parametrize("ranker", [ScaledRanker(KernelRankSVM(), "zscore"), KernelRankSVM()])
def test_a_path_is_that_of_a_ranksvm(ranker):
    with pytest.raises(ValueError, match="ranker must be a RankSVM, whose C is chosen"):
        c_path(DATA.X, DATA.y, DATA.qid, ranker=ranker)


@pytest.mark.parametrize(
    ("Cs", "words"),
    [
        ([1e-12, 1e-11, 1e-3], "C = 0.001 is the largest of the values tried: try larger ones too"),
        ([1e-12, 1e-3, 1e-11, 1e12], ""),
        ([1e-12, 1e-3], ""),  # two are a choice
    ],
)
def test_a_choice_at_the_end_of_the_grid_is_told(monkeypatch, Cs, words):
    """The test gives the scores, so that the choice is known: the nearer to 0.001 the better."""
    score_by(monkeypatch, lambda fold, C: -abs(np.log10(C) + 3))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        RankSVMCV(Cs, cv=2).fit(DATA.X, DATA.y, DATA.qid)
    told = [str(one.message) for one in caught if "values tried" in str(one.message)]
    assert [one.removesuffix(" (Cs)") for one in told] == ([words] if words else [])


def test_letor_folds_on_mq2008(letor_data):
    """The C of each fold by its validation part, as the papers choose it, is no worse than a middling one."""
    data, folds = LetorFolds.read(letor_data / "mq2008", dense=True)
    model = RankSVMCV(2.0 ** np.arange(-15, 11, 5), folds, "mean-ndcg:letor").fit(data.X, data.y, data.qid)
    assert model.cv_values_.shape == (5, 6)
    assert 0.45 < model.best_score_ < 0.55


def test_the_usual_grid_has_the_default_strength_inside():
    assert usual_grid(10_000).tolist() == usual_grid(1e9, "mean").tolist() == list(GRID)
    large = usual_grid(1e9)
    assert large[0] <= 30e-9 / 2**5 <= 2 * large[0]
    assert large[-1] == GRID[-1]
    for total in (1e-300, 1e-20, 1e20, 1e300):  # of weights
        grid = usual_grid(total)
        assert grid.size <= 61
        assert grid[5] <= 30 / total <= grid[-5]
    data = make_ranking(n_queries=6, docs_per_query=300, n_features=3, random_state=0)
    ranker = RankSVMCV(cv=2, measure="pairwise-accuracy").fit(data.X, data.y, data.qid)
    assert ranker.Cs_[5] <= RankSVM().fit(data.X, data.y, data.qid).C_ <= ranker.Cs_[-6]
    assert ranker.Cs_[0] < GRID[0]
