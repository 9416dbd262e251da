"""Inside scikit-learn's searches: with metadata routing qid arrives everywhere; without it, no score is returned."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from versions import ROUTED_IN_PIPELINES

import rankwise
from rankwise import (
    FactorizedRankSVM,
    KernelRankRLS,
    KernelRankSVM,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
    ScaledRanker,
    load_model,
    make_ranking,
    save_model,
)
from rankwise import model_selection as ours
from rankwise.estimators.scoring import MergedQueriesError
from rankwise.preprocessing import QueryScaler

DATA = make_ranking(n_queries=12, docs_per_query=(4, 12), n_features=4, random_state=3)
X, Y, QID = DATA.X, DATA.y, DATA.qid
FOLDS = ours.QueryKFold(3, shuffle=True, random_state=0)


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


def judged(ranker):
    return ours.cross_validate(ranker, X, Y, QID, cv=FOLDS).by_fold("ndcg@10")


@pytest.mark.usefixtures("routing")
def test_grid_search_needs_qid_alone():
    search = GridSearchCV(RankSVM(), {"C": [0.001, 1.0]}, cv=FOLDS).fit(X, Y, qid=QID)
    for place, C in enumerate([0.001, 1.0]):
        found = [search.cv_results_[f"split{k}_test_score"][place] for k in range(3)]
        np.testing.assert_allclose(found, judged(RankSVM(C=C)), rtol=1e-12)
    best = RankSVMCV([0.001, 1.0], FOLDS).fit(X, Y, QID)
    assert search.best_params_["C"] == best.C_
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], best.scores_, atol=1e-3)


@pytest.mark.usefixtures("routing")
def test_groups_of_the_outer_folds_may_be_the_queries():
    """They are routed into the fit too, which leaves out queries one by one."""
    search = GridSearchCV(RankRLSCV(), {"measure": ["ndcg@10"]}, cv=GroupKFold(3)).fit(X, Y, groups=QID, qid=QID)
    assert np.isfinite(search.best_score_)
    with pytest.raises(ValueError, match=r"not by groups: cv=5 .* set_fit_request\(groups=False\)"):
        RankRLSCV().fit(X, Y, QID, groups=np.zeros(len(QID)))


@ROUTED_IN_PIPELINES
@pytest.mark.usefixtures("routing")
def test_pipelines_inside_and_outside():
    pipeline = make_pipeline(StandardScaler(), QueryScaler("zscore"), RankSVM())
    search = GridSearchCV(pipeline, {"ranksvm__C": [0.01, 1.0]}, cv=FOLDS).fit(X, Y, qid=QID)
    expected = judged(make_pipeline(StandardScaler(), QueryScaler("zscore"), RankSVM(C=1.0)))
    np.testing.assert_allclose([search.cv_results_[f"split{k}_test_score"][1] for k in range(3)], expected)
    found = cross_validate(RankSVMCV([0.01, 1.0], cv=2), X, Y, cv=FOLDS, params={"qid": QID})
    np.testing.assert_allclose(found["test_score"], judged(RankSVMCV([0.01, 1.0], cv=2)))
    model = make_pipeline(QueryScaler(), RankSVMCV([0.01, 1.0], cv=2)).fit(X, Y, qid=QID)
    assert model.score(X, Y, qid=QID) > 0.5


RANKERS = [
    RankSVM(C=0.1),
    RankSVMCV([0.1], cv=2),
    RankRLS(),
    RankRLSCV(),
    KernelRankSVM(),
    KernelRankRLS(),
    FactorizedRankSVM(n_components=2, max_iter=20, tol=1.0, random_state=0),
    ScaledRanker(RankRLS(), "minmax"),
]


REFUSED = r"score needs qid, as the ranker was fitted to \d+ queries: .*set_config\(enable_metadata_routing=True\)"


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
def test_queries_are_never_merged_to_score(ranker, tmp_path):
    ranker.fit(X, Y, QID)
    with pytest.raises(ValueError, match=REFUSED):
        ranker.score(X, Y)
    save_model(ranker, tmp_path / "model.json")
    with pytest.raises(ValueError, match=REFUSED):
        load_model(tmp_path / "model.json").score(X, Y)


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
def test_one_query_needs_no_warning(ranker, recwarn):
    one = np.equal(QID, QID[0])
    ranker.fit(X[one], Y[one]).score(X[one], Y[one])
    assert not [warning for warning in recwarn if "without qid" in str(warning.message)]


@pytest.mark.parametrize(("scoring", "n_jobs"), [(None, 1), (ours.make_scorer("map"), 1), (None, 2)])
def test_a_search_without_routing_ends_with_one_sentence(scoring, n_jobs):
    options = {"cv": FOLDS, "scoring": scoring, "n_jobs": n_jobs}
    with pytest.raises(MergedQueriesError, match=REFUSED):
        GridSearchCV(RankRLS(), {"alpha": [1.0, 2.0]}, **options).fit(X, Y, groups=QID, qid=QID)
    with pytest.raises(MergedQueriesError, match=REFUSED):
        cross_val_score(RankRLS(), X, Y, groups=QID, params={"qid": QID}, **options)


def test_a_single_query_needs_no_routing():
    one = np.equal(QID, QID[0])
    search = GridSearchCV(RankRLS(), {"alpha": [1.0]}, cv=2).fit(X[one], Y[one])
    assert np.isfinite(search.best_score_)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("ranker", [RankSVM(), ScaledRanker(RankSVM(), "query-zscore")])
def test_a_scorer_scores_by_query(ranker):
    measures = {name: ours.make_scorer(name) for name in ("ndcg@5", "map")}
    name = "C" if isinstance(ranker, RankSVM) else "ranker__C"
    search = GridSearchCV(ranker, {name: [0.01, 1.0]}, scoring=measures["map"], cv=FOLDS).fit(X, Y, qid=QID)
    expected = ours.cross_validate(search.best_estimator_, X, Y, QID, cv=FOLDS, measures="map")
    assert search.best_score_ == pytest.approx(expected.mean("map"), rel=1e-12)
    both = cross_validate(search.best_estimator_, X, Y, scoring=measures, cv=FOLDS, params={"qid": QID})
    np.testing.assert_allclose(both["test_map"], expected.by_fold("map"), rtol=1e-12)


@pytest.mark.usefixtures("routing")
def test_a_scorer_weights_queries_if_it_is_asked_to():
    ranker = RankSVM().set_fit_request(sample_weight=True)
    weight = np.random.default_rng(0).uniform(0.1, 5, len(Y)) * (np.arange(len(Y)) % 7 > 0)

    def score(scoring):
        return GridSearchCV(ranker, {"C": [1.0]}, scoring=scoring, cv=FOLDS).fit(X, Y, qid=QID, sample_weight=weight)

    expected = ours.cross_validate(RankSVM(C=1.0), X, Y, QID, sample_weight=weight, cv=FOLDS, measures="map")
    weighted = score(ours.make_scorer("map").set_score_request(sample_weight=True))
    assert weighted.best_score_ == pytest.approx(expected.mean("map"), rel=1e-12)
    plain = score(ours.make_scorer("map").set_score_request(sample_weight=False))
    assert plain.best_score_ != pytest.approx(expected.mean("map"), rel=1e-6)
    with pytest.raises(ValueError, match=r"sample_weight.* not explicitly set as requested"):
        score(ours.make_scorer("map"))


def test_a_scorer_is_a_function_of_its_measure():
    scorer = rankwise.make_scorer("NDCG@5")
    assert repr(scorer) == "make_scorer('ndcg@5')"
    ranker = RankSVM().fit(X, Y, QID)
    assert scorer(ranker, X, Y, qid=QID) == rankwise.evaluate(Y, ranker.predict(X), QID, "ndcg@5")["ndcg@5"]
    with pytest.raises(ValueError, match=r"measure must be one of .* got 'ndgc'"):
        rankwise.make_scorer("ndgc")
    with pytest.raises(TypeError, match=r"a measure is a string .*; got make_scorer\('ndcg@5'\)"):
        rankwise.make_scorer(scorer)


def test_a_query_scaler_refuses_to_score_without_qid():
    ranker = ScaledRanker(RankSVM(), "query-minmax").fit(X, Y, QID)
    with pytest.raises(ValueError, match=REFUSED):
        ranker.score(X, Y)
    with pytest.raises(ValueError, match="qid is missing"):
        ranker.predict(X)
