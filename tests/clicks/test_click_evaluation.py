"""Measures of another ranking from clicks: equal to a double loop, near the truth in simulations."""

import json
from dataclasses import replace
from itertools import pairwise, permutations
from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise import RankSVM, make_ranking
from rankwise.clicks import ClickLog, Propensities, evaluate_clicks, simulate_clicks
from rankwise.data.records import RankingData

GIVEN = Propensities.of([1, 2, 3, 4], [1, 0.5, 0.25, 0.005])
MEASURES = ("dcg", "dcg@2", "reciprocal-rank@2", "average-rank", "hits@2", "clicks", "clicks@1")
FORMULAS = {  # what a relevant document adds, by its rank and the propensity of its position
    "dcg": lambda rank, p: 1 / log2(1 + rank),
    "dcg@2": lambda rank, p: (rank <= 2) / log2(1 + rank),
    "reciprocal-rank@2": lambda rank, p: (rank <= 2) / rank,
    "average-rank": lambda rank, p: rank,
    "hits@2": lambda rank, p: rank <= 2,
    "clicks": lambda rank, p: p,
    "clicks@1": lambda rank, p: p * (rank == 1),
}
N_DOCS = 6


@st.composite
def problems(draw):
    """12 lists of some of the six documents of two queries, at positions with gaps; few different scores."""
    rows = []
    for one in range(12):
        n = draw(st.integers(1, 4))
        docs = draw(st.permutations(range(N_DOCS)))[:n]
        positions = sorted(draw(st.permutations(range(1, 5)))[:n])
        clicks = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
        rows += [(one % 2, *row, one) for row in zip(docs, positions, clicks, strict=True)]
    rows[0] = (*rows[0][:3], 1, rows[0][4])  # one click at least
    scores = draw(st.lists(st.integers(0, 3), min_size=2 * N_DOCS, max_size=2 * N_DOCS))
    return rows, np.array(scores, dtype=float)


def every_order(docs, score):
    """The orders of documents by score, the best first; of equal scores all of them."""
    return [one for one in permutations(docs) if all(score[a] >= score[b] for a, b in pairwise(one))]


def by_loops(rows, score, formula, clip):
    """(per list, self-normalised) of the order by scores."""
    total = weights = 0.0
    for one in {row[4] for row in rows}:
        shown = [row for row in rows if row[4] == one]
        orders = every_order([row[:2] for row in shown], score)
        for query, doc, position, click, _ in shown:
            if click:
                weight = 1 / max(GIVEN.values[position - 1], clip)
                ranks = [order.index((query, doc)) for order in orders]
                worth = [formula(rank + 1, GIVEN.values[shown[rank][2] - 1]) for rank in ranks]
                weights, total = weights + weight, total + weight * np.mean(worth)
    return total / 12, total / weights


@given(problems(), st.sampled_from([0.01, 0.3]))
@settings(max_examples=25)
def test_a_double_loop(problem, clip):
    rows, scores = problem
    log = ClickLog.of(*zip(*rows, strict=True), first_position=1)
    data = RankingData(np.zeros((12, 1)), np.zeros(12), np.repeat([0, 1], N_DOCS), docid=np.tile(np.arange(N_DOCS), 2))
    found = evaluate_clicks(log, data, scores, GIVEN, MEASURES, clip=clip, over="lists", n_resamples=2, random_state=0)
    score = {(q, d): scores[N_DOCS * q + d] for q in range(2) for d in range(N_DOCS)}
    as_shown = {(row[4], row[1]): -row[2] for row in rows}
    for name, formula in FORMULAS.items():
        expected = by_loops(rows, score, formula, clip)
        shown = by_loops([(row[4], *row[1:]) for row in rows], as_shown, formula, clip)
        for one, of_new, of_shown in zip((found.per_list, found.normalised), expected, shown, strict=True):
            assert one[name].value == pytest.approx(of_new)
            assert one[name].shown == pytest.approx(of_shown)
            assert one[name].difference == pytest.approx(of_new - of_shown)
    weights = np.array([1 / max(GIVEN.values[row[2] - 1], clip) for row in rows if row[3]])
    assert found.effective_sample_size == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert found.n_clicks == weights.size
    assert found.n_clipped == sum(GIVEN.values[row[2] - 1] < clip for row in rows if row[3])


@pytest.fixture(scope="module")
def ranking():
    data = make_ranking(n_queries=50, docs_per_query=8, n_features=4, random_state=0)
    return replace(data, docid=np.arange(len(data)))


def dcg(data, scores, relevance):
    """The mean over queries of Σ relevance / log2(1 + rank)."""
    of_query = []
    for query in np.unique(data.qid):
        rows = np.flatnonzero(data.qid == query)
        best_first = rows[np.argsort(-scores[rows])]
        of_query.append((relevance[best_first] / np.log2(np.arange(rows.size) + 2)).sum())
    return np.mean(of_query)


