"""Fits on a scheduler and two worker processes: what RankSVM, RankSVMCV and RankRLS find in memory."""

from dataclasses import replace

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pytest
from processes import held
from scipy import sparse

import rankwise
from rankwise import losses
from rankwise.clicks import click_data, simulate_clicks
from rankwise.distributed import DaskRankRLS, DaskRankSVM, DaskRankSVMCV
from rankwise.distributed.executor import Cluster
from rankwise.distributed.partitions import Partitions
from rankwise.distributed.rankrls import build_regression
from rankwise.distributed.spread import spread
from rankwise.least_squares.regression import Regression, regression

CLOSE = {"rtol": 0, "atol": 1e-10}
SPLIT = "ignore:.*queries are in several partitions"


@pytest.fixture(scope="module")
def data():
    return rankwise.load_sample()


def arrays(data, rows=300):
    """In blocks that cut queries."""
    return (da.from_array(one, chunks=(rows, *one.shape[1:])) for one in (data.X, data.y, data.qid))


def frame(data, n=5, sort=False):
    import pandas as pd

    whole = pd.DataFrame(data.X, columns=[f"f{i}" for i in range(1, data.n_features + 1)])
    whole["relevance"], whole["qid"] = data.y, data.qid
    return dd.from_pandas(whole, npartitions=n, sort=sort)


def test_a_fit(client, data):
    """The quick one: split queries, hinge and squared hinge, the traffic, nothing left behind."""
    X, y, qid = arrays(data)
    for loss in ("squared_hinge", "hinge"):
        ranker = DaskRankSVM(C=0.01, loss=loss)
        with pytest.warns(UserWarning, match="5 of 120 queries are in several partitions: 82 documents are moved"):
            ranker.fit(X, y, qid)
        expected = rankwise.RankSVM(C=0.01, loss=loss).fit(data.X, data.y, data.qid)
        np.testing.assert_allclose(ranker.coef_, expected.coef_, **CLOSE)
        assert ranker.n_iter_ == expected.n_iter_
        assert ranker.n_queries_ == 120
        # A width of the hinge is solved until its certificate holds, which takes more steps than a small gradient did.
        assert 0 < ranker.result_.rounds < (40 if loss == "squared_hinge" else 120)
        assert ranker.result_.bytes < 300_000
    assert held(client) == 0


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_fewer_rows_than_features(client, loss):
    """In memory such rows are solved in their span; on a cluster no process has them all."""
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(40, 200)), rng.integers(0, 3, 40), np.arange(40) // 10
    ranker = DaskRankSVM(C=0.01, loss=loss, tol=1e-6)
    ranker.fit(*(da.from_array(one, chunks=(20, *one.shape[1:])) for one in (X, y, qid)))
    expected = rankwise.RankSVM(C=0.01, loss=loss, tol=1e-6).fit(X, y, qid).result_
    assert ranker.result_.converged
    assert ranker.result_.value == pytest.approx(expected.value, rel=2e-6)


@pytest.mark.filterwarnings(SPLIT)
@pytest.mark.parametrize("solver", ["auto", "newton-cg", "trust-region", "trust-region-diagonal"])
def test_objectives_agree_within_tol_on_badly_scaled_data(client, data, solver):
    """Solvers take other paths on a cluster, where sums are rounded otherwise: 0.1 ended 15 to 95 % apart."""
    scaled = data.X[:500] * 10.0 ** np.linspace(-3, 3, data.n_features).round()
    given = [da.from_array(one, chunks=(150, *one.shape[1:])) for one in (scaled, data.y[:500], data.qid[:500])]
    found = DaskRankSVM(solver=solver).fit(*given).result_
    exact = rankwise.RankSVM(tol=1e-9).fit(scaled, data.y[:500], data.qid[:500]).result_
    assert found.converged, found.message
    assert exact.value * (1 - 1e-9) <= found.value <= exact.value * (1 + 1e-3)


