"""read_letor against a line-by-line parser in plain Python, whatever the chunks, the pieces and the threads."""

import bz2
import gzip
import io
import lzma
import re
import sys

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import issparse
from sklearn.datasets import load_svmlight_file

from rankwise.data import streams
from rankwise.data.letor import read_letor
from rankwise.data.streams import LetorError

PLAIN_ID = re.compile(r"0|-?[1-9][0-9]*")
ROUNDED = "9007199254740993"  # 2^53 + 1: no label
NUMBERS = ["0", "1", "+1", "-2", "0.5", ".5", "5.", "-0", "1e-3", "2.5E+2", "00.10", "0.000", "1234567.25",
           "0.1234567890123456789", ROUNDED, "1e22", "1e23", "4.9e-324", "-1.7976931348623e308"]  # fmt: skip
SPACES = st.sampled_from([" ", " ", "  ", "\t", " \t ", "\v", "\f"])
IDS = {
    "integers": [
        "1",
        "100",
        "10",
        "-7",
        "0",
        "4294967297",
        "8589934593",
        "9223372036854775807",
        "-9223372036854775807",
    ],
    "text": ["a", "1", "100", "q:1", "007", "7", "-0", "18446744073709551617", "ü", "+3", "qid:"],
}


def naive(data, missing=None):
    """(X, y, qid, comments, number of entries) by split and float."""
    labels, queries, rows, comments = [], [], [], []
    for line in data.removeprefix(b"\xef\xbb\xbf").decode().split("\n"):
        tokens, _, comment = line.partition("#")
        tokens = re.split(r"[ \t\r\v\f]+", tokens.strip(" \t\r\v\f"))
        if tokens == [""]:
            continue
        labels.append(float(tokens.pop(0)))
        queries.append(tokens.pop(0)[4:] if tokens and tokens[0].startswith("qid:") else None)
        pairs = [token.split(":") for token in tokens]
        rows.append({int(i): missing if v.lower() in ("nan", "na", "null") else float(v) for i, v in pairs})
        comments.append(comment.strip(" \t\r\v\f"))
    used = {index for row in rows for index in row}
    base = 0 if 0 in used else 1
    X = np.zeros((len(rows), max(used, default=base - 1) + 1 - base))
    for i, row in enumerate(rows):
        for index, value in row.items():
            X[i, index - base] = value
    if queries[0] is None:
        ids = np.zeros(len(rows), np.int64)
    elif all(PLAIN_ID.fullmatch(one) and -(2**63) < int(one) < 2**63 for one in queries):
        ids = np.array([int(one) for one in queries])
    else:
        ids = np.array(queries)
    return X, np.array(labels), ids, comments, sum(map(len, rows))


@st.composite
def texts(draw):
    """Legal text in odd spellings."""
    ids = draw(st.sampled_from([None, *IDS.values()]))
    lowest = draw(st.sampled_from([0, 1, 1]))
    lines = []
    for _ in range(draw(st.integers(1, 8))):
        for noise in draw(st.lists(st.sampled_from(["", "  ", "\t\r", "# 1 qid:2 3:4", " #"]), max_size=2)):
            lines.append(noise)
        tokens = [draw(st.sampled_from([one for one in NUMBERS if one != ROUNDED]))]
        if ids:
            tokens.append("qid:" + draw(st.sampled_from(ids)))
        for index in sorted(draw(st.sets(st.integers(lowest, 12), max_size=6))):
            tokens.append(f"{index}:{draw(st.sampled_from(NUMBERS))}")
        line = draw(st.sampled_from(["", " "])) + "".join(token + draw(SPACES) for token in tokens)
        line = line if draw(st.booleans()) else line.rstrip()
        space = draw(st.sampled_from(["", " "])) if len(tokens) > 2 else " "
        lines.append(line + draw(st.sampled_from(["", space + "# docid = 7 1:2", space + "#ä"])))
    ends = [draw(st.sampled_from(["\n", "\r\n"])) for _ in lines]
    ends[-1] = draw(st.sampled_from(["\n", "", "\r"]))
    bom = draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"]))
    return bom + "".join(line + end for line, end in zip(lines, ends, strict=True)).encode()


def array(X):
    return X.toarray() if issparse(X) else X


