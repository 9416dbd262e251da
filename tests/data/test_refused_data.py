"""What must not come in by a file or a frame: ids that are missing, columns without a name, numbers that do not fit."""

import json
import subprocess
import sys
import warnings
from io import BytesIO
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import zstandard

from rankwise import RankingData, from_frame, load_sample, read_data, write_data
from rankwise.data.letor import read_letor

X = np.array([[1.0, 2.0], [3.0, 4.0]])
SPARSE = {"data": np.ones(2), "indices": np.arange(2), "indptr": np.arange(3), "shape": np.array([2, 2])}


def saved(path, **changed):
    np.savez(path, **{"X": X, "y": np.array([1.0, 0.0]), "qid": np.array([1, 1])} | changed)
    return path


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 2.0**53])
def test_an_npz_file_with_a_missing_query_id_is_refused_when_it_is_read(tmp_path, wrong):
    """It was read, and written to CSV as a query called nan, before anybody looked."""
    path = saved(tmp_path / "nq.npz", qid=np.array([wrong, 1.0]))
    with pytest.raises(ValueError, match=r"nq\.npz holds no ranking data, or is damaged: qid "):
        read_data(path)


def test_no_ranking_data_have_a_missing_query_id(tmp_path):
    with pytest.raises(ValueError, match=r"qid of row 1 is missing \(nan\)"):
        RankingData(X, [1, 0], np.array([1.0, np.nan]))
    with pytest.raises(ValueError, match=r"qid of row 0 is missing \(NaT\)"):
        RankingData(X, [1, 0], np.array(["NaT", "2020-01-01"], "M8[D]"))


def test_a_float_column_of_arrow_with_a_nan_id_is_refused():
    import pyarrow as pa

    table = pa.table({"label": [1.0, 0.0], "qid": pa.array([1.0, float("nan")]), "f1": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"the frame, column 'qid': qid of row 1 is missing"):
        from_frame(table)


def test_an_npz_file_with_a_dense_and_a_sparse_matrix_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"holds X and also data, indices, indptr, shape: .* not both"):
        read_data(saved(tmp_path / "both.npz", **SPARSE))


@pytest.mark.parametrize("name", ["coo", b"csc", "", "\x1b"])
def test_a_sparse_matrix_that_is_not_called_csr_is_refused(tmp_path, name):
    np.savez(tmp_path / "d.npz", y=np.zeros(2), qid=np.ones(2), format=np.array(name), **SPARSE)
    with pytest.raises(ValueError, match=r"d\.npz holds a sparse matrix in the format .*, expected 'csr'"):
        read_data(tmp_path / "d.npz")
    for right in ("csr", b"csr"):
        np.savez(tmp_path / "d.npz", y=np.zeros(2), qid=np.ones(2), format=np.array(right), **SPARSE)
        assert read_data(tmp_path / "d.npz").X.nnz == 2


@pytest.mark.parametrize("name", ["X", "y"])
def test_a_longer_float_beyond_float64_is_one_error_without_a_warning(tmp_path, name):
    huge = np.array([[1, 2], [3, 4]] if name == "X" else [1, 2], np.longdouble) * np.longdouble("1e4000")
    path = saved(tmp_path / "d.npz", **{name: huge})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"d\.npz holds no ranking data"):
            read_data(path)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_a_column_without_a_name_is_refused(tmp_path, suffix):
    """The index that DataFrame.to_csv() writes became a feature."""
    path = tmp_path / f"t.{suffix}"
    frame = pd.DataFrame({"": [0, 1], "label": [1, 0], "qid": [1, 1], "f1": [5, 6]})
    if suffix == "parquet":
        frame.to_parquet(path)
    else:
        frame.iloc[:, 1:].to_csv(path, sep="," if suffix == "csv" else "\t")
    with pytest.raises(ValueError, match=r"column 1 has no name, .* to_csv\(index=False\), or name the column"):
        read_data(path)
    assert read_data(path, features=["f1"]).X.tolist() == [[5], [6]]


def test_lines_that_end_with_a_separator_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("label,qid,a,\n1,1,2,\n")
    with pytest.raises(ValueError, match="column 4, the last one, has no name: name it, or end no line by a separator"):
        read_data(path)


