"""Every solver on every problem of a table with known minima, and scipy as the referee."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning

from rankwise import RankSVM, make_ranking
from rankwise.foundation.functions import Certified, Located, Sampleable, Scalable, Searchable
from rankwise.objective import losses
from rankwise.objective.building import build, build_from_pairs
from rankwise.solvers import SOLVERS as REGISTERED
from rankwise.solvers import Newton, Smoothing, Start, TrustRegion, cheapest, make_solver
from rankwise.solvers.conjugate import make_preconditioner
from rankwise.solvers.equations import scaled_inverse
from rankwise.solvers.newton import Model
from rankwise.solvers.span import InSpan

RNG = np.random.default_rng(0)
SOLVERS = {name: REGISTERED[name] for name in ("newton", "newton-cg", "newton-minres", "trust-region")}  # need no more


class Quadratic:
    """½ w·A w - b·w, minimum at A⁻¹ b."""

    def __init__(self, A, b):
        self.A, self.b, self.size = A, b, b.size
        self.minimum = np.linalg.solve(A, b)

    def at(self, w):
        Aw = self.A @ w
        return SimpleNamespace(
            point=w,
            value=0.5 * w @ Aw - self.b @ w,
            gradient=Aw - self.b,
            hessian=lambda v: self.A @ v,
            hessian_matrix=lambda: self.A.copy(),
        )


def spd(d, condition):
    Q = np.linalg.qr(RNG.normal(size=(d, d)))[0]
    return (Q * np.geomspace(1, condition, d)) @ Q.T


class Valley:
    """Σ sqrt(1 + (w - m)²): convex, far from quadratic where it starts."""

    size = 3
    minimum = np.array([30.0, -20.0, 0.5])

    def at(self, w):
        r = w - self.minimum
        root = np.sqrt(1 + r * r)
        curvature = 1 / root**3
        return SimpleNamespace(
            point=w,
            value=root.sum(),
            gradient=r / root,
            hessian=lambda v: curvature * v,
            hessian_matrix=lambda: np.diag(curvature),
        )


def ranking(loss, C):
    data = make_ranking(n_queries=20, n_features=6, random_state=1)
    objective = build(data.X, data.y, data.qid, loss=losses.parse(loss), C=C)
    look = optimize.minimize(
        lambda w: objective.at(w).value, np.zeros(6), jac=lambda w: objective.at(w).gradient, method="BFGS",
        options={"gtol": 1e-9, "maxiter": 5000},
    )  # fmt: skip
    return objective, look.x


def with_minimum(objective):
    return objective, objective.minimum


PROBLEMS = {
    "bowl": lambda: with_minimum(Quadratic(spd(8, 10), RNG.normal(size=8))),
    "narrow valley": lambda: with_minimum(Quadratic(spd(30, 1e6), RNG.normal(size=30))),
    "far from quadratic": lambda: with_minimum(Valley()),
    "squared hinge, small C": lambda: ranking("squared_hinge", 1e-3),
    "squared hinge, large C": lambda: ranking("squared_hinge", 10.0),
    "huber": lambda: ranking("huber:0.1", 0.1),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_reaches_every_minimum(solver, name):
    objective, minimum = PROBLEMS[name]()
    result = SOLVERS[solver](tol=1e-9)(objective)
    assert result.converged, result.message
    best = objective.at(minimum).value
    assert result.value <= best + 1e-8 * max(1, abs(best))
    assert result.gradient_norm == pytest.approx(np.linalg.norm(objective.at(result.point).gradient))
    values = [step.value for step in result.history]
    assert all(b <= a + 1e-9 * max(1, abs(a)) for a, b in pairwise(values))


@pytest.mark.parametrize("solver", SOLVERS)
def test_starting_at_the_optimum_takes_no_step(solver):
    objective = Quadratic(spd(5, 10), RNG.normal(size=5))
    result = SOLVERS[solver]()(objective, objective.minimum)
    assert result.converged
    assert result.iterations == 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_says_why_it_stopped(solver):
    seen = []
    stopped = SOLVERS[solver](tol=1e-12)(Valley(), None, lambda step: seen.append(step) or len(seen) == 3)
    assert not stopped.converged
    assert stopped.message == "stopped by the callback"
    assert seen == stopped.history
    short = SOLVERS[solver](tol=1e-12, max_iter=2)(Valley())
    assert not short.converged
    assert short.iterations == 2
    assert "max_iter = 2" in short.message


def test_a_mismatch_is_a_sentence():
    class NoMatrix(Valley):
        def at(self, w):
            look = super().at(w)
            del look.hessian_matrix
            return look

    assert TrustRegion()(NoMatrix()).converged
    with pytest.raises(TypeError, match=r"solver 'newton' needs an objective that offers 'hessian_matrix'"):
        Newton()(NoMatrix())


def test_what_an_objective_may_offer_beyond_the_least():
    data = make_ranking(5, 4, 3, random_state=0)
    objective = build(data.X, data.y, data.qid, loss=losses.squared_hinge(), C=1.0)
    expansion = objective.at(objective.zero)
    offers = Located, Searchable, Sampleable, Scalable
    assert all(isinstance(objective, one) for one in offers)
    assert isinstance(expansion, Certified)
    assert isinstance(expansion, Scalable)
    assert not any(isinstance(Valley(), one) for one in offers)
    assert not isinstance(Valley().at(np.zeros(3)), Certified)
    with pytest.raises(TypeError, match=r"^a sampled preconditioner needs an objective that offers 'sampled'"):
        TrustRegion(precondition="sampled")(Valley())
    with pytest.raises(TypeError, match=r"^a path over C needs an objective that offers 'times'"):
        Start(Valley().at(np.zeros(3)), (1.0, 1.0)).times(2.0)


@pytest.mark.parametrize("solver", SOLVERS)
def test_an_impossible_tolerance_ends(solver):
    result = SOLVERS[solver](tol=1e-300)(Quadratic(spd(20, 1e4), RNG.normal(size=20)))
    assert result.iterations < 1000
    assert result.message


def test_cheapest():
    assert cheapest(10_000, 46, 460_000) == Newton()
    assert cheapest(30_000, 30, 900_000) == Newton(), "the Hessian takes as long as two products"
    assert cheapest(2_270_000, 136, 136 * 2_270_000) == TrustRegion(precondition="sampled")
    for shape in ((100_000, 1_000, 100_000_000), (1_000_000, 1_000_000, 30_000_000), (100, 20_000, 2_000_000)):
        assert cheapest(*shape).inner == "cg"
    assert cheapest(1_000_000, 1_000_000, 30_000_000).patience is None, "a Hessian of 8 TB is never written out"


def test_smoothing_begins_far_from_the_optimum():
    """At w = 0 of a problem with many pairs and a large C, the bound is below all by far, and so is its rounding."""
    data = make_ranking(n_queries=40, docs_per_query=100, n_features=5, random_state=0)
    objective = build(1e3 * data.X, data.y, data.qid, loss=losses.hinge(), C=1e4)
    result = Smoothing(tol=1e-6)(objective)
    assert result.converged
    assert result.gap <= 1e-6 * result.value


def test_a_hessian_from_elsewhere_is_that_of_the_first_point_only():
    bowl = Quadratic(spd(3, 10.0), np.ones(3))
    first, second = bowl.at(np.zeros(3)), bowl.at(np.ones(3))
    for look in (Model.as_before, Model.matrix):
        model = Model(Newton(), bowl, np.eye(3))
        look(model, first)
        np.testing.assert_array_equal(model.matrix(first), np.eye(3))
        np.testing.assert_array_equal(model.matrix(second), bowl.A)


def test_a_hessian_is_not_written_into():
    """Rounding may have made its diagonal smaller than it can be."""
    hessian = np.array([[0.5, 0.1], [0.1, 4.0]])
    given = hessian.copy()
    solved = scaled_inverse(hessian)(np.array([1.0, 1.0]))
    np.testing.assert_array_equal(hessian, given)
    np.testing.assert_allclose(solved, np.linalg.solve([[1.0, 0.1], [0.1, 4.0]], [1.0, 1.0]), rtol=1e-14)


def test_a_long_preconditioner_stays_what_it_is():
    """NumPy multiplies in place if it takes an array of more than 256 kB for a temporary one."""
    curved = SimpleNamespace(hessian_diagonal=lambda: np.full(50_000, 2.0))
    inverse = make_preconditioner("diagonal", objective=None)(curved, 0)
    for _ in range(2):
        np.testing.assert_array_equal(inverse(np.full(50_000, 3.0)), 1.5)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("solver", [Newton(), TrustRegion(), TrustRegion(precondition="diagonal")])
def test_a_step_that_overflows_is_shortened_without_a_word(solver):
    """At w = 0 no pair is in the rounded corner, so that no curvature limits the first step."""
    rng = np.random.default_rng(0)
    pairs = rng.permutation(40).reshape(20, 2)
    problem = build_from_pairs(1e80 * rng.normal(size=(40, 3)), pairs, loss=losses.huber(0.5), C=1.0)
    assert np.isfinite(solver(problem).value)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_an_objective_that_overflows_is_one_sentence():
    problem = build_from_pairs(1e200 * np.eye(4), [[0, 1], [2, 3]], loss=losses.squared_hinge(), C=1e200)
    with pytest.raises(ValueError, match="the objective overflows at w = 0"):
        Newton()(problem)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_few_rows_with_many_features_are_solved_in_their_span(loss, form):
    """The same optimum as in all features, of which there are ten times as many."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 400)) * (rng.random((40, 400)) < 0.3)
    y, q = rng.integers(0, 3, 40), np.arange(40) // 10
    options = {"loss": loss, "C": 0.05, "tol": 1e-6}
    auto = RankSVM(**options).fit(form(X), y, q)
    other = RankSVM(solver="newton-cg" if loss != "hinge" else "bundle", max_iter=10_000, **options).fit(form(X), y, q)
    assert auto.result_.converged
    assert auto.result_.value == pytest.approx(other.result_.value, rel=3e-6)
    assert np.linalg.norm(auto.coef_ - other.coef_) <= 3e-3 * np.linalg.norm(other.coef_)
    solver = make_solver("auto", losses.parse(loss), form(X), tol=1e-6)
    assert isinstance(solver if loss == "hinge" else solver.then, InSpan)
    if loss != "hinge":
        with pytest.raises(ValueError, match="solver 'smoothing' is for the hinge loss"):
            make_solver("smoothing", losses.parse(loss), form(X), tol=1e-6)