def same_bits(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


@pytest.fixture
def tiny_pieces(monkeypatch):
    monkeypatch.setattr(streams, "CHUNK", 64)
    monkeypatch.setattr(streams, "PIECE", 150)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("letor") / "data.txt"


@given(data=texts(), dense=st.sampled_from([None, True, False]), tiny=st.booleans(), mapped=st.booleans())
@settings(max_examples=300)
def test_equals_the_plain_parser(path, data, dense, tiny, mapped):
    X, y, qid, comments, entries = naive(data)
    with pytest.MonkeyPatch.context() as patch:
        if tiny:
            patch.setattr(streams, "CHUNK", 64)
            patch.setattr(streams, "PIECE", 100)
        path.write_bytes(data)
        read = read_letor(path if mapped else io.BytesIO(data), dense=dense, comments=True, n_jobs=2)
    assert same_bits(array(read.X) + 0.0, X + 0.0)
    assert same_bits(read.y, y)
    assert read.qid.dtype.kind == qid.dtype.kind
    assert read.qid.tolist() == qid.tolist()
    assert list(read.comments) == comments
    assert issparse(read.X) == (2 * entries < X.size if dense is None else not dense)
    if issparse(read.X):
        assert read.X.nnz == entries
        assert read.X.has_canonical_format


@given(data=texts())
def test_float32_is_the_double_rounded_once(data):
    data = data.replace(b"e308", b"e30").replace(b"e-324", b"e-44")
    X, y, *_ = naive(data)
    read = read_letor(io.BytesIO(data), dtype=np.float32, dense=True)
    assert same_bits(read.X, X.astype(np.float32))
    assert same_bits(read.y, y)


@pytest.fixture(scope="module")
def long_text():
    random = np.random.default_rng(3)
    lines = []
    for row in range(400):
        used = np.flatnonzero(random.random(30) < 0.6) + 1
        features = " ".join(f"{i}:{random.normal():.{i % 9}f}" for i in used)
        lines.append(f"{random.integers(5)} qid:{row // 7} {features} # document {row}\n")
    return "".join(lines).encode()


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_chunks_and_sources_change_nothing(long_text, path, tiny_pieces, n_jobs, dtype):
    path.write_bytes(long_text)
    X, y, qid = load_svmlight_file(io.BytesIO(long_text), query_id=True, dtype=np.float64)
    for source in (path, str(path), io.BytesIO(long_text), io.StringIO(long_text.decode())):
        for dense in (True, False):
            read = read_letor(source, dense=dense, dtype=dtype, n_jobs=n_jobs)
            assert same_bits(array(read.X) + 0, X.toarray().astype(dtype))  # SciPy's toarray knows no -0
            assert same_bits(read.y, y)
            assert same_bits(read.qid, qid)
            if isinstance(source, io.IOBase):
                source.seek(0)


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), (".zst", zstandard.compress)],
)
def test_compressed_by_suffix(long_text, tmp_path, tiny_pieces, suffix, compress):
    half = long_text.index(b"\n", len(long_text) // 2) + 1
    path = tmp_path / f"data.txt{suffix}"
    path.write_bytes(compress(long_text[:half]) + compress(long_text[half:]))  # two members, as cat makes them
    plain, read = read_letor(io.BytesIO(long_text)), read_letor(path)
    assert same_bits(array(read.X), array(plain.X))
    assert issparse(read.X) == issparse(plain.X)
    whole = compress(long_text)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(LetorError, match=re.escape(path.name)):
        read_letor(path)


def test_zstandard_missing_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    (tmp_path / "data.zst").write_bytes(b"")
    with pytest.raises(ImportError, match=r"pip install zstandard"):
        read_letor(tmp_path / "data.zst")


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1 qid:5 2:3\n")))
    assert read_letor("-").X.tolist() == [[0, 3]]


def test_a_list_is_one_text(tmp_path):
    first, second, third = tmp_path / "a.txt", tmp_path / "b.txt.gz", tmp_path / "c.txt"
    first.write_bytes(b"1 qid:1 1:1 2:2")  # without its line end
    second.write_bytes(gzip.compress(b"2 qid:1 3:3\n"))
    third.write_bytes(b"3 qid:x 1:4\n")
    for sources in ([first, second, third], [first, third]):
        read = read_letor(sources, dense=True)
        assert read.y.tolist() == [1, 2, 3] if second in sources else [1, 3]
        assert read.qid.tolist()[0] == "1"
    assert read_letor([first, second], dense=True).X.tolist() == [[1, 2, 0], [0, 0, 3]]
    assert read_letor([first, second]).qid.tolist() == [1, 1]
    third.write_bytes(b"\n3 qid:2 1:4 1:5\n")
    with pytest.raises(LetorError) as caught:
        read_letor([first, second, third])
    assert (caught.value.path, caught.value.line, caught.value.column) == (str(third), 2, 13)


def test_a_zero_index_anywhere_counts_all_from_zero(tmp_path, tiny_pieces):
    data = b"1 qid:1 1:1 3:3\n" * 20 + b"0 qid:1 0:7\n"
    (tmp_path / "data").write_bytes(data)
    for source in (tmp_path / "data", io.BytesIO(data)):
        for dense in (True, False):
            if isinstance(source, io.BytesIO):
                source.seek(0)
            X = array(read_letor(source, dense=dense).X)
            assert X.shape == (21, 4)
            assert X[0].tolist() == [0, 1, 0, 3]
            assert X[20].tolist() == [7, 0, 0, 0]


def test_n_features_widens_and_limits(tmp_path, tiny_pieces):
    data = b"1 qid:1 1:1 3:3\n" * 20
    (tmp_path / "data").write_bytes(data)
    for make in (lambda: tmp_path / "data", lambda: io.BytesIO(data)):
        for dense in (True, False):
            assert read_letor(make(), n_features=5, dense=dense).X.shape == (20, 5)
            assert read_letor(make(), n_features=3, dense=dense).X.shape == (20, 3)
        with pytest.raises(LetorError, match="at most 2: 2 features are expected") as caught:
            read_letor(make(), n_features=2)
        assert (caught.value.line, caught.value.column) == (1, 13)


def test_n_features_of_zero_based_text_is_one_less(tmp_path, tiny_pieces):
    data = b"1 qid:1 1:1\n" + b"1 qid:1 1:1 3:3\n" * 20 + b"0 qid:1 0:7\n"
    (tmp_path / "data").write_bytes(data)
    for source in (tmp_path / "data", io.BytesIO(data)):
        with pytest.raises(LetorError, match="at most 2: 3 features are expected, and they count from 0") as caught:
            read_letor(source, n_features=3, zero_based=True)
        assert (caught.value.line, caught.value.column) == (2, 13)


def test_missing_values_become_what_is_asked():
    data = b"1 qid:1 1:NULL 2:nan 3:NA 4:-nan 5:Null 6:1 # x\n"
    assert read_letor(io.BytesIO(data), missing=-1).X.tolist() == [[-1, -1, -1, -1, -1, 1]]
    for wrong in (np.nan, np.inf, "0", True, {1: 0.0}, [0.0]):
        with pytest.raises(ValueError, match=r"^missing must be a finite number, got "):
            read_letor(io.BytesIO(data), missing=wrong)


def test_rows_without_features():
    read = read_letor(io.BytesIO(b"1 qid:1\n2\tqid:2 # none\n"))
    assert read.X.shape == (2, 0)
    assert read.y.tolist() == [1, 2]
    assert read_letor(io.BytesIO(b"1#c\n"), comments=True).comments.tolist() == ["c"]


@pytest.mark.parametrize("data", [b"", b"\n\n", b"# only\n  \n", b"\xef\xbb\xbf"])
def test_no_rows_is_an_error(tmp_path, data):
    (tmp_path / "none.txt").write_bytes(data)
    for source in (tmp_path / "none.txt", io.BytesIO(data), [tmp_path / "none.txt"]):
        with pytest.raises(LetorError, match="no rows"):
            read_letor(source)
    with pytest.raises(LetorError, match="no rows"):
        read_letor([])


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"dtype": np.int32}, ValueError, "dtype must be float32 or float64"),
        ({"n_features": 0}, ValueError, "n_features must be at least 1"),
        ({"n_jobs": 0}, ValueError, "n_jobs is 0"),
    ],
)
def test_options_that_will_not_do(options, error, words):
    with pytest.raises(error, match=words):
        read_letor(io.BytesIO(b"1 1:1\n"), **options)


def test_sources_that_will_not_do(tmp_path):
    with pytest.raises(TypeError, match="got int"):
        read_letor(3)
    with pytest.raises(FileNotFoundError):
        read_letor(tmp_path / "absent.txt")


@pytest.mark.parametrize("name", ["mq2008", "mq2007", "ohsumed", "ohsumed-letor2", "cadata", "a9a"])
def test_real_data(letor_data, name):
    for file in sorted((letor_data / name).glob("*.xz")):
        text = lzma.decompress(file.read_bytes())
        X, y, *ids = load_svmlight_file(io.BytesIO(text), query_id=b" qid:" in text[:100])
        read = read_letor(file)
        assert same_bits(array(read.X), X.toarray())
        assert same_bits(read.y, y)
        if np.size(ids):
            assert same_bits(read.qid, ids[0])
