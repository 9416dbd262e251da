"""compare: what it says of rankers is what the tests say of their values by query."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise import load_sample
from rankwise.metrics import (
    Procedure,
    bootstrap_interval,
    compare,
    evaluate,
    holm,
    paired_t_test,
    randomization_interval,
    randomization_test,
)

MEASURES = ["ndcg@10", "map", "pairwise-accuracy"]


@pytest.fixture(scope="module")
def test_data():
    return load_sample("test")


@pytest.fixture(scope="module")
def scores(test_data):
    noise = np.random.default_rng(0).normal(size=len(test_data))
    clicks = test_data.X[:, 4]
    return {"clicks": clicks, "title_match": test_data.X[:, 0], "noisy": clicks + 0.05 * noise, "same": 2 * clicks}


@pytest.fixture(scope="module")
def found(scores, test_data):
    return compare(scores, test_data.y, test_data.qid, MEASURES)


def contrast(found, ranker, measure):
    return next(one for one in found.contrasts if (one.ranker, one.measure) == (ranker, measure))


def test_a_contrast_is_what_the_tests_say(found, scores, test_data):
    values = {n: evaluate(test_data.y, s, test_data.qid, "map").per_query["map"] for n, s in scores.items()}
    p = [randomization_test(values[name] - values["clicks"]).p_value for name in ("title_match", "noisy", "same")]
    for name, raw, adjusted in zip(("title_match", "noisy", "same"), p, holm(p), strict=True):
        one = contrast(found, name, "map")
        assert (one.p_value, one.p_adjusted) == (raw, adjusted)
        assert one.mean == pytest.approx(values[name].mean())
        assert one.difference == pytest.approx(np.mean(values[name] - values["clicks"]), abs=1e-15)
        assert one.interval == pytest.approx(bootstrap_interval(values[name]))
        assert one.difference_interval == pytest.approx(randomization_interval(values[name] - values["clicks"]))
        assert bool(one.mark) == (adjusted < 0.05)
    assert contrast(found, "same", "map").p_value == 1
    assert contrast(found, "same", "map").win_tie_loss == (0, 40, 0)


def test_the_difference_of_a_pooled_measure_is_that_of_its_means(found):
    """pairwise-accuracy is a mean over pairs: queries weigh as many pairs as they have."""
    for name in ("title_match", "noisy"):
        one, base = (contrast(found, which, "pairwise-accuracy") for which in (name, "clicks"))
        assert one.difference == pytest.approx(one.mean - base.mean, abs=1e-14)
        assert one.interval[0] < one.mean < one.interval[1]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), min_size=12, max_size=12))
def test_pooled_randomization_by_swapping_the_rankers_in_whole_queries(rows):
    y, a, b = np.array(rows, float).T
    qid = np.repeat([1, 2, 3, 4], [2, 3, 3, 4])
    found = compare({"a": a, "b": b}, y, qid, "pairwise-accuracy").contrasts[1]

    def difference(swapped):
        chosen = np.isin(qid, np.flatnonzero(swapped) + 1)
        both = [np.where(chosen, b, a), np.where(chosen, a, b)]
        first, second = (evaluate(y, s, qid, "pairwise-accuracy")["pairwise-accuracy"] for s in both)
        return abs(second - first)

    observed = difference([0, 0, 0, 0])
    if np.isnan(observed):
        assert np.isnan(found.p_value)
        return
    every = np.array([difference(swapped) for swapped in itertools.product((0, 1), repeat=4)])
    assert found.p_value == pytest.approx(np.mean(every >= observed - 1e-12))


def test_evaluations_in_another_order_of_queries(scores, test_data, found):
    order = np.random.default_rng(1).permutation(len(test_data))
    evaluations = {name: evaluate(test_data.y, s, test_data.qid, MEASURES) for name, s in scores.items()}
    moved = scores["title_match"][order]
    evaluations["title_match"] = evaluate(test_data.y[order], moved, test_data.qid[order], MEASURES)
    again = compare(evaluations)
    assert [one.p_value for one in again.contrasts] == pytest.approx(
        [one.p_value for one in found.contrasts], nan_ok=True
    )


def test_the_t_test_and_another_baseline(scores, test_data):
    options = Procedure(test="t", alpha=0.01)
    found = compare(scores, test_data.y, test_data.qid, "ndcg@5", baseline="noisy", procedure=options)
    values = found.per_query()
    expected = paired_t_test(values["title_match ndcg@5"] - values["noisy ndcg@5"])
    assert contrast(found, "title_match", "ndcg@5").p_value == pytest.approx(expected, rel=1e-12)
    assert "p < 0.01 by the paired t test, corrected by Holm for 3 comparisons" in found.to_text()
    assert "99 % from" in found.to_text()


def test_tables(found):
    text = found.to_text()
    assert repr(found) == text
    assert text.startswith("40 queries, baseline clicks\n")
    lines = [line.split() for line in text.splitlines() if line.startswith("title_match")]
    one = contrast(found, "title_match", "ndcg@10")
    assert lines[0][1] == f"{one.mean:.4f}{one.mark}"
    assert lines[1][:3] == ["title_match", "ndcg@10", f"{one.difference:+.4f}"]
    markdown = found.to_markdown()
    best = max(contrast(found, name, "map").mean for name in found.rankers)
    assert f"| **{best:.4f}** |" in markdown
    assert "| --: |" in markdown
    latex = found.to_latex()
    assert r"title\_match & " in latex
    assert r"\textbf{" + f"{best:.4f}" in latex
    assert latex.count(r"\begin{tabular}") == latex.count(r"\bottomrule") == 3
    assert "$<0.0001$" in latex


def test_json_has_no_nan(found):
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["baseline"] == "clicks"
    assert len(told["contrasts"]) == 12
    assert told["contrasts"][0]["p_value"] is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: compare({"a": c["clicks"]}, c["y"]), "rankers must hold two or more rankers to compare; got 1"),
        (
            lambda c: compare({"a": c["e"], "b": c["e"]}, baseline="c"),
            "baseline must be one of the rankers 'a', 'b'; got 'c'",
        ),
        (lambda c: compare({"a": c["e"], "b": c["clicks"]}), "'b' is not an Evaluation"),
        (lambda c: compare({"a": c["e"], "b": c["part"]}), "query 81 was evaluated for 'a', but not for 'b'"),
        (lambda c: compare({"a": c["e"], "b": c["map"]}), "'b' was evaluated by map, 'a' by ndcg@10"),
        (lambda c: Procedure(test="wilcoxon"), "test must be one of 'randomization', 't'; got 'wilcoxon'"),
        (lambda c: Procedure(alpha=5), "alpha must be between 0 and 1"),
        (lambda c: Procedure(resamples=1), "resamples must be at least 100"),
    ],
)
def test_what_cannot_be_compared(change, message, scores, test_data):
    y, qid, clicks = test_data.y, test_data.qid, scores["clicks"]
    part = qid > 81
    given = {"y": y, "clicks": clicks, "e": evaluate(y, clicks, qid), "map": evaluate(y, clicks, qid, "map")}
    given["part"] = evaluate(y[part], clicks[part], qid[part])
    with pytest.raises(ValueError, match=message):
        change(given)


def test_labels_are_no_frame(test_data):
    with pytest.raises(TypeError, match=r"rankwise\.from_frame makes one of a DataFrame"):
        compare({"clicks": test_data.X[:, 0]}, test_data.to_frame())


@pytest.mark.parametrize(("queries", "draws"), [(41, 100_000), (2_000, 100_000), (10_000, 20_000), (50_000, 10_000)])
def test_many_queries_are_tested_with_fewer_draws(queries, draws):
    d = np.full(queries, 0.5)
    assert Procedure().p_value(d, None) == pytest.approx(1 / (draws + 1))
    assert Procedure().interval(d, None) == pytest.approx((0.5, 0.5))
