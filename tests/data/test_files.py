"""Files of every format: what is written reads back to the same bits, and what is wrong is told in one sentence."""

import csv
import io
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array, issparse, load_npz

from rankwise import make_ranking
from rankwise.data import letor
from rankwise.data.formats import get_format, read_data, stream_data, write_data
from rankwise.data.frame import from_frame, to_frame
from rankwise.data.letor import read_letor
from rankwise.data.records import RankingData

EVERY_FORMAT = ["letor", "csv", "tsv", "jsonl", "parquet", "npz"]


@st.composite
def records(draw):
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    floats = st.floats(width=8 * dtype().itemsize, allow_nan=False, allow_infinity=False)
    n, d = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    X = draw(hnp.arrays(dtype, (n, d), elements=st.just(0.0) | floats | st.integers(-3, 3)))
    y = draw(hnp.arrays(np.float64, n, elements=st.floats(allow_nan=False, allow_infinity=False)))
    ids = draw(st.sampled_from([st.integers(-(2**63) + 1, 2**63 - 1), st.text('ab:7é漢\\-,"', min_size=1, max_size=4)]))
    qid = np.array(draw(st.lists(ids, min_size=n, max_size=n)))
    comment = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0")).map(lambda text: text.strip(" \t\v\f"))
    comments = draw(st.none() | st.lists(comment, min_size=n, max_size=n))
    name = st.text("xyz ,\"'é", min_size=1, max_size=3).filter(str.strip)
    named = st.lists(name, min_size=d, max_size=d, unique=True)
    return RankingData(X, y, qid, comments, draw(st.sampled_from([0, 1])), draw(st.none() | named))


@given(records(), st.booleans(), st.sampled_from(EVERY_FORMAT))
def test_round_trip(tmp_path_factory, record, sparse, kind):
    path = tmp_path_factory.mktemp("data") / "file"
    X = csr_array(record.X) if sparse else record.X
    names = None if kind == "letor" else record.names
    first_index = 1 if record.names is not None else record.first_index
    given = RankingData(X, record.y, record.qid, record.comments, first_index, record.names)
    write_data(path, given, format=kind)
    in_text = {"dtype": record.X.dtype, "dense": not sparse} if get_format(kind).is_text else {}
    read = read_data(path, format=kind, comments=True, **in_text)
    assert issparse(read.X) == sparse
    assert read.X.dtype == record.X.dtype
    assert read.X.shape == record.X.shape
    assert (read.X.toarray() if sparse else read.X).tobytes() == (X.toarray() if sparse else X).tobytes()
    assert read.y.tobytes() == record.y.tobytes()
    assert read.qid.dtype.kind in "iU"
    assert [str(one) for one in read.qid.tolist()] == [str(one) for one in record.qid.tolist()]
    assert list(read.comments if read.comments is not None else [""] * len(record)) == list(
        record.comments if record.comments is not None else [""] * len(record)
    )
    assert read.first_index == first_index
    assert read.names is None if names is None else list(read.names) == names


def test_the_csv():
    data = RankingData(np.array([[0.5, 0.0], [1e-7, -3.0]]), [1, 0.25], ["a,b", "c"], ["", 'says "x"'])
    file = io.BytesIO()
    write_data(file, data, format="csv")
    assert file.getvalue().decode() == 'label,qid,f1,f2,comment\n1,"a,b",0.5,0,\n0.25,c,1e-07,-3,"says ""x"""\n'
    peer = pd.read_csv(io.BytesIO(file.getvalue()), keep_default_na=False)
    assert peer["qid"].tolist() == ["a,b", "c"]
    assert peer["comment"].tolist() == ["", 'says "x"']
    assert (peer[["f1", "f2"]].to_numpy() == data.X).all()


