"""Labels and query ids that float64 would merge: kept apart, or refused in one sentence."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from rankwise import KernelRankRLS, Preferences, RankRLS, RankRLSCV, RankSVM, evaluate
from rankwise.data.formats import read_data, write_data
from rankwise.data.frame import from_frame
from rankwise.data.records import RankingData
from rankwise.estimators.factorized import FactorizedRankSVM
from rankwise.estimators.kernel import KernelRankSVM
from rankwise.foundation.arrays import exact, finite
from rankwise.pairs.queries import Queries, id_array, one_type

NOW = 1_700_000_000_000_000_000  # nanoseconds since 1970: float64 tells times apart that are 256 of them apart
TIMES = NOW + np.array([3, 1, 2, 0, 3, 1])
SMALL = [3, 1, 2, 0, 3, 1]
X = np.array([[0.5, 1], [0.1, 0], [0.4, 1], [0.2, 0], [0.6, 0], [0.0, 1]])

SPELLINGS = {
    "int64": TIMES,
    "uint64": TIMES.astype(np.uint64),
    "list": TIMES.tolist(),
    "datetime64": TIMES.astype("M8[ns]"),
    "timedelta64": TIMES.astype("m8[ns]"),
    "series": pd.Series(TIMES),
    "dates": pd.Series(TIMES.astype("M8[ns]")),
    "objects": np.array(TIMES.tolist(), dtype=object),
    "mixed signs": [2**63 + 3, 2**63 + 1, 2**63 + 2, -5, 2**63 + 3, 2**63 + 1],
    "beyond 64 bits": [10**30 + one for one in SMALL],
    "beside a float": [2**53 + 3, 2**53 + 1, 2**53 + 2, 0.5, 2**53 + 3, 2**53 + 1],
    "beyond float64": [10**400 + one for one in SMALL],
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_preferences_keep_large_integers_apart(spelling):
    expected = Preferences(SMALL).pairs_per_query().tolist()
    assert Preferences(SPELLINGS[spelling]).pairs_per_query().tolist() == expected


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("ranker", [RankSVM(), KernelRankSVM(kernel="linear")], ids=lambda one: type(one).__name__)
def test_rankers_by_order_learn_from_large_integers(ranker, spelling):
    expected = ranker.fit(X, SMALL).predict(X)
    assert ranker.fit(X, SPELLINGS[spelling]).predict(X).tolist() == expected.tolist()


def test_factorized_rankers_learn_from_large_integers():
    ranker = FactorizedRankSVM(n_components=1, random_state=0)
    assert ranker.fit(X, TIMES).coef_.tolist() == ranker.fit(X, SMALL).coef_.tolist()


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_values_that_float64_rounds_are_refused_where_they_count(spelling, tmp_path):
    y = SPELLINGS[spelling]
    for use in (
        lambda: RankRLS().fit(X, y),
        lambda: RankSVM(costs="gain").fit(X, y),
        lambda: evaluate(y, np.arange(6.0), None, ["pairwise-accuracy"]),
        lambda: RankingData(X, y, np.zeros(6, int)),
        lambda: finite(y, "y"),
    ):
        with pytest.raises(ValueError, match=r"holds \d+, which float64 rounds|holds dates or times"):
            use()


@pytest.mark.parametrize("unit", ["M8[D]", "M8[s]", "m8[h]"])
def test_dates_are_refused_where_their_values_count(unit):
    """They were taken as days, or seconds, since 1970, and the result depended on the unit."""
    y = np.array(SMALL).astype(unit)
    for use in (
        lambda: RankRLS().fit(X, y),
        lambda: RankRLSCV().fit(X, y, [1, 1, 1, 2, 2, 2]),
        lambda: KernelRankRLS().fit(X, y),
        lambda: RankSVM(costs="gain").fit(X, y),
        lambda: evaluate(y, np.arange(6.0), None, ["ndcg"]),
        lambda: RankingData(X, y, np.zeros(6, int)),
    ):
        with pytest.raises(ValueError, match=r"holds dates or times, whose values depend on their unit: give numbers"):
            use()
    assert RankSVM().fit(X, y).coef_.tolist() == RankSVM().fit(X, SMALL).coef_.tolist()


def test_large_integers_that_float64_holds_are_taken():
    assert finite(np.array([2**60, 2**61]), "y").tolist() == [2.0**60, 2.0**61]
    assert finite([2**53, -(2**53)], "y").tolist() == [2.0**53, -(2.0**53)]
    assert finite([2**53, 0.5], "y").tolist() == [2.0**53, 0.5]
    assert exact([True, False], "y") == [True, False]
    assert finite([Decimal("0.1"), Decimal("0.5")], "y").tolist() == [0.1, 0.5]
    assert finite(["1", "2.5"], "y").tolist() == [1.0, 2.5]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.array(["2020-01-01", "NaT"], "M8[ns]"), r"labels must be finite: labels\[1\] is NaT"),
        (np.array([1, "NaT"], "m8[s]"), r"labels\[1\] is NaT"),
        (np.ma.array([1.0, 2.0], mask=[False, True]), r"labels\[1\] is masked"),
        (np.array([1 + 1j, 2]), "labels must hold one real number per document"),
        ([None, 1], r"labels must be finite|one number per document"),
        ([pd.NA, 1], "labels must hold one number per document"),
        (["a", "b"], "labels must hold one number per document; got a list of other objects"),
        ([Decimal("NaN"), 1], "labels must be finite"),
        (pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"], utc=True)), "one number per document"),
    ],
)
def test_labels_that_are_no_numbers_are_refused(labels, words):
    with pytest.raises(ValueError, match=words):
        Preferences(labels)


def test_not_a_time_is_no_label_of_a_ranker():
    y = TIMES.astype("M8[ns]")
    y[2] = "NaT"
    for ranker in (RankSVM(), RankRLS(), KernelRankSVM()):
        with pytest.raises(ValueError, match=r"NaT"):
            ranker.fit(X, y)


def test_labels_of_frames_and_files_are_exact_or_refused(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"label": TIMES, "qid": 1, "f1": X[:, 0]})
    with pytest.raises(ValueError, match="which float64 rounds"):
        from_frame(frame)
    frame.to_parquet(tmp_path / "data.parquet")
    with pytest.raises(ValueError, match="which float64 rounds"):
        read_data(tmp_path / "data.parquet")
    np.savez(tmp_path / "data.npz", X=X, y=TIMES, qid=np.zeros(6, int))
    with pytest.raises(ValueError, match="which float64 rounds"):
        read_data(tmp_path / "data.npz")


IDS = {
    "mixed signs": [-1, 2**63, 2**63 + 1, -1],
    "of both types": [np.int64(-1), np.uint64(2**63), np.uint64(2**63 + 1), np.int64(-1)],
    "beyond 64 bits": [-(10**30), 10**30, 10**30 + 1, -(10**30)],
    "beside a float": [0.5, 2**53, 2**53 + 1, 0.5],
    "uint64": np.array([1, 2**63, 2**63 + 1, 1], np.uint64),
    "objects": np.array([-1, 2**63, 2**63 + 1, -1], object),
    "dates": np.array([NOW, NOW + 1, NOW + 2, NOW]).astype("M8[ns]"),
    "texts": ["7", "007", "7.0", "7"],
    "long texts": ["a", "a" * 100, "a" * 99 + "b", "a"],
    "texts that end in nothing": np.array(["a", "a\0", "a\0\0", "a"], object),
    "float and int": np.array([1.0, 2, 3, 1], object),
}


@pytest.mark.parametrize("spelling", IDS)
def test_different_query_ids_stay_different(spelling):
    queries = Queries(IDS[spelling], 4)
    assert queries.codes.tolist() == [0, 1, 2, 0]
    assert len(queries.ids) == 3


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (np.array([-1.0, 2.0**63]), r"qid holds the floating-point number 9.223372036854776e\+18"),
        (pd.Series([-1.0, 2.0**63]), "pass qid as integers or strings"),
        (np.array(["2020", "NaT"], "M8[s]"), r"qid of row 1 is missing \(NaT\)"),
        (np.array([1, "NaT"], "m8[s]"), "qid of row 1 is missing"),
        ([1, None], "qid of row 1 is missing"),
        ([1, np.nan], "qid of row 1 is missing"),
        (pd.array([1, pd.NA], dtype="Int64"), "qid of row 1 is missing"),
        (pd.array(["a", pd.NA], dtype="string"), "qid of row 1 is missing"),
        (np.array([1, Decimal("sNaN")], object), "qid of row 1 is missing"),
        (np.ma.array([1, 2], mask=[False, True]), r"qid of row 1 is missing \(masked\)"),
        (np.array([1, complex("nan")]), "qid of row 1 is missing"),
    ],
)
def test_query_ids_that_are_missing_or_rounded_are_refused(ids, words):
    with pytest.raises(ValueError, match=words):
        Queries(ids, 2)


def test_numbers_and_texts_that_read_alike_are_one_query():
    """As in a file, and on a cluster."""
    assert Queries(np.array([7, "7", 7.0], object), 3).codes.tolist() == [0, 0, 0]
    assert Queries([7, "7", "8"], 3).codes.tolist() == [0, 0, 1]


def test_ids_of_several_blocks_stay_what_they_are():
    signed, unsigned = np.array([-1, 5]), np.array([2**63, 5], np.uint64)
    assert np.concatenate(one_type([signed, unsigned])).tolist() == ["-1", "5", str(2**63), "5"]
    assert np.concatenate(one_type([signed, np.array([5.0, 6.0])])).tolist() == ["-1", "5", "5", "6"]
    long = id_array(["5", "x" * 1000])
    assert np.concatenate(one_type([signed, long])).tolist() == ["-1", "5", "5", "x" * 1000]


def test_ids_in_a_list_stay_what_they_are_in_a_file(tmp_path):
    data = RankingData(X[:4], SMALL[:4], [-1, 2**63, 2**63 + 1, -1])
    write_data(tmp_path / "data.txt", data)
    assert read_data(tmp_path / "data.txt").qid.tolist() == ["-1", str(2**63), str(2**63 + 1), "-1"]


def test_text_ids_survive_every_file(tmp_path):
    data = RankingData(X, SMALL, np.array(["7", "007", "7.0", "1e3", "-0", "x" * 80]))
    names = ["data.txt", "data.csv", "data.npz", "data.chunks"]
    for name in names:
        write_data(tmp_path / name, data)
        assert read_data(tmp_path / name).qid.tolist() == data.qid.tolist()
