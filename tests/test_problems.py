"""Weights, costs, scopes and listed pairs, each against the sum over explicitly listed pairs."""

from datetime import date

import numpy as np
import oracle
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from strategies import problems as problems_of

from rankwise import RankSVM, make_ranking
from rankwise.objective import losses
from rankwise.objective.building import NORMALIZATIONS, Pairing, build, query_weights
from rankwise.pairs.costs import separable
from rankwise.pairs.preferences import Preferences
from rankwise.pairs.queries import Queries

DATA = make_ranking(n_queries=12, docs_per_query=10, n_features=4, n_levels=4, random_state=0)
X, Y, QID = DATA.X, DATA.y, DATA.qid


def naive(w, delta, rescaling="slack", loss=None):
    """½|w|² + Σ over pairs, with δ(i, j) as asked."""
    loss = loss or losses.squared_hinge()
    scores = X @ w
    total = 0.5 * w @ w
    for i, j in oracle.pairs(Y, QID):
        margin = scores[i] - scores[j]
        if rescaling == "slack":
            total += delta(i, j) * float(loss(np.float64(margin)))
        else:
            total += float(loss(np.float64(margin + 1 - np.sqrt(delta(i, j)))))
    return total


def ideal_discounts():
    """1 / log2(1 + place) in the ideal ranking, shared by documents of one query and label."""
    out = np.empty(len(Y))
    for q in np.unique(QID):
        rows = np.flatnonzero(q == QID)
        order = rows[np.argsort(-Y[rows], kind="stable")]
        discounts = 1 / np.log2(2 + np.arange(len(rows)))
        for label in np.unique(Y[rows]):
            out[rows[Y[rows] == label]] = discounts[Y[order] == label].mean()
    return out


GAINS, DISCOUNTS = 2.0**Y - 1, ideal_discounts()
IDEAL = {q: (GAINS * DISCOUNTS)[q == QID].sum() or 1.0 for q in np.unique(QID)}
TABLE = np.array([[0, 0, 0, 0], [1, 0, 0, 0], [3, 1, 0, 0], [7, 2, 0.5, 0]])
VECTOR = np.random.default_rng(0).integers(-1000, 1000, len(Y)) / 512 + 3 * Y
RISING = 3.0 * Y + np.arange(len(Y)) / len(Y)

CASES = {
    "gain": ("gain", lambda i, j: (GAINS[i] - GAINS[j]) ** 2),
    "dcg": ("dcg", lambda i, j: (GAINS[i] - GAINS[j]) * (DISCOUNTS[i] - DISCOUNTS[j])),
    "ndcg": ("ndcg", lambda i, j: (GAINS[i] - GAINS[j]) * (DISCOUNTS[i] - DISCOUNTS[j]) / IDEAL[QID[i]]),
    "table": (TABLE, lambda i, j: TABLE[int(Y[i]), int(Y[j])]),
    "vector": (VECTOR, lambda i, j: (VECTOR[i] - VECTOR[j]) ** 2),
    "rising vector": (RISING, lambda i, j: (RISING[i] - RISING[j]) ** 2),
    "vector far from zero": (VECTOR + 2.0**30, lambda i, j: (VECTOR[i] - VECTOR[j]) ** 2),
    "callable": (lambda i, j: 1.0 + (i + j) % 3, lambda i, j: 1.0 + (i + j) % 3),
    "matrix": (
        sparse.csr_array((np.add.outer(np.arange(len(Y)), np.arange(len(Y))) % 4).astype(float)),
        lambda i, j: float((i + j) % 4),
    ),
}


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "huber:0.5"])
@pytest.mark.parametrize("rescaling", ["slack", "margin"])
@pytest.mark.parametrize("name", CASES)
def test_costs(name, rescaling, loss):
    costs, delta = CASES[name]
    objective = build(X, Y, QID, loss=losses.parse(loss), C=1.0, pairing=Pairing(costs=costs, rescaling=rescaling))
    w = np.random.default_rng(1).normal(size=4)
    expected = naive(w, delta, rescaling, losses.parse(loss))
    assert objective.at(w).value == pytest.approx(expected, rel=1e-8)
    ahead, behind = (objective.at(w + t * np.ones(4)).value for t in (1e-6, -1e-6))
    assert objective.at(w).gradient.sum() == pytest.approx((ahead - behind) / 2e-6, rel=1e-4)