@given(records())
def test_csv_is_what_the_csv_module_writes(record):
    file = io.BytesIO()
    write_data(file, record, format="csv")
    rows = list(csv.reader(io.StringIO(file.getvalue().decode(), newline="")))
    assert [row[1] for row in rows[1:]] == [str(one) for one in record.qid.tolist()]
    first = 2 + record.n_features
    assert (np.array([row[2:first] for row in rows[1:]], record.X.dtype) == record.X).all()
    mine = io.StringIO(newline="")
    csv.writer(mine, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerows(rows)  # quotes and line ends of others
    mine = io.BytesIO(mine.getvalue().encode())
    read = read_data(mine, format="csv", dtype=record.X.dtype, comments=True)
    assert read.X.tobytes() == record.X.tobytes()
    assert read.comments is None or list(read.comments) == list(record.comments)


FOREIGN = "doc,relevance,query,bm25,title_len\nd1,1,q1,0.5,3\nd2,0,q1,0.25,4\n\nd3,2,q2,1.5,\n"


def test_columns_of_other_names(tmp_path):
    (tmp_path / "t.csv").write_text(FOREIGN)
    options = {"label": "relevance", "qid": "query", "features": ["title_len", "bm25"], "missing": -1}
    read = read_data(tmp_path / "t.csv", **options)
    assert read.X.tolist() == [[3, 0.5], [4, 0.25], [-1, 1.5]]
    assert list(read.names) == ["title_len", "bm25"]
    assert read.qid.tolist() == ["q1", "q1", "q2"]
    pd.read_csv(tmp_path / "t.csv").to_parquet(tmp_path / "t.parquet")
    other = read_data(tmp_path / "t.parquet", **options)
    assert other.X.tolist() == read.X.tolist()
    assert other.qid.tolist() == read.qid.tolist()
    alone = read_data(tmp_path / "t.csv", **options | {"qid": None})
    assert alone.qid.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("label,qid,f1\n1,1,x\n", {}, r"t.csv, line 2, column 'f1': found 'x', expected a finite number"),
        ("label,qid,f1\n1,1,inf\n", {}, "found 'inf', expected a finite number"),
        (
            "label,qid,f1\n1,1,1e999\n",
            {},
            r"line 2, column 'f1': found '1e999', expected a number that float64 can hold",
        ),
        ("label,qid,f1\n1,1,1e39\n", {"dtype": np.float32}, "line 2, column 'f1': found '1e39', .* float32"),
        ("label,qid,f1\n1,1,1e39\n", {"dtype": np.float32}, "expected a number that float32 can hold"),
        ("label,qid,f1\n1,1,340282356779733661637539395458142568448\n", {"dtype": np.float32}, "that float32 can hold"),
        ("label,qid,f1\n1,1,1\n0,1,\n", {}, "line 3, column 'f1': found '', expected a number .missing=0.0 in Python"),
        ("label,qid,f1\n1,1,1\nNA,1,2\n", {"missing": 0}, "line 3, column 'label': found 'NA'"),
        ("label,qid,f1\n1,,1\n", {}, "line 2, column 'qid': found '', expected an id"),
        ("label,qid,f1\n\n1,1\n", {}, "line 3: found 2 cells, expected 3, as in the header"),
        ("label,qid,f1\n1,1,2,3\n", {}, "line 2: found 4 cells, expected 3"),
        ('label,qid,f1\n1,"1,2\n', {}, "line 2, column 'qid': .* expected a quote that is closed at the end"),
        ('label,qid,f1\n1,1,"2"x\n', {}, "column 'f1': found '\"2\"x', expected a quote that is closed at the end"),
        ('label,qid,f1\n"1,5"x,1,2\n', {}, "column 'label': found '\"1,5\"x', expected a quote that is closed"),
        ("Label,qid,f1\n1,1,2\n", {}, r"has no column 'label' .*: did you mean 'Label'\? Name it by --label NAME"),
        ("label,query,f1\n1,1,2\n", {}, r"has no column 'qid' for query ids \(its columns: 'label', 'query', 'f1'\)"),
        ("label,qid,f1,f1\n1,1,2,2\n", {}, "two columns called 'f1'"),
        ("label,qid,f1\n1,1,2\n", {"n_features": 2}, "has 1 features, 2 are expected"),
        ("label,qid,f1\n", {}, "there are no rows to read"),
        ("", {}, "there are no rows to read"),
    ],
)
def test_csv_faults(tmp_path, text, options, words):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ValueError, match=words):
        read_data(tmp_path / "t.csv", **options)


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        ({"label": [1, 0], "qid": [1, 1], "f1": ["a", "b"]}, r"column 'f1' holds .*string, expected numbers"),
        ({"label": [1, 0], "qid": [1, 1], "f1": [1.0, np.nan]}, r"column 'f1': row 1 .*"),
        (
            {"label": [1, 0], "qid": [1, 1], "f1": [1.0, np.inf]},
            "column 'f1': row 1 holds inf, expected a finite number",
        ),
        ({"label": [1, None], "qid": [1, 1], "f1": [1.0, 2.0]}, "column 'label': row 1 "),
        ({"label": [1, 0], "qid": ["a", None], "f1": [1.0, 2.0]}, "column 'qid': row 1 has no query id"),
        ({"qid": [1, 1], "f1": [1.0, 2.0]}, "has no column 'label' for labels"),
    ],
)
def test_frame_faults(frame, words):
    with pytest.raises(ValueError, match=words):
        from_frame(pd.DataFrame(frame))


