"""What a solution says about itself: its error, its method, and when a method is not taken."""

import warnings

import numpy as np
import pytest
from exact import errors, listed
from sklearn.exceptions import ConvergenceWarning
from test_scales import NEAR, SOLVERS, raw

from rankwise import RankRLS, RankRLSCV, make_ranking
from rankwise.least_squares import conjugate, factors, solving
from rankwise.least_squares.conjugate import by_conjugate_gradients
from rankwise.least_squares.paths import path
from rankwise.least_squares.regression import regression
from rankwise.least_squares.solving import affordable, by_dual, by_primal

DATA = make_ranking(n_queries=10, docs_per_query=12, n_features=6, random_state=0)


def problem_of(X=DATA.X, y=DATA.y, qid=DATA.qid):
    return regression(X, y, qid, None, ties="include", scaling="pairs", n_jobs=1)


def true_error(problem, solution, alpha):
    """Of the scores, relative to their size."""
    Zt = problem.compressed()
    Z, t = Zt[:, :-1].astype(np.longdouble), Zt[:, -1].astype(np.longdouble)
    exact = np.linalg.solve((Z.T @ Z).astype(float) + alpha * np.eye(Z.shape[1]), (Z.T @ t).astype(float))
    for _ in range(3):
        gradient = Z.T @ (t - Z @ exact) - alpha * exact
        step = np.linalg.solve((Z.T @ Z).astype(float) + alpha * np.eye(Z.shape[1]), gradient.astype(float))
        exact = exact + step
    return float(np.linalg.norm(Z @ (solution.at.point - exact)) / np.linalg.norm(Z @ exact))


def test_conjugate_gradients_do_not_report_the_tolerance_as_their_error():
    for alpha in (1e-3, 1.0, 1e3):
        found = by_conjugate_gradients(problem_of(), alpha, 1e-15, 10_000)
        assert 1e-15 < found.error <= 1e-9
        assert found.error >= true_error(problem_of(), found, alpha)


def test_a_tolerance_below_rounding_converges():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert RankRLS(1e3, solver="cg", tol=1e-15).fit(DATA.X, DATA.y, DATA.qid).result_.converged


def test_conjugate_gradients_that_are_stopped_report_a_bound(monkeypatch):
    monkeypatch.setattr(conjugate, "FEW", 0)
    for most in range(1, 6):
        found = by_conjugate_gradients(problem_of(), 1e-6, 1e-8, most)
        assert found.error >= true_error(problem_of(), found, 1e-6)


