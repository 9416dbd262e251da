"""Estimators of the bias of positions: exact on logs without noise, and within their intervals on simulated ones."""

import io
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import binom

from rankwise import make_ranking
from rankwise.clicks import ClickLog, Propensities, em_bias, harvested_bias, simulate_clicks, swap_bias
from rankwise.clicks.intervals import interval
from rankwise.clicks.likelihood import log_linear_propensities

TRUE = np.array([1, 0.5, 0.75, 0.25, 0.5, 0.125])  # of positions 1 to 6


def noiseless(n_queries=12, n=64):
    """Every two positions have a document of each query that was shown n times at both, in lists of one document.

    Relevance differs between the pairs of positions, (2, 3) and (1, 6) say, and between queries.
    """
    rows = []
    for query in range(n_queries):
        for i, (one, two) in enumerate(combinations(range(6), 2)):
            relevance = 2.0 ** -(1 + (i + query) % 3)
            for position in (one, two):
                n_clicks = n * TRUE[position] * relevance
                assert n_clicks.is_integer()
                rows += [(query, f"d{i}", position, j < n_clicks) for j in range(n)]
    return ClickLog.of(*zip(*rows, strict=True), np.arange(len(rows)), first_position=0)


@pytest.mark.parametrize(("estimator", "tol"), [(harvested_bias, 1e-6), (em_bias, 1e-3)])
def test_exact_without_noise(estimator, tol):
    found = estimator(noiseless(), n_resamples=3, random_state=0)
    assert found.positions.tolist() == [1, 2, 3, 4, 5, 6]
    np.testing.assert_allclose(found.values, TRUE, rtol=tol)
    np.testing.assert_allclose(found.upper, TRUE, rtol=tol)  # without noise every resample tells the same


def test_the_likelihood_is_greatest():
    random = np.random.default_rng(0)
    k, g = np.array(list(combinations(range(4), 2))).T, np.arange(6)
    hits, misses = np.zeros((2, 4, 6))
    for row in k:
        hits[row, g], misses[row, g] = random.uniform(1, 9, 6), random.uniform(1, 9, 6)

    def of_group(log_p, group):  # the best relevance for given propensities, by a search along a line
        rows = k[:, group]
        p, c, m = np.exp(np.append(0, log_p))[rows], hits[rows, group], misses[rows, group]

        def negative(r):
            return -np.sum(c * np.log(p * r) + m * np.log1p(-p * r))

        return minimize_scalar(negative, bounds=(0, 1 / p.max()), method="bounded", options={"xatol": 1e-12}).fun

    def profile(log_p):
        return sum(of_group(log_p, group) for group in g)

    referee = minimize(profile, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-13})
    np.testing.assert_allclose(log_linear_propensities(hits, misses)[1:], np.exp(referee.x), rtol=1e-5)


def test_swaps_are_ratios_of_clicks():
    rows = []  # 10 queries; per query and other position 8 lists of two documents
    for query in range(10):
        for other in (2, 4):
            for j in range(8):
                rows.append((query, "a", 1, j < 4, (query, other, j)))
                rows.append((query, "b", other, j < 4 * TRUE[other - 1], (query, other, j)))
    *columns, lists = zip(*rows, strict=True)
    log = ClickLog.of(*columns, list(map(str, lists)), first_position=1)
    swapped = {str(one): one[1] for one in set(lists)}
    found = swap_bias(log, swapped, n_resamples=20, random_state=0)
    assert found.positions.tolist() == [1, 2, 4]
    np.testing.assert_allclose([found.values, found.lower, found.upper], [TRUE[[0, 1, 3]]] * 3)
    in_order = np.array([swapped[one] for one in log.lists.tolist()])
    np.testing.assert_array_equal(swap_bias(log, in_order, n_resamples=2).values, found.values)
    top = swap_bias(log.top(2), swapped, n_resamples=2)  # which knows nothing of position 4
    assert (top.positions.tolist(), top.values.tolist()) == ([1, 2], [1, TRUE[1]])


def estimates(seed, n_lists, n_queries=60, n_resamples=200):
    data = make_ranking(n_queries=n_queries, docs_per_query=12, n_features=6, random_state=0)
    scores = data.y + 1.5 * np.random.default_rng(1).normal(size=(3, len(data)))
    several = simulate_clicks(data, scores, n_lists, depth=6, random_state=seed)
    swaps = simulate_clicks(data, scores[0], n_lists, depth=6, swaps=True, random_state=seed)
    options = {"n_resamples": n_resamples, "random_state": 0}
    found = [
        swap_bias(swaps.log, swaps.swapped, **options),
        harvested_bias(several.log, **options),
        em_bias(several.log, **options),
    ]
    true = several.propensities.values
    return np.array([(one.lower <= true) & (true <= one.upper) for one in found])[:, 1:]


