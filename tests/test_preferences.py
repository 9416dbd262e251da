import numpy as np
import pytest

from rankwise import Preferences
from rankwise.pairs.queries import Queries, cut


def test_ids_of_any_type_in_any_order():
    labels = [1, 0, 2, 1, 0, 1]
    graphs = [
        Preferences(labels, queries).active(np.zeros(6))
        for queries in (
            [7, 7, 3, 7, 3, 3],
            ["x", "x", "é", "x", "é", "é"],
            np.array(["x", "x", 3, "x", 3, 3], dtype=object),
            [2**62 + 1, 2**62 + 1, 2**62, 2**62 + 1, 2**62, 2**62],
            [True, True, False, True, False, False],
            [0.5, 0.5, 1.5, 0.5, 1.5, 1.5],
        )
    ]
    for graph in graphs:
        np.testing.assert_array_equal(graph.degree, [1, 2, 2, 1, 2, 2])


def test_no_ids_is_one_query():
    assert Preferences([3.5, -1, 2]).active(np.zeros(3)).n_pairs == 3


def test_counts_stay_exact():
    n = 200_000
    graph = Preferences(np.arange(n)).active(np.zeros(n))
    assert graph.n_pairs == n * (n - 1) // 2
    assert isinstance(graph.n_pairs, int)


def test_centring_by_query_leaves_out_what_weighs_nothing():
    preferences = Preferences([0, 1, 0, 1, 0], ["a", "b", "b", "a", "a"])
    centred = preferences.centred(np.array([1e6, 5.0, 4.0, 1e6 + 1, -1e9]), np.array([1.0, 1, 1, 1, 0]))
    np.testing.assert_allclose(centred[:4], [-0.5, 0.5, -0.5, 0.5])


def test_any():
    assert Preferences([0, 1, 0], [1, 1, 2]).any
    assert not Preferences([0, 1, 1], [1, 2, 2]).any
    assert not Preferences([1.0]).any
    assert not Preferences([0, 1, 0], None, [1, 0, 1]).any
    assert Preferences([0, 1, 0], None, [1, 1, 0]).any


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1, np.nan],), r"labels must be finite: labels\[1\] is nan"),
        (([[1], [2]],), "labels must hold one number per document"),
        (([1, 2], [1, 2, 3]), "qid must hold one id per row: expected 2 ids"),
        (([1, 2], [1.0, np.nan]), "qid of row 1 is missing"),
        (([1, 2], np.array(["a", None], dtype=object)), "qid of row 1 is missing"),
        (([1, 2], None, [1, -1]), r"weights must not be negative: weights\[1\]"),
    ],
)
def test_bad_input_is_one_sentence(arguments, words):
    with pytest.raises(ValueError, match=words):
        Preferences(*arguments)


def test_bad_scores_and_engine():
    with pytest.raises(ValueError, match="scores must hold one number for each of the 2 documents"):
        Preferences([1, 2]).active([1, 2, 3])
    with pytest.raises(ValueError, match=r"scores must be finite: scores\[0\] is inf"):
        Preferences([1, 2]).active([np.inf, 0])
    with pytest.raises(ValueError, match=r"scheme must be one of .*got 'gpu'"):
        Preferences([1, 2], scheme="gpu")


def test_queries_group_rows():
    queries = Queries(["b", "a", "b", "c", "a"], 5)
    assert queries.ids.tolist() == ["b", "a", "c"]
    assert queries.codes.tolist() == [0, 1, 0, 2, 1]
    assert queries.rows.tolist() == [0, 2, 1, 4, 3]
    assert queries.starts.tolist() == [0, 2, 4, 5]
    assert queries.gathered().rows is None
    assert queries.gathered().starts.tolist() == [0, 2, 4, 5]
    assert Queries([5, 5, 1, 1], 4).rows is None  # decreasing, but together


def test_cut_keeps_queries_whole():
    starts = np.array([0, 3, 4, 10, 11])
    assert cut(starts, 4) == [(0, 2), (2, 3), (3, 4)]
    assert cut(starts, 100) == [(0, 4)]
    assert cut(np.array([0]), 4) == []