@pytest.mark.parametrize("alpha", [1e-6, 1.0, 1e3])
def test_the_estimate_by_the_steps_taken_is_as_large_as_the_error(monkeypatch, alpha):
    monkeypatch.setattr(conjugate, "FEW", 0)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 120)), rng.integers(0, 3, 300).astype(float)
    problem = problem_of(X, y, np.arange(300) // 10)
    for tol in (1e-3, 1e-5, 1e-7):
        found = by_conjugate_gradients(problem, alpha, tol, 10_000)
        assert true_error(problem, found, alpha) <= found.error <= tol


@pytest.mark.parametrize("primal", [True, False])
def test_a_path_reports_the_errors_it_has_computed(primal):
    problem = problem_of()
    found = path(problem, np.array([1e-3, 1.0, 1e3]), primal)
    assert (found.errors > 0).all()
    assert len(set(found.errors)) == 1


def test_a_large_penalty_takes_no_factors(monkeypatch):
    """It was refused for scales that do not differ."""
    monkeypatch.setattr(solving, "MOST_BYTES", 0)
    X = 1e-12 * DATA.X
    model = RankRLSCV([1e20, 1e22], measure="squared-error").fit(X, DATA.y, DATA.qid)
    assert "penalty" in model.result_.message
    for query in np.unique(DATA.qid):
        stay = DATA.qid != query
        w = RankRLS(model.alpha_).fit(X[stay], DATA.y[stay], DATA.qid[stay]).coef_
        np.testing.assert_allclose(model.cv_predictions_[~stay], X[~stay] @ w, rtol=1e-9)


@pytest.mark.parametrize("solver", ["primal", "dual"])
@pytest.mark.parametrize("alpha", [1e13, 1e14, 1e15, 1e16, 1e17])
def test_a_penalty_that_is_large_beside_the_features_is_no_matter_of_scales(monkeypatch, alpha, solver):
    monkeypatch.setattr(solving, "MOST_BYTES", 0)
    X = 1e-9 * DATA.X
    for ranker in (
        RankRLSCV([alpha], ranker=RankRLS(solver=solver)),
        RankRLS(alpha, solver=solver),
        RankRLS(alpha, solver="cg"),
    ):
        assert ranker.fit(X, DATA.y, DATA.qid).result_.converged
        assert "precision" not in ranker.result_.message
    np.testing.assert_allclose(
        RankRLSCV([alpha], ranker=RankRLS(solver=solver)).fit(X, DATA.y, DATA.qid).coef_, ranker.coef_, rtol=1e-8
    )


@pytest.mark.parametrize("solve", [by_primal, by_dual])
def test_the_method_named_is_the_one_taken(monkeypatch, solve):
    X, y, qid = raw(20, 5)
    problem = problem_of(np.column_stack((X, X[:, 3])), y, qid)
    assert solve(problem, 1e-8).message == "solved by orthogonal factors"
    monkeypatch.setattr(solving, "MOST_BYTES", 0)
    found = solve(problem, 1e-8)
    assert found.message == f"conjugate gradients in twice the precision, {found.products} products"


def test_products_in_twice_the_precision_are_right_or_say_so(monkeypatch):
    monkeypatch.setattr(solving, "MOST_BYTES", 0)
    for seed in range(2):
        X, y, qid = raw(20, 6, seed=seed)
        for alpha in (1e-4, 1.0):
            for solver in SOLVERS:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    ranker = RankRLS(alpha, solver=solver).fit(X, y, qid)
                assert max(errors(listed(X, y, qid), ranker.coef_, alpha)) <= NEAR or not ranker.result_.converged


class Shape:
    def __init__(self, n_rows, size):
        self.n_rows, self.size = n_rows, size


def test_factors_that_take_hours_are_not_affordable():
    assert affordable(Shape(1_000_000, 500))
    assert affordable(Shape(200, 100_000))
    assert affordable(Shape(20_000, 5_000))
    assert not affordable(Shape(16_000, 16_000))
    assert not affordable(Shape(5_000, 5_000), conjugate.DIRECT)


def test_factors_can_be_interrupted(monkeypatch):
    """Compiled code does not see Ctrl-C: between two of its steps Python does."""
    rng = np.random.default_rng(0)
    Zt = rng.normal(size=(30, 12))
    whole = factors.factorise(Zt)
    monkeypatch.setattr(factors, "AT_ONCE", 1)
    step_by_step = factors.factorise(Zt)
    np.testing.assert_array_equal(step_by_step.order, whole.order)
    np.testing.assert_array_equal(step_by_step.first, whole.first)
    Zt[:, 5:11] = Zt[:, :6] @ rng.normal(size=(6, 6)) * (np.arange(6) < 0)  # of rank 5
    assert factors.factorise(Zt).first.shape == (5, 5)


@pytest.mark.parametrize("power", [-305, -250, -220, 220, 250, 300])
@pytest.mark.parametrize("solver", [*SOLVERS, "auto"])
def test_the_largest_and_smallest_numbers_are_right_or_refused(power, solver):
    """The square of a unit, and alpha in such units, left the range of float64."""
    X, y, qid = raw(12, 3, 0, 2)
    for rows, labels in ((X * 10.0**power, y), (X, y * 10.0**power), (X * 10.0**power, y * 10.0**power)):
        coef = fitted_or_refused(RankRLS(solver=solver), rows, labels, qid)
        assert coef is None or max(errors(listed(rows, labels, qid), coef, 1.0)) <= NEAR


def fitted_or_refused(ranker, *data):
    """The weights, or None if the one sentence that is allowed came instead."""
    try:
        return ranker.fit(*data).coef_
    except ValueError as error:
        if "scale the features or the labels to a usual size" in str(error):
            return None
        raise


def test_columns_beside_which_alpha_is_below_float64_are_refused_or_right():
    rng = np.random.default_rng(0)
    y = np.array([0.0, 1.0, 2.0, 1.0, 0.0, 3.0])
    for largest, smallest in ((1e250, 1e240), (1e250, 1.0), (1e250, 1e70), (1e290, 1e100)):
        X = rng.normal(size=(6, 2)) * [largest, smallest]
        for solver in SOLVERS:
            coef = fitted_or_refused(RankRLS(solver=solver), X, y)
            assert coef is None or max(errors(listed(X, y, None), coef, 1.0)) <= NEAR, (largest, smallest, solver)


def test_an_eigendecomposition_that_misses_directions_is_not_trusted():
    """Beside a column of large numbers the dual spectrum had lost the others: scores were 83 % off, the error 4e-14."""
    rng = np.random.default_rng(0)
    X = np.column_stack((rng.normal(size=(4, 5)), rng.integers(0, 2**53, 4).astype(float)))
    y = np.array([0.0, 1.0, 2.0, 1.0])
    for alphas in ([1e-5], [1e-5, 1e-3]):
        model = RankRLSCV(alphas, measure="squared-error", ranker=RankRLS(solver="dual")).fit(X, y)
        assert max(errors(listed(X, y, None), model.coef_path_[0], 1e-5)) <= NEAR


def test_two_documents_that_are_equal_but_for_what_is_constant():
    """The spectrum has no direction at all."""
    X = np.full((2, 6), 3e5)
    model = RankRLSCV([1e-5, 1e-4], measure="squared-error", ranker=RankRLS(solver="dual")).fit(X, np.array([0.0, 1.0]))
    assert not model.coef_.any()


@pytest.mark.parametrize("solver", ["primal", "dual"])
def test_pairs_left_out_of_three_documents_with_offsets(solver):
    """What is left without a pair has no variation: the closed form divided by rounding, or by 0."""
    rng = np.random.default_rng(0)
    for power in (0, 6, 9):
        X, y = rng.integers(-2, 3, (3, 5)) * 10.0**power, np.array([0.0, 1.0, 2.0])
        model = RankRLSCV([1.0, 10.0], measure="squared-error", ranker=RankRLS(solver=solver)).fit(X + 1e9, y)
        assert model.scores_ == pytest.approx([-2.0, -2.0], rel=1e-6)  # scores are equal: (1 + 1 + 4) / 3 is the error