def test_intervals_hold_the_truth():
    assert (estimates(seed=3, n_lists=3000, n_resamples=40).sum(axis=1) >= 4).all()  # of five positions each


def test_simulated_labels_are_grades():
    data = make_ranking(n_queries=2, n_features=2, random_state=0)
    for label in (-1.0, 0.5, 32.0):
        odd = replace(data, y=np.where(np.arange(len(data)) == 3, label, data.y))
        with pytest.raises(ValueError, match="whole numbers from 0 to 31"):
            simulate_clicks(odd, data.X[:, 0], 10)


@pytest.mark.slow
def test_intervals_hold_the_truth_in_19_of_20_simulations():
    """EM too, because documents are shown about 35 times at each of their positions."""
    n = 100
    held = np.array([estimates(seed, 10_000, n_queries=100, n_resamples=100) for seed in range(10_000, 10_000 + n)])
    least = binom.ppf(1e-3, n, 0.95)  # one in 1,000 right intervals holds the truth less often
    assert (held.sum(axis=0) >= least).all(), held.sum(axis=0)  # by estimator and position
    assert (held.mean(axis=(0, 2)) <= 0.985).all(), held.sum(axis=0)  # intervals are not too wide


def test_quantiles_leave_out_what_they_say():
    """The estimates on the resamples are 1 to 99, so that a share of 0.025 is below 2.5."""
    log = ClickLog.of(np.arange(5000), np.arange(5000), np.ones(5000, int), np.ones(5000, int), first_position=1)
    options = {"over": "queries", "confidence": 0.95, "n_resamples": 99, "random_state": 0}
    numbers = iter(range(1, 100))
    lower, upper = interval(log, lambda weights: np.array([next(numbers)], dtype=float), **options)
    np.testing.assert_allclose([lower[0], upper[0]], [2.5, 97.5], rtol=0.01)


