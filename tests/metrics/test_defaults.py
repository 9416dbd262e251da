"""Measures that no one named: NDCG for grades, pairwise accuracy for every other valid label."""

import numpy as np
import pytest

from rankwise import compare, evaluate
from rankwise.metrics import default_measure, default_measures

SCORES = [3.0, 1.0, 2.0, 0.0]


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([2, 0, 1, 0], "ndcg@10"),
        ([5, 1, 2, 31], "ndcg@10"),
        ([True, False, True, False], "ndcg@10"),
        ([1, -1, 1, -1], "pairwise-accuracy"),
        ([0.5, 1.0, 2.0, 0.0], "pairwise-accuracy"),
        ([1, 2, 3, 32], "pairwise-accuracy"),
    ],
)
def test_the_default_measure_has_a_meaning_for_the_labels(y, expected):
    assert default_measure(y) == default_measures(y)[0] == expected
    assert list(evaluate(y, SCORES)) == [expected]
    assert compare({"a": SCORES, "b": SCORES[::-1]}, y, [1, 1, 1, 1]).measures == [expected]


def test_map_is_shown_where_some_documents_are_not_relevant():
    assert default_measures([0, 1, 2]) == ["ndcg@10", "map", "pairwise-accuracy"]
    assert default_measures([1, 2, 3]) == ["ndcg@10", "pairwise-accuracy"]
    assert default_measures([-1.5, 2, 3]) == ["pairwise-accuracy", "kendall-tau-b"]


def test_labels_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="y must be finite"):
        default_measure([0.0, np.nan])


def test_results_are_tables():
    found = evaluate([2, 0, 1, 0], SCORES, ["a", "a", "<b>", "<b>"], ["ndcg@10", "map"])
    assert found.to_frame().to_dict("list") == {
        "measure": ["ndcg@10", "map"],
        "mean": [found["ndcg@10"], found["map"]],
        "queries": [2, 2],
    }
    per_query = found.to_frame(per_query=True)
    assert list(per_query.columns) == ["query", "ndcg@10", "map"]
    assert per_query["map"].tolist() == found.per_query["map"].tolist()
    assert "<td>ndcg@10</td>" in found._repr_html_()
    contrasts = compare({"<new>": SCORES, "old": SCORES[::-1]}, [2, 0, 1, 0], [1, 1, 2, 2])
    frame = contrasts.to_frame()
    assert frame["ranker"].tolist() == ["<new>", "old"]
    assert {"interval_from", "interval_to", "difference_interval_from", "p_adjusted"} < set(frame.columns)
    assert "&lt;new&gt;" in contrasts._repr_html_()
    assert "<new>" not in contrasts._repr_html_()