def test_costs_follow_rows_that_are_scattered():
    shuffle = np.random.default_rng(0).permutation(len(Y))
    w = np.random.default_rng(1).normal(size=4)
    for costs in ("ndcg", TABLE, VECTOR):
        moved = costs[shuffle] if costs is VECTOR else costs
        values = [
            build(*rows, loss=losses.squared_hinge(), C=1.0, pairing=Pairing(costs=one)).at(w).value
            for rows, one in (((X, Y, QID), costs), ((X[shuffle], Y[shuffle], QID[shuffle]), moved))
        ]
        assert values[1] == pytest.approx(values[0], rel=1e-12)


@given(problem=problems_of(), scope=st.sampled_from(["all", "adjacent"]))
def test_adjacent_levels(problem, scope):
    labels, queries, weights, scores = problem
    n = len(labels)
    groups = np.zeros(n) if queries is None else queries
    ranks = np.array([np.searchsorted(np.unique(labels[groups == groups[i]]), labels[i]) for i in range(n)])
    A = oracle.adjacency(*problem, 1.0)
    if scope == "adjacent":
        A *= (ranks[:, None] - ranks) == 1
    graph = Preferences(labels, queries, weights, scope=scope).active(scores, 1.0)
    v = np.random.default_rng(0).normal(size=(n, 2))
    np.testing.assert_allclose(graph.below(v), A @ v, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(graph.above(v), A.T @ v, rtol=1e-12, atol=1e-12)
    assert graph.n_pairs == A.sum()


def coef(*args, qid=QID, **params):
    fit_params = {k: params.pop(k) for k in ("sample_weight", "query_weight") if k in params}
    return RankSVM(**({"C": 0.1, "tol": 1e-9} | params)).fit(*(args or (X, Y)), qid, **fit_params).coef_


@pytest.mark.parametrize("normalize_pairs", NORMALIZATIONS)
@pytest.mark.parametrize("costs", [None, lambda better, worse: 1.0 + (better + worse) % 2])
def test_query_weight_two_is_the_query_given_twice(normalize_pairs, costs):
    ids = np.unique(QID)
    copies = np.random.default_rng(0).integers(1, 4, ids.size)
    weight = dict(zip(ids.tolist(), copies.tolist(), strict=True))
    extra = [np.flatnonzero(ids[i] == QID) for i in range(ids.size) for _ in range(copies[i] - 1)]
    rows = np.concatenate([np.arange(len(Y)), *extra])
    names = np.concatenate([QID, *(np.full(r.size, 10_000 + n) for n, r in enumerate(extra))])
    options = {"normalize_pairs": normalize_pairs, "C": 0.1 if normalize_pairs == "sum" else 10.0}
    of_copies = None if costs is None else lambda better, worse: costs(rows[better], rows[worse])
    expected = coef(X[rows], Y[rows], qid=names, costs=of_copies, **options)
    options["costs"] = costs
    np.testing.assert_allclose(coef(query_weight=weight, **options), expected, rtol=1e-5)
    np.testing.assert_allclose(coef(query_weight=np.array([weight[q] for q in QID]), **options), expected, rtol=1e-5)
    np.testing.assert_allclose(coef(qid=QID.astype(object), query_weight=weight, **options), expected, rtol=1e-5)


@pytest.mark.parametrize("key", [7, 7.0, "7", np.int64(7), np.float32(7)])
@pytest.mark.parametrize("ids", [[7, 8], [7.0, 8.0], ["7", "8"], [np.float32(7), "8"]])
def test_a_key_of_query_weight_is_the_id_however_it_is_written(key, ids):
    queries = Queries(np.array(ids, object if isinstance(ids[0], np.float32) else None), 2)
    assert query_weights({key: 3.0}, queries).tolist() == [3.0, 1.0]


DAYS = np.array(["2020-01-01", "2020-01-02"], "datetime64[D]")


@pytest.mark.parametrize(
    "ids",
    [
        np.array([0.1, 0.7], np.float32),
        np.array([0.1, 0.7], np.float16),
        DAYS,
        DAYS.astype("datetime64[us]"),
        DAYS.astype("datetime64[ns]"),
        DAYS - DAYS[0],
        np.array([False, True]),
        np.array([-(2**62), 2**62]),
        np.array(["a", "b"], object),
    ],
)
def test_a_key_of_query_weight_may_be_the_id_itself(ids):
    queries = Queries(ids, 2)
    for keys in (ids, ids.tolist()):
        assert query_weights({keys[1]: 3.0}, queries).tolist() == [1.0, 3.0]


def test_a_key_of_query_weight_may_be_a_date():
    for key in (DAYS[1], date(2020, 1, 2)):
        assert query_weights({key: 3.0}, Queries(DAYS, 2)).tolist() == [1.0, 3.0]
    stamps = pd.Series(DAYS.astype("datetime64[us]"))
    assert query_weights({stamps[1]: 3.0}, Queries(stamps.to_numpy(), 2)).tolist() == [1.0, 3.0]


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ({"1": 1.0, 1: 2.0}, "query_weight names the query 1 twice"),
        ({None: 1.0}, "query_weight names the query None, which does not occur in qid"),
        ({2.0**60: 1.0}, "query_weight holds the floating-point number 1.15.*e.18, and floats beyond 2.53 are rounded"),
        ({-7: 1.0}, "query_weight names the query -7, which does not occur in qid"),
        (np.arange(float(len(Y))), r"query_weight\[1\] differs from that of another row of the same query"),
        (np.full(len(Y), -1.0), "query_weight of query .* is -1: it must not be negative"),
    ],
)
def test_bad_query_weights(weight, words):
    with pytest.raises(ValueError, match=words):
        coef(query_weight=weight)


