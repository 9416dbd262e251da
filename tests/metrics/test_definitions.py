"""Every measure against its definition, written out: one list of labels in ranked order, plain arithmetic.

What a tie is worth is found by going through every order of the tied documents.
"""

import math
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.metrics import evaluate, parse

LOG2 = {"log2": lambda i: 1 / math.log2(i + 1), "letor": lambda i: 1 / math.log2(max(2, i))}
GAIN = {"exp2": lambda y: 2**y - 1, "linear": lambda y: y}


def dcg(ranked, k, gain="exp2", discount="log2"):
    return sum(GAIN[gain](y) * LOG2[discount](i) for i, y in enumerate(ranked[:k], start=1))


def ndcg(ranked, k, **how):
    best = dcg(sorted(ranked, reverse=True), k, **how)
    return dcg(ranked, k, **how) / best if best else 0.0


def mean_ndcg(ranked, **how):
    return sum(ndcg(ranked, m, **how) for m in range(1, len(ranked) + 1)) / len(ranked)


def precision(ranked, k, level=1):
    return sum(y >= level for y in ranked[:k]) / k


def recall(ranked, k):
    found = sum(y > 0 for y in ranked)
    return sum(y > 0 for y in ranked[:k]) / found if found else 0.0


def average_precision(ranked, level=1):
    hits = [i for i, y in enumerate(ranked, start=1) if y >= level]
    return sum(precision(ranked, i, level) for i in hits) / len(hits) if hits else 0.0


def reciprocal_rank(ranked, k):
    return next((1 / i for i, y in enumerate(ranked[:k], start=1) if y > 0), 0.0)


def err(ranked, k, top):
    total, reading = 0.0, 1.0
    for i, y in enumerate(ranked[:k], start=1):
        stop = (2**y - 1) / 2**top
        total += reading * stop / i
        reading *= 1 - stop
    return total


def by_definition(top):
    """Spelling -> function of one query's labels in ranked order."""
    return {
        "ndcg": lambda r: ndcg(r, len(r)),
        "ndcg@3": lambda r: ndcg(r, 3),
        "ndcg@3:gain=linear": lambda r: ndcg(r, 3, gain="linear"),
        "ndcg@4:discount=letor": lambda r: ndcg(r, 4, discount="letor"),
        "dcg@2": lambda r: dcg(r, 2),
        "mean-ndcg": lambda r: mean_ndcg(r),
        "mean-ndcg:gain=linear,discount=letor": lambda r: mean_ndcg(r, gain="linear", discount="letor"),
        "map": lambda r: average_precision(r),
        "map:relevant=2": lambda r: average_precision(r, level=2),
        "precision@3": lambda r: precision(r, 3),
        "precision@2:relevant=2": lambda r: precision(r, 2, level=2),
        "recall@2": lambda r: recall(r, 2),
        "mrr": lambda r: reciprocal_rank(r, len(r)),
        "mrr@2": lambda r: reciprocal_rank(r, 2),
        f"mrr@{2**63 - 1}": lambda r: reciprocal_rank(r, len(r)),
        f"err@{10**20}": lambda r: err(r, len(r), top),
        f"ndcg@{10**20}": lambda r: ndcg(r, len(r)),
        "err": lambda r: err(r, len(r), top),
        "err@2": lambda r: err(r, 2, top),
        "err@3:max=5": lambda r: err(r, 3, 5),
    }


def with_ties(value, labels, scores, ties):
    """The mean, least or greatest value over all orders in which the scores do not increase, or the first of them."""
    orders = [
        order for order in permutations(range(len(labels))) if all(scores[a] >= scores[b] for a, b in pairwise(order))
    ]
    values = [value([labels[i] for i in order]) for order in orders]  # in the order of the rows, so [0] is stable
    return {"average": sum(values) / len(values), "worst": min(values), "best": max(values), "stable": values[0]}[ties]


def kendall_tau_b(y, s):
    n = range(len(y))
    pairs = [(i, j) for i in n for j in n if i < j]
    agreement = sum(np.sign(y[i] - y[j]) * np.sign(s[i] - s[j]) for i, j in pairs)
    apart = sum(y[i] != y[j] for i, j in pairs) * sum(s[i] != s[j] for i, j in pairs)
    return agreement / math.sqrt(apart) if apart else math.nan


rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=9)


def split(table):
    """Rows (label, score, query) -> arrays, and [labels, scores] of each query in order of first occurrence."""
    y, s, q = (np.array(column) for column in zip(*table, strict=True))
    parts = {int(one): (y[q == one].tolist(), s[q == one].tolist()) for one in dict.fromkeys(q.tolist())}
    return y, s, q, parts


@pytest.mark.parametrize("ties", ["average", "worst", "best", "stable"])
@given(table=rows)
@settings(max_examples=60, deadline=None)
def test_measures_by_place(ties, table):
    table = [row for i, row in enumerate(table) if [r[2] for r in table[:i]].count(row[2]) < 5]  # 5! orders at most
    y, s, q, parts = split(table)
    definitions = by_definition(top=max(y))
    spelt = {text: str(parse(f"{text}{',' if ':' in text else ':'}ties={ties}")) for text in definitions}
    result = evaluate(y, s, q, spelt.values())
    assert result.query_ids.tolist() == list(parts)
    for text, value in definitions.items():
        expected = [with_ties(value, labels, scores, ties) for labels, scores in parts.values()]
        np.testing.assert_allclose(result.per_query[spelt[text]], expected, rtol=1e-12, atol=1e-15, err_msg=text)
        assert result[spelt[text]] == pytest.approx(sum(expected) / len(expected), rel=1e-12, abs=1e-15)


@given(table=rows)
@settings(max_examples=100, deadline=None)
def test_measures_by_pair(table):
    y, s, q, parts = split(table)
    spelt = ["pairwise-accuracy", "pairwise-accuracy:mean=query", "pairwise-accuracy:ties=half", "kendall-tau-b"]
    result = evaluate(y, s, q, spelt)
    counts = []
    for labels, scores in parts.values():
        n = range(len(labels))
        gaps = [scores[i] - scores[j] for i in n for j in n if labels[i] > labels[j]]
        counts.append((len(gaps), sum(g > 0 for g in gaps), sum(g == 0 for g in gaps)))
    pairs, correct, tied = (np.array(column, float) for column in zip(*counts, strict=True))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(result.per_query["pairwise-accuracy"], correct / pairs)
    has_pairs = pairs > 0
    assert result.counted["pairwise-accuracy"] == has_pairs.sum()
    if has_pairs.any():
        assert result["pairwise-accuracy"] == correct.sum() / pairs.sum()
        assert result["pairwise-accuracy:ties=half"] == (correct + tied / 2).sum() / pairs.sum()
        ratios = correct[has_pairs] / pairs[has_pairs]
        assert result["pairwise-accuracy:mean=query"] == pytest.approx(ratios.mean(), rel=1e-14)
    else:
        assert math.isnan(result["pairwise-accuracy"])
    expected = [kendall_tau_b(labels, scores) for labels, scores in parts.values()]
    np.testing.assert_allclose(result.per_query["kendall-tau-b"], expected, rtol=1e-13)


def test_ndcg_written_out():
    y, s = [0, 1, 2, 3, 0], [5, 4, 3, 2, 1]
    best = 7 / math.log2(2) + 3 / math.log2(3) + 1 / math.log2(4)
    assert evaluate(y, s)["ndcg@10"] == pytest.approx(
        (0 + 1 / math.log2(3) + 3 / math.log2(4) + 7 / math.log2(5)) / best, rel=1e-15
    )
    assert evaluate(y, s)["ndcg@10"] == pytest.approx(0.54783, abs=5e-6)
    assert evaluate(y, s, measures="ndcg@10:sklearn")["ndcg@10:sklearn"] == pytest.approx(0.61383, abs=5e-6)


