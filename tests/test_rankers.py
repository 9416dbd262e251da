"""Training and models as values: what the estimators do, to the last bit, and what only they need scikit-learn for."""

import warnings
from dataclasses import fields

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

import rankwise
from rankwise import RankRLS, RankSVM, ScaledRanker
from rankwise.data.records import RankingData
from rankwise.model_io.conversion import estimator_of, model_of
from rankwise.model_io.files import load_model, read_model, save_model, write_model
from rankwise.preprocessing import scaling
from rankwise.preprocessing.scaling import NAMES, Scaling
from rankwise.rankers.rankrls import RankRLSOptions
from rankwise.rankers.ranksvm import RankSVMOptions
from rankwise.rankers.training import Training

DATA = rankwise.load_sample()
ESTIMATORS = {RankSVMOptions: RankSVM, RankRLSOptions: RankRLS}
OF_THE_ESTIMATOR = {"callback", "pairs"}


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_options_are_the_estimators_parameters(kind):
    defaults = {field.name: field.default for field in fields(kind)}
    params = ESTIMATORS[kind]().get_params()
    assert defaults == {name: value for name, value in params.items() if name not in OF_THE_ESTIMATOR}


@pytest.mark.parametrize("scaler", [None, *NAMES])
@pytest.mark.parametrize(
    "options", [RankSVMOptions(C=0.01), RankSVMOptions(solver="sgd", random_state=3), RankRLSOptions()]
)
def test_a_training_is_the_estimators(options, scaler, tmp_path):
    model = Training(options, scaler).fit(DATA)
    given = {field.name: getattr(options, field.name) for field in fields(options)}
    ranker = ESTIMATORS[type(options)](**given)
    ranker = (ranker if scaler is None else ScaledRanker(ranker, scaler)).fit(DATA)
    np.testing.assert_array_equal(model.coef, ranker.coef_)
    scores = ranker.predict(DATA, DATA.qid) if scaler else ranker.predict(DATA)
    np.testing.assert_array_equal(model.scores(DATA), scores)
    write_model(model, tmp_path / "plain.json")
    save_model(ranker, tmp_path / "estimator.json")
    assert (tmp_path / "plain.json").read_text() == (tmp_path / "estimator.json").read_text()
    np.testing.assert_array_equal(read_model(tmp_path / "plain.json").scores(DATA), scores)


def test_a_training_keeps_to_the_threads_it_is_given(monkeypatch):
    threads = []

    def share(work, pieces, n_threads):
        threads.append(n_threads)
        return list(map(work, pieces))

    monkeypatch.setattr(scaling, "share", share)
    Training(RankRLSOptions(n_jobs=1), "query-minmax").fit(DATA)
    Training(RankRLSOptions(n_jobs=3), "query-minmax").fit(DATA)
    assert threads == [1, 3]


def test_rows_on_disk(tmp_path):
    rankwise.write_chunks(tmp_path / "d.chunks", DATA)
    stored = rankwise.open_chunks(tmp_path / "d.chunks")
    for options in (RankSVMOptions(), RankRLSOptions()):
        training = Training(options)
        assert training.reads_parts
        model = training.fit(stored)
        ranker = ESTIMATORS[type(options)]().fit(stored)
        np.testing.assert_array_equal(model.coef, ranker.coef_)
        np.testing.assert_array_equal(model.scores(stored), ranker.predict(stored))
    assert not Training(RankSVMOptions(), "minmax").reads_parts
    assert not Training(RankSVMOptions(solver="dual")).reads_parts
    assert not Training(RankRLSOptions(solver="dual")).reads_parts
    assert not Training(RankSVMOptions(device="torch:cpu")).reads_parts


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (RankSVMOptions(max_iter=1, tol=1e-12), "RankSVM did not converge: "),
        (RankRLSOptions(solver="cg", max_iter=1), "RankRLS did not converge: max_iter = 1 products"),
    ],
)
def test_warnings_have_the_estimators_words(options, words):
    given = {field.name: getattr(options, field.name) for field in fields(options)}
    with pytest.warns(UserWarning, match=words) as plain:
        Training(options).fit(DATA)
    with pytest.warns(UserWarning, match=words) as known:
        ESTIMATORS[type(options)](**given).fit(DATA.X, DATA.y, DATA.qid)
    assert [str(one.message) for one in plain] == [str(one.message) for one in known]
    assert known[0].category.__name__ == "ConvergenceWarning"
    assert plain[0].filename == known[0].filename == __file__


