"""Columns of tables by name, JSON lines, and tables as spreadsheets write them."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest

from rankwise.data import streams
from rankwise.data.formats import read_data, stream_data, write_data
from rankwise.data.frame import from_frame
from rankwise.data.records import RankingData

FRAME = pd.DataFrame(
    {
        "grade": [1, 0],
        "query": ["a b", "a b"],
        "url": ["x", "y"],
        "w": [2, 3],
        "b_1": [1.5, 2],
        "c": [3, 4],
        "b_2": [5, 6],
    }
)
NAMES = {"label": "grade", "qid": "query", "docid": "url", "weight": "w"}


def read(source, **options):
    if isinstance(source, pd.DataFrame):
        return from_frame(source, **options)
    file = io.BytesIO(source if isinstance(source, bytes) else source.encode())
    return read_data(file, format="jsonl" if source[:1] == "{" else "csv", **options)


SOURCES = [FRAME, FRAME.to_csv(index=False), FRAME.to_json(orient="records", lines=True)]


@pytest.mark.parametrize("source", SOURCES, ids=["frame", "csv", "jsonl"])
def test_columns_by_name_and_by_pattern(source):
    data = read(source, **NAMES)
    assert data.docid.tolist() == ["x", "y"]
    assert data.weight.tolist() == [2, 3]
    assert data.names == ("b_1", "c", "b_2")
    assert read(source, **NAMES, features=["c", "b_*", "b_1"]).X.tolist() == [[3, 1.5, 5], [4, 2, 6]]
    assert read(source, **NAMES, ignore=["b_?"]).names == ("c",)
    assert read(source, **NAMES | {"weight": None}, features=["*"]).names == ("w", "b_1", "c", "b_2")
    assert read(source, **NAMES | {"docid": None, "weight": None}, ignore=["url", "w"]).docid is None
    with pytest.raises(ValueError, match="'url' is among the features: it cannot be docid too"):
        read(source, **NAMES, features=["url", "c"])
    with pytest.raises(TypeError, match="frame is a text or a path, 'shop"):
        from_frame("shop.csv")
    with pytest.raises(TypeError, match="features must be a list of names, got the text 'c'"):
        read(source, **NAMES, features="c")


def test_a_column_called_docid_can_be_a_feature():
    frame = pd.DataFrame({"label": [1, 0], "qid": [1, 1], "docid": [7, 8], "sample_weight": [1, 2], "label*": [3, 4]})
    data = from_frame(frame, features=["docid", "label*"])
    assert (data.X.tolist(), data.docid, data.weight.tolist()) == ([[7, 3], [8, 4]], None, [1, 2])


def test_quoted_cells_of_several_lines(monkeypatch):
    rows = [["label", "qid", "docid", "title", "f1", "comment"]]
    titles = ['a\nb, "c"\r\nd', "", '"', 'x"y', "\n", "plain"]
    rows += [[i % 3, f"q\n{i // 2}", f"d {i}", title, i, title] for i, title in enumerate(titles * 30)]
    file = io.StringIO()
    csv.writer(file, lineterminator="\r\n").writerows(rows)
    expected = [row[1:3] + row[5:] for row in rows[1:]]
    for piece in (1 << 16, 7):
        monkeypatch.setattr(streams, "FIRST_PIECE", piece)
        monkeypatch.setattr(streams, "PIECE", piece)
        data = read(file.getvalue(), ignore=["title"], comments=True)
        assert [list(one) for one in zip(data.qid, data.docid, data.comments, strict=True)] == expected
        assert data.X[:, 0].tolist() == list(range(180))
    text = file.getvalue() + "1,1,1,t,oops,\r\n"
    with pytest.raises(ValueError, match=f"line {text.count(chr(10))}, column 'f1': found 'oops'"):
        read(text, ignore=["title"])
    assert read(b'label,qid,f1,comment\n1,1,2,"a\xff\x00"\n', comments=True).comments[0] == "a\\xff\x00"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("piece", [1 << 16, 1, 7])
def test_names_of_several_lines(monkeypatch, separator, line_end, piece):
    monkeypatch.setattr(streams, "FIRST_PIECE", piece)
    monkeypatch.setattr(streams, "PIECE", piece)
    names = ["a\nb", 'c "d",;\t\r\n\ne', "\rf", "g"]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator=line_end, delimiter=separator, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerows([[*names[:2], "label", "qid", *names[2:]], [1, 2, 0, "q", 3, 4], [5, 6, 1, "q\n", 7, 8]])
    text = file.getvalue()
    for given in (text, text.encode("utf-8-sig"), text.removesuffix(line_end)):
        data = read(given)
        assert data.names == tuple(names)
        assert data.X.tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
        assert data.qid.tolist() == ["q", "q\n"]
        source = io.BytesIO(given if isinstance(given, bytes) else given.encode())
        blocks = list(stream_data(source, format="csv"))
        assert np.vstack([block.X for block in blocks]).tolist() == data.X.tolist()
        assert {block.names for block in blocks} == {data.names}
    number = text.count("\n") + 1
    row = separator.join(["1", "oops", *"1111"])
    with pytest.raises(ValueError, match=rf"line {number}, column .*: found 'oops'"):
        read(text + row)


@pytest.mark.parametrize("piece", [1 << 16, 1])
@pytest.mark.parametrize("before", ["\n", " \r\n\n", "sep=;\n", '"sep=;"\r\n', "\n \nsep=;\r\n\n"])
def test_what_may_stand_before_a_header(monkeypatch, before, piece):
    monkeypatch.setattr(streams, "FIRST_PIECE", piece)
    monkeypatch.setattr(streams, "PIECE", piece)
    table = "label;qid;f1;a\n1;q;2,5;3\n"
    for given in (before + table, (before + table).encode("utf-8-sig")):
        data = read(given, ignore=["f1"])
        assert (data.X.tolist(), data.y.tolist(), data.qid.tolist()) == ([[3]], [1], ["q"])
    number = (before + table).count("\n") + 1
    with pytest.raises(ValueError, match=rf"line {number}, column 'a': found 'oops'"):
        read(before + table + "1;q;2;oops\n", ignore=["f1"])
    with pytest.raises(ValueError, match=rf"line {number - 2}: the header holds a line end CR"):
        read(before + table.replace(";a\n", ";a\rb\n", 1))


@pytest.mark.parametrize("text", ["\n \n", "sep=;", "sep=;\r\n\n"])
def test_nothing_but_what_may_stand_before_a_header(text):
    with pytest.raises(ValueError, match="there are no rows to read"):
        read(text)


def test_the_separator_that_a_line_names():
    assert read("sep=|\nlabel|qid|a;b\n1|q|2\n").names == ("a;b",)
    with pytest.raises(ValueError, match=r"no column 'label' for labels \(its columns: 'label,qid,a'\)"):
        read("sep=;\nlabel,qid,a\n1,q,2\n")


def test_a_quote_of_a_header_that_is_never_closed_is_told():
    for text in (
        'label,qid,"a\nb,c\n1,1,2,3\n',
        'label,qid,"a\n1,1,2\n0,1,"3"x\n',
        'label,qid,"a\n' + "1,1,2\n" * 300_000,
    ):
        with pytest.raises(ValueError, match="line 1: the header cannot be read: "):
            read(text)


def test_names_of_several_lines_survive_every_table(tmp_path):
    data = RankingData(np.eye(2), [0, 1], [1, 1], names=["a\nb", "c\r\nd"])
    for format in ("csv", "tsv", "jsonl", "parquet", "npz", "chunks"):
        write_data(tmp_path / format, data, format=format)
        back = read_data(tmp_path / format, format=format)
        assert (tuple(back.names), back.X.tolist()) == (("a\nb", "c\r\nd"), [[1, 0], [0, 1]])


def test_a_quote_that_is_never_closed_is_told_with_its_line():
    text = 'label,qid,title,f1\n1,1,"a\nb",2\n0,1,"c,3\n' + "1,1,d,4\n" * 10
    with pytest.raises(ValueError, match="line 4, column 'title': found '\"c', expected a quote that is closed"):
        read(text, ignore=["title"])


def test_line_ends_in_ids_survive_every_table(tmp_path):
    data = RankingData(np.eye(2), [0, 1], ["a\nb", "c"], ["x\r\ny", ""], docid=["1\n", "2"])
    for format in ("csv", "tsv", "jsonl", "parquet", "npz", "chunks"):
        write_data(tmp_path / format, data, format=format)
        back = read_data(tmp_path / format, format=format, comments=True)
        assert (back.qid.tolist(), back.docid.tolist()) == (["a\nb", "c"], ["1\n", "2"])


def test_json_lines_of_logs():
    rows = [
        {"qid": "rambo", "docid": 7555, "label": 4, "features": {"title": 12.5, "votes": 31}},
        {"qid": "rambo", "docid": "x", "features": {"votes": True, "new": None}, "label": 0, "comment": "é"},
    ]
    text = "\n\n".join(map(json.dumps, rows))
    data = read(text, missing=-1, comments=True)
    assert data.X.tolist() == [[12.5, 31, -1], [-1, 1, -1]]
    assert data.names == ("title", "votes", "new")
    assert data.docid.tolist() == ["7555", "x"]
    assert list(data.comments) == ["", "é"]
    with pytest.raises(ValueError, match="column 'title': line 3 has no number: "):
        read(text)


def test_json_lines_as_a_stream(monkeypatch):
    monkeypatch.setattr(streams, "PIECE", 100)
    lines = [json.dumps({"label": i % 2, "qid": i, "a": i, "b": 0.1}) for i in range(50)]
    blocks = list(stream_data(io.BytesIO("\n".join(lines).encode()), format="jsonl"))
    assert len(blocks) > 5
    assert np.concatenate([one.X[:, 0] for one in blocks]).tolist() == list(range(50))
    lines[40] = '{"label": 1, "qid": 40, "a": 1}'
    with pytest.raises(ValueError, match="column 'b': line 41 has no number"):
        list(stream_data(io.BytesIO("\n".join(lines).encode()), format="jsonl"))


ROW = '{"label": 1, "qid": 1, "a": 1}\n'


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("[1, 2]", r"line 2: found '\[1, 2\]', expected an object of JSON on every line"),
        ('{"label": 1,', "line 2: it is not an object of JSON"),
        ('{"label": 1, "label": 2}', "line 2: .* the same name twice"),
        ("{" * 100_000, "line 2: "),
        ('{"a": ' * 20 + "1" + "}" * 20, "line 2: .* nested too deeply"),
        ('{"label": NaN, "qid": 1, "a": 1}', "line 2: .* NaN is not a number in JSON"),
        ('{"label": 1e400, "qid": 1, "a": 1}', "column 'label': line 2 holds inf"),
        ('{"label": 1, "qid": 1, "a": 1' + "0" * 400 + "}", "column 'a': line 2 holds inf"),
        (
            '{"label": 9007199254740993, "qid": 1, "a": 1}',
            "column 'label' holds 9007199254740993, which float64 rounds",
        ),
        ('{"label": null, "qid": 1, "a": 1}', "column 'label': line 2 has no label"),
        ('{"label": 1, "a": 1}', "column 'qid': line 2 has no query id"),
        ('{"label": 1, "qid": true, "a": 1}', "column 'qid': line 2 holds True, expected a number or a text"),
        ('{"label": 1, "qid": {}, "a": 1}', "column 'qid': line 2 holds {}, expected a number or a text"),
        ('{"label": 1, "qid": 1, "a": "3"}', "column 'a' holds texts, expected numbers"),
        ('{"label": 1, "qid": 1, "a": [3]}', "column 'a' holds lists or objects, expected numbers"),
        ('{"label": 1, "qid": 1, "a": 2, "features": {"a": 3}}', "'a' is both a member of the row and of its features"),
    ],
)
def test_json_lines_that_are_refused(line, words):
    with pytest.raises(ValueError, match=words):
        read(ROW + line + "\n")
