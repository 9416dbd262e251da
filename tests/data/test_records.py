"""RankingData: rows that stay together."""

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from rankwise.data.records import RankingData

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
