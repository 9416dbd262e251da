"""Explanations: contributions add up to differences of scores, and are what another way of computing them gives."""

from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

from rankwise import (
    FactorizedRankSVM,
    KernelRankRLS,
    KernelRankSVM,
    RankingData,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
    ScaledRanker,
    load_sample,
    make_ranking,
    open_chunks,
    write_chunks,
)
from rankwise.kernel_maps import Kernel
from rankwise.kernel_maps.gradients import OF_INNER_PRODUCT, OTHERS, gradients

LINEAR = [
    RankSVM(C=0.01),
    RankSVMCV(Cs=[0.01, 0.1], cv=2),
    RankRLS(),
    RankRLSCV(alphas=[1.0, 10.0]),
    FactorizedRankSVM(n_components=2, C=0.01, max_iter=30, tol=0.1, random_state=0),
    *(ScaledRanker(RankSVM(C=0.01), scaler) for scaler in ("minmax", "zscore", "query-minmax", "query-zscore")),
]
SMOOTH = sorted({*OF_INNER_PRODUCT, *OTHERS} - {"poly"})


@pytest.fixture(scope="module")
def sample():
    return load_sample("test").select(slice(0, 120))


def small_kernel_ranker(kernel, X, **options):
    """A few queries of four features, all positive, as chi2 needs."""
    y, qid = np.arange(24) * 7 % 3, np.arange(24) // 8
    gamma = None if kernel in ("rbf", "sigmoid", "polynomial", "laplacian") else 0.7
    return KernelRankRLS(kernel, alpha=0.5, gamma=gamma, degree=2, **options).fit(X, y, qid), qid


@pytest.fixture(scope="module")
def positive():
    return np.random.default_rng(1).gamma(2.0, size=(24, 4))


def adds_up(found, scores, tolerance=1e-12):
    np.testing.assert_allclose(found.contributions.sum(axis=1), scores - scores.mean(), atol=tolerance)
    np.testing.assert_allclose(found.contributions.sum(axis=0), 0, atol=tolerance * 10)
    assert found.error <= tolerance


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:.*grid.*")
@pytest.mark.parametrize("ranker", LINEAR, ids=lambda one: f"{type(one).__name__}-{getattr(one, 'scaler', '')}")
def test_contributions_of_linear_rankers_add_up(ranker, sample):
    ranker.fit(sample)
    scores, query = ranker.predict(sample, sample.qid), sample.qid[40]
    own = np.flatnonzero(sample.qid == query)
    found = ranker.explain(sample, query=query)
    adds_up(found, scores[found.rows])
    assert set(found.rows) == set(own)
    assert (np.diff(found.scores) <= 0).all()
    np.testing.assert_array_equal(found.values, sample.X[found.rows])
    pair = ranker.explain_pair(int(own[2]), int(own[0]), data=sample)
    np.testing.assert_allclose(pair.contributions.sum(), scores[own[2]] - scores[own[0]], atol=1e-12)
    place = {row: i for i, row in enumerate(found.rows)}
    apart = found.contributions[place[own[2]]] - found.contributions[place[own[0]]]
    np.testing.assert_allclose(pair.contributions, apart, atol=1e-12)


@pytest.mark.parametrize("scaler", [None, "minmax", "zscore"])
def test_a_contribution_is_what_the_score_loses_with_the_feature_at_its_mean(scaler, sample):
    ranker = RankSVM(C=0.01) if scaler is None else ScaledRanker(RankSVM(C=0.01), scaler)
    ranker.fit(sample.X, sample.y, sample.qid)
    own = sample.qid == sample.qid[0]
    found = ranker.explain(sample.X, query=sample.qid[0], qid=sample.qid)
    X, mean = sample.X[found.rows], sample.X[own].mean(axis=0)
    for j in range(X.shape[1]):
        moved = X.copy()
        moved[:, j] = mean[j]
        np.testing.assert_allclose(found.contributions[:, j], found.scores - ranker.predict(moved), atol=1e-12)


