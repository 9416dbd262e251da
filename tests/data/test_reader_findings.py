"""What the readers of version 0.1 took for numbers, or died of: each a small file, kept so that it stays mended."""

import io
import os
import resource
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy.sparse import issparse

from rankwise.data import letor_parts, streams
from rankwise.data.formats import read_data, stream_data, write_data
from rankwise.data.letor import read_letor
from rankwise.data.records import RankingData
from rankwise.data.streams import LetorError
from rankwise.data.trec import read_qrels

GOOD = b"1 qid:1 1:1 3:0.5\n"


def fault(text, **options):
    with pytest.raises(LetorError) as caught:
        read_letor(io.BytesIO(text), **options)
    return caught.value


@pytest.mark.parametrize("dense", [True, False, None])
@pytest.mark.parametrize(
    "token", [b"3:abc", b"3:nan", b"3:1:2", b"3:", b"3:1e", b"3:0x1", b"3:inf", b"3:NULL", b"3:1.791:17", b"3:1e999"]
)
def test_a_malformed_last_column_is_an_error(token, dense):
    error = fault(GOOD * 3 + b"0 qid:1 1:1 " + token + b"\n" + GOOD, n_features=3, dense=dense)
    assert (error.line, error.column) == (4, 13)
    assert f"found '{token.decode()}'" in str(error)


@pytest.mark.parametrize("dense", [True, False])
def test_a_last_column_beyond_float32_is_an_error(dense):
    error = fault(GOOD + b"0 qid:1 3:1e39\n", n_features=3, dtype=np.float32, dense=dense)
    assert (error.line, error.column) == (2, 9)
    assert "a number that the chosen float type can hold" in str(error)


def test_the_first_of_several_faults_is_named_with_its_line():
    text = GOOD + b"0 qid:1 3:1.791:17\n" + GOOD + b"0 qid:1 3:x\n" + b"0 qid:1 2:x\n"
    for dense in (True, False):
        assert fault(text, n_features=3, dense=dense).line == 2


def test_a_malformed_last_column_of_a_stream_is_an_error(tmp_path):
    path = tmp_path / "data.txt"
    path.write_bytes(GOOD * 3 + b"0 qid:1 3:abc\n")
    with pytest.raises(LetorError, match="line 4, column 9: found '3:abc'"):
        list(stream_data(path, n_features=3))


@pytest.mark.parametrize("options", [{"zero_based": False}, {"n_features": 3}, {"n_features": 3, "zero_based": False}])
def test_an_index_zero_where_indices_count_from_one_is_an_error(tmp_path, options):
    text = GOOD * 3 + b"0 qid:1 0:7 1:1\n"
    path = tmp_path / "data.txt"
    path.write_bytes(text)
    reads = [
        lambda: read_letor(io.BytesIO(text), **options),
        lambda: read_letor(path, **options),
        lambda: read_data(path, **options),
        lambda: list(stream_data(path, **options)),
    ]
    for read in reads:
        with pytest.raises(LetorError, match=r"line 4, column 9: found '0:7', expected an index of 1 or more"):
            read()


def test_a_model_that_counts_from_one_refuses_rows_that_count_from_zero(tmp_path):
    X = np.arange(6.0).reshape(2, 3)
    for name in ("data.npz", "data.csv"):
        write_data(tmp_path / name, RankingData(X, [0, 1], [1, 1], None, 0))
        assert read_data(tmp_path / name, zero_based=True).first_index == 0
        with pytest.raises(ValueError, match="counts its features from 0, expected from 1"):
            read_data(tmp_path / name, n_features=3, zero_based=False)


def test_zero_based_true_needs_no_index_zero():
    assert read_letor(io.BytesIO(b"1 1:5\n"), zero_based=True, dense=True).X.tolist() == [[0, 5]]
    assert read_letor(io.BytesIO(b"1 0:5\n"), dense=True).X.tolist() == [[5]]


def test_a_missing_value_beyond_float32_is_an_error():
    with pytest.raises(ValueError, match="missing is 1e\\+39, which float32 cannot hold"):
        read_letor(io.BytesIO(b"1 1:nan\n"), missing=1e39, dtype=np.float32)


@pytest.mark.parametrize("label", ["1700000000000000001", "-9007199254740993", "+0009007199254740993"])
def test_an_integer_label_that_float64_rounds_is_an_error(tmp_path, label):
    line = f"{label} qid:1 1:1\n".encode()
    assert "a label that float64 holds exactly" in str(fault(GOOD + line))
    assert fault(GOOD + line).line == 2
    (tmp_path / "data.csv").write_text(f"label,qid,f1\n1,1,1\n{label},1,1\n")
    with pytest.raises(ValueError, match=r"line 3, column 'label': .* a label that float64 holds exactly"):
        read_data(tmp_path / "data.csv")
    (tmp_path / "qrels").write_text(f"1 0 a {label}\n")
    with pytest.raises(ValueError, match=r"line 1: the label .* is rounded by float64"):
        read_qrels(tmp_path / "qrels")


@pytest.mark.parametrize("label", ["9007199254740992", "1e23", "1700000000000000000", "0" * 5000 + "7"])
def test_labels_that_float64_holds_are_read(label):
    assert read_letor(io.BytesIO(f"{label} 1:1\n".encode())).y.tolist() == [float(label)]


