"""Logs of every format give the same ClickLog; what cannot be right is an error with file and line."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from rankwise.clicks import ClickLog, read_clicks, read_swaps

ROWS = [  # query, doc, position from 1, click, impression; not in order
    ("red shoes", "a", 2, 1, "s1"),
    ("red shoes", "b", 1, 0, "s1"),
    ("7", "a", 1, 0, "s2"),
    ("red shoes", "b", 3, 1, "s3"),
    ("red shoes", "c", 1, 0, "s3"),
]
NAMES = ("query", "doc", "position", "click", "impression")


def rows_of(log):
    return sorted(
        zip(
            log.queries[log.query_of_row].tolist(),
            log.docs[log.doc].tolist(),
            log.position.tolist(),
            log.click.astype(int).tolist(),
            log.lists[log.list_of_row].tolist(),
            strict=True,
        )
    )


def table(rows, names=NAMES, separator=","):
    return io.StringIO("\n".join(separator.join(map(str, row)) for row in (names, *rows)) + "\n")


def json_lines(values):
    return io.StringIO("".join(json.dumps(value) + "\n" for value in values))


@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_tables(separator):
    log = read_clicks(table(ROWS, separator=separator), first_position=1)
    assert rows_of(log) == sorted(ROWS)
    assert repr(log) == "ClickLog(3 lists, 5 impressions, 2 clicks, 2 queries)"
    assert log.position.tolist() == [1, 2, 1, 1, 3]  # by list, then position
    assert all(column.dtype.kind in "ib" for column in (log.query, log.doc, log.position, log.click, log.starts))


def test_positions_from_zero_and_other_names():
    rows = [(query, doc, position - 1, bool(click), impression) for query, doc, position, click, impression in ROWS]
    names = ("user_query", "docId", "rank", "clicked", "serp_id")
    assert rows_of(read_clicks(table(rows, names), first_position=0)) == sorted(ROWS)
    names = ("user_query", "docId", "where", "clicked", "serp_id")
    assert rows_of(read_clicks(table(rows, names), first_position=0, position="where")) == sorted(ROWS)


def test_json_lines_and_arrays():
    values = [dict(zip(NAMES, row, strict=True)) for row in ROWS]
    assert rows_of(read_clicks(json_lines(values), first_position=1)) == sorted(ROWS)
    columns = [np.array(column) for column in zip(*ROWS, strict=True)]
    assert rows_of(ClickLog.of(*columns, first_position=1)) == sorted(ROWS)


def test_without_impressions_each_query_is_one_list():
    log = read_clicks(table([row[:4] for row in ROWS[:3]], NAMES[:4]), first_position=1)
    assert log.lists.tolist() == ["red shoes", "7"]
    with pytest.raises(ValueError, match=r"line 5: the document 'b' occurs twice in the list 'red shoes'.*impression"):
        read_clicks(table([row[:4] for row in ROWS], NAMES[:4]), first_position=1)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("q", "x", 0, 0, "s9"), "line 7: position must be 1 or more, found 0: .* by first_position=0"),
        (("q", "x", "1.5", 0, "s9"), "line 7: position must be a whole number, found '1.5'"),
        (("q", "x", 1, 2, "s9"), "line 7: click must be 0 or 1, true or false, found '2'"),
        (("q", "x", 1, "", "s9"), "line 7: click must be 0 or 1, true or false, found ''"),
        (("q", "", 1, 0, "s9"), "line 7: doc must be a text or a whole number, found ''"),
        (("q", "x", 4, 0, "s1"), "line 7: the list 's1' has two queries, 'red shoes' and 'q'"),
        (("red shoes", "a", 4, 0, "s1"), "line 7: the document 'a' occurs twice in the list 's1'"),
        (("red shoes", "x", 2, 0, "s1"), "line 7: the position 2 occurs twice in the list 's1'"),
        (("q", "x", 1), "line 7: found 3 cells, expected 5"),
    ],
)
def test_errors_name_the_line(row, message):
    with pytest.raises(ValueError, match=message):
        read_clicks(table([*ROWS, row]), first_position=1)


def test_other_errors():
    with pytest.raises(TypeError, match="first_position"):
        read_clicks(table(ROWS))
    with pytest.raises(ValueError, match="first_position must be 0 or 1"):
        read_clicks(table(ROWS), first_position=2)
    with pytest.raises(ValueError, match=r"no column with a usual name .* for click"):
        read_clicks(table([row[:3] for row in ROWS], NAMES[:3]), first_position=1)
    with pytest.raises(ValueError, match="a header and no rows"):
        read_clicks(table([]), first_position=1)
    with pytest.raises(ValueError, match="position must hold whole numbers"):
        ClickLog.of(["q"], ["a"], [1.5], [0], first_position=1)
    with pytest.raises(ValueError, match="click must hold whole numbers"):
        ClickLog.of(["q"], ["a"], [1], [np.inf], first_position=1)
    with pytest.raises(ValueError, match="found 1, expected an object"):
        read_clicks(json_lines([[1]]), first_position=1)
    for huge in (1e300, 2**63 + 5, 2**63 - 1):
        with pytest.raises(ValueError, match=r"position must be at most 1,000,000,000; got "):
            ClickLog.of(["q"], ["a"], [huge], [0], first_position=0)
    for depth in (0, 1.5, np.nan):
        with pytest.raises(ValueError, match="depth must be a whole number of at least 1"):
            ClickLog.of(["q"], ["a"], [1], [0], first_position=1).top(depth)
    with pytest.raises(ValueError, match=r"events of User Behavior Insights: .*queries=FILE"):
        read_clicks(json_lines([{"action_name": "click", "query_id": "q"}]), first_position=1)
    with pytest.raises(TypeError, match=r"for a frame, use ClickLog.of"):
        read_clicks(pd.DataFrame(ROWS, columns=list(NAMES)), first_position=1)
    with pytest.raises(ValueError, match="row 1: click must be 0 or 1, found 3"):
        ClickLog.of(["q", "q"], ["a", "b"], [1, 2], [0, 3], first_position=1)


def test_swaps():
    rows = [("s1", 1), ("s2", 4)]
    assert read_swaps(table(rows, ("impression", "position")), first_position=0) == {"s1": 2, "s2": 5}
    lines = json_lines([{"serp": "s1", "rank": 3}])
    assert read_swaps(lines, first_position=1, impression="serp") == {"s1": 3}
    for row, message in {
        ("s3", 0): "line 4: position must be one after the top, 0, found 0",
        ("s1", 2): "line 4: the list 's1' occurs twice",
        ("s3", "x"): "line 4: position must be a whole number, found 'x'",
        ("", 2): "line 4: impression must be a text",
    }.items():
        with pytest.raises(ValueError, match=message):
            read_swaps(table([*rows, row], ("impression", "position")), first_position=0)


QUERIES = [
    {"query_id": "s1", "user_query": "red shoes", "query_response_hit_ids": ["b", "a"]},
    {"query_id": "s2", "user_query": "7", "query_response_hit_ids": ["a"]},
    {"query_id": "s3", "user_query": "red shoes", "query_response_hit_ids": ["c", "x", "b"]},
    {"query_id": "s4", "user_query": "", "query_response_hit_ids": []},
]


def event(query_id, doc, position=None, action="click"):
    place = {"ordinal": position} if position is not None else {"xy": {"x": 1, "y": 2}}
    attributes = {"object": {"object_id": doc}, "position": place}
    return {"action_name": action, "timestamp": "2026-01-01", "query_id": query_id, "event_attributes": attributes}


def ubi(*events, first_position=0):
    return read_clicks(json_lines(events), queries=json_lines(QUERIES), first_position=first_position)


def test_ubi():
    log = ubi(event("s1", "a", 1), event("s1", "a"), event("s1", "b", 0, "impression"), event("s3", "b", 2))
    assert rows_of(log) == sorted([*ROWS, ("red shoes", "x", 2, 0, "s3")])


def test_ubi_clicks_without_an_impression_are_left_out_with_a_warning():
    with pytest.warns(UserWarning, match="2 clicks are left out.*line 2"):
        log = ubi(event("s1", "a", 1), event("s1", "zzz", 1), event("s8", "a"))
    assert log.click.sum() == 1


def test_ubi_errors():
    with pytest.raises(ValueError, match=r"line 1: the click was at ordinal 1, but .* position 2.*is first_position"):
        ubi(event("s1", "a", 1), first_position=1)
    bad = json_lines([QUERIES[0], {"query_id": "s2"}])
    with pytest.raises(ValueError, match="line 2: query_response_hit_ids must be a list of documents, found null"):
        read_clicks(json_lines([event("s1", "a")]), queries=bad, first_position=1)
    with pytest.raises(ValueError, match=r"line 1: event_attributes\.object\.object_id must be a text"):
        ubi(event("s1", None))
    with pytest.raises(ValueError, match="click names a column of a table"):
        read_clicks(json_lines([{}]), queries=json_lines(QUERIES), first_position=1, click="c")
