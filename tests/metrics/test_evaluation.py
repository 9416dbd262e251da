"""evaluate: laws that hold for every measure, what comes out, and what is said of input that will not do."""

import json
import math

import numpy as np
import pytest

from rankwise.metrics import Evaluation, evaluate, parse

ALL = [
    "ndcg@10",
    "ndcg",
    "mean-ndcg",
    "dcg@5",
    "map",
    "precision@5",
    "recall@5",
    "mrr",
    "err@10",
    "err",
    "pairwise-accuracy",
    "pairwise-accuracy:mean=query",
    "kendall-tau-b",
    "ndcg@10:ties=worst",
    "map:ties=best",
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    qid = rng.integers(0, 30, 600)  # scattered
    return rng.integers(0, 4, 600), rng.integers(0, 9, 600) / 2, qid


def same(one, other):
    assert list(one) == list(other)
    for name in one:
        assert one[name] == pytest.approx(other[name], rel=1e-14, abs=0)
    place = {q: i for i, q in enumerate(other.query_ids.tolist())}
    order = [place[q] for q in one.query_ids.tolist()]
    for name, values in one.per_query.items():
        np.testing.assert_allclose(values, other.per_query[name][order], rtol=1e-14)


def test_the_order_of_the_rows_does_not_matter(data):
    y, s, qid = data
    shuffle = np.random.default_rng(1).permutation(y.size)
    same(evaluate(y, s, qid, ALL), evaluate(y[shuffle], s[shuffle], qid[shuffle], ALL))


def test_the_names_of_the_queries_do_not_matter(data):
    y, s, qid = data
    named = evaluate(y, s, [f"query {q}" for q in qid], ALL)
    numbered = evaluate(y, s, qid, ALL)
    assert named.query_ids.tolist() == [f"query {q}" for q in numbered.query_ids]
    assert named.means == numbered.means


def test_only_the_order_of_the_scores_matters(data):
    y, s, qid = data
    steps = 2 * s  # whole numbers
    smallest_gaps = (steps * 5e-324, 1 + steps * 2**-52, 2.0**52 + steps)
    for transformed in (np.exp(s), s + 1000 * qid, *smallest_gaps):
        assert evaluate(y, transformed, qid, ALL).means == evaluate(y, s, qid, ALL).means


def test_a_better_order_is_worth_more(data):
    y, s, qid = data
    worse, better = evaluate(y, s, qid, ALL), evaluate(y, s + y, qid, ALL)
    assert all(better[name] > worse[name] for name in ALL)


def test_threads_do_not_change_a_bit():
    rng = np.random.default_rng(2)
    qid = rng.integers(0, 2000, 60_000)
    y, s = rng.integers(0, 5, qid.size), rng.integers(0, 50, qid.size)
    one, two = (evaluate(y, s, qid, ALL, n_jobs=n) for n in (1, 2))
    assert one.means == two.means
    for name in ALL:
        np.testing.assert_array_equal(one.per_query[name], two.per_query[name])


def test_the_input_is_left_alone(data):
    copies = [a.astype(float) for a in data]
    evaluate(*copies, ALL)
    for copy, original in zip(copies, data, strict=True):
        np.testing.assert_array_equal(copy, original)


def test_one_document_queries():
    result = evaluate([1, 0], [3, 3], ["a", "b"], ["ndcg@10", "map", "mrr", "pairwise-accuracy", "kendall-tau-b"])
    for name in ("ndcg@10", "map", "mrr"):
        np.testing.assert_array_equal(result.per_query[name], [1, 0])
    for name in ("pairwise-accuracy", "kendall-tau-b"):
        assert np.isnan(result.per_query[name]).all()
        assert math.isnan(result[name])
        assert result.counted[name] == 0


def test_real_valued_labels():
    y, s = [0.25, 1.5, 0.75], [3, 2, 1]
    best = 2**1.5 - 1 + (2**0.75 - 1) / math.log2(3) + (2**0.25 - 1) / 2
    given = 2**0.25 - 1 + (2**1.5 - 1) / math.log2(3) + (2**0.75 - 1) / 2
    result = evaluate(y, s, measures=["ndcg", "map", "map:relevant=0.75"])
    assert result["ndcg"] == pytest.approx(given / best)
    assert result["map"] == 1
    assert result["map:relevant=0.75"] == pytest.approx((1 / 2 + 2 / 3) / 2)


def test_what_comes_out():
    result = evaluate([2, 1, 0, 1], [3, 2, 1, 1], ["a", "a", "a", "b"], ["map", "NDCG@10", "pairwise-accuracy", "map"])
    assert isinstance(result, Evaluation)
    assert list(result) == ["map", "ndcg@10", "pairwise-accuracy"]
    assert result["ndcg@10"] == result["ndcg@10:ties=average"] == result[parse("NDCG@10")] == 1
    assert "Map" in result
    assert "mrr" not in result
    assert "nonsense" not in result
    assert result.counted == {"map": 2, "ndcg@10": 2, "pairwise-accuracy": 1}
    with pytest.raises(KeyError, match="mrr was not evaluated, only map, ndcg@10"):
        result["mrr"]
    assert repr(result).splitlines() == [
        "4 documents in 2 queries",
        "measure                mean    queries",
        "map                  1.0000          2",
        "ndcg@10              1.0000          2",
        "pairwise-accuracy    1.0000          1",
    ]


def test_to_dict_is_json():
    result = evaluate([2, 1, 1], [3, 2, 1], ["a", "a", "b"], ["map", "pairwise-accuracy"])
    plain = json.loads(json.dumps(result.to_dict(per_query=True), allow_nan=False))
    assert plain == {
        "documents": 3,
        "queries": 2,
        "measures": {"map": {"mean": 1.0, "queries": 2}, "pairwise-accuracy": {"mean": 1.0, "queries": 1}},
        "per_query": {"query": ["a", "b"], "map": [1.0, 1.0], "pairwise-accuracy": [1.0, None]},
    }
    assert "per_query" not in result.to_dict()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([], []), "y is empty"),
        (([1, 2], [1]), "y holds 2 labels and scores 1 numbers"),
        (([1, math.nan], [1, 2]), r"y must be finite: y\[1\] is nan"),
        (([1, 2], [math.inf, 2]), r"scores must be finite: scores\[0\] is inf"),
        (([1, 2], [math.nan, 2]), r"scores must be finite: scores\[0\] is nan"),
        (([[1], [2]], [1, 2]), r"y must hold one number per document; got an array of shape \(2, 1\)"),
        ((["good", "bad"], [1, 2]), "y must hold one number per document"),
        (([1, 2], [1, 2], [1]), "qid must hold one id per row"),
        (([1, 2], [1, 2], None, []), "measures is empty"),
        (
            ([1, 1500], [1, 2], None, "ndcg@10"),
            "y holds 1500, too large for 2.y: use the linear gain, ndcg@10:gain=linear",
        ),
        (([1, -1], [1, 2], None, "ndcg@10"), "ndcg@10 needs labels from 0, but y holds -1"),
        (([1, -1], [1, 2], None, "ndcg:gain=linear"), "ndcg:gain=linear needs labels from 0, but y holds -1"),
        (([1, -1], [1, 2], None, "err"), "err needs labels from 0"),
        (([1, 1500], [1, 2], None, "err"), "too large for 2.y: scale the labels down"),
        (([1, 5], [1, 2], None, "err:max=4"), "no label exceeds 4, but the labels go up to 5"),
        (([0, 1, 2], [1, 2, 3], None, "auc"), "auc needs two labels, but y holds 0, 1 and 2"),
    ],
)
def test_input_that_will_not_do_gets_one_sentence(arguments, words):
    with pytest.raises(ValueError, match=words) as caught:
        evaluate(*arguments)
    assert "\n" not in str(caught.value)


def test_large_labels_are_fine_with_the_linear_gain():
    assert evaluate([1, 1500, 0], [1, 2, 3], measures="ndcg:gain=linear")["ndcg:gain=linear"] < 1


def test_negative_labels_are_fine_where_only_their_order_or_sign_counts():
    result = evaluate([-1, 1, -1], [1, 3, 2], measures=["auc", "pairwise-accuracy", "kendall-tau-b", "map", "mrr"])
    assert result["auc"] == result["pairwise-accuracy"] == result["map"] == result["mrr"] == 1
