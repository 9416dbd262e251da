"""What is said of text that will not do: the first bad line, its column, what was found and what was expected."""

import io
import pickle
import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rankwise.data import streams
from rankwise.data.letor import read_letor
from rankwise.data.streams import LetorError

GOOD = b"1 qid:1 1:0.5 2:1 # fine\n"
FAULTS = [  # line, column, words
    (b"x qid:1 1:1", 1, "found 'x', expected a label: a finite number"),
    (b"qid:1 1:1", 1, "found 'qid:1', expected a label first"),
    (b"  1:1 2:2", 3, "found '1:1', expected a label first"),
    (b"inf qid:1 1:1", 1, "found 'inf', expected a label: a finite number"),
    (b"nan qid:1 1:1", 1, "found 'nan', expected a label"),
    (b"1e qid:1 1:1", 1, "found '1e', expected a label"),
    (b"1_0 qid:1 1:1", 1, "found '1_0', expected a label"),
    (b"1,5 qid:1 1:1", 1, "found '1,5', expected a label"),
    (b"- qid:1 1:1", 1, "found '-', expected a label"),
    (b"1e999 qid:1 1:1", 1, "found '1e999', expected a number that the chosen float type can hold"),
    (b"1 qid: 1:1", 3, "found 'qid:', expected a query id after qid:"),
    (b"1 qid:a#b 1:1", 3, "expected a query id after qid:, without '#'"),
    (b"1 qid:a\x01 1:1", 3, "expected a query id after qid:, without '#' or control characters"),
    (b"1 1:1 2:2", 1, "found '1', expected qid: after the label, as in the lines before"),
    (b"  1", 3, "found '1', expected qid: after the label"),
    (b"1 1:1 qid:1 2:2", 7, "found 'qid:1', expected qid: before the first feature"),
    (b"1 qid:1 qid:2 1:1", 9, "found 'qid:2', expected a single qid: in a line"),
    (b"1 qid:1 1:1 qid:1", 13, "found 'qid:1', expected a single qid: in a line"),
    (b"1 qid:1 1:1 7", 13, "found '7', expected a feature as index:value"),
    (b"1 qid:1 1 :1", 9, "found '1', expected a feature as index:value"),
    (b"1 qid:1 :1", 9, "found ':1', expected a whole number, 0 or more, as the index"),
    (b"1 qid:1 -1:1", 9, "found '-1:1', expected a whole number, 0 or more, as the index"),
    (b"1 qid:1 a:1", 9, "found 'a:1', expected a whole number"),
    (b"1 qid:1 1.0:1", 9, "found '1.0:1', expected a whole number"),
    (b"1 qid:1 2147483648:1", 9, "expected an index of at most 2147483647"),
    (b"1 qid:1 18446744073709551617:1", 9, "expected an index of at most 2147483647"),
    (b"1 qid:1 1: 2:1", 9, "found '1:', expected a number after the colon"),
    (b"1 qid:1 1:x", 9, "found '1:x', expected a number after the colon"),
    (b"1 qid:1 1:1:1", 9, "found '1:1:1', expected a number after the colon"),
    (b"1 qid:1 1:1.2.3", 9, "found '1:1.2.3', expected a number after the colon"),
    (b"1 qid:1 1:0x10", 9, "found '1:0x10', expected a number after the colon"),
    (b"1 qid:1 1:1_0", 9, "found '1:1_0', expected a number after the colon"),
    (b"1 qid:1 1:.", 9, "found '1:.', expected a number after the colon"),
    (b"1 qid:1 1:1e+", 9, "found '1:1e+', expected a number after the colon"),
    (b"1 qid:1 1:1\x00", 9, "expected a number after the colon"),
    (b"1 qid:1 1:inf", 9, "found '1:inf', expected a finite number after the colon"),
    (b"1 qid:1 1:-Infinity", 9, "expected a finite number after the colon"),
    (b"1 qid:1\t 1:1e400", 10, "found '1:1e400', expected a number that the chosen float type can hold"),
    (b"1 qid:1 1:NULL", 9, "found '1:NULL', expected a number after the colon (missing=0.0 in Python"),
    (b"1 qid:1 1:1 2:nan#", 13, "found '2:nan', expected a number after the colon (missing=0.0 in Python"),
    (b"1 qid:1 1:nano", 9, "found '1:nano', expected a number after the colon"),
    (b"1 qid:1 2:1 1:1", 13, "found '1:1', expected an index above 2: within a line the indices ascend"),
    (b"1 qid:1 2:1 2:1", 13, "found '2:1', expected an index above 2"),
    (b"1 qid:1 1:1 0:1", 13, "found '0:1', expected an index above 1"),
    (b"1 qid:1 " + b"9" * 50, 9, "found '" + "9" * 40 + "…', expected a feature"),
]


