import json

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankwise.preprocessing import FeatureScaler, QueryScaler, Scaler, make_scaler, scaling

METHODS = ["minmax", "zscore"]
PEERS = {"minmax": MinMaxScaler, "zscore": StandardScaler}
NAMES = ["minmax", "zscore", "query-minmax", "query-zscore"]


@parametrize_with_checks([make_scaler(name) for name in NAMES])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def naive(column, method):
    low, high = min(column), max(column)
    if low == high:
        return [0.0] * len(column)
    if method == "minmax":
        return [(x - low) / (high - low) for x in column]
    mean = sum(column) / len(column)
    deviation = (sum((x - mean) ** 2 for x in column) / len(column)) ** 0.5
    return [(x - mean) / deviation for x in column]


@st.composite
def query_data(draw):
    n_rows = draw(st.integers(1, 25))
    X = draw(arrays(np.float64, (n_rows, 3), elements=st.integers(-2, 3).map(lambda k: k * 0.1)))
    return X, np.array(draw(st.lists(st.sampled_from("abcd"), min_size=n_rows, max_size=n_rows)))


@pytest.mark.parametrize("block_values", [1, 12, 1 << 20])
@pytest.mark.parametrize("method", METHODS)
@given(data=query_data())
def test_each_query_is_scaled_by_itself(method, block_values, data):
    X, qid = data
    expected = np.empty_like(X)
    for q in set(qid):
        for j in range(X.shape[1]):
            expected[qid == q, j] = naive(X[qid == q, j].tolist(), method)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scaling, "BLOCK_VALUES", block_values)
        scaled = QueryScaler(method).fit_transform(X, qid=qid)
    assert_allclose(scaled, expected, atol=1e-12)