def test_the_truth_in_simulations(ranking):
    """The weighted estimate is near the measure of the new ranking, which was never shown; clicks as they are, not."""
    random = np.random.default_rng(0)
    old, new = random.normal(size=len(ranking)), ranking.y + 0.3 * random.normal(size=len(ranking))
    gain, deepest = 2**ranking.y - 1, int(np.unique(ranking.qid, return_counts=True)[1].max())
    truth = dcg(ranking, new, 0.1 + 0.9 * gain / gain.max())
    found = {True: [], False: []}
    for seed in range(12):
        log, _, true = simulate_clicks(ranking, old, 3000, depth=deepest, random_state=seed)
        for corrected, values in found.items():
            one = evaluate_clicks(log, ranking, new, true if corrected else None, "dcg", n_resamples=60, random_state=0)
            values.append(one.per_list["dcg"])
    values, naive = (np.array([one.value for one in found[corrected]]) for corrected in (True, False))
    error = values.std(ddof=1) / np.sqrt(values.size)
    assert abs(values.mean() - truth) < 4 * error < 0.1 * truth
    assert naive.mean() < 0.6 * truth
    assert all(one.difference_lower > 0 for one in found[True])  # the new ranking is better than the one shown
    assert sum(one.lower <= truth <= one.upper for one in found[True]) >= 9


def test_clicks_of_the_order_shown_are_those_observed(ranking):
    log, _, true = simulate_clicks(ranking, ranking.X[:, 0], 500, depth=8, random_state=0)
    found = evaluate_clicks(log, ranking, ranking.X[:, 0], true, "clicks", n_resamples=10, random_state=0)
    one = found.per_list["clicks"]
    assert one.value == pytest.approx(log.click.sum() / log.n_lists)
    assert one.difference == one.difference_lower == one.difference_upper == 0


def test_texts(ranking):
    log, _, true = simulate_clicks(ranking, ranking.X[:, 0], 500, depth=8, random_state=0)
    found = evaluate_clicks(log, ranking, ranking.y, true, ["dcg@3", "DCG@3", "average_rank"], n_resamples=9)
    assert list(found.per_list) == ["dcg@3", "average-rank"]
    header, names, first = repr(found).splitlines()[:3]
    assert header.startswith(f"{found.n_clicks} clicks in 500 lists; effective sample size ")
    assert names.split()[:3] == ["measure", "estimator", "value"]
    assert first.split()[:3] == ["dcg@3", "per", "list"]
    told = json.loads(found.to_json())
    assert told["measures"]["average-rank"]["self_normalised"]["value"] == found.normalised["average-rank"].value
    assert len(found.to_frame()) == 4


@pytest.mark.parametrize(("size", "clip"), [(1e200, 0.01), (1e-200, 1e-300)])
def test_the_effective_sample_size_does_not_depend_on_the_unit(ranking, size, clip):
    log, _, true = simulate_clicks(ranking, ranking.X[:, 0], 300, depth=8, random_state=0)
    plain = evaluate_clicks(log, ranking, ranking.y, true, "dcg", n_resamples=2)
    other = Propensities.of(true.positions, size * true.values)
    found = evaluate_clicks(log, ranking, ranking.y, other, "dcg", n_resamples=2, clip=clip)
    assert found.effective_sample_size == pytest.approx(plain.effective_sample_size)


def test_errors(ranking):
    log, _, true = simulate_clicks(ranking, ranking.X[:, 0], 300, depth=8, random_state=0)

    def refused(message, log=log, data=ranking, scores=ranking.y, propensities=true, measures="dcg", **options):
        with pytest.raises(ValueError, match=message):
            evaluate_clicks(log, data, scores, propensities, measures, **options)

    refused("measure must be one of 'dcg', .*got 'hit'. Did you mean 'hits'", measures="hit@10")
    refused("measure 'ndcg@10:letor' depends on several documents .*: use 'dcg@10'", measures="ndcg@10:letor")
    refused("measure 'mrr' depends on several documents .*: use 'reciprocal-rank'", measures="mrr")
    with pytest.raises(TypeError, match=r"as predict\(data\) returns; got a RankSVM"):
        evaluate_clicks(log, ranking, RankSVM(), true)
    refused("hits needs a cutoff, as in hits@5", measures="hits")
    refused("average-rank takes no cutoff", measures="average-rank@3")
    refused("the cutoff of dcg@0 must be", measures="dcg@0")
    refused("the measure clicks needs propensities", propensities=None, measures="clicks")
    refused("clip must be above 0", clip=0)
    refused(r"scores must be finite: scores\[3\] is nan", scores=np.where(np.arange(len(ranking)) == 3, np.nan, 1))
    refused("scores", scores=[1, 2])
    refused("lacks .* documents of lists with clicks, first the document", data=ranking.select(slice(1)), scores=[1.0])
    refused("no propensity is known for position 2 .*--top", propensities=Propensities.of([1], [1]))
    refused("the log has no clicks", log=replace(log, click=np.zeros(len(log), bool)))
    refused("over must be", over="users")
    refused("n_resamples must be at least 1", n_resamples=0)
    few = ClickLog.of([1] * 3, [1, 2, 3], [1, 2, 3], [1, 0, 0], first_position=1)
    refused("intervals need at least 10 queries to draw from, the log has 1$", log=few)