def test_a_feature_without_a_name_is_not_written_to_a_table(tmp_path):
    for name in ("t.csv", "t.parquet"):
        with pytest.raises(ValueError, match="column 1 of X has no name"):
            write_data(tmp_path / name, RankingData(X, [1, 0], [1, 1], names=["a", " "]))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("blank", [chr(code) for code in range(0x80, 0x3001) if chr(code).isspace()])
def test_a_query_id_with_a_blank_that_is_not_ascii_is_refused(tmp_path, blank):
    """`1 qid:1<no-break space>1:5` had the id "1 1:5"."""
    path = tmp_path / "t.txt"
    path.write_text(f"0 qid:2 1:1\n1 qid:1{blank}1:5\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"line 2, column 3: .* expected a query id without blanks"):
        read_letor(path)
    with pytest.raises(ValueError, match="cannot be written"):
        write_data(path, RankingData(X, [1, 0], np.array(["a", f"a{blank}b"])))


def test_letters_beside_those_blanks_are_letters_of_an_id(tmp_path):
    letters = "".join(chr(code) for code in range(0xA1, 0x3100) if chr(code).isprintable() and not chr(code).isspace())
    path = tmp_path / "t.txt"
    path.write_text(f"1 qid:{letters} 1:5\n", encoding="utf-8")
    assert read_letor(path).qid.tolist() == [letters]


def test_a_number_too_large_for_float32_in_a_table_is_named_by_line_and_column(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("label,qid,f1,f2\n1e39,1,1,3.4028235677973362e38\n0,1,1,-1e39\n")
    with pytest.raises(ValueError, match=r"t\.csv, line 3, column 'f2': found '-1e39', expected .* float32 can hold"):
        read_data(path, dtype="float32")
    assert read_data(path).X[1, 1] == -1e39


@pytest.mark.parametrize("number", ["1e-50", "-7.006492321624085e-46", "0." + "0" * 59 + "1", "3" * 30 + "e-99"])
def test_a_number_that_float32_would_round_to_0_is_refused(tmp_path, number):
    """1e50 was an error, and 1e-50 became 0."""
    files = {
        "t.csv": f"label,qid,f1,f2\n1,1,0,1\n0,1,{number},{{}}\n",
        "t.txt": f"1 qid:1 1:0\n0 qid:1 1:{number} 2:{{}}\n",
    }
    files["t.jsonl"] = f'{{{{"label": 1, "qid": 1, "f1": {number}, "f2": {{}}}}}}\n'
    for name, text in files.items():
        path = tmp_path / name
        path.write_text(text.format(1))
        place = "" if name == "t.jsonl" else ".* line 3" if name == "t.csv" else ".* line 2"
        with pytest.raises(ValueError, match=rf"{name}{place}.*(can|cannot) hold"):
            read_data(path, dtype="float32")
        assert read_data(path).X[-1, 0] == float(number)
        write_data(tmp_path / "t.npz", read_data(path))
        with pytest.raises(ValueError, match="holds a number that float32 cannot hold"):
            read_data(tmp_path / "t.npz", dtype="float32")
        path.write_text(text.replace(number, "7.006492321624087e-46").format("-0.0"))
        assert read_data(path, dtype="float32").X[-1].tolist() == [2.0**-149, 0]


def test_a_small_text_that_float32_would_round_to_0_is_refused_without_the_kernels(tmp_path):
    (tmp_path / "t.txt").write_text("1 qid:1 1:1e-50\n")
    code = f"from rankwise import read_data; read_data({str(tmp_path / 't.txt')!r}, dtype='float32')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "found '1:1e-50', expected a number that the chosen float type can hold" in done.stderr


@pytest.mark.parametrize("member", ["qid", "docid"])
@pytest.mark.parametrize(("text", "words"), [("a\0", "without NUL"), ("\ud800", "in UTF-8")])
def test_an_id_of_json_lines_that_cannot_be_kept_is_refused(tmp_path, member, text, words):
    """NumPy drops a NUL at the end of a text, which made ids equal; a lone surrogate cannot be written."""
    path = tmp_path / "t.jsonl"
    rows = [
        {"label": 1, "qid": "a", "docid": "b", "x": 1},
        {"label": 0, "qid": "a", "docid": "c", "x": 2, member: text},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(ValueError, match=rf"t\.jsonl, column '{member}': line 2 holds .*, expected a .* id {words}"):
        read_data(path)


def test_an_id_with_a_nul_is_not_written_to_npz(tmp_path):
    data = RankingData(X, [1, 0], np.array(["a", "a\0"], object))
    for name in ("t.npz", "t.chunks"):
        with pytest.raises(ValueError, match=r"qid\[1\] is 'a\\x00'"):
            write_data(tmp_path / name, data)
    assert list(tmp_path.iterdir()) == []


def test_names_of_every_format_are_a_tuple(tmp_path):
    for name in ("t.npz", "t.csv", "t.jsonl"):
        write_data(tmp_path / name, RankingData(X, [1, 0], [1, 1], names=["a", "b"]))
        assert read_data(tmp_path / name).names == ("a", "b")


def test_an_empty_frame_is_refused():
    frame = pd.DataFrame({"label": [1.0], "qid": [1], "f1": [1.0]})
    with pytest.raises(ValueError, match="the frame: there are no rows to read"):
        from_frame(frame.iloc[:0])


def test_a_frame_takes_the_advice_of_its_own_error():
    frame = pd.DataFrame({"label": [1.0, 0.0], "qid": [1, 1], "f1": [1.0, None], "f2": [None, 2.0]})
    with pytest.raises(ValueError, match=r"column 'f1': row 1 has no number: missing=0\.0 in Python"):
        from_frame(frame)
    assert from_frame(frame, missing=-1.5).X.tolist() == [[1, -1.5], [-1.5, 2]]


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), {"f1": 0.0}, "0", [0.0], True])
def test_what_is_put_for_missing_features_is_a_finite_number(tmp_path, wrong):
    frame = pd.DataFrame({"label": [1.0, 0.0], "qid": [1, 1], "f1": [1.0, None]})
    with pytest.raises(ValueError, match=r"^missing must be a finite number, got "):
        from_frame(frame, missing=wrong)
    for name in ("t.csv", "t.txt", "t.parquet", "t.npz"):
        with pytest.raises(ValueError, match=r"^missing must be a finite number, got "):
            read_data(tmp_path / name, missing=wrong)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_missing_label_is_not_told_to_be_filled_in(tmp_path, suffix):
    frame = pd.DataFrame({"label": [1.0, None], "qid": [1, 1], "f1": [1.0, 2.0]})
    path = tmp_path / f"t.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    with pytest.raises(ValueError, match=r"column 'label': .*label") as caught:
        read_data(path)
    assert "missing=" not in str(caught.value)