@pytest.mark.parametrize("options", [RankSVMOptions(), RankRLSOptions()])
def test_nothing_to_learn_is_said(options):
    equal = RankingData(DATA.X, np.zeros(len(DATA)), DATA.qid)
    with pytest.warns(UserWarning, match="no preference pair: no query has two different labels"):
        assert not Training(options).fit(equal).coef.any()


def test_numbers_that_are_not_finite_are_refused():
    X = DATA.X.copy()
    X[5, 2] = np.nan
    for scaler in (None, "minmax", "query-zscore"):
        with pytest.raises(ValueError, match="row 5 of X holds nan"):
            Training(RankSVMOptions(), scaler).fit(RankingData(X, DATA.y, DATA.qid))


def test_data_without_features_are_refused_as_by_the_estimators():
    empty = RankingData(DATA.X[:, :0], DATA.y, DATA.qid)
    for options in (RankSVMOptions(), RankRLSOptions()):
        with pytest.raises(ValueError, match=r"Found array with 0 feature\(s\)") as known:
            ESTIMATORS[type(options)]().fit(empty.X, empty.y, empty.qid)
        with pytest.raises(ValueError, match="0 feature") as plain:
            Training(options).fit(empty)
        assert str(plain.value) == str(known.value)


def test_zeros_of_sparse_data_stay_where_they_are():
    thin = RankingData(sparse.csr_array(DATA.X), DATA.y, DATA.qid)
    with pytest.raises(ValueError, match="X is sparse, and query-minmax would move its zeros: take minmax or zscore"):
        Training(RankSVMOptions(), "query-minmax").fit(thin)
    with pytest.raises(ValueError, match="X is sparse, and query-zscore"):
        Training(RankSVMOptions(), "query-zscore").fit(DATA).scores(thin)


def test_seeds():
    assert RankSVMOptions(random_state=7).seed() == RankSVMOptions(random_state=np.random.RandomState(7)).seed()
    np.random.seed(7)  # noqa: NPY002  None stands for this state
    assert RankSVMOptions().seed() == RankSVMOptions(random_state=7).seed()


@pytest.mark.parametrize("scaler", [None, "zscore", "query-minmax"])
def test_a_model_as_a_value_and_back(scaler, tmp_path):
    frame = DATA.to_frame().drop(columns="comment")
    ranker = RankSVM(C=0.1, scheme="by-level", n_jobs=1)
    ranker = (ranker if scaler is None else ScaledRanker(ranker, scaler)).fit(frame, y="label", qid="qid")
    model = model_of(ranker)
    assert model.columns.names == tuple(ranker.feature_names_in_)
    assert "n_jobs" not in model.params
    again = estimator_of(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        args = () if scaler is None else (DATA.qid,)
        np.testing.assert_array_equal(again.predict(frame, *args), ranker.predict(frame, *args))
    write_model(model, tmp_path / "m.json")
    assert load_model(tmp_path / "m.json").n_queries_ == ranker.n_queries_
    assert read_model(tmp_path / "m.json").columns == model.columns


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_columns_of_sparse_matrices_as_in_scikit_learn(form, dtype):
    random = np.random.default_rng(0)
    dense = random.normal(size=(200, 30)) * (random.random((200, 30)) < 0.2)
    dense[:, 3], dense[:, 4] = 7.0, 0.0
    X = sparse.csr_array(dense.astype(dtype)).asformat(form)
    for own, known in zip(scaling._sparse_moments(X), mean_variance_axis(X.astype(np.float64), axis=0), strict=True):
        np.testing.assert_array_equal(own, known)
    for own, known in zip(scaling._sparse_bounds(X), min_max_axis(X, axis=0), strict=True):
        np.testing.assert_array_equal(own, known)
    fitted = Scaling.fitted("zscore", X)
    scaled = fitted.transform(X)
    assert scaled.dtype == dtype
    np.testing.assert_array_equal(scaled.toarray(), X.toarray() * fitted.scale.astype(dtype))