def test_products_that_take_longer_than_the_span_hand_over_to_it():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, 200)) ** 3, rng.integers(0, 3, 30)
    objective = build(X, y, None, loss=losses.squared_hinge(), C=1.0)
    explicit, seen = Newton(tol=1e-8), []
    solver = Newton(tol=1e-8, inner="cg", patience=3, then=InSpan(explicit, explicit))
    result, expected = solver(objective, None, lambda step: seen.append(step.iteration)), explicit(objective)
    assert result.converged
    assert result.value == pytest.approx(expected.value, rel=1e-7)
    assert seen == [step.iteration for step in result.history] == sorted(seen)
    messages = [replace(solver, max_iter=most)(objective).message for most in (2, 3)]
    assert messages[0] == "max_iter = 2 iterations were not enough"
    assert messages[1] == "after 2 steps, in the span of the rows: max_iter = 1 iterations were not enough"


def test_what_rounding_in_the_span_leaves_is_solved_in_all_features():
    """Columns of scales 1e±8: coordinates of the span mix them, and lose the small ones."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 90)) * 10.0 ** rng.uniform(-8, 8, 90)
    y, q = rng.integers(0, 3, 30), np.arange(30) // 10
    auto = RankSVM(C=1e-3, tol=1e-6).fit(X, y, q).result_
    newton = RankSVM(C=1e-3, tol=1e-6, solver="newton").fit(X, y, q).result_
    assert auto.value <= newton.value + 2e-6 * newton.value


def test_a_callback_stops_a_fit_in_the_span_of_the_rows():
    rng = np.random.default_rng(3)
    objective = build(rng.normal(size=(30, 200)), rng.integers(0, 3, 30), None, loss=losses.squared_hinge(), C=1.0)
    seen = []
    result = InSpan(Newton(tol=1e-12), Newton(tol=1e-12))(
        objective, None, lambda step: seen.append(step) or len(seen) == 2
    )
    assert len(seen) == 2
    assert not result.converged
    assert result.value == pytest.approx(objective.at(result.point).value)


@pytest.mark.parametrize("solver", ["bundle", "bmrm"])
def test_planes_do_not_converge_at_zero_where_rounding_hides_the_decrease(solver):
    rng = np.random.default_rng(1)
    X, q = rng.normal(size=(60, 4)), np.arange(60) // 12
    y = (X[:, 0] > 0).astype(int)
    with pytest.warns(ConvergenceWarning, match="rounding allows no certificate: the relative gap may be 1$"):
        tiny = RankSVM(C=0.018, loss="hinge", solver=solver).fit(1e-9 * X, y, q)
    assert not tiny.result_.converged
    assert RankSVM(C=0.018, loss="hinge", solver=solver).fit(0.0 * X, y, q).result_.converged  # 0 is the optimum


@pytest.mark.parametrize("solver", ["bundle", "bmrm"])
def test_planes_end_where_only_rounding_is_left(solver):
    """Weights of 1e-6 to 1e5: the rounding error of the bound is more than f can decrease from w = 0."""
    low, high = -11435.067503272043, 310375.3784756256
    X, q = np.array([[low], *[[high]] * 5, [low], [low]]), [1, 0, 1, 0, 0, 0, 1, 1]
    y = [0.69, 0.02, -2.0, -0.24, -2.02, 0.88, 1.91, 1.51]
    weights = [194.9, 1.22e-4, 4.97e-6, 9.24e-5, 6.86e-4, 0.0217, 5.62, 91044.4]
    exact = [194.88391659109723, 0.00012200425322590351, 4.974459626029753e-06, 9.236426980565006e-05]
    exact += [0.000685669869642031, 0.021666745249567878, 5.618184501334771, 91044.4353840373]
    for C, given in ((6.38, weights), (6.383501951625743, exact)):  # stalls; has no gap
        with pytest.warns(ConvergenceWarning, match="rounding allows no certificate: the relative gap may be 0.9"):
            result = RankSVM(C=C, loss="hinge", solver=solver).fit(X, y, q, sample_weight=given).result_
        assert result.iterations < 200