@pytest.mark.slow
@pytest.mark.filterwarnings(SPLIT)
@pytest.mark.parametrize(
    "options",
    [
        {"solver": "newton-cg"},
        {"solver": "trust-region-diagonal"},
        {"solver": "trust-region-sampled"},
        {"solver": "bundle", "loss": "hinge"},
        {"loss": "logistic:0.01"},
        {"normalize_pairs": "mean", "C": 10.0},
        {"normalize_pairs": "query", "C": 10.0},
        {"normalize_pairs": "svm-rank", "C": 1.0},
        {"costs": "ndcg", "rescaling": "margin"},
        {"costs": "dcg", "scope": "adjacent"},
        {"l1_ratio": 0.5, "monotonic_cst": [1, -1, *[0] * 11]},
    ],
    ids=str,
)
def test_every_option_as_in_memory(client, data, options):
    options = {"C": 0.01} | options
    X, y, qid = arrays(data)
    found = DaskRankSVM(**options).fit(X, y, qid)
    expected = rankwise.RankSVM(**options).fit(data.X, data.y, data.qid)
    np.testing.assert_allclose(found.coef_, expected.coef_, **CLOSE)
    assert found.result_.value == pytest.approx(expected.result_.value, rel=1e-12)


@pytest.mark.filterwarnings(SPLIT)
def test_few_of_many_features_as_in_memory(client):
    data = rankwise.make_ranking(4, 15, 3_200, random_state=0)
    options = {"C": 3e-4, "l1_ratio": 0.5, "monotonic_cst": np.resize([1, -1, 0], 3_200), "tol": 1e-4}
    found = DaskRankSVM(**options).fit(*arrays(data, 20))
    expected = rankwise.RankSVM(**options).fit(data.X, data.y, data.qid)
    assert 0 < (found.coef_ != 0).sum() < 1_000
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-4)
    assert found.result_.value == pytest.approx(expected.result_.value, rel=3e-4)


@pytest.mark.filterwarnings(SPLIT)
def test_frames_with_columns_or_series(client, data):
    expected = rankwise.RankSVM(C=0.01).fit(data.X, data.y, data.qid)
    whole = frame(data)
    features = whole.drop(columns=["relevance", "qid"])
    named = whole.rename(columns={"qid": "query"})
    for given in (
        (whole, "relevance"),
        (named, "relevance", "query"),
        (features, whole["relevance"], whole["qid"]),
        (whole.drop(columns="relevance"), whole["relevance"]),
    ):
        found = DaskRankSVM(C=0.01).fit(*given)
        np.testing.assert_allclose(found.coef_, expected.coef_, **CLOSE)
        assert list(found.feature_names_in_) == [f"f{i}" for i in range(1, data.n_features + 1)]


@pytest.mark.filterwarnings(SPLIT)
def test_files(client, data, tmp_path):
    """LETOR files that cut queries, of which some lack the last features; folders of Parquet files and of chunks."""
    from rankwise.data.formats import write_data

    thin = data.X.copy()
    thin[:700, 9:] = 0.0
    sparse_data = rankwise.RankingData(sparse.csr_array(thin), data.y, data.qid)
    (tmp_path / "folder").mkdir()
    for i in range(5):
        rows = slice(400 * i, 400 * i + 400)
        rankwise.write_letor(tmp_path / f"part-{i}.txt", sparse_data.select(rows))
        write_data(tmp_path / "folder" / f"part-{i}.parquet", data.select(rows))
    expected = rankwise.RankSVM(C=0.01).fit(thin, data.y, data.qid)
    files = [tmp_path / f"part-{i}.txt" for i in range(5)]
    for given in (files, str(tmp_path / "part-*.txt")):
        found = DaskRankSVM(C=0.01).fit(given)
        np.testing.assert_allclose(found.coef_, expected.coef_, **CLOSE)
    expected = rankwise.RankSVM(C=0.01).fit(data.X, data.y, data.qid)
    write_data(tmp_path / "chunks", data, format="chunks")
    for folder in ("folder", "chunks"):
        found = DaskRankSVM(C=0.01).fit(tmp_path / folder)
        np.testing.assert_allclose(found.coef_, expected.coef_, **CLOSE)


@pytest.mark.slow
@pytest.mark.filterwarnings(SPLIT)
def test_rows_in_any_order(client, data):
    """Every query is split, ids are texts, and documents have weights."""
    order = np.random.default_rng(0).permutation(len(data))
    ids = np.array([f"query {one}" for one in data.qid])[order]
    weight = np.random.default_rng(1).integers(0, 3, len(data)).astype(float)
    X, y, qid, w = (
        da.from_array(one, chunks=(500, *one.shape[1:])) for one in (data.X[order], data.y[order], ids, weight)
    )
    found = DaskRankSVM(C=0.01).fit(X, y, qid, sample_weight=w)
    expected = rankwise.RankSVM(C=0.01).fit(data.X[order], data.y[order], ids, sample_weight=weight)
    np.testing.assert_allclose(found.coef_, expected.coef_, **CLOSE)