@pytest.mark.parametrize("method", ["minmax", "zscore"])
def test_scaling_by_query_uses_the_querys_own_spread(method, sample):
    ranker = ScaledRanker(RankSVM(C=0.01), f"query-{method}").fit(sample)
    found = ranker.explain(sample, query=sample.qid[-1])
    X = sample.X[found.rows]
    spread = np.ptp(X, axis=0) if method == "minmax" else X.std(axis=0)
    scale = np.divide(1, spread, out=np.zeros_like(spread), where=spread > 0)
    np.testing.assert_allclose(found.contributions, ranker.coef_ * scale * (X - X.mean(axis=0)), atol=1e-12)


def test_columns_in_another_order_are_found_by_name(sample):
    ranker = RankSVM(C=0.01).fit(sample)
    order = np.random.default_rng(0).permutation(sample.n_features)
    names = [sample.names[i] for i in order]
    shuffled = RankingData(sample.X[:, order].copy(), sample.y, sample.qid, names=names)
    expected, found = (ranker.explain(one, query=82) for one in (sample, shuffled))
    np.testing.assert_array_equal(found.contributions, expected.contributions)
    assert list(found.names) == list(expected.names) == list(sample.names)


@pytest.mark.parametrize("wrap", [RankSVM, lambda **given: ScaledRanker(RankSVM(**given), "zscore")])
def test_sparse_rows_give_the_same_without_columns_of_zeros(wrap, sample):
    wide = np.zeros((len(sample), 400))
    wide[:, 5 : 5 + sample.n_features] = sample.X
    ranker = wrap(C=0.01, tol=1e-13).fit(sparse.csr_array(wide), sample.y, sample.qid)
    expected = wrap(C=0.01, tol=1e-13).fit(wide, sample.y, sample.qid).explain(wide, query=81, qid=sample.qid)
    found = ranker.explain(sparse.csr_array(wide), query=81, qid=sample.qid)
    used = np.flatnonzero(wide[found.rows].any(axis=0))
    assert list(found.names) == [f"f{i + 1}" for i in used]
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_allclose(found.contributions, expected.contributions[:, used], atol=1e-5)
    rows = sparse.csr_array(wide[:2])
    np.testing.assert_array_equal(ranker.explain_pair(rows[[0]], rows[[1]]).values, wide[:2, wide[:2].any(axis=0)])


def test_a_query_of_zeros_has_nothing_to_tell(tmp_path):
    X = sparse.csr_array(np.vstack([np.zeros((3, 5)), np.eye(5)]))
    qid = [1, 1, 1, 2, 2, 2, 2, 2]
    for ranker in (RankRLS(), KernelRankRLS()):
        found = ranker.fit(X, np.arange(8.0), qid).explain(X, query=1, qid=qid)
        assert found.contributions.shape == (3, 0)
        assert found.document(0).summary().endswith("have equal scores, as no feature tells them apart")
        found.save(tmp_path / "nothing.png")
    with pytest.raises(ValueError, match=r"a must be 5 numbers, .* got the shape \(2, 5\)"):
        ranker.explain_pair(X[:2], X[[1]])
    np.testing.assert_allclose(
        ranker.explain_pair(X[[3]], np.eye(5)[4]).contributions.sum(), np.diff(ranker.predict(X)[[7, 3]])
    )


def test_a_billion_columns_take_no_memory(sample):
    width = 1 << 30
    X = sparse.csr_array((np.ones(4), np.array([3, 9, width - 1, 9]), np.array([0, 2, 3, 4])), shape=(3, width))

    class Weights:
        shape = (width,)

        def __getitem__(self, columns):
            return np.asarray(columns) % 7 + 1.0

    from rankwise.explaining.functions import LinearFunction, packed, used_columns

    columns = used_columns(X)
    assert columns.tolist() == [3, 9, width - 1]
    dense = packed(X, columns)
    assert dense.tolist() == [[1, 1, 0], [0, 0, 1], [0, 1, 0]]
    assert LinearFunction(Weights()).split(columns, dense[1:2], dense[:1]).tolist() == [
        [4, 3, -((width - 1) % 7 + 1.0)]
    ]


