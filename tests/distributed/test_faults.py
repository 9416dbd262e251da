"""What is wrong with the data or the options is told in one sentence."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import rankwise
from rankwise.distributed import DaskRankRLS, DaskRankSVM, DaskRankSVMCV, evaluate

SPLIT = "ignore:.*queries are in several partitions"


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    columns = {"a": rng.normal(size=40), "b": rng.normal(size=40), "label": rng.integers(0, 3, 40)}
    return pd.DataFrame(columns | {"qid": np.repeat(np.arange(8), 5)})


def test_there_is_no_cluster(monkeypatch):
    def none():
        raise ValueError("No clients found")

    monkeypatch.setattr("distributed.default_client", none)
    with pytest.raises(ValueError, match=r"there is no Dask cluster: make a distributed\.Client first"):
        DaskRankSVM().fit("nowhere.txt")


@pytest.mark.parametrize(
    ("ranker", "sentence"),
    [
        (DaskRankSVM(solver="sgd"), "solver 'sgd' uses single pairs"),
        (DaskRankSVM(solver="newton", loss="hinge"), "needs a smooth loss"),
        (DaskRankSVM(costs=np.eye(3)), "costs of single documents or levels"),
        (DaskRankSVM(device="cuda"), "the workers of a cluster compute on their CPUs"),
        (DaskRankSVM(C=-1), "C must be a positive number"),
        (DaskRankRLS(solver="dual"), "solver on a cluster must be one of 'auto', 'primal', 'cg'; got 'dual'"),
        (DaskRankSVMCV(Cs=[]), "Cs is empty"),
    ],
)
def test_options(ranker, sentence):
    """Told before anything is asked of a cluster."""
    with pytest.raises(ValueError, match=sentence):
        ranker.fit("nowhere.txt")


@pytest.mark.slow
def test_data(client, frame):
    cut = dd.from_pandas(frame, npartitions=2)
    X = cut[["a", "b"]]
    wrong = [
        ((frame, "label"), TypeError, "X is a DataFrame: give a Dask DataFrame or array, or files"),
        ((X, None, cut["qid"]), ValueError, "y is missing"),
        ((cut, "grade"), ValueError, "y is 'grade', and X has no such column: it has a, b, label, qid"),
        ((X, cut["label"]), ValueError, "qid is missing: without it all rows are one query, and they are in 2"),
        ((X, cut["label"].repartition(npartitions=1), cut["qid"]), ValueError, "y has 1 partitions, X has 2"),
        ((X, frame["label"], cut["qid"]), TypeError, "y is a Series: give a Dask Series or array, or the name"),
        (("nowhere-*.txt",), FileNotFoundError, r"nowhere-\*.txt: the workers find no such file"),
    ]
    for given, kind, sentence in wrong:
        with pytest.raises(kind, match=sentence):
            DaskRankSVM().fit(*given)


@pytest.mark.slow
def test_numbers(client, frame):
    frame.loc[3, "b"] = np.nan
    with pytest.raises(ValueError, match="partition 0 holds a feature that is not a finite number"):
        DaskRankSVM().fit(dd.from_pandas(frame, npartitions=2), "label")
    frame["b"], frame["weight"] = 1.0, -1.0
    with pytest.raises(ValueError, match="must not be negative"):
        DaskRankSVM().fit(dd.from_pandas(frame, npartitions=2), "label", sample_weight="weight")


@pytest.mark.slow
def test_columns_of_files(client, frame, tmp_path):
    """They are matched by name, in whatever order a file has them."""
    first, second = frame[frame["qid"] < 4], frame[frame["qid"] >= 4]
    first[["a", "b", "label", "qid"]].to_parquet(tmp_path / "one.parquet")
    second[["b", "a", "label", "qid"]].to_parquet(tmp_path / "two.parquet")
    expected = rankwise.RankSVM(tol=1e-9).fit(frame[["a", "b"]].to_numpy(), frame["label"], frame["qid"])
    np.testing.assert_allclose(DaskRankSVM(tol=1e-9).fit(tmp_path).coef_, expected.coef_, rtol=1e-4)
    second.rename(columns={"b": "c"}).to_parquet(tmp_path / "two.parquet")
    with pytest.raises(ValueError, match=r"two\.parquet has other features than .*missing: 'b'; unknown: 'c'"):
        DaskRankSVM().fit(tmp_path)


@pytest.mark.slow
def test_nothing_to_learn(client, frame):
    frame["label"] = 1
    cut = dd.from_pandas(frame, npartitions=2)
    for estimator in (DaskRankSVM, DaskRankRLS):
        with pytest.warns(UserWarning, match="no preference pair"):
            ranker = estimator().fit(cut, "label")
        np.testing.assert_allclose(ranker.coef_, 0.0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings(SPLIT)
def test_empty_partitions_and_single_precision(client, frame):
    frame[["a", "b"]] = frame[["a", "b"]].astype(np.float32)
    cut = dd.from_pandas(frame, npartitions=4)
    half = cut[cut["qid"] < 4]  # the last partitions are empty
    expected = rankwise.RankSVM().fit(frame[["a", "b"]][:20], frame["label"][:20], frame["qid"][:20])
    np.testing.assert_allclose(DaskRankSVM().fit(half, "label").coef_, expected.coef_, atol=1e-10)


@pytest.mark.slow
def test_lost_data_that_nobody_can_make_again(client, frame):
    """A future given to the cluster by hand, and taken back."""
    (held,) = client.scatter([frame[["a", "b"]].to_numpy()])
    X = da.from_delayed(held, (40, 2), float)
    y, qid = (da.from_array(frame[name].to_numpy(), chunks=40) for name in ("label", "qid"))
    assert DaskRankSVM().fit(X, y, qid).n_iter_ > 0
    client.cancel([held])
    with pytest.raises(ConnectionError, match="which cannot be computed again"):
        DaskRankSVM().fit(X, y, qid)


def test_predictions(client, frame):
    cut = dd.from_pandas(frame, npartitions=2)
    ranker = DaskRankSVM().fit(cut, "label")
    swapped = cut[["qid", "b", "a"]]
    expected = ranker.to_local().predict(frame[["a", "b"]])
    np.testing.assert_array_equal(ranker.predict(swapped).compute(), expected)
    with pytest.raises(ValueError, match="X has no column 'b'"):
        ranker.predict(cut[["a"]])
    with pytest.raises(ValueError, match="X has 3 features, the model has 2"):
        ranker.predict(da.zeros((5, 3)))


@pytest.mark.slow
@pytest.mark.filterwarnings(SPLIT)
def test_measures_that_look_at_all_labels(client):
    """The highest label of ERR, and the two of AUC, are those of all partitions together."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(20), 5)
    y = np.where(qid < 10, rng.integers(0, 2, 100), rng.integers(0, 5, 100)).astype(float)
    scores = rng.integers(0, 4, 100).astype(float)
    cut = [da.from_array(one, chunks=23) for one in (y, scores, qid)]
    asked = ["err", "err@5", "ndcg@3:letor", "pairwise-accuracy", "map:no-relevant=skip"]
    found, expected = evaluate(*cut, asked), rankwise.evaluate(y, scores, qid, asked)
    for measure in asked:
        assert found[measure] == pytest.approx(expected[measure], rel=1e-14)
        np.testing.assert_array_equal(found.per_query[str(measure)], expected.per_query[str(measure)])
    np.testing.assert_array_equal(found.query_ids, expected.query_ids)
    with pytest.raises(ValueError, match="auc needs two labels"):
        evaluate(*cut, "auc")
