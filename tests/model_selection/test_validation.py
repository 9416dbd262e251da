"""cross_validate and learning_curve against loops written out; qid reaches every estimator."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import RankRLS, RankSVM, RankSVMCV, ScaledRanker, evaluate, make_ranking
from rankwise.model_selection import QueryKFold, cross_validate, learning_curve
from rankwise.preprocessing import QueryScaler

DATA = make_ranking(n_queries=20, docs_per_query=(3, 15), n_features=4, random_state=2)
FOLDS = QueryKFold(4, shuffle=True, random_state=0)
MEASURES = ["ndcg@5", "map"]


def by_hand(ranker, *, scaled=False):
    for train, valid in FOLDS.split(DATA.X, groups=DATA.qid):
        fitted = ranker.fit(DATA.X[train], DATA.y[train], DATA.qid[train])
        scores = fitted.predict(DATA.X[valid], DATA.qid[valid]) if scaled else fitted.predict(DATA.X[valid])
        yield evaluate(DATA.y[valid], scores, DATA.qid[valid], MEASURES)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_folds_one_by_one(n_jobs):
    found = cross_validate(
        RankSVM(C=0.1), DATA.X, DATA.y, DATA.qid, cv=FOLDS, measures=["ndcg@5", "map"], n_jobs=n_jobs
    )
    expected = list(by_hand(RankSVM(C=0.1)))
    for name in MEASURES:
        by_fold = [one[name] for one in expected]
        np.testing.assert_array_equal(found.by_fold(name), by_fold)
        assert found.mean(name) == pytest.approx(np.mean(by_fold))
        assert found.spread(name) == pytest.approx(np.std(by_fold, ddof=1))
        assert found.standard_error(name) == pytest.approx(np.std(by_fold, ddof=1) / 2)
        ids, values = found.per_query(name)
        assert sorted(ids) == sorted(set(DATA.qid))
        np.testing.assert_array_equal(values, np.concatenate([one.per_query[name] for one in expected]))
    assert (found.fit_seconds > 0).all()
    assert [fold.train_queries for fold in found.folds] == [15] * 4
    told = found.to_dict(per_query=True)
    assert told["measures"]["map"]["folds"] == found.by_fold("map").tolist()
    assert len(told["per_query"]) == 4
    assert f"{found.mean('map'):.4f}" in repr(found)


def test_it_takes_what_fit_takes():
    expected = cross_validate(RankSVM(C=0.1), DATA.X, DATA.y, DATA.qid, cv=FOLDS).by_fold("ndcg@10")
    frame = DATA.to_frame()
    for given in ((DATA,), (frame, "label", "qid"), (frame.drop(columns="qid"), "label", DATA.qid)):
        np.testing.assert_array_equal(cross_validate(RankSVM(C=0.1), *given, cv=FOLDS).by_fold("ndcg@10"), expected)
    for given in ((DATA.X,), (DATA, DATA.y), (frame, DATA.y, "qid")):
        with pytest.raises(ValueError, match="give X with y and qid, a RankingData alone, or a frame"):
            cross_validate(RankSVM(), *given)


def test_a_pipeline_and_a_scaled_ranker_get_qid_without_any_setting():
    wanted = [one["ndcg@5"] for one in by_hand(ScaledRanker(RankSVM(C=0.1), "query-zscore"), scaled=True)]
    pipeline = make_pipeline(QueryScaler("zscore"), RankSVM(C=0.1))
    for estimator in (ScaledRanker(RankSVM(C=0.1), "query-zscore"), pipeline):
        found = cross_validate(estimator, DATA.X, DATA.y, DATA.qid, cv=FOLDS, measures="ndcg@5")
        np.testing.assert_allclose(found.by_fold("ndcg@5"), wanted)
    plain = make_pipeline(StandardScaler(), RankSVM(C=0.1))
    cross_validate(plain, DATA.X, DATA.y, DATA.qid, cv=FOLDS)


def test_what_x_may_be():
    expected = cross_validate(RankRLS(), DATA.X, DATA.y, DATA.qid).by_fold("ndcg@10")
    for X in (sparse.csc_array(DATA.X), pd.DataFrame(DATA.X), DATA.X.tolist()):
        found = cross_validate(RankRLS(), X, DATA.y, DATA.qid.tolist()).by_fold("ndcg@10")
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_nested_choice():
    found = cross_validate(RankSVMCV([0.01, 0.1], cv=3), DATA.X, DATA.y, DATA.qid, cv=3)
    assert found.by_fold("ndcg@10").shape == (3,)


def test_one_query_is_split_by_documents():
    found = cross_validate(RankSVM(C=0.01), DATA.X, DATA.y, cv=3, measures="pairwise-accuracy")
    assert (found.by_fold("pairwise-accuracy") > 0.5).all()


def test_learning_curve_by_hand():
    found = learning_curve(RankSVM(C=0.1), DATA.X, DATA.y, DATA.qid, sizes=[3, 0.5, 1.0], cv=FOLDS)
    assert found.n_queries.tolist() == [3, 8, 15]
    assert found.train.shape == found.valid.shape == (3, 4)
    whole = cross_validate(RankSVM(C=0.1), DATA.X, DATA.y, DATA.qid, cv=FOLDS).by_fold("ndcg@10")
    np.testing.assert_allclose(found.valid[-1], whole)
    again = learning_curve(RankSVM(C=0.1), DATA.X, DATA.y, DATA.qid, sizes=[3], cv=FOLDS, n_jobs=2)
    np.testing.assert_array_equal(again.valid[0], found.valid[0])
    besides = {"sample_weight": np.linspace(0, 5, len(DATA)), "groups": DATA.qid % 4, "cv": 4}
    weighted = learning_curve(RankSVM(C=0.1), DATA.X, DATA.y, DATA.qid, sizes=[1.0], **besides)
    whole = cross_validate(RankSVM(C=0.1), DATA.X, DATA.y, DATA.qid, **besides).by_fold("ndcg@10")
    np.testing.assert_allclose(weighted.valid[0], whole)


@pytest.mark.parametrize("sizes", [[], [0], [16], [1.5], [0.01]])
def test_sizes_that_cannot_be(sizes):
    with pytest.raises(ValueError, match="sizes"):
        learning_curve(RankSVM(), DATA.X, DATA.y, DATA.qid, sizes=sizes, cv=FOLDS)


def test_a_warning_about_one_fold_does_not_speak_of_all_queries():
    y, qid = np.array([1, 1, 0, 1, 0, 2]), np.array([1, 1, 2, 2, 3, 3])
    with pytest.warns(UserWarning, match="ndcg on one set of held-out queries: within every query all labels are"):
        cross_validate(RankSVM(), np.arange(12.0).reshape(6, 2), y, qid, measures="ndcg", cv=3)