def run_limited(code, gigabytes=3, **options):
    """Python code in a process that may take so much memory."""

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (gigabytes << 30, gigabytes << 30))

    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, preexec_fn=limit, capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_one_long_query_id_does_not_make_all_rows_long(tmp_path):
    ids = [f"q{i}" for i in range(20_000)]
    ids[7_000] = "x" * 100_000
    (tmp_path / "data.txt").write_text("".join(f"1 qid:{one} 1:1\n" for one in ids))
    (tmp_path / "data.csv").write_text("label,qid,f1,comment\n" + "".join(f"1,{one},1,{one}\n" for one in ids))
    (tmp_path / "qrels").write_text("".join(f"{one} 0 {one} 1\n" for one in ids))
    code = f"""
        from rankwise.data.formats import read_data, stream_data, write_data
        from rankwise.data.trec import read_qrels
        for name in ("data.txt", "data.csv"):
            data = read_data({str(tmp_path)!r} + "/" + name, comments=True, n_jobs=1)
            assert data.n_queries == 20_000
            assert len(data.qid[7_000]) == 100_000
        assert sum(block.n_queries for block in stream_data({str(tmp_path)!r} + "/data.txt", n_jobs=1)) == 20_000
        assert len(read_qrels({str(tmp_path)!r} + "/qrels").docid[7_000]) == 100_000
        try:
            write_data({str(tmp_path)!r} + "/data.npz", data)
        except ValueError as error:
            print(error)
    """
    assert "is too long for an array of texts of one width" in run_limited(code)


def test_a_large_index_in_a_dense_array_is_refused(tmp_path):
    path = tmp_path / "data.txt"
    path.write_bytes(GOOD * 30 + b"0 qid:2 2147483647:1\n")
    for source in (path, io.BytesIO(path.read_bytes())):
        with pytest.raises(MemoryError, match=r"31 rows and 2,147,483,647 features takes 532.6 GB, but"):
            read_letor(source, dense=True)
    with pytest.raises(MemoryError, match=r"features takes 532\.6 GB"):
        list(stream_data(path, dense=True))
    assert read_letor(path).X.shape == (31, 2**31 - 1)
    sparse = read_letor(path)
    write_data(tmp_path / "data.npz", sparse)
    with pytest.raises(MemoryError, match=r"features takes 532\.6 GB"):
        read_data(tmp_path / "data.npz", dense=True)


def test_a_malformed_line_that_looks_like_a_large_index_is_named():
    error = fault(GOOD * 30 + b"0 qid:2 3:1.2147483647:17\n" + GOOD, dense=True)
    assert (error.line, error.column) == (31, 9)


def test_a_wide_header_over_short_rows_takes_no_memory(tmp_path):
    header = ",".join(["label", "qid", *(f"f{i}" for i in range(1, 100_001))])
    (tmp_path / "data.csv").write_text(header + "\n" + "1\n" * 100_000)
    code = f"""
        from rankwise.data.formats import read_data
        try:
            read_data({str(tmp_path / "data.csv")!r}, n_jobs=1)
        except ValueError as error:
            print(error)
    """
    assert "line 2: found 1 cells, expected 100002" in run_limited(code)


@pytest.mark.parametrize("change", ["cut", "grow", "rewrite"])
@pytest.mark.parametrize("when", ["count", "fill"])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch, change, when):
    """Mapped, a file cut short killed the process (SIGBUS)."""
    monkeypatch.setattr(streams, "CHUNK", 1 << 12)
    path = tmp_path / "data.txt"
    text = b"".join(b"%d qid:a%d 1:%d 2:1\n" % (i % 3, i // 10, i) for i in range(5_000))
    path.write_bytes(text)
    changed = {"cut": text[: len(text) // 2], "grow": text + GOOD, "rewrite": b" " * 16 + text[16:]}[change]
    module, name = (letor_parts, "count") if when == "count" else (letor_parts.kernels, "fill")
    honest, calls = getattr(module, name), []

    def meddling(*arguments):
        calls.append(1)
        if len(calls) == 3:
            status = os.stat(path)
            path.write_bytes(changed)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
        return honest(*arguments)

    monkeypatch.setattr(module, name, meddling)
    for dense in (True, False):
        path.write_bytes(text)
        calls.clear()
        with pytest.raises(LetorError, match="changed while it was read"):
            read_letor(path, dense=dense, n_jobs=1)


def test_a_file_that_changes_between_the_passes_of_a_stream_is_refused(tmp_path):
    path = tmp_path / "data.txt"
    path.write_bytes(GOOD * 100)
    told = []

    def progress(done, total):
        if not told:
            path.write_bytes(GOOD * 90)
        told.append(done)

    with pytest.raises(LetorError, match="changed while it was read"):
        list(stream_data(path, progress=progress))


def test_chunks_of_a_stored_file_are_those_of_its_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "_LOOK", 3)
    path = tmp_path / "data.txt"
    text = b"\xef\xbb\xbf" + b"1 1:1\n" * 20 + b"\n\n" + b"2 2:2" * 9
    path.write_bytes(text)
    for size in (1, 7, 64, 1 << 20):
        monkeypatch.setattr(streams, "CHUNK", size)
        stored, held = streams.stored(path), streams.Text("held", text, 3)
        assert [one.load().tobytes() for one in stored.chunks()] == [one.load().tobytes() for one in held.chunks()]
        assert all(stored.line_at(place) == held.line_at(place) for place in range(3, len(text)))


def test_both_readers_give_rows_to_the_last_bit(tmp_path):
    (tmp_path / "data.txt").write_bytes(GOOD * 3 + b"0 qid:2 2:0.1 3:1e-310\n")
    for options in ({}, {"dense": False}, {"n_features": 3}):
        read = read_letor(tmp_path / "data.txt", **options)
        block = next(stream_data(tmp_path / "data.txt", **options))
        for one in (read, block):
            X = one.X.toarray() if issparse(one.X) else one.X
            assert X[3].tolist() == [0.0, 0.1, 1e-310]
