"""RankingData: rows that stay together."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from rankwise.data.frame import from_frame
from rankwise.data.records import RankingData, joined

X = np.arange(8.0).reshape(4, 2)


def test_what_it_tells():
    data = RankingData(X, [1, 0, 2, 0], [7, 7, 5, 7])
    assert (len(data), data.n_features, data.n_queries) == (4, 2, 2)
    assert data.y.dtype == np.float64
    assert repr(data) == "RankingData(4 rows, 2 features, 2 queries, dense float64)"
    assert "sparse float32" in repr(RankingData(csr_array(X.astype(np.float32)), data.y, data.qid))


@pytest.mark.parametrize("matrix", [X, csr_array(X)])
@pytest.mark.parametrize("rows", [[2, 0], np.array([False, True, True, False]), slice(1, 3)])
def test_select_keeps_rows_together(matrix, rows):
    data = RankingData(matrix, [1, 0, 2, 0], ["a", "b", "c", "d"], ["w", "x", "y", "z"])
    part = data.select(rows)
    chosen = np.arange(4)[rows]
    assert ((part.X.toarray() if issparse(part.X) else part.X) == X[chosen]).all()
    assert part.y.tolist() == data.y[chosen].tolist()
    assert part.qid.tolist() == [["a", "b", "c", "d"][i] for i in chosen]
    assert list(part.comments) == [["w", "x", "y", "z"][i] for i in chosen]


def test_columns_of_another_length_are_refused():
    for name in ("y", "qid", "comments"):
        columns = {"y": np.zeros(4), "qid": np.zeros(4), "comments": ["a"] * 4, name: ["1"] * 3}
        with pytest.raises(ValueError, match=f"{name} must hold one entry for each of the 4 rows"):
            RankingData(X, **columns)
    with pytest.raises(ValueError, match="rows and columns"):
        RankingData(np.zeros(4), np.zeros(4), np.zeros(4))


def test_it_does_not_change():
    data = RankingData(X, np.zeros(4), np.zeros(4, int))
    with pytest.raises(AttributeError):
        data.y = np.ones(4)


def test_a_short_repr_counts_in_english():
    one = RankingData(np.ones((1, 1), np.float32), [1], [7])
    assert repr(one) == "RankingData(1 row, 1 feature, 1 query, dense float32)"
    many = RankingData(csr_array(np.eye(3)), [1, 0, 2], ["a", "b", "c"])
    assert repr(many) == "RankingData(3 rows, 3 features, 3 queries, sparse float64)"


@pytest.mark.parametrize("matrix", [np.asarray, csr_array])
def test_notebooks_show_the_first_rows(matrix):
    X = np.arange(60.0).reshape(6, 10)
    data = RankingData(matrix(X), np.arange(6), ["<b>", *"bcdef"], None, 1, [f"<{i}>" for i in range(10)])
    page = data._repr_html_()
    assert "<p>RankingData: 6 rows, 10 features, 6 queries, " in page
    assert "<th>&lt;0&gt;</th>" in page  # names and ids of a stranger are no HTML
    assert "<td>&lt;b&gt;</td><td>0</td><td>1</td>" in page
    assert page.count("<tr>") == 1 + 5 + 1  # header, rows, and that there are more
    small = RankingData(matrix(X[:2, :2]), [0, 1], [1, 1])._repr_html_()
    assert "…" not in small
    assert "<tr><td>1</td><td>1</td><td>10</td><td>11</td></tr>" in small


def test_to_frame():
    data = RankingData(np.array([[1.5, 2.0]], np.float32), [1], ["q"], ["a note"], 1, ["x", "y"])
    frame = data.to_frame()
    assert frame.to_dict("list") == {"label": [1.0], "qid": ["q"], "x": [1.5], "y": [2.0], "comment": ["a note"]}
    assert frame["x"].dtype == np.float32
    with pytest.raises(ValueError, match=r"one is called 'label'"):
        RankingData(np.ones((1, 1)), [1], [1], None, 1, ["label"]).to_frame()


def test_ids_and_weights_go_with_their_rows():
    data = RankingData(np.eye(3), [0, 1, 2], [1, 1, 2], docid=["a b", "c", "d"], weight=[1, 0.5, 2])
    part = data.select([2, 0])
    assert (part.docid.tolist(), part.weight.tolist()) == (["d", "a b"], [2, 1])
    both = joined([part, data.select([1])])
    assert (both.docid.tolist(), both.weight.tolist()) == (["d", "a b", "c"], [2, 1, 0.5])
    assert joined([replace(part, docid=None), data]).docid is None
    with pytest.raises(ValueError, match="some of the files have weights"):
        joined([replace(part, weight=None), data])
    frame = data.to_frame()
    assert list(frame.columns) == ["label", "qid", "docid", "sample_weight", "f1", "f2", "f3"]
    back = from_frame(frame)
    assert (back.docid.tolist(), back.weight.tolist(), back.n_features) == (["a b", "c", "d"], [1, 0.5, 2], 3)


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("docid", [1, 2], "docid must hold one entry"),
        ("docid", [1, None, 2], "docid of row 1 is missing"),
        ("weight", [1, -1, 2], r"weight\[1\] is -1.0"),
        ("weight", [1, 2, np.nan], r"weight\[2\] is nan"),
    ],
)
def test_bad_ids_and_weights(field, value, text):
    with pytest.raises(ValueError, match=text):
        RankingData(np.eye(3), [0, 1, 2], [1, 1, 2], **{field: value})