def test_a_header_with_other_line_ends_is_told_in_our_own_words(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"label,qid,f1\r1,1,2\r\n0,1,3\n")
    with pytest.raises(ValueError, match=r"line 1: the header holds a line end CR, expected LF or CR LF"):
        read_data(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_bytes(b"label,qid,f1\r\n1,1,2\n0,1,3\r\n")
    assert read_data(tmp_path / "t.csv").X.tolist() == [[2], [3]]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.npz", "t.txt"])
def test_a_file_that_is_not_there_is_told_by_the_system(tmp_path, name):
    with pytest.raises(FileNotFoundError) as caught:
        read_data(tmp_path / name)
    assert (caught.value.filename, caught.value.strerror) == (str(tmp_path / name), "No such file or directory")


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npz"])
def test_a_table_without_labels_is_read_where_none_are_needed(tmp_path, suffix):
    data, path = load_sample().select(slice(4)), tmp_path / f"t.{suffix}"
    if suffix == "npz":
        np.savez(path, X=data.X, qid=data.qid)
    else:
        frame = pd.DataFrame(data.X, columns=[f"f{i + 1}" for i in range(13)]).assign(qid=data.qid)
        frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    with pytest.raises(ValueError, match=r"has no column 'label' for labels|lacks y"):
        read_data(path)
    found = read_data(path, needs_labels=False)
    assert found.y.tolist() == [0, 0, 0, 0]
    assert found.X.tolist() == data.X.tolist()


@pytest.mark.parametrize("ids", ["9007199254740995.0, 9007199254740996.0", '9007199254740993.0, "x"', '1e400, "x"'])
def test_json_ids_that_float64_rounds_are_refused(tmp_path, ids):
    """Two queries became one, and 1e400 was a query called inf."""
    path = tmp_path / "ids.jsonl"
    path.write_text("".join(f'{{"label": 1, "qid": {one}, "a": 2}}\n' for one in ids.split(", ")))
    with pytest.raises(ValueError, match=r"ids\.jsonl, column 'qid': qid holds the floating-point number"):
        read_data(path)


@pytest.mark.parametrize("weight", [-3.0, -1e-320])
@pytest.mark.parametrize(("format", "place"), [("csv", "line 3"), ("jsonl", "line 2"), ("parquet", "row 1")])
def test_a_negative_weight_is_refused_with_its_place(tmp_path, format, place, weight):
    """The error named no file, and its row was counted from where a piece of the file began."""
    path = tmp_path / f"data.{format}"
    frame = pd.DataFrame({"label": [1, 0], "qid": [1, 1], "sample_weight": [0.0, weight], "a": [1.0, 2.0]})
    if format == "csv":
        frame.to_csv(path, index=False)
    elif format == "jsonl":
        path.write_text("\n".join(json.dumps(row) for row in frame.to_dict("records")))
    else:
        frame.to_parquet(path)
    with pytest.raises(ValueError, match=rf"data\.{format}, (column 'sample_weight': )?{place}.* 0 or more"):
        read_data(path)


def test_a_table_whose_ids_are_not_in_utf_8_is_refused(tmp_path):
    r"""The byte E9 came out as the four letters \xe9, the id of another document perhaps."""
    path = tmp_path / "latin.csv"
    path.write_bytes("label,qid,docid,a\n1,1,café,2\n1,1,tea,x\n".encode("latin-1"))
    refusal = r"latin\.csv, line 2, column 'docid': found 'caf\\xe9', expected an id in UTF-8"
    with pytest.raises(ValueError, match=refusal):
        read_data(path)


def test_a_table_whose_names_are_not_in_utf_8_is_refused(tmp_path):
    path = tmp_path / "latin.csv"
    path.write_bytes("\nlabel,qid,höhe\n1,1,2\n".encode("latin-1"))
    told = r"latin\.csv, line 2: the header is not UTF-8: convert the file first"
    with pytest.raises(ValueError, match=told):
        read_data(path)
    path.write_bytes('\nlabel,qid,"höhe\n1,1,2\n'.encode("latin-1"))
    with pytest.raises(ValueError, match=told):
        read_data(path)


def test_bytes_in_parquet_are_texts(tmp_path):
    """Ids were b'tea', with the quotes."""
    path = tmp_path / "bytes.parquet"
    frame = pd.DataFrame({"label": [1, 0], "qid": ["café".encode(), b"tea"], "a": [1.0, 2.0]})
    frame.to_parquet(path)
    assert read_data(path).qid.tolist() == ["café", "tea"]
    frame.assign(qid=[b"\xff", b"tea"]).to_parquet(path)
    with pytest.raises(ValueError, match="the column 'qid' holds bytes that are no text in UTF-8"):
        read_data(path)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.txt", "a.txt.zst", "-"])
def test_what_is_no_text_is_named(tmp_path, monkeypatch, name):
    """A line of JSON in UTF-16 was read from a file, and refused from a pipe as a table with odd columns."""
    content = b"\x1f\x8b\x08" if name == "-" else '{"label": 1, "qid": 1, "a": 2}\n'.encode("utf-16")
    path = tmp_path / name
    with (zstandard.open if name.endswith("zst") else open)(path, "wb") as file:
        file.write(content)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=BytesIO(content)))
    with pytest.raises(ValueError, match=r"it is (text in UTF-16|compressed by gzip), expected text in UTF-8"):
        read_data("-" if name == "-" else path)