def test_a_position_that_few_queries_show_has_a_wider_interval():
    row = np.arange(240)
    row = row[(row % 2 == 0) | (row < 8)]  # two per query; position 2 in the first four queries
    log = ClickLog.of(row // 2, row, 1 + row % 2, row // 2 % 2, first_position=1)
    options = {"over": "queries", "confidence": 0.9, "n_resamples": 500, "random_state": 0}

    def estimate(weights):  # the same number for both positions
        return np.repeat(weights @ np.random.default_rng(0).normal(size=weights.size), 2)

    lower, upper = interval(log, estimate, positions=np.array([1, 2]), **options)
    everywhere = interval(log, estimate, **options)
    assert (lower[0], upper[0]) == (everywhere[0][0], everywhere[1][0])
    assert lower[1] < lower[0]
    assert upper[1] > upper[0]


def test_em_ends_where_plain_steps_end():
    data = make_ranking(n_queries=30, docs_per_query=8, n_features=3, random_state=0)
    scores = data.y + np.random.default_rng(0).normal(size=(3, len(data)))
    log = simulate_clicks(data, scores, 3000, depth=4, random_state=0).log
    items = log.query_of_row * len(log.docs) + log.doc
    shown, clicked = (np.zeros((4, items.max() + 1)) for _ in range(2))
    np.add.at(shown, (log.position - 1, items), 1)
    np.add.at(clicked, (log.position - 1, items), log.click)
    p, r = np.full((4, 1), 0.5), np.full(shown.shape[1], 0.5)
    used = ((shown > 0).sum(axis=0) > 1) & (clicked.sum(axis=0) > 0)
    shown, clicked, r = shown[:, used], clicked[:, used], r[used]
    for _ in range(3000):
        missed = (shown - clicked) / (1 - p * r)
        looks, relevances = clicked + missed * p * (1 - r), clicked + missed * (1 - p) * r
        p, r = (looks.sum(axis=1) / shown.sum(axis=1))[:, None], relevances.sum(axis=0) / shown.sum(axis=0)
    found = em_bias(log, n_resamples=1, random_state=0)
    np.testing.assert_allclose(found.values, (p / p[0]).ravel(), rtol=2e-3)


def test_em_warns_of_few_repeats():
    log = simulate_clicks(make_ranking(200, 8, 3, random_state=0), np.random.default_rng(0).normal(size=(2, 1600)), 600)
    with pytest.warns(UserWarning, match=r"documents were shown \d\.\d times per position .*: use harvested_bias"):
        em_bias(log.log.top(3), n_resamples=1)


def test_the_simulation_has_the_rates_it_says():
    data = make_ranking(n_queries=5, docs_per_query=4, n_features=3, random_state=0)
    log, swapped, true = simulate_clicks(data, data.y, 200_000, depth=3, eta=2, noise=0.2, random_state=0)
    assert swapped is None
    np.testing.assert_allclose(true.values, [1, 1 / 4, 1 / 9])
    relevance = 0.2 + 0.8 * (2**data.y - 1) / (2 ** data.y.max() - 1)
    expected = true.values[log.position - 1] * relevance[log.doc]
    for position in (1, 2, 3):
        at = log.position == position
        assert log.click[at].mean() == pytest.approx(expected[at].mean(), abs=0.005)


@pytest.mark.filterwarnings("error")
def test_positions_that_cannot_be_compared_are_an_error():
    log = noiseless()
    alone = ClickLog.of(["q"] * 40, ["d"] * 40, [1, 2] * 20, [1, 0] * 20, np.arange(40), first_position=1)
    with pytest.raises(ValueError, match="at least 10 queries to draw from, the log has 1: give over='lists'"):
        harvested_bias(alone)
    apart = ClickLog.of(
        np.arange(40) // 2, ["a", "b"] * 20, [1, 2] * 20, [1] * 40, np.arange(40) // 2, first_position=1
    )
    for estimator in (harvested_bias, em_bias):
        with pytest.raises(ValueError, match=r"position 2 cannot be compared with position 1.*log\.top\(1\)"):
            estimator(apart, n_resamples=2)
    with pytest.raises(ValueError, match="swapped must hold a position, or 0, for each"):
        swap_bias(log, np.zeros(3, int))
    with pytest.raises(ValueError, match="swapped names the list 'x'"):
        swap_bias(log, {"x": 2})
    with pytest.raises(ValueError, match="no list in which a position was exchanged"):
        swap_bias(log, np.zeros(log.n_lists, int))
    assert log.top(2).position.max() == 2
    assert log.top(2).n_lists == log.n_lists


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("estimator", [harvested_bias, em_bias])
def test_logs_at_the_limit(estimator):
    """One document shown ten times at each of two positions, clicked always or never."""

    def values(*clicks):
        n = 10 * len(clicks)
        log = ClickLog.of(["q"] * n, ["d"] * n, [1, 2] * 10, clicks * 10, np.arange(n), first_position=1)
        return estimator(log, over="lists", n_resamples=5, random_state=0).values

    np.testing.assert_allclose(values(1, 1), [1, 1], rtol=1e-3)
    np.testing.assert_allclose(values(1, 0), [1, 0], atol=1e-3)
    with pytest.raises(ValueError, match="position 2 cannot be compared with position 1"):
        values(0, 1)
    with pytest.raises(ValueError, match="the log has no clicks"):
        values(0, 0)


def test_propensities_are_saved_and_loaded(tmp_path):
    known = Propensities.of([1, 2, 4], [1, 1 / 3, 0.1], [1, 0.3, 0.05], [1, 0.4, 0.2])
    known.save(tmp_path / "p.csv")
    loaded = Propensities.load(tmp_path / "p.csv")
    for name in ("positions", "values", "lower", "upper"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(known, name))
    assert known.to_frame().columns.tolist() == ["position", "propensity", "lower", "upper"]
    np.testing.assert_array_equal(known.at(np.array([4, 1, 1])), [0.1, 1, 1])
    with pytest.raises(ValueError, match="no propensity is known for position 3"):
        known.at(np.array([1, 3]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "no column 'position'"),
        ("position,propensity\n1,x\n", "line 2: propensity must be a number, found 'x'"),
        ("position,propensity\n1.5,1\n", "position must hold whole numbers"),
        ("position,propensity\n1e300,1\n", "position must hold whole numbers up to 1,000,000,000"),
        ("position,propensity\n2,1\n1,1\n", "must be counted from 1 and be ascending"),
        ("position,propensity\n1,1\n2,-1\n", "values must be 0 or more, found -1.0 at position 2"),
        ("position,propensity\n", "at least one"),
    ],
)
def test_files_of_propensities_that_cannot_be_right(text, message):
    with pytest.raises(ValueError, match=message):
        Propensities.load(io.StringIO(text))
