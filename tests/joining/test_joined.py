"""`join` against pandas.merge, and its rules one by one."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise import join, read_data, write_data
from rankwise.joining.formats import FEATURES, read_records
from rankwise.joining.inputs import opened_input
from rankwise.joining.judged import COMBINE, RULES

NAMES = st.sampled_from(["a", "b", "A", " a", "7", "07", "x y", "é"])
RATINGS = st.sampled_from([0.0, 1.0, 2.0, 0.5, -1.0])
JUDGED = st.lists(st.tuples(NAMES, NAMES, RATINGS), min_size=1, max_size=20, unique_by=lambda row: row[:2])
VALUES = st.floats(-1e150, 1e150, allow_nan=False)
LOGGED = st.lists(st.tuples(NAMES, NAMES, VALUES, VALUES), min_size=1, max_size=20, unique_by=lambda row: row[:2])


def lines(rows, names):
    return io.StringIO("\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in rows))


def judgments(*rows):
    return [dict(zip(("query", "docid", "rating"), row, strict=True)) for row in rows]


def features(*rows):
    return [dict(zip(("query", "docid"), row[:2], strict=True)) | row[2] for row in rows]


def table(data):
    """The rows of ranking data by (query, document), with ids as texts."""
    keys = zip(map(str, data.qid.tolist()), map(str, data.docid.tolist()), strict=True)
    return {key: (y, *row) for key, y, row in zip(keys, data.y.tolist(), data.X.tolist(), strict=True)}


@given(JUDGED, LOGGED)
def test_the_rows_are_those_of_pandas(judged, logged):
    left = pd.DataFrame(judged, columns=["query", "docid", "rating"])
    right = pd.DataFrame(logged, columns=["query", "docid", "bm25", "age"])
    both = left.merge(right, on=["query", "docid"])
    sides = lines(judged, left.columns), lines(logged, right.columns)
    if both.empty:
        with pytest.raises(ValueError, match=r"no query matches|no document matches"):
            join(*sides)
        return
    found = join(*sides)
    expected = {(q, d): row for q, d, *row in both.itertuples(index=False)}
    assert table(found.data) == {key: tuple(row) for key, row in expected.items()}
    assert found.data.names == ("bm25", "age")
    outer = left.merge(right, on=["query", "docid"], how="outer", indicator=True)
    lacking = dict(list(outer.groupby("_merge", observed=True)))
    for side, unmatched in (
        ("left_only", found.report.judgments.unmatched),
        ("right_only", found.report.features.unmatched),
    ):
        rows = lacking.get(side, outer[:0])
        assert set(unmatched) == set(zip(rows["query"], rows["docid"], strict=True))
    assert (found.report.rows, found.report.queries) == (len(both), both["query"].nunique())


@given(st.lists(st.tuples(NAMES, NAMES, RATINGS), min_size=1, max_size=30), st.sampled_from(list(RULES)))
def test_contradictions_are_settled_as_pandas_does(judged, rule):
    frame = pd.DataFrame(judged, columns=["query", "docid", "rating"])
    grouped = frame.groupby(["query", "docid"], sort=False)["rating"]
    differing = {key for key, n in grouped.nunique().items() if n > 1}
    logged = features(*((*key, {"x": 1.0}) for key in grouped.groups))
    found = join(frame, logged, on_conflict=rule)
    counted = frame.drop_duplicates().groupby(["query", "docid"])["rating"] if rule == "mean" else grouped
    expected = counted.agg(rule).to_dict()
    assert {key: row[0] for key, row in table(found.data).items()} == pytest.approx(expected)
    assert {one[:2] for one in found.report.judgments.conflicts} == differing
    assert found.report.judgments.repeated == len(frame) - grouped.nunique().sum()
    if differing:
        with pytest.raises(ValueError, match="with different ratings"):
            join(frame, logged)


@given(st.permutations(range(6)))
def test_the_order_of_the_log_does_not_matter(order):
    judged = judgments(*((f"q{i % 2}", f"d{i}", i) for i in range(6)))
    logged = features(*((f"q{i % 2}", f"d{i}", {"a": i, "b": -i}) for i in range(6)))
    data = join(judged, [logged[i] for i in order]).data
    assert data.qid.tolist() == ["q0"] * 3 + ["q1"] * 3
    assert data.docid.tolist() == ["d0", "d2", "d4", "d1", "d3", "d5"]
    assert data.X[:, 0].tolist() == data.y.tolist() == [0, 2, 4, 1, 3, 5]


@pytest.mark.parametrize("combine", COMBINE)
def test_judges_are_combined(combine):
    rows = {"d1": [0, 1, 5], "d2": [2, None, 3], "d3": [None, 4, None]}
    book = "query,docid,ann,bob,cy\n" + "".join(
        f"q,{doc},{','.join('' if one is None else str(one) for one in ratings)}\n" for doc, ratings in rows.items()
    )
    logged = features(*(("q", doc, {"x": 1.0}) for doc in rows))
    found = join(io.StringIO(book), logged, combine=combine)
    expected = pd.DataFrame(rows).agg(combine)
    assert found.data.y.tolist() == expected.tolist()
    assert found.report.judgments.conflicts == ()
    assert found.report.judgments.judges == ("ann", "bob", "cy")
    assert f"the ratings of 3 judges are combined by their {combine}" in str(found.report)
    alone = join(io.StringIO(book), logged, judges=["bob"])
    assert table(alone.data) == {("q", "d1"): (1, 1), ("q", "d3"): (4, 1)}
    assert alone.report.judgments.judges == ("bob",)
    with pytest.raises(ValueError, match=r"has no ratings by 'dan' \(its judges: 'ann', 'bob', 'cy'\)"):
        join(io.StringIO(book), logged, judges=["dan"])


JUDGMENTS = judgments(("q", "d1", 2), ("q", "d2", 1), ("p", "d1", 0))


def test_a_missing_value_is_never_a_silent_zero():
    logged = features(("q", "d1", {"a": 1.5}), ("q", "d2", {"a": None, "b": 2}), ("q", "d3", {"c": 1}))
    with pytest.raises(
        ValueError, match=r"2 features without a value in some of 2 rows \('a' in 1, 'b' in 1\)"
    ) as told:
        join(JUDGMENTS, logged)
    assert "as 'a' of document 'd2' of 'q'" in str(told.value)
    with pytest.raises(ValueError, match=r"1 feature without a value .* \('b' in 1\)"):
        join(JUDGMENTS, logged, missing_by_name={"a": 7})
    found = join(JUDGMENTS, logged, missing=-1.0, missing_by_name={"a": 7})
    assert found.data.names == ("a", "b")  # nothing of the row that is left out
    assert found.data.X.tolist() == [[1.5, -1], [7, 2]]
    assert found.report.features.filled == (("a", 1, 7.0), ("b", 1, -1.0))
    assert "feature 'a' has no value in 1 row, where it is set to 7" in str(found.report)
    with pytest.raises(ValueError, match=r"missing names the feature 'z', which is not logged \(logged: 'a', 'b'\)"):
        join(JUDGMENTS, logged, missing=0, missing_by_name={"z": 1})
    with pytest.raises(ValueError, match="missing must be a finite number, got nan"):
        join(JUDGMENTS, logged, missing=np.nan)


def test_documents_that_nobody_judged():
    logged = features(("q", "d9", {"a": 9}), ("q", "d1", {"a": 1}), ("other", "d1", {"a": 5}))
    found = join(JUDGMENTS, logged)
    assert table(found.data) == {("q", "d1"): (2, 1)}
    assert found.report.features.unmatched == (("q", "d9"), ("other", "d1"))
    assert found.report.judgments.unmatched == (("q", "d2"), ("p", "d1"))
    labelled = join(JUDGMENTS, logged, unjudged=-0.5)
    assert table(labelled.data) == {("q", "d1"): (2, 1), ("q", "d9"): (-0.5, 9)}
    assert labelled.report.features.unmatched == (("other", "d1"),)  # no document of this query was judged
    assert labelled.report.n_unjudged == 1
    with pytest.raises(ValueError, match="unjudged must be a finite number"):
        join(JUDGMENTS, logged, unjudged=np.inf)


def test_documents_that_were_logged_twice():
    again = [("q", "d1", {"a": 1, "b": None}), ("q", "d1", {"a": 1}), ("q", "d1", {"a": 1, "c": 0})]
    found = join(JUDGMENTS, features(*again[:2]), missing=0)
    assert found.report.features.repeated == 1
    with pytest.raises(ValueError, match="features, row 2: 'd1' of 'q' was logged before with other values"):
        join(JUDGMENTS, features(*again), missing=0)
    for rule, expected in (("first", [[1, 5, 5]]), ("last", [[1, 5, 0]])):
        found = join(JUDGMENTS, features(*again), missing=5, on_relogged=rule)
        assert found.data.X.tolist() == expected
        assert found.report.features.relogged == (("q", "d1"),)


def test_why_nothing_matches():
    judged = judgments(("Rambo ", "7555", 1), ("Rambo ", "1", 0))
    for logged, words in [
        (
            [("Rambo ", "doc_7555")],
            "though query 'Rambo ' is on both sides: judgements have '7555', '1', features have",
        ),
        ([("Rambo ", " 7555")], "features have ' 7555'; strip would match"),
        ([("rambo", "7555")], "no query matches: judgements have 'Rambo ', features have 'rambo'; strip and casefold"),
        ([("rambo ", "7555")], "features have 'rambo '; casefold would match"),
        ([("other", "7555")], "features have 'other'$"),
    ]:
        with pytest.raises(ValueError, match=words):
            join(judged, features(*((q, d, {"a": 1}) for q, d in logged)))
    same = features(("rambo", "7555 ", {"a": 1}))
    assert table(join(judged, same, strip=True, casefold=True).data) == {("rambo", "7555"): (1, 1)}
    log = {"hits": {"hits": [{"_id": "7555", "matched_queries": ["logged"]}]}}
    with pytest.raises(ValueError, match="features have 'logged'; if the log does not hold the queries, give queries="):
        join(judged, io.StringIO(json.dumps(log)))


def test_numbers_of_features_and_ids():
    text = "1 qid:3 10:1 2:2 1:3 # 5\n0 qid:3 10:1 2:2 1:3 # 06\n"
    found = join(io.StringIO(text), io.StringIO(text)).data
    assert (found.names, found.X[0].tolist()) == (("f1", "f2", "f10"), [3, 2, 1])
    assert (found.qid.dtype, found.docid.tolist()) == (np.int64, ["5", "06"])


def test_numbers_of_numpy_are_numbers():
    keys = {"query": np.int64(3), "docid": np.str_("d")}
    found = join([keys | {"rating": np.float32(2)}], [keys | {"a": np.float16(0.5), "b": np.int8(1)}]).data
    assert (found.qid.tolist(), found.docid.tolist(), found.y.tolist()) == ([3], ["d"], [2.0])
    assert found.X.tolist() == [[0.5, 1.0]]


def test_ids_that_a_float_has_rounded_are_refused():
    keys = {"query": 2.0**53, "docid": "d"}
    with pytest.raises(ValueError, match=r"query must be a text or a whole number, found 9007199254740992\.0"):
        join([keys | {"rating": 1}], [keys | {"a": 1}])


@pytest.mark.parametrize("one", [np.datetime64("2020-01-01", "ns"), np.timedelta64(3, "ns"), np.datetime64("2020")])
def test_dates_of_numpy_are_neither_ids_nor_numbers(one):
    keys = {"query": "q", "docid": "d"}
    with pytest.raises(ValueError, match="must be a text or a whole number"):
        join([keys | {"query": one, "rating": 1}], [keys | {"query": one, "a": 1}])
    with pytest.raises(ValueError, match="'a' must be a finite number"):
        join([keys | {"rating": 1}], [keys | {"a": one}])


def test_the_result_goes_through_files(tmp_path):
    judged = judgments(("two, words", "d 1", 2), ('quo"te', "d2", 1), ("é\t#", "d3", 0))
    logged = features(*((one["query"], one["docid"], {"bm 25": 0.1, "a,b": 1e-300}) for one in judged))
    data = join(judged, logged).data
    for name in ("a.parquet", "a.csv", "a.npz"):
        write_data(tmp_path / name, data)
        back = read_data(tmp_path / name)
        assert table(back) == table(data)
        assert tuple(back.names) == ("bm 25", "a,b")
    with pytest.raises(ValueError, match="'two, words' cannot be written"):
        write_data(tmp_path / "a.txt", data)


def test_json_lines_are_streamed():
    log = io.BytesIO(b'{"query": "q", "docid": 1, "a": 1}\n' * 20_000 + b"broken")
    with opened_input(log) as input:
        _, records = read_records(input, FEATURES, None, {})
        assert next(records).docid == "1"
        assert log.tell() < 1 << 18
        with pytest.raises(ValueError, match="line 20001, column 1: this is not JSON"):
            list(records)


def test_rules_are_named():
    for option in ("on_conflict", "combine", "on_relogged", "judgments_format", "features_format"):
        with pytest.raises(ValueError, match=f"{option} must be one of .*; got 'nothing'"):
            join(io.StringIO("a 0 b 1\n"), io.StringIO('{"query": 1, "docid": 1}'), **{option: "nothing"})


def test_no_features_at_all():
    with pytest.raises(ValueError, match="features: no features were logged for the judged documents"):
        join(JUDGMENTS, features(("q", "d1", {}), ("q", "d9", {"a": 1})))
    with pytest.raises(ValueError, match="features_format is the format of a file; features is a list"):
        join(JUDGMENTS, [], features_format="csv")
    with pytest.raises(ValueError, match="features holds nothing but an empty list"):
        join(JUDGMENTS, [])


def test_means_that_overflow_are_refused():
    rows = judgments(("q", "d", 1.7e308), ("q", "d", 1.6e308))
    with pytest.raises(ValueError, match="too large for float64"):
        join(rows, features(("q", "d", {"a": 1})), on_conflict="mean")


def test_features_to_leave_out_by_pattern():
    logged = features(("q", "a", {"bm25_title": 1, "bm25_body": 2, "age": 3}))
    assert join(judgments(("q", "a", 1)), logged, ignore=["bm25_*"]).data.names == ("age",)
    with pytest.raises(TypeError, match="names must be in a list, got the text 'age'"):
        join(judgments(("q", "a", 1)), logged, ignore="age")
