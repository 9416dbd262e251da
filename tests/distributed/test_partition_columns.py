"""Columns on a cluster: partitions by name or by number, as one file after another in memory."""

import numpy as np
import pytest

import rankwise
from rankwise.data.formats import write_data
from rankwise.data.synthetic import SAMPLE_FEATURES
from rankwise.distributed import DaskRankSVM
from rankwise.distributed.evaluation import judged

NAMES = list(SAMPLE_FEATURES)
CLOSE = {"rtol": 1e-6, "atol": 1e-9}
SPLIT = "ignore:.*queries are in several partitions"


@pytest.fixture(scope="module")
def data():
    return rankwise.load_sample()


def turned(data, names):
    X = np.ascontiguousarray(data.X[:, ::-1])
    return rankwise.RankingData(X, data.y, data.qid, None, 1, names[::-1])


def halves(data, folder, names, suffix):
    """Two files, the second with its columns turned round."""
    first = data.qid <= np.median(data.qid)
    straight = rankwise.RankingData(data.X, data.y, data.qid, None, 1, names)
    write_data(folder / f"a.{suffix}", straight.select(first))
    write_data(folder / f"b.{suffix}", turned(data, names).select(~first))
    return [folder / f"a.{suffix}", folder / f"b.{suffix}"]


@pytest.mark.parametrize("names", [NAMES, [f"f{i}" for i in range(1, 14)]], ids=["named", "numbered"])
@pytest.mark.parametrize("suffix", ["csv", "parquet", "npz"])
def test_turned_partitions(client, data, tmp_path, names, suffix):
    expected = rankwise.RankSVM(C=0.01).fit(data.X, data.y, data.qid)
    files = halves(data, tmp_path, names, suffix)
    found = DaskRankSVM(C=0.01).fit(files)
    np.testing.assert_allclose(found.coef_, expected.coef_, **CLOSE)
    measures = ["ndcg@10", "pairwise-accuracy"]
    told = judged(client, (files[::-1], None, None, None), found.coef_, measures, like=found.columns_)
    in_memory = rankwise.evaluate(data.y, expected.predict(data.X), data.qid, measures)
    assert told["pairwise-accuracy"] == pytest.approx(in_memory["pairwise-accuracy"], abs=1e-6)


def test_other_columns_are_refused(client, data, tmp_path):
    few = data.select(slice(0, 200))
    write_data(tmp_path / "a.csv", rankwise.RankingData(few.X, few.y, few.qid, None, 1, NAMES))
    write_data(tmp_path / "b.csv", rankwise.RankingData(few.X, few.y, few.qid, None, 1, ["other", *NAMES[1:]]))
    write_data(tmp_path / "c.csv", rankwise.RankingData(few.X, few.y, few.qid))
    write_data(tmp_path / "d.csv", rankwise.RankingData(np.ascontiguousarray(few.X[:, :5]), few.y, few.qid))
    with pytest.raises(ValueError, match=rf"b.csv has other features than expected \(missing: '{NAMES[0]}'; unknown"):
        DaskRankSVM().fit([tmp_path / "a.csv", tmp_path / "b.csv"])
    with pytest.raises(ValueError, match=r"c.csv has other columns than .*a.csv"):
        DaskRankSVM().fit([tmp_path / "a.csv", tmp_path / "c.csv"])
    with pytest.raises(ValueError, match=r"d.csv has 5 features, 1 to 5, expected 13 features, 1 to 13"):
        DaskRankSVM().fit([tmp_path / "c.csv", tmp_path / "d.csv"])  # a table, unlike text, leaves nothing out


@pytest.mark.filterwarnings(SPLIT)
def test_frames_to_predict_on(client, data):
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    numbers = [f"f{i}" for i in range(1, 14)]
    ranker = DaskRankSVM(C=0.01)
    import dask.array as da

    blocks = (1000, data.n_features)
    ranker.fit(da.from_array(data.X, blocks), da.from_array(data.y, 1000), da.from_array(data.qid, 1000))
    expected = data.X @ ranker.coef_
    frame = pd.DataFrame(data.X, columns=numbers)
    for columns in (numbers, numbers[::-1]):
        scores = ranker.predict(dd.from_pandas(frame[columns], npartitions=2)).compute()
        np.testing.assert_allclose(scores, expected, **CLOSE)
    with pytest.warns(UserWarning, match="X has feature names, and the model was fitted without"):
        ranker.predict(dd.from_pandas(frame.set_axis(NAMES, axis=1), npartitions=2))


def test_a_damaged_chunk_is_noticed_by_the_worker(client, data, tmp_path):
    rankwise.write_chunks(tmp_path / "chunks", data, chunk_bytes=50_000)
    (chunk,) = (tmp_path / "chunks").glob("chunk-00001-*.npz")
    damaged = bytearray(chunk.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    chunk.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"chunk-00001-\w+.npz is damaged: its checksum is"):
        DaskRankSVM().fit(tmp_path / "chunks")


def test_measures_that_tell_nothing(client, data):
    da = pytest.importorskip("dask.array")
    from rankwise.distributed import evaluate

    y, scores, qid = (da.from_array(one, one.size) for one in (data.y + 1, data.X[:, 0], data.qid))
    with pytest.warns(UserWarning, match=r"map: every document is relevant \(label > 0\)"):
        evaluate(y, scores, qid, ["map", "ndcg@10"])


def test_text_with_fewer_features_is_noted_and_with_more_refused(client, data, tmp_path):
    few = data.select(slice(0, 200))
    narrow = rankwise.RankingData(np.ascontiguousarray(few.X[:, :5]), few.y, few.qid)
    rankwise.write_letor(tmp_path / "wide.txt", few)
    rankwise.write_letor(tmp_path / "narrow.txt", narrow)
    ranker = DaskRankSVM(C=0.01).fit(tmp_path / "wide.txt")
    given = {"coef": ranker.coef_, "measures": "ndcg@10", "like": ranker.columns_}
    with pytest.warns(UserWarning, match="no feature above 5 has a value, and the model has some"):
        judged(client, (tmp_path / "narrow.txt", None, None, None), **given)
    ranker = DaskRankSVM(C=0.01).fit(tmp_path / "narrow.txt")
    given = {"coef": ranker.coef_, "measures": "ndcg@10", "like": ranker.columns_}
    with pytest.raises(ValueError, match=r"wide.txt has 13 features, 1 to 13, expected 5 features, 1 to 5"):
        judged(client, (tmp_path / "wide.txt", None, None, None), **given)