def test_the_dialects_differ_where_they_should():
    y, s, q = [1, 0, 0, 0, 1], [2, 1, 2, 1, 2], ["a", "a", "a", "b", "c"]
    third = 1 / math.log2(3)
    expected = {  # a: two tied, then one; b: nothing relevant; c: one document
        "ndcg@2": [(1 + third) / 2, 0, 1],
        "ndcg@2:letor": [1, 0, 1],
        "ndcg@2:letor4": [1, 0, 0],
        "ndcg@2:yahoo": [1, 0, 1],
        "ndcg@2:xgboost": [1, 1, 1],
        "ndcg@2:lightgbm": [1, 1, 1],
        "ndcg@2:sklearn": [(1 + third) / 2, 0, 1],
        "ndcg@2:trec": [1, 0, 1],
        "ndcg@2:no-relevant=skip": [(1 + third) / 2, math.nan, 1],
        "mean-ndcg:letor": [1, 0, 1],
        "mean-ndcg:letor4": [1, 0, 1],
    }
    result = evaluate(y, s, q, expected)
    for text, values in expected.items():
        np.testing.assert_allclose(result.per_query[text], values, rtol=1e-15, err_msg=text)
    assert result["ndcg@2:no-relevant=skip"] == pytest.approx(((1 + third) / 2 + 1) / 2)
    assert result.counted["ndcg@2:no-relevant=skip"] == 2


@pytest.mark.parametrize("name", ["ndcg", "mean-ndcg", "map", "precision@2", "recall@2", "mrr", "err"])
@pytest.mark.parametrize(("rule", "value"), [("0", 0.0), ("1", 1.0), ("skip", math.nan)])
def test_a_query_without_a_relevant_document(name, rule, value):
    result = evaluate([0, 0, 1, 1], [1, 2, 3, 4], [1, 1, 2, 2], f"{name}:no-relevant={rule}")
    (values,) = result.per_query.values()
    np.testing.assert_array_equal(values[0], value)
    assert values[1] > 0


def test_err_of_a_large_tie_is_the_mean_over_random_orders():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 4, 60)
    values = [err(rng.permutation(y).tolist(), 60, 3) for _ in range(4000)]
    expected = evaluate(y, np.zeros(60), measures="err")["err"]
    assert abs(np.mean(values) - expected) < 5 * np.std(values) / math.sqrt(len(values))


def test_err_of_a_large_tie_of_two_labels_is_a_sum_over_how_many_were_met():
    size, some = 400, 150
    after = [  # the chance to read on after t documents, of which m have the label 1 and stop with chance 1/2
        sum(math.comb(some, m) * math.comb(size - some, t - m) * 0.5**m for m in range(t + 1)) / math.comb(size, t)
        for t in range(size + 1)
    ]
    expected = math.fsum((after[t - 1] - after[t]) / t for t in range(1, size + 1))
    y = np.arange(size) < some
    assert evaluate(y, np.zeros(size), measures="err")["err"] == pytest.approx(expected, rel=1e-13)


def test_err_of_ties_that_hardly_stop_anyone():
    assert evaluate([10.0, 2e-16, 0.0], [2, 1, 1], measures="err")["err"] == pytest.approx(1023 / 1024)


def test_a_rounded_mean_does_not_lift_ndcg_above_1():
    y = [0.1, 0.1, 0.1]
    assert sum(y) / 3 > 0.1
    result = evaluate(y, [0, 0, 0], measures=["ndcg:gain=linear", "mean-ndcg:gain=linear"])
    assert list(result.values()) == [1, 1]


def test_a_query_as_long_as_the_cutoff_is_not_short():
    result = evaluate([1, 0, 1], [2, 1, 1], [1, 1, 2], ["ndcg@2:letor4", "precision@2"])
    assert result.per_query["ndcg@2:letor4"].tolist() == [1, 0]
    assert result.per_query["precision@2"].tolist() == [0.5, 0.5]


@given(table=rows, measure=st.sampled_from(["ndcg@2", "ndcg", "mean-ndcg", "ndcg:gain=linear", "ndcg:letor"]))
@settings(max_examples=60, deadline=None)
def test_ndcg_stays_within_0_and_1_and_a_perfect_order_is_1(table, measure):
    y, s, q, _ = split(table)
    fractional = y * 0.1
    values = evaluate(fractional, s, q, measure).per_query[measure]
    assert ((values >= 0) & (values <= 1)).all()
    perfect = evaluate(y, y, q, measure).per_query[measure]
    relevant = np.array([y[q == one].max() > 0 for one in dict.fromkeys(q.tolist())])
    np.testing.assert_array_equal(perfect, relevant.astype(float))
