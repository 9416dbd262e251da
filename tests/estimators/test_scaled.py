"""ScaledRanker: the ranker on scaled features, warm starts, weights, data frames."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankwise import RankSVM, ScaledRanker, make_ranking
from rankwise.preprocessing import make_scaler

DATA = make_ranking(n_queries=15, docs_per_query=10, n_features=4, random_state=0)


def of_the_scaler(estimator):
    reason = "the scaler looks at every row, whatever it weighs"
    return dict.fromkeys(
        ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"], reason
    )


@parametrize_with_checks(
    [ScaledRanker(RankSVM(), "zscore"), ScaledRanker(RankSVM(), "query-minmax")], expected_failed_checks=of_the_scaler
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("scaler", ["query-minmax", "query-zscore", "minmax", "zscore"])
def test_it_is_the_ranker_of_scaled_features(scaler):
    weight = np.random.default_rng(0).random(len(DATA))
    model = ScaledRanker(RankSVM(C=0.1), scaler).fit(DATA.X, DATA.y, DATA.qid, weight)
    scaled = make_scaler(scaler).fit_transform(DATA.X, qid=DATA.qid)
    ranker = RankSVM(C=0.1).fit(scaled, DATA.y, DATA.qid, weight)
    np.testing.assert_array_equal(model.coef_, ranker.coef_)
    np.testing.assert_array_equal(model.predict(DATA.X, DATA.qid), ranker.predict(scaled))
    assert model.score(DATA.X, DATA.y, DATA.qid) == ranker.score(scaled, DATA.y, DATA.qid)


def test_warm_start():
    model = ScaledRanker(RankSVM(C=0.1, tol=1e-6, warm_start=True), "minmax").fit(DATA.X, DATA.y, DATA.qid)
    first, coef = model.ranker_.n_iter_, model.coef_
    model.fit(DATA.X, DATA.y, DATA.qid)
    assert first > 0
    assert model.ranker_.n_iter_ == 0
    np.testing.assert_array_equal(model.coef_, coef)
    assert ScaledRanker(RankSVM(C=0.1, tol=1e-6), "minmax").fit(DATA.X, DATA.y, DATA.qid).ranker_.n_iter_ == first


def test_a_ranker_without_weights_is_not_given_any():
    class Unweighted(RankSVM):
        def fit(self, X, y, qid=None):
            return super().fit(X, y, qid)

    model = ScaledRanker(Unweighted(), "zscore").fit(DATA.X, DATA.y, DATA.qid)
    with pytest.raises(TypeError, match="sample_weight"):
        model.fit(DATA.X, DATA.y, DATA.qid, np.ones(len(DATA)))


def test_names_of_columns_are_kept():
    frame = pd.DataFrame(DATA.X, columns=list("abcd"))
    model = ScaledRanker(RankSVM(), "zscore").fit(frame, DATA.y, DATA.qid)
    assert model.feature_names_in_.tolist() == list("abcd")