def test_frames():
    frame = pd.DataFrame(
        {
            "qid": pd.Categorical(["b", "a", "b"]),
            "clicks": np.array([1, 2, 3], np.int16),
            "label": [True, False, True],
            "bm25": np.array([0.5, 1.5, 2.5], np.float32),
        },
        index=["x", "y", "z"],
    )
    data = from_frame(frame)
    assert list(data.names) == ["clicks", "bm25"]
    assert data.X.tolist() == [[1, 0.5], [2, 1.5], [3, 2.5]]
    assert data.X.dtype == np.float64
    assert data.y.tolist() == [1, 0, 1]
    assert data.qid.tolist() == ["b", "a", "b"]
    assert from_frame(frame, features=["bm25"]).X.dtype == np.float32
    assert from_frame(frame.set_index("qid")).qid.tolist() == ["b", "a", "b"]  # pandas keeps ids as the index at times
    again = to_frame(data)
    assert again.columns.tolist() == ["label", "qid", "clicks", "bm25"]
    assert from_frame(again).X.tolist() == data.X.tolist()


def test_parts_of_a_table_in_a_folder(tmp_path):
    frame = pd.DataFrame({"label": [0, 1, 2], "qid": [1, 1, 2], "a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]})
    for i, name in enumerate(["part-2", "part-10", "part-1"]):
        (frame if i else frame[["b", "qid", "a", "label"]]).assign(qid=frame.qid + 10 * i).to_parquet(
            tmp_path / f"{name}.parquet"
        )
    data = read_data(tmp_path)
    assert data.qid.tolist() == [21, 21, 22, 1, 1, 2, 11, 11, 12]
    assert data.X.tolist() == [[1, 4], [2, 5], [3, 6]] * 3  # whatever the order of the columns in each file
    frame.rename(columns={"a": "c"}).to_parquet(tmp_path / "part-3.parquet")
    with pytest.raises(ValueError, match=r"has other features than expected \(missing: 'a'; unknown: 'c'\)"):
        read_data(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"empty is a folder without .parquet files"):
        read_data(tmp_path / "empty")


def test_npz_is_scipys_too(tmp_path):
    X = csr_array(np.array([[0, 2.0], [3, 0]]))
    write_data(tmp_path / "t.npz", RankingData(X, [1, 0], [1, 1]))
    assert (load_npz(tmp_path / "t.npz").toarray() == X.toarray()).all()
    np.savez(tmp_path / "own.npz", X=np.array([[1, 2], [3, 4]]), y=[1, 0], qid=["a", "a"])
    read = read_data(tmp_path / "own.npz")
    assert read.X.dtype == np.float64
    assert read.qid.tolist() == ["a", "a"]


def test_what_is_no_npz_or_parquet(tmp_path):
    np.savez(tmp_path / "less.npz", X=np.zeros((2, 2)), y=[1, 0])
    with pytest.raises(ValueError, match=r"less.npz lacks qid: ranking data are X, y and qid"):
        read_data(tmp_path / "less.npz")
    np.savez(tmp_path / "pickled.npz", X=np.zeros((1, 1)), y=[1], qid=np.array([None]))
    for name in ("pickled.npz", "text.npz"):
        if name == "text.npz":
            (tmp_path / name).write_text("1 qid:1 1:2\n")
        with pytest.raises(ValueError, match=f"{name} is not an NPZ file of plain arrays, or is damaged"):
            read_data(tmp_path / name)
    (tmp_path / "text.parquet").write_text("1 qid:1 1:2\n")
    with pytest.raises(ValueError, match=r"text.parquet is not a Parquet file, or is damaged"):
        read_data(tmp_path / "text.parquet")


def test_formats_go_by_the_suffix(tmp_path):
    data = RankingData(np.array([[0.5, 2.0]]), [1], [7])
    for name in ("t.csv.gz", "t.TSV", "t.pq", "t.npz", "t.txt.xz", "t.svm", "plain"):
        write_data(tmp_path / name, data)
        assert (read_data(tmp_path / name).X == data.X).all()
    assert (tmp_path / "plain").read_text() == "1 qid:7 1:0.5 2:2\n"
    assert read_data([tmp_path / "t.csv.gz"] * 2).X.shape == (2, 2)
    with pytest.raises(ValueError, match=r".prquet is the suffix of no known format"):
        write_data(tmp_path / "t.prquet", data)
    with pytest.raises(ValueError, match="several formats, csv and npz"):
        read_data([tmp_path / "t.csv.gz", tmp_path / "t.npz"])
    with pytest.raises(ValueError, match="parquet cannot go to standard output"):
        write_data("-", data, format="parquet")
    with pytest.raises(ValueError, match=r"format must be one of 'letor', .*; got 'xls'"):
        read_data(tmp_path / "t.npz", format="xls")
    with pytest.raises(TypeError, match="unexpected keyword"):
        read_data(tmp_path / "t.npz", n_feature=3)


def test_wide_sparse_data_are_no_csv(tmp_path):
    wide = csr_array((np.ones(3), np.arange(3) * 400_000, [0, 1, 2, 3]), shape=(3, 2**20))
    with pytest.raises(ValueError, match=r"CSV has a cell for every zero, here 3,145,728 for 3 values"):
        write_data(tmp_path / "t.csv", RankingData(wide, [0, 1, 0], [1, 1, 1]))
    assert not list(tmp_path.iterdir())
    write_data(tmp_path / "t.parquet", RankingData(wide, [0, 1, 0], [1, 1, 1]))
    read = read_data(tmp_path / "t.parquet")
    assert read.X.shape == wide.shape
    assert (wide != read.X).nnz == 0


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz", "letor"])
def test_what_is_not_finite_is_not_written(tmp_path, kind):
    (tmp_path / "data").write_text("precious")
    for X, y, words in ((np.array([[1.0], [np.nan]]), [0, 1], "nan"), (np.ones((2, 1)), [0, np.inf], "inf")):
        with pytest.raises(ValueError, match=words):
            write_data(tmp_path / "data", RankingData(X, y, [1, 1]), format=kind)
    assert (tmp_path / "data").read_text() == "precious"
    assert [one.name for one in tmp_path.iterdir()] == ["data"]


def test_large_sums_are_no_fault(tmp_path):
    data = RankingData(np.array([[1e308, 1e308]]), [1], [1])
    write_data(tmp_path / "t.npz", data)
    assert (read_data(tmp_path / "t.npz").X == data.X).all()


def test_without_pyarrow(tmp_path, monkeypatch):
    data = RankingData(np.ones((2, 1)), [0, 1], [1, 1])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for name in ("t.csv", "t.npz", "t.txt"):
        write_data(tmp_path / name, data)
        assert len(read_data(tmp_path / name)) == 2
    with pytest.raises(ImportError, match=r"parquet needs a package: pip install 'pyarrow'"):
        write_data(tmp_path / "t.parquet", data)
    with pytest.raises(ImportError, match=r"other than pandas' need a package: pip install pyarrow"):
        from_frame({"label": [1, 0], "qid": [1, 1], "f1": [1, 2]})


@pytest.mark.parametrize("has_pyarrow", [True, False])
@pytest.mark.parametrize(
    ("column", "numbers"),
    [
        ([1, None, 3], [1, -1, 3]),
        (np.array([1, 2, 3], np.uint8), [1, 2, 3]),
        (pd.array([1, None, 2**53], "Int64"), [1, -1, 2**53]),
        (pd.array([0.5, None, 2], "Float32"), [0.5, -1, 2]),
        (pd.array([True, None, False], "boolean"), [1, -1, 0]),
        (pd.Series([1, None, 2.5], dtype=object), [1, -1, 2.5]),
        ([Decimal("0.5"), None, Decimal(2)], [0.5, -1, 2]),
        (pd.arrays.SparseArray([0.0, 0.0, 4.0]), [0, 0, 4]),
    ],
)
def test_numbers_of_pandas(monkeypatch, has_pyarrow, column, numbers):
    """Of every type of pandas, with or without pyarrow."""
    frame = pd.DataFrame({"label": [2, 0, 1], "qid": ["a", "a", "b"], "x": column})
    if not has_pyarrow:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    data = from_frame(frame, missing=-1)
    assert data.X.ravel().tolist() == numbers
    assert data.qid.tolist() == ["a", "a", "b"]
    if -1 in numbers:
        with pytest.raises(ValueError, match=r"column 'x': row 1 has no number: missing=0.0"):
            from_frame(frame)


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([3, 1, 3], [3, 1, 3]),
        (pd.Series([3, 1, 3], dtype=object), [3, 1, 3]),
        (pd.array([3, 1, 3], "UInt16"), [3, 1, 3]),
        (pd.Categorical(["x", "y", "x"]), ["x", "y", "x"]),
        ([7.0, "7", "x"], ["7", "7", "x"]),
        ([True, False, True], ["True", "False", "True"]),
        (
            pd.to_datetime(["2020-01-02", "2020-01-01", "2020-01-02"]),
            [f"2020-01-0{i} 00:00:00" for i in (2, 1, 2)],
        ),
    ],
)
def test_query_ids_of_pandas(ids, expected):
    frame = pd.DataFrame({"label": [2, 0, 1], "qid": ids, "x": [1.0, 2.0, 3.0]})
    assert from_frame(frame).qid.tolist() == expected