def fault(source, **options):
    with pytest.raises(LetorError) as caught:
        read_letor(source, **options)
    return caught.value


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize(("line", "column", "words"), FAULTS)
def test_first_bad_line(tmp_path, monkeypatch, line, column, words, dense):
    data = GOOD * 3 + b"\n# a remark\r\n" + line + b"\n" + GOOD * 20 + b"worse\n"
    path = tmp_path / "data.txt"
    path.write_bytes(b"\xef\xbb\xbf" + data)
    for size in (64, 1 << 20):
        monkeypatch.setattr(streams, "CHUNK", size)
        monkeypatch.setattr(streams, "PIECE", size)
        for source, name in ((path, str(path)), (io.BytesIO(data), "the file given")):
            error = fault(source, dense=dense, n_jobs=2)
            assert (error.path, error.line, error.column) == (name, 6, column)
            assert str(error).startswith(f"{name}, line 6, column {column}: found ")
            assert words in str(error)


@pytest.mark.parametrize(("line", "column", "words"), FAULTS)
def test_bad_line_without_its_end(line, column, words):
    error = fault(io.BytesIO(GOOD + line))
    assert (error.line, error.column) == (2, column)
    assert words in str(error)


def test_the_first_line_decides_whether_there_are_query_ids(monkeypatch):
    monkeypatch.setattr(streams, "CHUNK", 64)
    monkeypatch.setattr(streams, "PIECE", 64)
    error = fault(io.BytesIO(b"1 1:1\n" * 30 + b"1 qid:1 1:1\n" + b"x\n"))
    assert (error.line, error.column) == (31, 3)
    assert "found 'qid:1', expected no qid:, as in the lines before" in str(error)
    assert fault(io.BytesIO(b"x\n" + b"1 1:1\n" + b"1 qid:1 1:1\n")).line == 1


def test_column_counts_bytes_without_the_mark_at_the_start():
    error = fault(io.BytesIO("\ufeff1 qid:ü x\n".encode()))
    assert (error.line, error.column) == (1, 10)


def test_values_beyond_float32():
    data = b"1 qid:1 1:3.4028235e38 2:-3.4028235677973366e38\n"
    error = fault(io.BytesIO(data), dtype=np.float32)
    assert (error.line, error.column) == (1, 24)
    assert read_letor(io.BytesIO(data)).X[0, 1] == -3.4028235677973366e38
    largest = b"1 qid:1 1:3.4028235677973362e38\n"
    assert read_letor(io.BytesIO(largest), dtype=np.float32).X[0, 0] == np.finfo(np.float32).max


def test_query_id_that_is_not_utf8():
    error = fault(io.BytesIO(b"1 qid:a 1:1\n1 qid:\\x 1:1\n1 qid:\xff 1:1\n"))
    assert (error.line, error.column) == (3, 3)
    assert "found 'qid:\\\\xff', expected a query id in UTF-8" in str(error)


TOKENS = [b"1", b"qid:1", b"qid:", b"1:1", b"2:2", b"0:0", b":", b"1:", b"x", b"#", b"nan", b"1:nan", b"\n", b"\r\n",
          b" ", b"9:1e999", b"99999999999:1", b"-", b"\t", b"\x00", b"3:1e-400", b"qid:a#"]  # fmt: skip


@given(st.lists(st.sampled_from(TOKENS), max_size=40), st.booleans())
@example([b"1", b"9:1e999", b"1", b"1:1", b"\n", b"1"], False)
@settings(max_examples=400)
def test_any_text_is_read_or_refused_the_same_in_chunks(tokens, dense):
    data = b" ".join(tokens)
    told = []
    for size in (16, 1 << 20):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(streams, "CHUNK", size)
            patch.setattr(streams, "PIECE", size)
            try:
                read = read_letor(io.BytesIO(data), dense=dense)
                X = read.X if dense else read.X.toarray()
                told.append((X.tolist(), read.y.tolist(), read.qid.tolist()))
            except LetorError as error:
                told.append(str(error))
    assert told[0] == told[1]


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "data.gz"
    path.write_bytes(b"no gzip")
    with pytest.raises(LetorError, match=re.escape(f"{path}: the file cannot be read to its end")):
        read_letor(path)


def test_errors_travel_between_processes():
    error = fault(io.BytesIO(b"1 1:x\n"))
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert (again.path, again.line, again.column) == ("the file given", 1, 3)


@pytest.mark.parametrize("counted", [(1, 1, 1, False), (2, 1, 1, False)])
def test_a_file_that_grows_while_it_is_read(monkeypatch, counted):
    """Both passes guard the arrays: here the first pass saw fewer rows, then fewer entries and features."""
    from rankwise.data import letor_parts

    monkeypatch.setattr(letor_parts, "count", lambda data: counted)
    for dense in (True, False):
        error = fault(io.BytesIO(b"1 qid:1 1:1\n2 qid:1 1:1 2:2\n"), dense=dense)
        assert "the file changed while it was read" in str(error)
        assert error.line is None  # the passes differ at a place that need not be where the file changed