def test_letor_data_come_back_from_units_of_each_querys_own(read_parts):
    data = read_parts("mq2008", 1)  # published scaled to [0, 1] within each query
    rng = np.random.default_rng(0)
    _, query = np.unique(data.qid, return_inverse=True)
    unit, offset = rng.lognormal(size=(2, query.max() + 1, data.n_features))
    scaled = QueryScaler().fit_transform(data.X * unit[query] + offset[query], qid=data.qid)
    assert_allclose(scaled, data.X, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_threads_and_order_of_rows_change_nothing(method, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(3000, 7))
    qid = np.sort(rng.integers(0, 200, len(X)))
    monkeypatch.setattr(scaling, "BLOCK_VALUES", 1000)
    scaled = QueryScaler(method).fit_transform(X, qid=qid)
    monkeypatch.setattr(scaling, "thread_count", lambda: 1)
    assert_array_equal(QueryScaler(method).fit_transform(X, qid=qid), scaled)
    order = np.argsort(rng.random(len(X)), kind="stable")
    shuffled = QueryScaler(method).fit_transform(X[order], qid=qid[order])
    assert_allclose(shuffled, scaled[order], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("block_values", [1, 50, 1 << 20])
@pytest.mark.parametrize("method", METHODS)
def test_global_scaling_is_scikit_learns(method, block_values, monkeypatch):
    rng = np.random.default_rng(1)
    X, other = rng.lognormal(size=(2, 100, 5)) + 1000
    monkeypatch.setattr(scaling, "BLOCK_VALUES", block_values)
    scaler = FeatureScaler(method).fit(X)
    assert_allclose(scaler.transform(other), PEERS[method]().fit(X).transform(other), rtol=1e-9)
    assert_allclose(scaler.transform(other), (other - scaler.shift_) * scaler.scale_)


@pytest.mark.parametrize("name", NAMES)
def test_constant_columns_give_zero(name):
    X = np.column_stack([np.full(7, 0.1), np.arange(7.0)])
    scaler = make_scaler(name).fit(X)
    assert_array_equal(scaler.transform(X)[:, 0], 0)
    assert_array_equal(scaler.transform(X + 5)[:, 0], 0)
    assert scaler.transform(X)[:, 1].std() > 0.1


@pytest.mark.parametrize("name", NAMES)
def test_float32_stays_float32_and_close(name):
    X = np.random.default_rng(2).lognormal(size=(60, 4))
    qid = np.arange(60) // 7
    exact = make_scaler(name).fit_transform(X, qid=qid)
    single = make_scaler(name).fit_transform(X.astype(np.float32), qid=qid)
    assert single.dtype == np.float32
    assert_allclose(single, exact, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_input_is_left_alone(name):
    X = np.random.default_rng(2).lognormal(size=(20, 4))
    X.flags.writeable = False
    make_scaler(name).fit_transform(X, qid=np.arange(20) // 5)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("method", METHODS)
def test_sparse_stays_sparse_and_differs_by_a_shift(method, container):
    X = sparse.random_array((50, 6), density=0.3, rng=np.random.default_rng(3)).toarray() - 0.2
    X[:, 2:] += 0.2
    X[X == -0.2] = 0
    scaled = FeatureScaler(method).fit_transform(container(X))
    assert scaled.format == container(X).format
    assert_array_equal(scaled.toarray() == 0, X == 0)
    dense = FeatureScaler(method).fit_transform(X)
    assert_allclose(scaled.toarray() - scaled.toarray()[:1], dense - dense[:1], atol=1e-12)


def test_sparse_minmax_of_nonnegative_data_is_maxabs():
    X = sparse.random_array((50, 6), density=0.3, format="csr", rng=np.random.default_rng(3))
    scaled = FeatureScaler().fit_transform(X)
    assert_allclose(scaled.toarray(), MaxAbsScaler().fit_transform(X).toarray())


def test_without_qid_rows_belong_to_the_query_fitted():
    X = np.array([[0.0], [4.0]])
    scaler = QueryScaler().fit(X)
    assert scaler.transform([[1.0]]) == 0.25
    assert scaler.transform([[1.0]], qid=[7]) == 0
    assert not hasattr(scaler.fit(X, qid=[1, 1]), "shift_")


@pytest.mark.parametrize("with_qid", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_state_survives_json(name, with_qid):
    X = pd.DataFrame(np.random.default_rng(4).lognormal(size=(30, 3)), columns=["a", "b", "c"])
    qid = np.arange(30) // 4 if with_qid else None
    scaler = make_scaler(name).fit(X, qid=qid)
    again = Scaler.from_dict(json.loads(json.dumps(scaler.to_dict())))
    assert type(again) is type(scaler)
    assert again.to_dict() == scaler.to_dict()
    assert_array_equal(again.transform(X, qid=qid), scaler.transform(X, qid=qid))
    assert_array_equal(again.get_feature_names_out(), ["a", "b", "c"])


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ({}, "not the saved state of a scaler: 'name'"),
        ({"name": "robust", "n_features": 1}, "scaler must be one of .*; got 'robust'"),
        ({"name": "minmax", "n_features": 2, "shift": [0, 0]}, "lacks a number"),
        ({"name": "minmax", "n_features": 2, "shift": [0, 0], "scale": [1]}, "lacks a number"),
        ({"name": "minmax", "n_features": 2, "shift": [0, 0], "scale": [1, None]}, "lacks a number"),
        ({"name": "minmax", "n_features": 2}, "lacks a number"),
        ({"name": "query-minmax", "n_features": "many"}, "not the saved state"),
        ({"name": "query-minmax", "n_features": 2}, "'query-minmax', not a FeatureScaler"),
    ],
)
def test_damaged_state_is_refused(state, sentence):
    with pytest.raises(ValueError, match=sentence):
        FeatureScaler.from_dict(state)


@pytest.mark.parametrize("name", NAMES)
def test_data_frames_come_back_as_asked(name):
    X = pd.DataFrame({"a": [0.0, 1, 2], "b": [5.0, 6, 9]}, index=[4, 5, 6])
    scaled = make_scaler(name).set_output(transform="pandas").fit_transform(X, qid=["x", "x", "y"])
    assert list(scaled.columns) == ["a", "b"]
    assert list(scaled.index) == [4, 5, 6]


def test_a_pipeline_routes_qid_to_it():
    rng = np.random.default_rng(5)
    X, y, qid = rng.random((40, 2)), rng.random(40), np.arange(40) // 8
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(FeatureScaler(), QueryScaler("zscore"), LinearRegression())
        scores = pipeline.fit(X, y, qid=qid).predict(X, qid=qid)
    scaled = QueryScaler("zscore").fit_transform(X, qid=qid)
    assert_allclose(scores, LinearRegression().fit(scaled, y).predict(scaled))


GOOD = np.arange(6.0).reshape(3, 2)
BAD = np.array([[0.0, 1], [2, np.nan], [4, 5]])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: make_scaler("robust"), "scaler must be one of 'query-minmax'"),
        (lambda: FeatureScaler("robust").fit(GOOD), "method is 'robust'"),
        (lambda: FeatureScaler().fit(BAD), "NaN or inf at row 1, column 1"),
        (lambda: FeatureScaler().fit(sparse.csr_array(BAD)), "X holds a NaN or inf"),
        (lambda: QueryScaler().fit(GOOD, qid=[1, 1, 2]).transform(BAD, qid=[1, 1, 2]), "row 1, column 1"),
        (lambda: QueryScaler().fit(GOOD, qid=[1, 2]), "qid must hold one id per row: expected 3"),
        (lambda: QueryScaler().fit(GOOD, qid=[1, 1, 2]).transform(GOOD), "qid is missing"),
        (lambda: QueryScaler().fit(sparse.csr_array(GOOD)), "X is sparse, and scaling within a query"),
        (lambda: FeatureScaler().fit(GOOD + 1).transform(sparse.csr_array(GOOD)), "fitted on dense data"),
        (lambda: FeatureScaler().fit([[1.0, -1e308], [2, 1e308]]), "column 1 of X spans more"),
        (lambda: QueryScaler("zscore").fit_transform([[-1e308], [1e308]], qid=[1, 1]), "column 0 of X spans"),
    ],
)
def test_bad_input_gets_one_sentence(call, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence) as caught:
        call()
    assert "\n" not in str(caught.value)