def test_pandas_and_arrow_agree():
    import pyarrow

    data = make_ranking(5, 6, 4, random_state=0)
    for one in (data, RankingData(csr_array(data.X * (data.X > 0.5)), data.y, data.qid, None, 0, list("abcd"))):
        frame = to_frame(one)
        for read in (from_frame(frame), from_frame(pyarrow.table(frame))):
            dense = [X if isinstance(X, np.ndarray) else X.toarray() for X in (one.X, read.X)]
            assert (dense[0][:, : dense[1].shape[1]] == dense[1]).all()
            assert (read.y == one.y).all()
            assert (read.qid == one.qid).all()


def test_a_sparse_frame_keeps_its_width_and_names():
    data = RankingData(csr_array(([1.0], ([0], [1])), shape=(3, 5)), [1, 0, 2], [1, 1, 2], None, 0, list("abcde"))
    frame = data.to_frame()
    assert frame["indices"].map(list).tolist() == [[1], [], []]
    read = from_frame(frame)
    assert (read.n_features, read.first_index, list(read.names)) == (5, 0, list("abcde"))
    assert (read.X.toarray() == data.X.toarray()).all()
    frame.attrs["rankwise"] = {"n_features": -1}
    with pytest.raises(ValueError, match="the frame: its metadata are damaged: n_features is -1"):
        from_frame(frame)


