"""What compare tells of single queries: differences, the worst ones, columns as rankers, and who was judged."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rankwise import RankingData, compare, evaluate, load_sample
from rankwise.metrics import Procedure

MEASURES = ["ndcg@10", "map"]
QUICK = Procedure(test="t", resamples=100)


@pytest.fixture(scope="module")
def data():
    return load_sample("test")


@pytest.fixture(scope="module")
def found(data):
    return compare({"clicks": "clicks", "title": "title_match"}, data, measures=MEASURES, baseline="clicks")


def test_differences_per_query_as_pandas_has_them(data, found):
    pd = pytest.importorskip("pandas")

    def average_precision(group, by):
        ranked = group.sort_values(by, ascending=False, kind="stable").label.gt(0)
        return (ranked.cumsum() / np.arange(1, len(ranked) + 1))[ranked].mean() if ranked.any() else 0.0

    frame = data.to_frame().rename(columns={"title_match": "title"})
    groups = dict(list(frame.groupby("qid")))
    measures = ["map:ties=stable", "ndcg@10"]
    stable = compare({"clicks": frame.clicks, "title": frame.title}, data, measures=measures)
    got = stable.per_query().to_frame()
    for name in ("clicks", "title"):
        expected = [average_precision(groups[one], name) for one in got["query"]]
        np.testing.assert_allclose(got[f"{name} map:ties=stable"], expected, rtol=1e-13)
    by_hand = got["title map:ties=stable"] - got["clicks map:ties=stable"]
    pd.testing.assert_series_equal(got["title map:ties=stable difference"], by_hand, check_names=False)
    assert got["title map:ties=stable difference"].is_monotonic_increasing
    assert "clicks map:ties=stable difference" not in got
    assert sorted(got["query"]) == sorted(set(data.qid.tolist()))
    contrast = stable.contrasts[1]
    assert (contrast.wins, contrast.ties, contrast.losses) == (
        (by_hand > 0).sum(),
        (by_hand == 0).sum(),
        (by_hand < 0).sum(),
    )
    assert found.to_frame()["losses"].tolist()[1] == found.contrasts[1].losses


@pytest.mark.filterwarnings("ignore:.*all labels are equal")
@given(st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=2, max_size=14), st.integers(0, 4))
def test_the_worst_queries_by_plain_sorting(rows, n):
    y, a, b, c = np.array(rows, float).T
    qid = np.arange(len(rows)) // 3
    found = compare({"a": a, "b": b, "c": c}, y, qid, "ndcg@2", n_worst=n, procedure=QUICK)
    values = {name: evaluate(y, s, qid, "ndcg@2").per_query["ndcg@2"] for name, s in (("a", a), ("b", b), ("c", c))}
    expected = []
    for name in ("b", "c"):
        changes = [(values[name][i] - values["a"][i], i) for i in range(len(values["a"]))]
        worse = sorted(one for one in changes if one[0] < -1e-12)[:n]
        expected += [(name, i, values["a"][i], values[name][i]) for _, i in worse]
    worst = found.worst()
    assert list(zip(worst["ranker"], worst["query"], worst["before"], worst["after"], strict=True)) == expected
    assert [one["query"] for one in found.to_dict()["worst"]["queries"]] == [one[1] for one in expected]
    assert ("worst by ndcg@2" in found.to_text()) == bool(expected)
    assert ("By ndcg@2 no query is worse than with a." in found.to_text()) == (not expected and n > 0)


def test_the_worst_queries_by_another_measure(found):
    one = found.worst(1, "MAP")
    differences = found.differences("title", "map")
    assert one["difference"].tolist() == [differences.min()]
    assert one["query"].tolist() == [found.query_ids[differences.argmin()]]
    with pytest.raises(ValueError, match="n must be 0 or more; got -1"):
        found.worst(-1)
    with pytest.raises(KeyError, match="mrr was not evaluated"):
        found.worst(1, "mrr")


def test_a_query_that_does_not_count_is_the_last():
    y, qid = [1, 0, 0, 0, 1, 0], [1, 1, 2, 2, 3, 3]
    found = compare({"a": [1, 2, 1, 2, 2, 1], "b": [2, 1, 2, 1, 1, 2]}, y, qid, "pairwise-accuracy")
    table = found.per_query()
    assert table["query"].tolist() == [3, 1, 2]
    assert table.to_csv().splitlines()[-1] == "2,,,"
    assert table.to_text().splitlines()[-1].split() == ["2", "-", "-", "-"]
    assert json.loads(table.to_json())["b pairwise-accuracy difference"] == [-1, 1, None]
    assert found.worst()["query"].tolist() == [3]


@pytest.mark.parametrize("name", ["price", "-price", "price:ascending", "clicks"])
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("sparse", [True, False])
def test_a_column_is_its_values(data, name, named, sparse):
    bare = name.removeprefix("-").removesuffix(":ascending")
    place = data.names.index(bare)
    X = csr_array(data.X) if sparse else data.X
    same = RankingData(X, data.y, data.qid, names=data.names if named else None)
    spelled = name if named else name.replace(bare, f"f{place + 1}")
    expected = evaluate(data.y, data.X[:, place] * (1 if name == bare else -1), data.qid, "ndcg@10")
    found = compare({"column": spelled, "rows": np.arange(len(data))}, same, measures="ndcg@10")
    assert found.evaluations["column"].per_query["ndcg@10"].tolist() == expected.per_query["ndcg@10"].tolist()
    if not named:
        by_number = compare({"rows": np.arange(len(data))}, same, measures="ndcg@10", baseline=spelled.replace("f", ""))
        assert by_number.contrasts[0].mean == expected["ndcg@10"]


def test_a_column_s_own_name_comes_before_its_direction():
    data = RankingData(np.array([[1.0, 5.0], [2.0, 4.0]]), [1, 0], [1, 1], names=["x", "-x"])
    found = compare({"up": "-x", "down": "x"}, data, measures="mrr")
    assert [one.mean for one in found.contrasts] == [1, 0.5]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda d: compare({"a": "clicsk", "b": "price"}, d), "no column 'clicsk' in the data: did you mean 'clicks'"),
        (
            lambda d: compare({"a": "-clicsk", "b": "price"}, d),
            "no column '-clicsk' in the data: did you mean 'clicks'",
        ),
        (
            lambda d: compare({"a": "clicks"}, d, baseline="7"),
            "no column '7' in the data: its columns are 'title_match', ",
        ),
        (lambda d: compare({"a": "clicks", "b": "price"}, d.y), "'a' is the column 'clicks': pass RankingData"),
        (lambda d: compare({"a": "clicks", "b": "price"}, d, d.qid), "which has query ids of its own"),
        (lambda d: compare({"a": "f14", "b": "1"}, RankingData(d.X, d.y, d.qid)), "its features are f1 to f13"),
        (lambda d: compare({"a": "²", "b": "1"}, RankingData(d.X, d.y, d.qid)), "no column '²'"),
    ],
)
def test_columns_that_do_not_exist(data, make, message):
    with pytest.raises(ValueError, match=message):
        make(data)


def judged_share(judged, scores, k):
    """The mean over all orders of documents with equal scores."""
    orders = [one for one in itertools.permutations(range(len(scores))) if (np.diff(np.take(scores, one)) <= 0).all()]
    return np.mean([np.mean([judged[i] for i in one[:k]]) for one in orders])


@given(st.lists(st.tuples(st.sampled_from([0.0, 2.0, math.nan]), st.integers(0, 2)), min_size=1, max_size=8))
@pytest.mark.filterwarnings("ignore:.*every ranking has the same value", "ignore:.*all labels are equal")
def test_judged_is_the_share_of_documents_with_a_label(rows):
    y, scores = np.array(rows, float).T
    qid = np.arange(len(rows)) % 2
    found = evaluate(y, scores, qid, ["judged@2", "ndcg@3", "judged@2:ties=stable"], unjudged=1)
    filled = evaluate(np.where(np.isnan(y), 1.0, y), scores, qid, "ndcg@3")
    assert found.per_query["ndcg@3"].tolist() == filled.per_query["ndcg@3"].tolist()
    for query, value in zip(found.query_ids, found.per_query["judged@2"], strict=True):
        mine = qid == query
        assert value == pytest.approx(judged_share(~np.isnan(y[mine]), scores[mine], 2), abs=1e-12)


def test_labels_that_are_missing(data):
    y = data.y.copy()
    y[5] = math.nan
    with pytest.raises(ValueError, match=r"y\[5\] is nan; unjudged=0 \(--unjudged 0\) gives documents without"):
        evaluate(y, data.X[:, 0], data.qid)
    with pytest.raises(ValueError, match="unjudged must be a finite number; got nan"):
        evaluate(y, data.X[:, 0], data.qid, unjudged=math.nan)
    scores = {"a": data.X[:, 0], "b": data.X[:, 1]}
    found = compare(scores, y, data.qid, ["ndcg@10", "judged@1000"], unjudged=0)
    assert "Not judged among the first 1000: a 0.2 %, b 0.2 %." in found.to_text()
    y[5] = 0
    assert compare(scores, y, data.qid, "ndcg@10").contrasts[1].mean == found.contrasts[1].mean
    assert evaluate(y, data.X[:, 0], data.qid, "judged@10")["judged@10"] == 1