def test_float32_rows_add_up_to_the_scores_of_predict(sample):
    X = sample.X.astype(np.float32)
    for ranker in (RankSVM(C=0.01), ScaledRanker(RankSVM(C=0.01), "zscore"), KernelRankSVM(C=0.1)):
        found = ranker.fit(X, sample.y, sample.qid).explain(X, query=83, qid=sample.qid)
        adds_up(found, ranker.predict(X, sample.qid)[found.rows], 1e-8)
        assert found.values.dtype == np.float64


@pytest.mark.parametrize("kernel", SMOOTH)
def test_gradients_of_kernels_are_their_differences(kernel, positive):
    params = {"gamma": 0.3, "degree": 3, "coef0": 0.5}
    one, coefficients = Kernel(kernel, params), np.random.default_rng(0).normal(size=18)
    X, references = positive[:6], positive[6:]
    found = gradients(one, X, references, coefficients)
    for j in range(4):
        step = np.eye(4)[j] * 1e-6
        up, down = (one.matrix(X + sign * step, references) @ coefficients for sign in (1, -1))
        np.testing.assert_allclose(found[:, j], (up - down) / 2e-6, rtol=1e-6, atol=1e-8)


def test_gradients_at_zero_are_finite():
    zeros = np.zeros((1, 3))
    for kernel in SMOOTH:
        one = Kernel(kernel, {"gamma": 0.3, "degree": 3, "coef0": 0.5})
        assert np.isfinite(gradients(one, zeros, np.array([[0.0, 1.0, 2.0]]), np.ones(1))).all(), kernel


@pytest.mark.filterwarnings("ignore:the kernel is not positive semidefinite")
@pytest.mark.parametrize("kernel", [*SMOOTH, "laplacian"])
def test_contributions_of_kernels_add_up_and_are_integrals(kernel, positive):
    ranker, qid = small_kernel_ranker(kernel, positive)
    scores = ranker.predict(positive)
    found = ranker.explain(positive, query=1, qid=qid)
    adds_up(found, scores[found.rows], 1e-8 * np.ptp(scores))
    pair = ranker.explain_pair(positive[3], positive[12])
    back = ranker.explain_pair(positive[12], positive[3])
    np.testing.assert_allclose(pair.contributions, -back.contributions, atol=1e-9)
    step = positive[3] - positive[12]

    times = (np.arange(4000) + 0.5) / 4000
    nudges = 1e-5 * np.vstack([np.eye(4), -np.eye(4)])
    points = positive[12] + times[:, None, None] * step + nudges
    up, down = np.split(ranker.predict(points.reshape(-1, 4)).reshape(4000, 8), 2, axis=1)
    expected = ((up - down) / 2e-5).mean(axis=0) * step
    near = 5e-3 if kernel == "laplacian" else 1e-6  # which has a kink at every value of every reference
    np.testing.assert_allclose(pair.contributions, expected, atol=near * np.abs(expected).max())


def test_a_linear_kernel_is_explained_like_the_linear_ranker(sample):
    X, y, qid = sample.X, sample.y, sample.qid
    linear, kernel = RankRLS(alpha=2.0).fit(X, y, qid), KernelRankRLS("linear", alpha=2.0).fit(X, y, qid)
    expected, found = (one.explain(X, query=82, qid=qid) for one in (linear, kernel))
    np.testing.assert_allclose(found.contributions, expected.contributions, atol=1e-8)