def test_real_data(letor_data, tmp_path):
    path = letor_data / "mq2008" / "S1.txt.xz"
    data = read_letor(path, comments=True)
    for name in ("t.csv", "t.parquet", "t.npz"):
        write_data(tmp_path / name, data)
        read = read_data(tmp_path / name, comments=True)
        assert read.X.tobytes() == data.X.tobytes()
        assert (read.qid == data.qid).all()
        assert (read.comments == data.comments).all()


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
def test_a_table_that_changes_while_it_is_read_is_refused(tmp_path, suffix):
    """Of text alone that was noticed."""
    path = tmp_path / f"d.{suffix}"
    write_data(path, make_ranking(6, 5, 3, random_state=0))
    blocks = stream_data(path)
    next(blocks)
    path.write_bytes(path.read_bytes())
    with pytest.raises(ValueError, match=f"d.{suffix}: the file changed while it was read"):
        list(blocks)


def test_compressed_text_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path, streamed = tmp_path / "d.txt.gz", letor.streamed
    write_data(path, make_ranking(6, 5, 3, random_state=0))

    def rewritten_first(*args):
        path.write_bytes(path.read_bytes())
        return streamed(*args)

    monkeypatch.setattr(letor, "streamed", rewritten_first)
    with pytest.raises(ValueError, match=r"d.txt.gz: the file changed while it was read"):
        read_data(path)


def test_an_npz_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path, load = tmp_path / "d.npz", np.load
    write_data(path, make_ranking(6, 5, 3, random_state=0))

    def rewritten_first(*args, **options):
        path.write_bytes(path.read_bytes())
        return load(*args, **options)

    monkeypatch.setattr(np, "load", rewritten_first)
    with pytest.raises(ValueError, match=r"d.npz: the file changed while it was read"):
        read_data(path)


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_a_missing_integer_is_replaced_by_any_number(library):
    """0.5 was cut to 0."""
    import pyarrow

    frame = pd.DataFrame({"label": [1, 0], "qid": [1, 1], "x": pd.array([7, None], "Int64")})
    data = from_frame(frame if library == "pandas" else pyarrow.table(frame), missing=0.5)
    assert data.X.tolist() == [[7], [0.5]]
