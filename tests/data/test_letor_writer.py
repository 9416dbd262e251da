"""write_letor: what is written reads back to the same bits, and nothing is left half-written."""

import io
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import coo_matrix, csr_array, csr_matrix, issparse
from sklearn.datasets import load_svmlight_file

from rankwise.data.letor import read_letor
from rankwise.data.records import RankingData
from rankwise.data.text_writer import write_letor

X = np.array([[0.5, 0.0, 0.1], [0.0, 0.0, -0.0]])
TEXT = "1 qid:3 1:0.5 3:0.1\n0 qid:4 3:-0\n"


def written(*args, **kwargs):
    file = io.BytesIO()
    write_letor(file, *args, **kwargs)
    return file.getvalue().decode()


@st.composite
def records(draw):
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    elements = st.one_of(
        st.just(0.0), st.floats(width=8 * dtype().itemsize, allow_nan=False, allow_infinity=False), st.integers(-3, 3)
    )
    shape = draw(st.tuples(st.integers(1, 6), st.integers(0, 5)))
    matrix = draw(hnp.arrays(dtype, shape, elements=elements))
    finite = st.floats(allow_nan=False, allow_infinity=False)
    y = draw(hnp.arrays(np.float64, shape[0], elements=finite))
    numbers = draw(st.booleans())
    ids = st.integers(-(2**63) + 1, 2**63 - 1) if numbers else st.text("ab:7é漢\\-", min_size=1, max_size=4)
    qid = np.array(draw(st.lists(ids, min_size=shape[0], max_size=shape[0])))
    comment = st.text(st.characters(codec="utf-8", exclude_characters="\n\r")).map(lambda text: text.strip(" \t\v\f"))
    comments = draw(st.none() | st.lists(comment, min_size=shape[0], max_size=shape[0]))
    return RankingData(matrix, y, qid, comments)


@given(records(), st.booleans())
def test_round_trip(record, sparse):
    given = RankingData(csr_array(record.X), record.y, record.qid, record.comments) if sparse else record
    file = io.BytesIO()
    write_letor(file, given)
    file.seek(0)
    read = read_letor(file, dense=not sparse, dtype=record.X.dtype, comments=record.comments is not None)
    assert issparse(read.X) == sparse
    matrix = read.X.toarray() if sparse else read.X
    assert matrix.shape == record.X.shape
    assert matrix.tobytes() == (given.X.toarray() if sparse else record.X).tobytes()
    assert read.y.tobytes() == record.y.tobytes()
    assert [str(one) for one in read.qid.tolist()] == [str(one) for one in record.qid.tolist()]
    assert (read.comments is None) == (record.comments is None)
    assert record.comments is None or list(read.comments) == list(record.comments)


def test_the_text():
    assert written(X, [1, 0], [3, 4]) == TEXT
    assert written(X, [1, 0]) == TEXT.replace(" qid:3", "").replace(" qid:4", "")
    assert written(X, [1, 0.25], ["a", "b"], ["", "c d"]) == "1 qid:a 1:0.5 3:0.1\n0.25 qid:b 3:-0 # c d\n"
    assert written(np.zeros((2, 4)), [0, 0], [1, 1]) == "0 qid:1 4:0\n0 qid:1\n"
    assert written(np.float32([[0.1, 1e30]]), [0]) == "0 1:0.1 2:1e+30\n"
    assert written([[1, 2], [0, 3]], [0, 1]) == "0 1:1 2:2\n1 2:3\n"


def test_indices_that_count_from_0():
    record = RankingData(np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]]), [1, 0], [3, 3], first_index=0)
    expected = "1 qid:3 0:0 1:2 2:0\n0 qid:3 0:1\n"
    assert written(record) == expected
    assert written(RankingData(csr_array(record.X), record.y, record.qid, first_index=0)) == expected
    read = read_letor(io.BytesIO(expected.encode()), dense=True)
    assert read.first_index == 0
    assert (read.X == record.X).all()