@pytest.mark.filterwarnings("ignore:the kernel is not positive semidefinite")
@pytest.mark.parametrize("kernel", ["rbf", "polynomial", "cosine", "laplacian", "sigmoid"])
def test_kernels_of_sparse_rows_look_at_the_querys_columns_only(kernel, positive):
    X = np.zeros((24, 30))
    for i, row in enumerate(positive):
        X[i, 9 * (i // 8) : 9 * (i // 8) + 4] = row  # each query has columns of its own
    dense, qid = small_kernel_ranker(kernel, X)
    stored, _ = small_kernel_ranker(kernel, sparse.csr_array(X))
    expected, found = dense.explain(X, query=1, qid=qid), stored.explain(sparse.csr_array(X), query=1, qid=qid)
    assert list(found.names) == ["f10", "f11", "f12", "f13"]
    np.testing.assert_allclose(found.contributions, expected.contributions[:, 9:13], atol=1e-8)
    np.testing.assert_allclose(np.delete(expected.contributions, range(9, 13), axis=1), 0, atol=1e-12)


def test_a_feature_with_equal_values_contributes_nothing(positive):
    ranker, _ = small_kernel_ranker("rbf", positive)
    a, b = positive[:2].copy()
    b[2] = a[2]
    assert ranker.explain_pair(a, b).contributions[2] == 0


def test_a_peak_on_the_way_is_stated_as_an_error(positive):
    ranker = KernelRankSVM(gamma=1e12).fit(positive, np.arange(24) % 3, np.zeros(24))
    found = ranker.explain_pair(positive[0], positive[5])
    missing = found.difference - found.contributions.sum()
    assert found.error == abs(missing)
    assert f"{found.error:.3g}" in str(found)


def test_queries_are_found_by_ids_of_any_type(sample):
    ranker = RankSVM(C=0.01).fit(sample.X, sample.y, sample.qid)
    for ids in (sample.qid, sample.qid.astype(float), sample.qid.astype(str), sample.qid.astype(object)):
        for query in (82, 82.0, "82", np.int64(82), np.float32(82)):
            np.testing.assert_array_equal(
                ranker.explain(sample.X, query=query, qid=ids).rows,
                ranker.explain(sample, query=82).rows,
            )
    dates = np.datetime64("2024-01-01") + sample.qid
    assert ranker.explain(sample.X, query=dates[30], qid=dates).scores.size == (dates == dates[30]).sum()
    with pytest.raises(ValueError, match=r"query '8' is not in the data: did you mean '8\d'"):
        ranker.explain(sample, query=8)
    with pytest.raises(ValueError, match=r"the data have 10 queries: say which one, such as '81'"):
        ranker.explain(sample)
    with pytest.raises(ValueError, match="the data have no query ids"):
        ranker.explain(sample.X, query=7)
    assert ranker.explain(sample.X).query is None


def test_documents_are_found_by_id_or_by_row(sample):
    ranker = RankSVM(C=0.01).fit(sample)
    rows = np.flatnonzero(sample.qid == 82)
    by_row = ranker.explain_pair(int(rows[0]), int(rows[1]), data=sample)
    names = by_row.documents
    assert all(str(name).startswith("book-") for name in names)
    by_name = ranker.explain_pair(*names, data=sample, query=82)
    np.testing.assert_array_equal(by_name.contributions, by_row.contributions)
    given = np.arange(len(sample)) + 1000
    by_number = ranker.explain_pair("1003", 1001, data=sample.X, qid=sample.qid, documents=given)
    assert by_number.documents == (1003, 1001)
    with pytest.raises(ValueError, match="document 'book-0000' is not in query '82': did you mean 'book-"):
        ranker.explain_pair("book-0000", names[0], data=sample, query=82)
    with pytest.raises(ValueError, match="document 'nowhere' is not in the data: there are 'book-"):
        ranker.explain_pair("nowhere", names[0], data=sample)
    with pytest.raises(ValueError, match="no query has both documents, '0' and '119'"):
        ranker.explain_pair(0, 119, data=sample)
    twice = np.where(given < 1003, 1, given)
    with pytest.raises(ValueError, match="document '1' occurs 3 times in query '81': give each document an id"):
        ranker.explain_pair(1, 1005, data=sample.X, qid=sample.qid, documents=twice)
    with pytest.raises(ValueError, match="documents must hold one id for each of the 120 rows; got 3"):
        ranker.explain(sample.X, query=81, qid=sample.qid, documents=["a", "b", "c"])
    with pytest.raises(ValueError, match="a is a row of features: leave out data, or give the id of a document in it"):
        ranker.explain_pair(sample.X[0], sample.X[1], data=sample)
    repeated = [str(i) for i in range(10)] * 12
    qid = np.repeat(np.arange(12), 10)
    with pytest.raises(ValueError, match="12 queries have both documents, '3' and '4': say which query is meant"):
        ranker.explain_pair("3", "4", data=sample.X, qid=qid, documents=repeated)


def test_rows_come_as_arrays_dicts_series_and_frames(sample):
    frame = pd.DataFrame(sample.X, columns=sample.names)
    ranker = RankSVM(C=0.01).fit(frame, sample.y, sample.qid)
    expected = ranker.explain_pair(sample.X[0], sample.X[1])
    reordered = dict(reversed(list(frame.iloc[0].items()))) | {"docid": "x"}
    for a, b in ((frame.iloc[0], frame.iloc[1]), (reordered, frame.iloc[1]), (sample.X[:1], list(sample.X[1]))):
        np.testing.assert_array_equal(ranker.explain_pair(a, b).contributions, expected.contributions)
    np.testing.assert_array_equal(expected.contributions, ranker.coef_ * (sample.X[0] - sample.X[1]))
    assert list(expected.names) == list(sample.names)
    whole = frame.assign(query=sample.qid, docid=[f"d{i}" for i in range(len(frame))])
    found = ranker.explain(whole, query=81, qid="query")
    assert found.documents[0] == f"d{found.rows[0]}"
    with pytest.raises(ValueError, match="a has no value of the feature 'clicks'; it has 'click'"):
        ranker.explain_pair(frame.rename(columns={"clicks": "click"}).iloc[0], sample.X[1])
    with pytest.raises(ValueError, match="b must be 13 numbers, or a document id together with data=; got 'book-1'"):
        ranker.explain_pair(sample.X[1], "book-1")
    with pytest.raises(ValueError, match=r"a must be 13 numbers, .* got the shape \(3,\)"):
        ranker.explain_pair([1, 2, 3], sample.X[1])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        ranker.explain_pair(np.full(13, np.nan), sample.X[1])


def test_rows_on_disk_on_a_device_and_rankers_of_a_cluster(sample, tmp_path):
    ranker = RankSVM(C=0.01).fit(sample)
    expected = ranker.explain(sample, query=82).contributions
    write_chunks(tmp_path / "chunks", sample)
    np.testing.assert_array_equal(ranker.explain(open_chunks(tmp_path / "chunks"), query=82).contributions, expected)
    torch = pytest.importorskip("torch")
    by_tensor = RankSVM(C=0.01).fit(sample.X, sample.y, sample.qid)
    by_tensor.coef_ = torch.asarray(ranker.coef_)
    moved, qid = torch.asarray(sample.X), torch.asarray(sample.qid)
    np.testing.assert_array_equal(by_tensor.explain(moved, query=82, qid=qid).contributions, expected)
    cluster = pytest.importorskip("rankwise.distributed").DaskRankSVM()
    cluster.coef_, cluster.n_features_in_ = ranker.coef_, ranker.n_features_in_
    np.testing.assert_array_equal(cluster.explain(sample, query=82).contributions, expected)


def test_names_of_the_data_serve_if_the_ranker_has_none(sample):
    ranker = RankSVM(C=0.01).fit(sample.X, sample.y, sample.qid)
    assert list(ranker.explain(sample, query=81).names) == list(sample.names)
    assert ranker.explain_pair(sample.X[0], sample.X[1]).names[0] == "f1"


def test_what_cannot_be_explained_is_said(sample, positive):
    def refused(ranker, data, match):
        with pytest.raises(ValueError, match=match):
            ranker.explain(data, query=0, qid=np.zeros(len(data)))

    y, zeros = np.arange(24) % 3, np.zeros(24)
    gram = positive @ positive.T
    refused(KernelRankSVM("precomputed").fit(gram, y, zeros), gram, "KernelRankSVM is precomputed, which says nothing")
    refused(KernelRankSVM(lambda a, b: a @ b).fit(positive, y, zeros), positive, "kernel of this .* is a function")
    refused(KernelRankRLS(alpha=[1.0, 2.0]).fit(positive, y, zeros), positive, "model for each of several alphas")
    twice = ScaledRanker(ScaledRanker(RankSVM(), "minmax"), "zscore").fit(positive, y, zeros)
    refused(twice, positive, "ScaledRanker of a ScaledRanker cannot be explained")

    class Best(BaseEstimator):
        def fit(self, X, y, qid):
            self.n_features_in_ = X.shape[1]
            return self

    refused(ScaledRanker(Best(), "minmax").fit(positive, y, zeros), positive, "a Best has no weights of features")
    by_query = ScaledRanker(RankSVM(C=0.01)).fit(sample)
    with pytest.raises(ValueError, match="two rows alone have no scores: give data="):
        by_query.explain_pair(sample.X[0], sample.X[1])
    with pytest.raises(ValueError, match="RankSVM instance is not fitted yet"):
        RankSVM().explain(positive)
    ranker = RankRLS().fit(positive, y, zeros)
    with pytest.raises(ValueError, match="the contribution of 'f1' is not finite: its weight, or its values, are too"):
        ranker.explain_pair([1.7e308, 0, 0, 0], [-1.7e308, 0, 0, 0])
    ranker.coef_ = ranker.coef_ * 1e10
    with pytest.raises(ValueError, match="a score is not finite: the weights, or the features, are too large"):
        ranker.explain_pair([1.7e308, 0, 0, 0], [0, 0, 0, 0])


def test_extreme_scales_add_up():
    data = make_ranking(n_queries=3, n_features=4, random_state=0)
    for scale in (1e-150, 1e150):
        ranker = RankRLS().fit(data.X, data.y, data.qid)
        found = ranker.explain(data.X * scale, query=data.qid[0], qid=data.qid)
        np.testing.assert_allclose(
            found.contributions.sum(axis=1), found.scores - found.scores.mean(), atol=1e-12 * scale
        )


def test_the_sentence_says_what_adds_and_what_takes_off():
    ranker = RankSVM().fit(pd.DataFrame({"title": [1.0, 0], "price": [0.0, 1]}), [1, 0])
    ranker.coef_ = np.array([0.5, -0.25])
    found = ranker.explain_pair([2.0, 1.0], [0.0, 0.5])
    assert found.summary() == "A is above B by 0.875: title adds 1 (2 against 0), price takes off 0.125 (1 against 0.5)"
    assert found.to_text().splitlines()[2:5] == [
        "feature  A    B  contribution",
        "title    2    0            +1  ++++++++++++++++++++",
        "price    1  0.5        -0.125  --",
    ]
    below = ranker.explain_pair([0.0, 0.5], [2.0, 1.0])
    assert below.summary().startswith("A is below B by 0.875: title takes off 1 (0 against 2), price adds 0.125")
    equal = ranker.explain_pair([1.0, 2.0], [0.0, 0.0])
    assert (
        equal.summary() == "A and B have equal scores: title adds 0.5 (1 against 0), price takes off 0.5 (2 against 0)"
    )
    assert ranker.explain_pair([1, 1], [1, 1]).summary() == "A and B have equal scores, as no feature tells them apart"
    assert "no feature" in str(ranker.explain_pair([1, 1], [1, 1]))
    wide = RankSVM().fit(np.eye(9), np.arange(9))
    wide.coef_ = np.array([9.0, 8, 7, 6, 5, 1, -1, -1, 0])
    assert wide.explain_pair(np.ones(9), np.zeros(9)).summary().endswith("f5 adds 5 (1 against 0), 3 others take off 1")


def test_one_document_is_explained_against_the_mean(sample):
    ranker = ScaledRanker(RankSVM(C=0.01), "zscore").fit(sample)
    query = ranker.explain(sample, query=82)
    found = query.document(query.documents[3])
    np.testing.assert_array_equal(found.contributions, query.contributions[3])
    np.testing.assert_allclose(found.difference, found.contributions.sum(), atol=1e-12)
    assert found.summary().startswith(f"{query.documents[3]} is ")
    assert "the mean of query 82 by" in found.summary()


def test_tables_texts_and_json_hold_the_same_numbers(sample, tmp_path):
    found = replace(RankSVM(C=0.01).fit(sample).explain(sample, query=81), top=3)
    frame = found.to_frame()
    assert len(frame) == found.contributions.size
    by_document = frame.groupby("document", sort=False)["contribution"].sum()
    np.testing.assert_allclose(by_document.to_numpy(), found.scores - found.scores.mean(), atol=1e-12)
    told = found.to_dict()
    assert told["features"] == list(frame["feature"][: found.names.size])
    assert told["documents"][0]["contributions"] == frame["contribution"][: found.names.size].tolist()
    lines = str(found).splitlines()
    assert lines[2].split() == ["document", "score", *told["features"][:3], "others"]
    cells = list(map(float, lines[3].split()[2:]))
    np.testing.assert_allclose(sum(cells), found.scores[0] - found.scores.mean(), atol=0.01)
    found.to_html(tmp_path / "why.html")
    page = (tmp_path / "why.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert found.summary() in page


def test_names_from_data_cannot_break_out():
    names = ['<b>"x"\n', "$_{\x1b[31m", "y\0", "_hidden"]
    data = make_ranking(n_queries=2, n_features=4, random_state=0)
    ids = [f"<i>{i}\n" for i in range(len(data))]
    named = RankingData(data.X, data.y, data.qid, names=names, docid=ids)
    ranker = RankSVM(C=0.01).fit(named)
    query = ranker.explain(named, query=data.qid[0])
    for found in (query, query.document(query.documents[0]), ranker.explain_pair(ids[0], ids[1], data=named)):
        text, page = str(found), found._repr_html_()
        assert "\x1b" not in text + page
        assert "\0" not in text + page
        assert "<i>" not in page
        assert ("<i>" in unescape(page)) == (found is not query)  # whose documents are in the picture alone
        assert all(line.count("<i>") <= 2 for line in text.splitlines())


def test_pictures_show_the_largest_contributions(sample, tmp_path):
    figure = pytest.importorskip("matplotlib.figure")
    ranker = RankSVM(C=0.01).fit(sample)
    query = ranker.explain(sample, query=81)
    pair = replace(query.document(query.documents[0]), top=4)
    ax = figure.Figure().subplots()
    pair.plot(ax)
    np.testing.assert_array_equal([bar.get_width() for bar in ax.patches], pair.data["contribution"][:4])
    assert ax.get_yticklabels()[0].get_text().startswith(pair.data["feature"][0])
    ax = figure.Figure().subplots()
    query.plot(ax)
    np.testing.assert_array_equal(ax.images[0].get_array(), query.contributions[:20, query.order[:5]])
    query.save(tmp_path / "query.svg")
    assert (tmp_path / "query.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize(
    ("a", "b", "shown"),
    [
        (1956.0, 1976.0, "(1956 against 1976)"),
        (1956.0, 1981.21, "(1956 against 1981)"),
        (999.7, 5.25, "(1000 against 5.25)"),
        (1.7e9 + 60, 1.7e9, "(1700000060 against 1700000000)"),
        (0.12341, 0.12346, "(0.12341 against 0.12346)"),
        (-2500.25, 2.5e-7, "(-2500 against 2.5e-07)"),
        (1e300, -1e308, "(1e+300 against -1e+308)"),
    ],
)
def test_values_are_shown_so_that_years_and_small_differences_can_be_read(a, b, shown):
    ranker = RankSVM().fit([[0.0], [1.0]], [0, 1], [1, 1])
    found = ranker.explain_pair([a], [b])
    assert shown in found.summary()
    assert shown.strip("()").split(" against ") == found.to_text().splitlines()[3].split()[1:3]


def test_documents_by_name_in_data_without_document_ids(sample):
    ranker = RankSVM(C=0.01).fit(sample)
    with pytest.raises(ValueError, match="'book-122', and the data have no document ids: give them as documents, or"):
        ranker.explain_pair("book-122", "book-464", data=sample.X)
