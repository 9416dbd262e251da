"""Columns put into a model's order: by name, by number, or refused in one sentence."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies
from scipy.sparse import csr_array

from rankwise import RankingData, from_frame, read_data, write_data
from rankwise.data.columns import ModelColumns, for_model, matched, unknown

ROWS = np.array([[1.0, 2.0, 3.0], [4.0, 0.0, 6.0]])


def data(X=ROWS, names=None, first_index=1):
    return RankingData(X, [1, 0], [7, 7], None, first_index, names)


@pytest.mark.parametrize("header", ["label,qid,f2,f1,f3", "f3,label,f2,qid,f1"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_numbered_columns_of_a_text_table_go_by_number(tmp_path, header, suffix):
    values = {"label": 1, "qid": 7, "f1": 10, "f2": 20, "f3": 30}
    text = header + "\n" + ",".join(str(values[name]) for name in header.split(",")) + "\n"
    path = tmp_path / f"t{suffix}"
    path.write_text(text.replace(",", "\t") if suffix == ".tsv" else text)
    read = read_data(path)
    assert read.X.tolist() == [[10, 20, 30]]
    assert read.names is None
    assert read.first_index == 1


def test_numbered_columns_of_a_frame_go_by_number(tmp_path):
    frame = pd.DataFrame({f"f{i}": [float(i)] for i in (1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9, 0)} | {"label": 1, "qid": 2})
    read = from_frame(frame)
    assert read.X.tolist() == [list(range(12))]
    assert (read.names, read.first_index) == (None, 0)
    frame.to_parquet(tmp_path / "t.parquet")
    assert read_data(tmp_path / "t.parquet").X.tolist() == read.X.tolist()


def test_columns_asked_for_keep_the_order_asked_for():
    frame = pd.DataFrame({"f1": [1.0], "f2": [2.0], "label": 1, "qid": 2})
    read = from_frame(frame, features=["f2", "f1"])
    assert read.X.tolist() == [[2, 1]]
    assert list(read.names) == ["f2", "f1"]


def test_numbers_with_gaps_are_names(tmp_path):
    (tmp_path / "t.csv").write_text("label,qid,f3,f1\n1,2,30,10\n")
    read = read_data(tmp_path / "t.csv")
    assert list(read.names) == ["f3", "f1"]
    assert read.X.tolist() == [[30, 10]]


@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_names_in_another_order(make):
    known = ModelColumns(3, 1, ("c", "a", "b"))
    found = matched(data(make(ROWS), ("a", "b", "c")), known, "t")
    X = found.X if make is np.asarray else found.X.toarray()
    assert X.tolist() == ROWS[:, [2, 0, 1]].tolist()
    assert found.names == ("c", "a", "b")


def test_sparse_data_are_left_as_they_are():
    given = data(csr_array(ROWS), ("a", "b", "c"))
    matched(given, ModelColumns(3, 1, ("c", "a", "b")), "t")
    assert given.X.toarray().tolist() == ROWS.tolist()


def test_names_that_are_numbers_meet_numbers():
    turned = ROWS[:, [1, 0, 2]]
    by_name = ModelColumns(3, 1, ("f2", "f1", "f3"))
    assert matched(data(), by_name, "t").X.tolist() == turned.tolist()  # text for a model of a frame f2, f1, f3
    assert matched(data(turned, ("f2", "f1", "f3")), ModelColumns(3), "t").X.tolist() == ROWS.tolist()


def test_text_counts_the_columns_of_a_model_with_names():
    assert matched(data(), ModelColumns(3, 1, ("c", "a", "b")), "t").X.tolist() == ROWS.tolist()


def test_sparse_data_may_lack_the_last_columns():
    found = matched(data(csr_array(ROWS)), ModelColumns(5), "t")
    assert found.X.toarray().tolist() == [[1, 2, 3, 0, 0], [4, 0, 6, 0, 0]]
    found = matched(data(csr_array(ROWS)), ModelColumns(5, 0), "t")  # counted from 1, for a model that counts from 0
    assert found.X.toarray().tolist() == [[0, 1, 2, 3, 0], [0, 4, 0, 6, 0]]


@pytest.mark.parametrize(
    ("given", "known", "words"),
    [
        (data(), ModelColumns(4), r"t has 3 features, 1 to 3, expected 4 features, 1 to 4"),
        (data(), ModelColumns(2), r"t has 3 features, 1 to 3, expected 2 features, 1 to 2"),
        (data(csr_array(ROWS)), ModelColumns(2), r"t has 3 features, 1 to 3, expected 2 features, 1 to 2"),
        (data(csr_array((2, 2**31))), ModelColumns(2, 1, ("f2", "f1")), r"t has 2147483648 features, 1 to 2147483648"),
        (data(first_index=0), ModelColumns(3), r"t has 3 features, 0 to 2, expected 3 features, 1 to 3"),
        (data(), ModelColumns(3, 0), r"t has 3 features, 1 to 3, expected 3 features, 0 to 2"),
        (data(names="abc"), ModelColumns(3), r"t names its features 'a', 'b', 'c', and the model knows numbers only"),
        (data(names="abc"), ModelColumns(3, 1, tuple("abd")), r"\(missing: 'd'; unknown: 'c'\)"),
        (data(names="abc"), ModelColumns(4, 1, tuple("abcd")), r"t has other features than expected \(missing: 'd'\)"),
        (data(names="abc"), ModelColumns(2, 1, tuple("ab")), r"t has other features than expected \(unknown: 'c'\)"),
        (data(names="cba"), ModelColumns(3, 1, tuple("aab")), "two features have one name"),
    ],
)
def test_other_columns_are_refused(given, known, words):
    with pytest.raises(ValueError, match=words):
        matched(given, known, "t")


@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_a_model_ignores_columns_that_it_does_not_know(make):
    given = data(make(ROWS), ("b", "x", "a"))
    known = ModelColumns(2, 1, ("a", "b"))
    assert unknown(given, known) == ["x"]
    found = for_model(given, known, "t")
    assert (found.X if make is np.asarray else found.X.toarray()).tolist() == [[3, 1], [6, 4]]
    assert for_model(data(make(ROWS), ("f2", "x", "f1")), ModelColumns(2), "t").n_features == 2
    assert not unknown(given, ModelColumns(2, 1, ("a", "c")))
    with pytest.raises(ValueError, match=r"missing: 'c'; unknown: 'b', 'x'"):
        for_model(given, ModelColumns(2, 1, ("a", "c")), "t")


def test_tables_with_numbers_and_with_names_are_not_joined(tmp_path):
    (tmp_path / "a.csv").write_text("label,qid,a,b\n1,2,3,4\n")
    (tmp_path / "b.csv").write_text("label,qid,f1,f2\n1,2,3,4\n")
    with pytest.raises(ValueError, match="numbers its features, and they were called 'a', 'b' before"):
        read_data([tmp_path / "a.csv", tmp_path / "b.csv"])


def test_sparse_files_with_names_are_joined_by_name(tmp_path):
    for file, names in (("a.npz", ("a", "b", "c")), ("b.npz", ("c", "b", "a"))):
        write_data(tmp_path / file, data(csr_array(ROWS), names))
    read = read_data([tmp_path / "a.npz", tmp_path / "b.npz"])
    assert read.X.toarray().tolist() == [*ROWS.tolist(), *ROWS[:, ::-1].tolist()]


@given(strategies.data())
def test_as_slowly_looked_up(draw):
    """Every column by its name, or by its number, in a dictionary; any set, order and storage."""
    name = strategies.sampled_from(["a", "b", "c", "f0", "f1", "f2", "f3", "label"])
    names = strategies.none() | strategies.lists(name, min_size=1, max_size=4, unique=True).map(tuple)
    own, wanted = draw.draw(names), draw.draw(names)
    n, wide = (len(one) if one else draw.draw(strategies.integers(1, 4)) for one in (own, wanted))
    first, known_first = (draw.draw(strategies.sampled_from([0, 1])) for _ in range(2))
    sparse = draw.draw(strategies.booleans())
    X = np.arange(1.0, 2 * n + 1).reshape(2, n)
    record = data(csr_array(X) if sparse else X, own, first)
    known = ModelColumns(wide, known_first, wanted)
    numbers = [f"f{i}" for i in range(first, first + n)]
    expected = list(wanted) if wanted else [f"f{i}" for i in range(known_first, known_first + wide)]
    is_numbers = {f"f{i}" for i in range(wide)} == set(expected) or {f"f{i + 1}" for i in range(wide)} == set(expected)
    if own is None and not is_numbers:  # numbers count the columns of the model
        expected = [f"f{i}" for i in range(known_first, known_first + wide)]
    columns = dict(zip(own or numbers, X.T.tolist(), strict=True))
    fits = set(columns) <= set(expected) and (len(columns) == wide or (sparse and own is None))
    if not fits:
        with pytest.raises(ValueError, match=r"^t "):
            matched(record, known, "t")
        return
    found = matched(record, known, "t").X
    found = found.toarray() if sparse else found
    assert found.T.tolist() == [columns.get(name, [0.0, 0.0]) for name in expected]