def test_normalizations():
    pairs = oracle.pairs(Y, QID)
    per_query = {q: sum(QID[i] == q for i, _ in pairs) for q in np.unique(QID)}
    n_queries = sum(n > 0 for n in per_query.values())
    w = np.random.default_rng(1).normal(size=4)
    expected = {
        "mean": naive(w, lambda i, j: 1 / len(pairs)),
        "svm-rank": naive(w, lambda i, j: 1 / len(per_query)),
        "query": naive(w, lambda i, j: 1 / n_queries / per_query[QID[i]]),
    }
    for name, value in expected.items():
        for costs in (None, lambda i, j: np.ones(i.size)):
            pairing = Pairing(normalize=name, costs=costs)
            found = build(X, Y, QID, loss=losses.squared_hinge(), C=1.0, pairing=pairing).at(w).value
            assert found == pytest.approx(value, rel=1e-12), name


@pytest.mark.parametrize("solver", ["auto", "trust-region", "newton-cg", "bundle", "dual"])
def test_pairs_given_by_the_user(solver):
    pairs = np.array(oracle.pairs(Y, QID))
    weight = np.random.default_rng(0).integers(1, 3, len(pairs)).astype(float)
    exact = {"C": 0.1, "tol": 1e-8 if solver in ("auto", "trust-region", "newton-cg") else 1e-7, "solver": solver}
    np.testing.assert_allclose(RankSVM(**exact).fit(X, pairs=pairs).coef_, coef(), rtol=1e-2, atol=1e-3)
    twice = np.repeat(pairs, weight.astype(int), axis=0)
    weighted = RankSVM(**exact).fit(X, pairs=pairs, pair_weight=weight).result_.value
    assert weighted == pytest.approx(RankSVM(**exact).fit(X, pairs=twice).result_.value, rel=1e-6)


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({"pairs": [[0, 1, 2]]}, r"pairs must be integers of shape \(n_pairs, 2\)"),
        ({"pairs": [[0.5, 1]]}, "pairs must be integers"),
        ({"pairs": [[0, 10_000]]}, "pairs names row 10000: X has"),
        ({"pairs": [[0, 1], [3, 3]]}, r"pairs\[1\] prefers a row to itself"),
        ({"pairs": [[0, 1]], "pair_weight": [-1.0]}, r"pair_weight\[0\] is negative"),
        ({"pairs": [[0, 1]], "y": Y}, "fit accepts either pairs, or y with qid"),
    ],
)
def test_bad_pairs(given_, words):
    with pytest.raises(ValueError, match=words):
        RankSVM().fit(X, **given_)


def test_dcg_costs_do_not_depend_on_the_order_of_rows():
    labels, queries = np.array([2.0, 0, 0, 1]), np.array([7, 7, 7, 7])
    left, right = separable("dcg", labels, Queries(queries, 4))
    delta = left @ right.T
    assert delta[0, 1] == pytest.approx(delta[0, 2])
    assert delta[0, 3] == pytest.approx((3 - 1) * (1 - 1 / np.log2(3)))
