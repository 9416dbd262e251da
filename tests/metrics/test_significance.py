"""Tests and intervals against enumeration, SciPy and textbook numbers."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankwise.metrics import (
    bootstrap_interval,
    holm,
    paired_t_test,
    randomization_interval,
    randomization_test,
    t_interval,
    win_tie_loss,
)
from rankwise.metrics import significance as module

small = st.lists(st.integers(-3, 3), min_size=1, max_size=9)


def p_by_enumeration(d):
    sums = [
        abs(sum(s * x for s, x in zip(signs, d, strict=True))) for signs in itertools.product((-1, 1), repeat=len(d))
    ]
    return np.mean([one >= abs(sum(d)) for one in sums])


@given(small)
def test_exact_randomization_counts_every_choice_of_signs(d):
    found = randomization_test(d)
    assert found.exact
    assert found.p_value == pytest.approx(p_by_enumeration(d), rel=1e-14)
    tenths = randomization_test([x / 10 for x in d])  # 0.1 + 0.2 - 0.3 is not 0 in binary, and must count as 0
    assert tenths.p_value == pytest.approx(found.p_value, rel=1e-14)


@given(small, st.lists(st.integers(0, 3), min_size=9, max_size=9))
def test_weights_multiply_the_differences(d, w):
    w = w[: len(d)]
    weighed = [x * y for x, y in zip(d, w, strict=True)]
    expected = p_by_enumeration(weighed) if any(w) else np.nan
    assert randomization_test(d, w).p_value == pytest.approx(expected, rel=1e-14, nan_ok=True)


def test_randomization_against_scipy():
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.3, 1, 11), rng.normal(0, 1, 11)
    options = {"permutation_type": "samples", "vectorized": True, "n_resamples": np.inf}
    expected = stats.permutation_test((a, b), lambda x, y, axis: np.mean(x - y, axis=axis), **options).pvalue
    assert randomization_test(a - b).p_value == pytest.approx(expected, rel=1e-12)


def test_forty_queries_are_counted_exactly_and_signs_at_random_agree(monkeypatch):
    d = np.random.default_rng(1).normal(0.25, 1, 40)
    exact = randomization_test(np.concatenate((d, np.zeros(500))))
    assert exact.exact
    monkeypatch.setattr(module, "EXACT", 0)
    drawn = randomization_test(d, n_resamples=200_000, random_state=3)
    assert not drawn.exact
    assert drawn == randomization_test(d, n_resamples=200_000, random_state=3)
    deviation = np.sqrt(exact.p_value * (1 - exact.p_value) / 200_000)
    assert abs(drawn.p_value - exact.p_value) < 4 * deviation


def test_randomization_of_forty_equal_signs():
    assert randomization_test(np.ones(40)).p_value == 2.0**-39
    assert randomization_test(np.ones(41), n_resamples=999).p_value == 1 / 1000


def test_randomization_keeps_its_level():
    """Where nothing differs, p ≤ 0.1 in at most a tenth of all cases."""
    rng = np.random.default_rng(4)
    p = np.array([randomization_test(rng.normal(size=15)).p_value for _ in range(2000)])
    assert np.mean(p <= 0.1) == pytest.approx(0.1, abs=3 * np.sqrt(0.09 / 2000))


def test_paired_t_against_scipy():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, 25))
    assert paired_t_test(a - b) == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-12)
    assert paired_t_test(np.append(a - b, np.nan)) == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-12)
    assert paired_t_test([0.5, 0.5, 0.5]) == 0
    assert paired_t_test([0.0, 0.0]) == 1
    assert np.isnan(paired_t_test([1.0]))


@pytest.mark.parametrize("n", [20, 300])  # among fewer, SciPy takes some means for unequal by rounding
def test_bootstrap_against_scipy(n):
    values = np.random.default_rng(n).exponential(size=n)
    low, high = bootstrap_interval(values, confidence=0.9, n_resamples=2000, random_state=7)
    rng = np.random.default_rng(7)
    expected = stats.bootstrap((values,), np.mean, confidence_level=0.9, n_resamples=2000, rng=rng).confidence_interval
    assert (low, high) == pytest.approx(tuple(expected), rel=1e-10)


def test_weighted_bootstrap_against_scipy():
    rng = np.random.default_rng(5)
    values, weights = rng.normal(size=40), rng.exponential(size=40)
    found = bootstrap_interval(values, weights, n_resamples=3000, random_state=1)

    def ratio(i):
        i = i.astype(int)
        return np.average(values[i], weights=weights[i])

    rng = np.random.default_rng(1)
    expected = stats.bootstrap((np.arange(40.0),), ratio, n_resamples=3000, vectorized=False, rng=rng)
    assert found == pytest.approx(tuple(expected.confidence_interval), rel=1e-9)


def test_bootstrap_of_columns_and_of_queries_that_do_not_count():
    rng = np.random.default_rng(6)
    values = rng.normal(size=(30, 3))
    values[:4, 1] = np.nan
    values[1:, 2] = np.nan
    low, high = bootstrap_interval(values, n_resamples=500)
    assert (low[0], high[0]) == pytest.approx(bootstrap_interval(values[:, 0], n_resamples=500))
    assert low[1] < np.nanmean(values[:, 1]) < high[1]
    assert np.isnan([low[2], high[2]]).all()
    assert bootstrap_interval([0.25] * 6) == (0.25, 0.25)


def test_the_bootstrap_covers_as_often_as_it_says():
    """Over samples of 60 draws with mean 1, about 90 % of the 90 % intervals hold it."""
    samples = np.random.default_rng(8).gamma(4, 0.25, (60, 1500))
    low, high = bootstrap_interval(samples, confidence=0.9, n_resamples=1000)
    assert np.mean((low <= 1) & (high >= 1)) == pytest.approx(0.9, abs=0.03)


def skewed(rng, n, mean=0.0):
    """Differences of n queries, few of them large, as two good rankers have them."""
    return mean + 0.05 * (rng.exponential(size=n) - 1) * rng.choice([1, 4], n, p=[0.9, 0.1])


def excludes_zero(ends):
    return ends[0] > 0 or ends[1] < 0


@given(small, st.lists(st.integers(0, 3), min_size=9, max_size=9), st.sampled_from([0.5, 0.8, 0.95]))
def test_the_interval_is_what_the_test_does_not_reject(d, w, confidence):
    d, w = np.array(d) / 10, np.array(w[: len(d)], float)
    low, high = randomization_interval(d, w, confidence)
    limit = 1 - confidence - 1e-12
    if np.isnan(low):
        assert randomization_test(d + 5.0, w).p_value >= limit or not w.any()
        return
    for inside in (low, high, (low + high) / 2):
        assert randomization_test(d - inside, w).p_value >= limit
    for outside in (low - 1e-6, high + 1e-6):
        assert randomization_test(d - outside, w).p_value < limit
    assert excludes_zero((low, high)) == (randomization_test(d, w).p_value < limit)


@pytest.mark.parametrize("n", [8, 60])  # all sets of queries; the same sets at random as in the test
def test_the_interval_and_the_test_never_disagree_on_skewed_queries(n):
    rng = np.random.default_rng(n)
    by_test, by_bootstrap = [], []
    for _ in range(60):
        d = np.where(rng.random(n) < 0.2, 0.0, skewed(rng, n, 2.0 * 0.07 / np.sqrt(n)))
        by_test.append(randomization_test(d, n_resamples=5000).p_value < 0.05)
        assert excludes_zero(randomization_interval(d, n_resamples=5000)) == by_test[-1]
        assert excludes_zero(t_interval(d)) == (paired_t_test(d) < 0.05)
        by_bootstrap.append(excludes_zero(bootstrap_interval(d, n_resamples=1000)))
    assert 5 < sum(by_test) < 55
    assert n > 8 or by_bootstrap != by_test  # which is why it is not used


def test_a_p_of_exactly_the_limit_does_not_reject():
    d = np.random.default_rng(0).normal(0.25, 1, 50)
    p = randomization_test(d, n_resamples=999).p_value
    assert not excludes_zero(randomization_interval(d, confidence=1 - p, n_resamples=999))
    assert excludes_zero(randomization_interval(d, confidence=1 - p - 0.0005, n_resamples=999))


def test_few_skewed_queries_are_covered_more_often_than_by_the_bootstrap():
    rng = np.random.default_rng(9)
    samples = np.column_stack([skewed(rng, 8) for _ in range(400)])
    low, high = bootstrap_interval(samples, n_resamples=1000)
    ends = [randomization_interval(one) for one in samples.T]
    covered = np.mean([low <= 0 <= high for low, high in ends])
    assert covered > np.mean((low <= 0) & (high >= 0)) + 0.02


def test_t_interval_against_scipy_and_with_weights():
    d = np.random.default_rng(3).normal(0.3, size=25)
    assert t_interval(d, confidence=0.9) == pytest.approx(tuple(stats.ttest_1samp(d, 0).confidence_interval(0.9)))
    assert t_interval(d, np.full(25, 7.0)) == pytest.approx(t_interval(d))
    weights = np.arange(25.0)
    for end in t_interval(d, weights):
        assert paired_t_test(d - end, weights) == pytest.approx(0.05)
    assert np.isnan(t_interval([1.0])).all()


def test_holm_by_hand():
    # sorted: 0.005·4 = 0.02, 0.01·3 = 0.03, 0.03·2 = 0.06, then 0.04·1 = 0.04 may not fall below 0.06
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.6, np.nan, 0.7]), [1.0, np.nan, 1.0])
    assert holm([]).size == 0


def test_win_tie_loss():
    assert win_tie_loss([0.1, -0.2, 0.0, 0.1 + 0.2 - 0.3, np.nan, 3.0]) == (2, 2, 1)


def test_nothing_that_counts():
    assert np.isnan(randomization_test([np.nan]).p_value)
    assert randomization_test([0.0, 0.0]) == (1.0, True)
    with pytest.raises(ValueError, match="one number per query"):
        randomization_test([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="confidence must be between 0 and 1"):
        bootstrap_interval([1.0, 2.0], confidence=95)


@pytest.mark.parametrize("n", [12, 30, 60])
@pytest.mark.parametrize("scale", [1e-300, 1e-90, 1e90, 2e307])
def test_neither_p_nor_the_interval_depends_on_the_scale(scale, n):
    d = np.random.default_rng(0).normal(0.3, size=n)
    w = np.arange(1.0, n + 1) / n
    for test in (paired_t_test, randomization_test):
        assert test(scale * d) == pytest.approx(test(d), rel=1e-12)
        assert test(-d, scale * w) == pytest.approx(test(d, w), rel=1e-12)
    for interval in (bootstrap_interval, randomization_interval, t_interval):
        assert np.divide(interval(scale * d), scale) == pytest.approx(interval(d), rel=1e-9)
        assert interval(d, scale * w) == pytest.approx(interval(d, w), rel=1e-9)
    for interval in (randomization_interval, t_interval):
        assert interval(-d, w) == pytest.approx(np.negative(interval(d, w)[::-1]), rel=1e-12)


def test_the_largest_numbers():
    assert randomization_test([1e308] * 4).p_value == 2 / 16
    assert randomization_interval([1.7e308] * 8) == pytest.approx((1.7e308, 1.7e308))


@pytest.mark.parametrize(
    "numbers",
    [([np.inf, 1.0], None), ([1.0, 2.0], [1.0, -1.0]), ([1.0, 2.0], [1.0, np.nan]), ([1.0, 2.0], [np.inf, 1])],
)
@pytest.mark.parametrize(
    "function", [randomization_test, randomization_interval, paired_t_test, t_interval, bootstrap_interval]
)
def test_what_cannot_be_tested_is_refused(function, numbers):
    with pytest.raises(ValueError, match="must be finite"):
        function(*numbers)