@pytest.mark.slow
@pytest.mark.filterwarnings(SPLIT)
def test_sparse_blocks(client, data):
    X = sparse.csr_array(data.X)
    blocks = da.from_array(data.X, chunks=(500, -1)).map_blocks(sparse.csr_array)
    _, y, qid = arrays(data, 500)
    found = DaskRankSVM(C=0.01, solver="trust-region").fit(blocks, y, qid)
    expected = rankwise.RankSVM(C=0.01, solver="trust-region").fit(X, data.y, data.qid)
    np.testing.assert_allclose(found.coef_, expected.coef_, **CLOSE)


@pytest.mark.slow
@pytest.mark.filterwarnings(SPLIT)
@pytest.mark.parametrize("options", [{}, {"solver": "cg"}, {"ties": "exclude", "scaling": "query"}], ids=str)
def test_rankrls(client, data, options):
    X, y, qid = arrays(data)
    found = DaskRankRLS(**options).fit(X, y, qid)
    expected = rankwise.RankRLS(**options).fit(data.X, data.y, data.qid)
    np.testing.assert_allclose(found.coef_, expected.coef_, **CLOSE)
    assert found.result_.value == pytest.approx(expected.result_.value, rel=1e-12)
    assert found.result_.rounds <= 20


@pytest.mark.filterwarnings(SPLIT)
@pytest.mark.parametrize(("ties", "scaling"), [("include", "pairs"), ("exclude", "query")])
def test_the_objective_of_rankrls(client, data, ties, scaling):
    """Added up over partitions, it is the one in memory."""
    options = {"ties": ties, "scaling": scaling, "n_jobs": 1}
    local = regression(data.X, data.y, data.qid, None, **options)
    w, v = np.linspace(-1, 1, data.n_features), np.arange(float(data.n_features))
    spread_out = spread(client, (*arrays(data), None), build_regression, ties, scaling, 1)
    with spread_out.partitions:
        cluster = Regression(Cluster(spread_out, losses.squared()))
        ours, expected = cluster.objective(0.5), local.objective(0.5)
        at, there = ours.at(w), expected.at(w)
        assert at.value == pytest.approx(there.value, rel=1e-12)
        np.testing.assert_allclose(at.gradient, there.gradient, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(at.hessian(v), there.hessian(v), rtol=1e-9)
        samples = [one.sum.sampled(300, 0) for one in (ours, expected)]
        sampled = [one.at(w).value for one in samples]
        assert sampled[0] == pytest.approx(sampled[1], rel=1e-12) != ours.sum.at(w).value
        drawn, expected = (one.executor for one in samples)
        np.testing.assert_allclose(np.sort(drawn.totals), np.sort(expected.totals), rtol=1e-12)
        assert drawn.data.shape == (expected.rows.n_rows, data.n_features)
        np.testing.assert_allclose(cluster.normal_matrix(), local.normal_matrix(), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(cluster.largest, local.largest, rtol=0)
        assert cluster.degrees == pytest.approx(local.degrees)
        triangle, other = cluster.compressed(), local.compressed()
        np.testing.assert_allclose(triangle.T @ triangle, other.T @ other, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings(SPLIT)
@pytest.mark.parametrize("solver", ["primal", "cg"])
def test_rankrls_on_raw_features(client, data, solver):
    """Scales that differ by 10^12, an offset, dependent columns: on a cluster as in memory."""
    rows = data.X[:500] * 10.0 ** np.linspace(-6, 6, data.n_features).round()
    rows = np.column_stack((rows, rows[:, 3] + 1e9, rows[:, 4] * 1000))
    given = (da.from_array(one, chunks=(150, *one.shape[1:])) for one in (rows, data.y[:500], data.qid[:500]))
    found = DaskRankRLS(solver=solver).fit(*given)
    expected = rankwise.RankRLS(solver="dual").fit(rows, data.y[:500], data.qid[:500])
    assert found.result_.converged
    assert found.result_.value == pytest.approx(expected.result_.value, rel=1e-10)
    centred = (
        rows - rows[np.unique(data.qid[:500], return_index=True)[1]][np.unique(data.qid[:500], return_inverse=True)[1]]
    )
    scores = centred @ expected.coef_
    np.testing.assert_allclose(centred @ found.coef_, scores, rtol=0, atol=1e-8 * np.abs(scores).max())


@pytest.mark.slow
@pytest.mark.filterwarnings(SPLIT)
@pytest.mark.parametrize("measure", ["ndcg@10", "pairwise-accuracy"])
def test_cross_validation(client, data, measure):
    """The same folds, so the same C and the same values."""
    X, y, qid = arrays(data)
    options = {"Cs": 2.0 ** np.arange(-12, 2, 3), "cv": 3, "measure": measure, "rule": "one-se"}
    found = DaskRankSVMCV(**options).fit(X, y, qid)
    expected = rankwise.RankSVMCV(**options).fit(data.X, data.y, data.qid)
    np.testing.assert_allclose(found.cv_values_, expected.cv_values_, **CLOSE)
    np.testing.assert_allclose(found.coef_, expected.coef_, **CLOSE)
    assert found.C_ == expected.C_


def test_cross_validation_on_clicks(client, data, tmp_path):
    """Files hold weights and groups, so that the folds are whole queries of the log, and the means are weighted."""
    clicks = simulate_clicks(data, data.X[:, 0], 200, random_state=0)
    training = click_data(clicks.log, data, clicks.propensities)
    rankwise.write_chunks(tmp_path / "clicks.chunks", training, chunk_bytes=30_000)
    options = {"Cs": [0.001, 0.01], "cv": 3, "measure": "mrr"}
    found = DaskRankSVMCV(**options).fit(tmp_path / "clicks.chunks")
    expected = rankwise.RankSVMCV(**options).fit(training)
    np.testing.assert_allclose(found.cv_values_, expected.cv_values_, **CLOSE)
    np.testing.assert_allclose(found.coef_, expected.coef_, **CLOSE)
    without = replace(training, groups=None, weight=None)
    assert not np.allclose(expected.cv_values_, rankwise.RankSVMCV(**options).fit(without).cv_values_)
    with pytest.raises(ValueError, match="on a cluster, groups come from files"):
        DaskRankSVMCV(**options).fit(*arrays(data), groups=data.qid)


@pytest.mark.filterwarnings(SPLIT)
def test_predict_score_and_save(client, data, tmp_path):
    X, y, qid = arrays(data)
    whole = frame(data)
    ranker = DaskRankSVM(C=0.01).fit(whole, "relevance")
    expected = rankwise.RankSVM(C=0.01).fit(data.X, data.y, data.qid)
    np.testing.assert_allclose(ranker.predict(whole).compute(), expected.predict(data.X), rtol=1e-9)
    np.testing.assert_allclose(ranker.predict(X).compute(), expected.predict(data.X), rtol=1e-9)
    assert ranker.score(whole, "relevance") == pytest.approx(expected.score(data.X, data.y, data.qid))
    assert ranker.score(X, y, qid) == pytest.approx(expected.score(data.X, data.y, data.qid))
    rankwise.save_model(ranker.to_local(), tmp_path / "model.json")
    np.testing.assert_array_equal(rankwise.load_model(tmp_path / "model.json").coef_, ranker.coef_)


def test_a_copy_that_dask_dropped_is_looked_for_elsewhere(client, monkeypatch):
    """Dask keeps one of several copies of a partition, and not always that on the worker that we asked before."""
    data = rankwise.make_ranking(n_queries=40, docs_per_query=10, n_features=3, random_state=0)
    X, y, qid = (da.from_array(one, chunks=(100, *one.shape[1:])) for one in (data.X, data.y, data.qid))
    expected = DaskRankSVM(C=0.1).fit(X, y, qid)
    locate, moved = Partitions._locate, []

    def elsewhere(self, leaves):
        locate(self, leaves)
        others = set(self.owners.values()) - {self.owners[leaves[0]]}
        if others and not moved:
            moved.append(leaves[0])
            self.owners[leaves[0]] = others.pop()

    monkeypatch.setattr(Partitions, "_locate", elsewhere)
    found = DaskRankSVM(C=0.1).fit(X, y, qid)
    assert moved
    np.testing.assert_array_equal(found.coef_, expected.coef_)
