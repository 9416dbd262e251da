"""RankRLS on raw features: whatever the scales and offsets of columns, every solver finds the exact solution."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from exact import dot, errors, listed, solution
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from rankwise import KernelRankRLS, RankRLS, RankRLSCV
from rankwise.least_squares.factors import factorise
from rankwise.least_squares.regression import regression

SOLVERS = ("primal", "dual", "cg")
CHOICES = [(ties, scaling) for ties in ("include", "exclude") for scaling in ("pairs", "query")]
NEAR = 1e-8


def raw(n, d, lowest=-6, highest=6, seed=0, offset=0.0):
    """Positive heavy-tailed columns whose scales differ by 10^(highest - lowest), three queries."""
    rng = np.random.default_rng(seed)
    X = np.round(np.abs(rng.normal(size=(n, d))) * 100) * 10.0 ** np.linspace(lowest, highest, d).round() + offset
    return X, rng.integers(0, 3, n).astype(float), np.sort(rng.integers(0, 3, n))


def every_fit(X, y, qid, alpha, weights=None, **options):
    """Weights by every solver, storage and estimator."""
    for solver in SOLVERS:
        for name, rows in (("dense", X), ("sparse", sparse.csr_array(X))):
            yield f"{solver} {name}", RankRLS(alpha, solver=solver, **options).fit(rows, y, qid, weights).coef_
    for solver in ("primal", "dual"):
        yield f"CV {solver}", RankRLSCV([alpha], ranker=RankRLS(solver=solver, **options)).fit(X, y, qid, weights).coef_
    path = RankRLSCV([1e-3 * alpha, alpha, 1e3 * alpha], measure="squared-error", ranker=RankRLS(**options))
    yield "CV path", path.fit(X, y, qid, weights).coef_path_[1]


@st.composite
def badly_scaled(draw):
    """Small integers times powers of ten: duplicates, dependent columns, zeros, offsets, n < d, one pair, no pair."""
    n, d = draw(st.integers(1, 7)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lowest = draw(st.sampled_from([-12, -6, 0]))
    scales = 10.0 ** rng.integers(lowest, lowest + 13, d)
    numbers = rng.integers(-3, 4, (n, d)).astype(float)
    if d > 2 and draw(st.booleans()):
        numbers[:, 1], scales[2] = 2 * numbers[:, 0], scales[1]
        numbers[:, 2] = numbers[:, 1] + numbers[:, -1]
        scales[-1] = scales[1]
    if draw(st.booleans()):
        numbers[rng.integers(n)] = 0
        numbers[:, rng.integers(d)] = 0
    X = numbers * scales
    if draw(st.booleans()):
        X[:, rng.integers(d)] += 10.0 ** rng.integers(3, 13)
    y, qid = rng.integers(0, 4, n).astype(float), rng.integers(0, 3, n)
    weights = np.append(1.0, rng.integers(0, 3, n - 1)) if draw(st.booleans()) else None
    return X, y, qid, weights, 10.0 ** draw(st.integers(-8, 8))


@settings(max_examples=60, deadline=None)
@given(problem=badly_scaled(), choice=st.sampled_from(CHOICES))
def test_every_solver_is_exact_or_says_so(problem, choice):
    X, y, qid, weights, alpha = problem
    pairs = listed(X, y, qid, weights, *choice)
    for solver in SOLVERS:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ranker = RankRLS(alpha, *choice, solver=solver).fit(X, y, qid, weights)
        of_value, of_scores = errors(pairs, ranker.coef_, alpha)
        told = any(issubclass(one.category, ConvergenceWarning) for one in caught)
        assert told == (not ranker.result_.converged)
        assert of_value <= NEAR, (solver, ranker.result_)
        assert of_scores <= NEAR or told, (solver, ranker.result_)


@pytest.mark.parametrize("alpha", [1e-8, 1e-2, 1.0, 1e8])
@pytest.mark.parametrize(("n", "d"), [(20, 5), (12, 25)])
def test_raw_features_give_the_same_by_every_solver(n, d, alpha):
    """Dual equations and the eigendecomposition were wrong in the first digit."""
    X, y, qid = raw(n, d)
    pairs = listed(X, y, qid)
    for how, coef in every_fit(X, y, qid, alpha):
        off = errors(pairs, coef, alpha)
        assert max(off) <= NEAR, (how, off)


@pytest.mark.parametrize(("ties", "scaling"), CHOICES)
def test_ties_scaling_and_weights_on_raw_features(ties, scaling):
    X, y, qid = raw(14, 6, seed=1)
    weights = np.arange(14) % 4 / 2
    pairs = listed(X, y, qid, weights, ties, scaling)
    for how, coef in every_fit(X, y, qid, 0.5, weights, ties=ties, scaling=scaling):
        off = errors(pairs, coef, 0.5)
        assert max(off) <= NEAR, (how, off)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9, 1e12])
def test_an_offset_costs_no_digits(offset):
    X, y, qid = raw(15, 4, 0, 4, offset=offset)
    X[:, 3] += 1e11 * qid  # and one of its own for each query
    pairs = listed(X, y, qid)
    for how, coef in every_fit(X, y, qid, 1.0):
        off = errors(pairs, coef, 1.0)
        assert max(off) <= NEAR, (how, off)


def test_labels_with_an_offset():
    X, y, qid = raw(15, 4)
    for solver in SOLVERS:
        coef = RankRLS(solver=solver).fit(X, y + 1e12, qid).coef_
        np.testing.assert_allclose(coef, RankRLS(solver=solver).fit(X, y, qid).coef_, rtol=1e-9)


def test_float32_rows_on_any_scale():
    X, y, qid = raw(15, 6)
    X = X.astype(np.float32)
    pairs = listed(X, y, qid)
    for how, coef in every_fit(X, y, qid, 1.0):
        assert max(errors(pairs, coef, 1.0)) <= NEAR, how


def test_constant_duplicate_and_empty_columns():
    X, y, qid = raw(12, 4)
    X = np.column_stack((X, X[:, 3], 1000 * X[:, 3], np.zeros(12), np.full(12, 123456789012.3), 1e9 * qid))
    pairs = listed(X, y, qid)
    for how, coef in every_fit(X, y, qid, 1.0):
        assert max(errors(pairs, coef, 1.0)) <= NEAR, how
        assert not coef[-3:].any(), how


@pytest.mark.filterwarnings("ignore:no preference pair")
def test_one_pair_and_none():
    X = np.array([[1e12, 1e-6, 0.0], [3e12, 5e-6, 0.0], [7.0, 1.0, 1.0]])
    for how, coef in every_fit(X, np.array([0.0, 1.0, 9.0]), [0, 0, 1], 1e-3):
        assert max(errors(listed(X, [0, 1, 9], [0, 0, 1]), coef, 1e-3)) <= NEAR, how
    for solver in SOLVERS:
        assert not RankRLS(solver=solver).fit(X, [0, 1, 9], [0, 1, 2]).coef_.any()


@pytest.mark.parametrize("power", [-150, -140, 140, 150])
@pytest.mark.parametrize("which", ["X", "y", "both"])
def test_data_of_any_size_are_right_or_refused(power, which):
    X, y, qid = raw(12, 3, 0, 2)
    X, y = X * (10.0**power if which != "y" else 1.0), y * (10.0**power if which != "X" else 1.0)
    pairs = listed(X, y, qid)
    exact = solution(pairs, 3, 1.0)
    for solver in SOLVERS:
        ranker = RankRLS(solver=solver)
        if not largest_score(X, exact):
            with pytest.raises(ValueError, match="scores underflow: scale the features or the labels"):
                ranker.fit(X, y, qid)
            continue
        coef = ranker.fit(X, y, qid).coef_
        assert all(abs(Fraction(float(a)) - b) <= abs(b) * Fraction(1, 10**8) for a, b in zip(coef, exact, strict=True))


def largest_score(X, w):
    """The largest term of a score, as float64 holds it."""
    return float(np.abs(X * [float(v) for v in w]).max())


def test_values_beyond_float64_are_one_sentence():
    X, y, qid = raw(12, 3, 0, 2)
    with pytest.raises(ValueError, match="RankRLS overflows: scale the features or the labels"):
        RankRLS().fit(X, y * 1e200, qid)
    with pytest.raises(ValueError, match="RankRLS's scores underflow: scale the features or the labels"):
        RankRLS().fit(X * 1e-200, y, qid)
    with pytest.raises(ValueError, match="RankRLSCV's scores underflow"):
        RankRLSCV([1.0]).fit(X * 1e-200, y, qid)


def test_what_doubles_cannot_hold_is_said():
    """Columns that differ in their 13th digit only: no weights in float64 give the exact scores."""
    X = np.array([[1e12, 1e15, 1e12], [2e12, 2e15, 2e12], [-1e12, -1e15, -1e12], [1e12, 1e15, 1e12 + 5]])
    with pytest.warns(ConvergenceWarning, match="RankRLS did not converge: rounding leaves a relative error of about"):
        ranker = RankRLS(solver="dual").fit(X, [0, 1, 1, 2])
    assert not ranker.result_.converged


@pytest.mark.parametrize("solver", ["primal", "dual"])
@pytest.mark.parametrize(("n", "d"), [(24, 6), (12, 30)])
@pytest.mark.parametrize("ties", ["include", "exclude"])
def test_queries_left_out_on_raw_features(n, d, ties, solver):
    X, y, qid = raw(n, d, seed=3, offset=1e6)
    qid = np.arange(n) // 3
    X[:3, 1] *= 1e3  # a column that one query dominates
    for alpha in (1e-4, 1.0, 1e4):
        model = RankRLSCV([alpha], ranker=RankRLS(ties=ties, solver=solver)).fit(X, y, qid)
        for query in np.unique(qid):
            stay = qid != query
            w = RankRLS(alpha, ties, solver="primal").fit(X[stay], y[stay], qid[stay]).coef_
            expected = (X[~stay] - X[~stay][0]) @ w
            found = model.cv_predictions_[~stay]
            np.testing.assert_allclose(found - found[0], expected, rtol=0, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("ties", ["include", "exclude"])
def test_pairs_left_out_on_raw_features(ties):
    X, y, _ = raw(14, 5, seed=4)
    squares = []
    for i, j in np.argwhere(y[:, None] > y):
        stay = np.setdiff1d(np.arange(14), (i, j))
        w = RankRLS(1e-2, ties, solver="primal").fit(X[stay], y[stay]).coef_
        squares.append((y[i] - y[j] - (X[i] - X[j]) @ w) ** 2)
    model = RankRLSCV([1e-2], measure="squared-error", ranker=RankRLS(ties=ties)).fit(X, y)
    assert model.best_score_ == pytest.approx(-np.mean(squares), rel=1e-8)


def test_a_query_that_alone_speaks_of_a_feature():
    """Without it the feature has no weight; the closed form would divide rounding by rounding."""
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(60, 4)), rng.integers(0, 3, 60).astype(float), np.arange(60) // 10
    X[10:, 3] = 0
    X[:10, 3] *= 1e4
    model = RankRLSCV([1e-6], ranker=RankRLS(solver="primal")).fit(X, y, qid)
    w = RankRLS(1e-6).fit(X[10:], y[10:], qid[10:]).coef_
    np.testing.assert_allclose(model.cv_predictions_[:10], X[:10] @ w, rtol=1e-8)


def test_kernels_of_large_values_are_right_or_say_so():
    X, y, qid = raw(30, 8, 0, 2)
    exact = RankRLS().fit(X, y, qid)
    np.testing.assert_allclose(KernelRankRLS("linear").fit(X, y, qid).result_.value, exact.result_.value, rtol=1e-7)
    X, y, qid = raw(30, 8, 0, 8)
    for alpha in (1.0, [1.0, 2.0]):
        with pytest.warns(ConvergenceWarning, match="KernelRankRLS loses digits: kernel values are so large"):
            KernelRankRLS("linear", alpha=alpha).fit(X, y, qid)


@pytest.mark.parametrize(("n", "d"), [(14, 4), (8, 12)])
@pytest.mark.parametrize("highest", [0, 2, 3, 4, 6, 8, 10, 12])
@pytest.mark.parametrize("alpha", [1e-4, 1.0, 1e6])
def test_a_linear_kernel_warns_if_and_only_if_it_is_off(n, d, highest, alpha):
    """Beside columns of 10^12 its values have no digit of others left: scores were half wrong without a warning."""
    X, y, qid = raw(n, d, 0, highest, seed=1)
    X[:, 1] = 0 if d == 4 else X[:, 0]  # a rank that is not full is no loss
    pairs = listed(X, y, qid)
    for alphas in (alpha, [alpha, 2 * alpha]):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ranker = KernelRankRLS("linear", alpha=alphas).fit(X, y, qid)
        beta = ranker.dual_coef_.reshape(len(ranker.X_fit_), -1)[:, 0]
        off = errors(pairs, ranker.X_fit_.T @ beta, alpha)[1]
        told = any("loses digits" in str(one.message) for one in caught)
        assert told or off <= 3e-7
        assert not told or off >= 3e-9


def test_kernel_values_in_float64_have_lost_small_features_before_anything_is_solved():
    """The kernel of X is that of X without its smallest column, computed exactly and rounded; the rankers differ."""
    X, y, qid = raw(14, 4, 0, 12, seed=1)
    with_it, without = kernel_values(X), kernel_values(X[:, 1:])
    np.testing.assert_allclose(with_it, without, rtol=np.finfo(float).eps)
    full, rest = RankRLS().fit(X, y, qid).coef_, RankRLS().fit(X[:, 1:], y, qid).coef_
    assert np.ptp(X @ full - X[:, 1:] @ rest) > 0.05 * np.ptp(X @ full)


def kernel_values(X):
    rows = [[Fraction(float(v)) for v in row] for row in X]
    return np.array([[float(dot(one, other)) for other in rows] for one in rows])


def test_gradients_in_twice_the_precision():
    X, y, qid = raw(12, 4, offset=1e11)
    w = np.array([1e6, -3.0, 2e-6, 1e-9])
    pairs = listed(X, y, qid)
    exact = [-sum(p * z[k] * (t - sum(a * Fraction(b) for a, b in zip(z, w, strict=True))) for p, z, t in pairs)
             for k in range(4)]  # fmt: skip
    for rows in (X, sparse.csr_array(X)):
        problem = regression(rows, y, qid, None, ties="include", scaling="pairs", n_jobs=1)
        ours = problem.twofold_at(w, 0.0).gradient
        np.testing.assert_allclose(ours, [float(v) for v in exact], rtol=1e-12)


def test_dependent_columns_are_found_at_their_own_scale():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(9, 3)) * [1e12, 1.0, 1e-9]
    both = np.column_stack((Z, Z[:, 0] - 5e11 * Z[:, 1], 3 * Z[:, 2], rng.normal(size=9)))
    assert factorise(both).first.shape == (3, 3)