def test_sparse_kinds():
    assert written(csr_matrix(np.abs(X)), [1, 0], [3, 4]) == "1 qid:3 1:0.5 3:0.1\n0 qid:4\n"
    twice = coo_matrix(([1.0, 2.0, 5.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 4))
    assert written(twice, [1, 0], [3, 4]) == "1 qid:3 2:3 4:0\n0 qid:4 1:5\n"
    unsorted = csr_array((np.array([2.0, 1.0]), np.array([2, 0]), np.array([0, 2])), shape=(1, 3))
    assert written(unsorted, [1]) == "1 1:1 3:2\n"
    assert unsorted.indices.tolist() == [2, 0]


def test_more_rows_than_a_block(tmp_path):
    random = np.random.default_rng(0)
    matrix = random.normal(size=(2500, 3)) * (random.random((2500, 3)) < 0.5)
    y, qid = random.integers(0, 3, 2500), np.arange(2500) // 9
    write_letor(tmp_path / "data.txt", matrix, y, qid)
    read = read_letor(tmp_path / "data.txt", dense=True)
    assert (matrix == read.X).all()
    peer = load_svmlight_file(str(tmp_path / "data.txt"), query_id=True)
    assert (peer[0].toarray() == matrix).all()
    assert (peer[1] == y).all()
    assert (peer[2] == qid).all()


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_paths_and_suffixes(tmp_path, suffix):
    path = tmp_path / f"data.txt{suffix}"
    write_letor(path, X, [1, 0], [3, 4])
    assert (path.read_bytes() == TEXT.encode()) == (not suffix)
    assert (read_letor(path).X == X).all()
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_open_files_and_standard_output(capsysbinary):
    file = io.StringIO()
    write_letor(file, X, [1, 0], [3, 4])
    assert file.getvalue() == TEXT
    write_letor("-", X, [1, 0], [3, 4])
    sys.stdout.flush()
    assert capsysbinary.readouterr().out.decode() == TEXT


def test_a_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("precious")
    path.chmod(0o640)
    late = np.zeros((3000, 2))
    late[2900, 1] = np.nan
    with pytest.raises(ValueError, match=r"X\[2900, 1\] is nan: only finite numbers can be written"):
        write_letor(path, late, np.zeros(3000))
    assert path.read_text() == "precious"
    assert [one.name for one in tmp_path.iterdir()] == ["data.txt"]
    write_letor(path, X, [1, 0], [3, 4])
    assert path.read_text() == TEXT
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    write_letor(tmp_path / "link.txt", X, [1, 0], [3, 4])
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == TEXT


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((X, [1, np.inf]), ValueError, r"y\[1\] is inf: a label must be a finite number"),
        ((X, [1]), ValueError, "y must hold one entry for each of the 2 rows"),
        ((X, [1, 0], [1]), ValueError, "qid must hold one entry for each of the 2 rows"),
        ((X, [1, 0], ["a", "b c"]), ValueError, "qid 'b c' cannot be written"),
        ((X, [1, 0], ["a", "b#c"]), ValueError, "qid 'b#c' cannot be written"),
        ((X, [1, 0], ["", "b"]), ValueError, "qid '' cannot be written"),
        ((X, [1, 0], [1.5, 2.0]), ValueError, "qid must hold integers or strings, got float64"),
        ((X, [1, 0], [1, 2], ["a", "b\n1 qid:3"]), ValueError, r"comments\[1\] holds a line end"),
        ((X,), TypeError, "y is missing"),
        ((X[:0], []), ValueError, "there are no rows to write"),
        ((RankingData(X, [1, 0], [1, 1]), [1, 0]), TypeError, "RankingData holds its own y"),
    ],
)
def test_what_cannot_be_written(tmp_path, arguments, error, words):
    with pytest.raises(error, match=words):
        write_letor(tmp_path / "data.txt", *arguments)
    assert not list(tmp_path.iterdir())
