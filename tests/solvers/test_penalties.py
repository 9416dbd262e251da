"""Signs and elastic net: optima, KKT conditions and bounds, with SciPy on listed pairs as the referee."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import pairs
from scipy import optimize, sparse

from rankwise.model_selection.path import follow
from rankwise.objective import losses
from rankwise.objective.building import build
from rankwise.objective.penalties import L2, ElasticNet
from rankwise.solvers import Newton, Smoothing
from rankwise.solvers.accelerated import accelerated_step
from rankwise.solvers.corners import cornered_step

LOSSES = ("squared_hinge", "huber:0.5", "squared", "logistic:0.01")


@st.composite
def penalised(draw):
    """Small integers, so that scores tie; columns of very different scales; weights of 0; sparse rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(2, 25)), draw(st.integers(1, 6))
    scales = 10.0 ** rng.integers(-3, 4, d) if draw(st.booleans()) else 1.0
    X = rng.integers(-3, 4, (n, d)) * scales
    y, qid = rng.integers(0, draw(st.integers(2, 5)), n).astype(float), rng.integers(0, 3, n)
    weights = rng.integers(0, 4, n).astype(float) if draw(st.booleans()) else None
    loss, C = losses.parse(draw(st.sampled_from(LOSSES))), 10.0 ** draw(st.integers(-3, 2))
    signs = rng.integers(-1, 2, d).astype(float) if draw(st.booleans()) else None
    penalty = ElasticNet(draw(st.sampled_from((0.0, 0.1, 0.5, 0.9, 1.0))), signs)
    rows = sparse.csr_array(X) if draw(st.booleans()) else X
    objective = build(rows, y, qid, weights, loss=loss, C=C)
    return replace(objective, penalty=penalty), Listed(X, y, qid, weights, loss, C, penalty)


class Listed:
    """The objective over listed pairs, for w = p - n with p, n ≥ 0, where it has no corners."""

    def __init__(self, X, y, qid, weights, loss, C, penalty):
        listed = pairs(y, qid)
        self.d, self.loss, self.l1, self.ridge = X.shape[1], loss, penalty.l1_ratio, 1.0 - penalty.l1_ratio
        self.differences = np.array([X[i] - X[j] for i, j in listed]).reshape(-1, self.d)
        self.weights = C * np.array([1.0 if weights is None else weights[i] * weights[j] for i, j in listed])
        signs = np.zeros(self.d) if penalty.signs is None else penalty.signs
        self.bounds = [(0, 0 if sign < 0 else None) for sign in signs] + [
            (0, 0 if sign > 0 else None) for sign in signs
        ]

    def gradient(self, w):
        """That of C · risk."""
        margin = self.differences @ w
        slopes = sum((margin < p.threshold) * -(p.slope + p.curvature * (1 - margin)) for p in self.loss.pieces)
        return self.differences.T @ (self.weights * slopes)

    def at(self, halves):
        w = halves[: self.d] - halves[self.d :]
        value = self.weights @ self.loss(self.differences @ w) + self.ridge / 2 * w @ w + self.l1 * halves.sum()
        smooth = self.gradient(w) + self.ridge * w
        return value, np.concatenate((smooth, -smooth)) + self.l1

    def minimum(self):
        options = {"maxiter": 20000, "maxfun": 100000, "ftol": 1e-16, "gtol": 1e-12, "maxcor": 30}
        return optimize.minimize(
            self.at, np.zeros(2 * self.d), jac=True, bounds=self.bounds, method="L-BFGS-B", options=options
        ).fun


@given(penalised(), st.sampled_from(("cholesky", "cg")))
@settings(deadline=None, max_examples=60)
def test_optima_are_those_of_scipy_on_listed_pairs(problem, inner):
    objective, listed = problem
    result = Newton(tol=1e-9, inner=inner)(objective)
    best = listed.minimum()
    assert result.converged or "rounding" in result.message  # nearly separable: few digits of f(0) are left
    assert result.value <= best * (1 + 1e-6) + 1e-12 * objective.at(np.zeros(objective.size)).value
    assert result.value - best <= result.gap + 1e-12 * best
    w = result.point
    assert np.isclose(listed.at(np.concatenate((np.maximum(w, 0), np.maximum(-w, 0))))[0], result.value, rtol=1e-10)
    assert objective.penalty.signs is None or (w * objective.penalty.signs >= 0).all()


@given(penalised())
@settings(deadline=None, max_examples=60)
def test_optima_satisfy_the_kkt_conditions(problem):
    objective, listed = problem
    result = Newton(tol=1e-13)(objective)
    w, l1 = result.point, listed.l1
    smooth = listed.gradient(w) + listed.ridge * w
    terms = np.abs(listed.differences).T @ (listed.weights * (1 + np.abs(listed.differences @ w))) + np.abs(w) + l1
    slack = 1e-6 * terms
    signs = np.zeros(w.size) if objective.penalty.signs is None else objective.penalty.signs
    assert (np.abs(smooth + l1 * np.sign(w)) <= slack)[w != 0].all()
    assert (smooth >= -l1 - slack)[(w == 0) & (signs >= 0)].all()
    assert (smooth <= l1 + slack)[(w == 0) & (signs <= 0)].all()


@given(penalised(), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_the_gap_is_a_bound_at_any_point(problem, seed):
    objective, listed = problem
    at = np.random.default_rng(seed).integers(-2, 3, objective.size) / np.abs(listed.differences).max(initial=1.0)
    expansion = objective.at(objective.penalty.allowed(at))
    best = listed.minimum()
    assert expansion.value - best <= expansion.certificate.gap() + 1e-9 * best


def ranking(penalty, C=0.1, loss="squared_hinge", d=12):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, d))
    y = np.digitize(X[:, 0] - 0.5 * X[:, 1] + rng.normal(size=300), [-1.0, 0.5])
    objective = build(X, y, np.arange(300) // 20, loss=losses.parse(loss), C=C)
    return replace(objective, penalty=penalty)


@pytest.mark.parametrize("loss", LOSSES)
def test_an_elastic_net_without_corners_is_half_the_square(loss):
    plain = Newton(tol=1e-12)(ranking(L2(), loss=loss))
    for penalty in (L2(), ElasticNet()):
        result = Newton(tol=1e-12)(ranking(penalty, loss=loss))
        np.testing.assert_allclose(result.point, plain.point, atol=1e-6)
        assert result.converged
        assert result.iterations <= plain.iterations + 1


def test_outside_of_the_allowed_signs_nothing_is_proven():
    expansion = ranking(ElasticNet(signs=np.ones(12))).at(-np.ones(12))
    assert expansion.value == expansion.gap() == np.inf


def test_a_start_with_forbidden_signs_is_moved():
    objective = ranking(ElasticNet(0.2, signs=np.ones(12)))
    cold, warm = Newton(tol=1e-10)(objective), Newton(tol=1e-10)(objective, -np.ones(12))
    np.testing.assert_allclose(warm.point, cold.point, atol=1e-6)


def test_weights_at_their_corner_are_exactly_zero():
    by_ratio = [Newton(tol=1e-8)(ranking(ElasticNet(a), C=0.02)).point for a in (0.0, 0.5, 0.9, 1.0)]
    kept = [int((w != 0).sum()) for w in by_ratio]
    assert kept[0] == 12
    assert kept == sorted(kept, reverse=True)
    assert 0 < kept[-1] < 12


def test_where_zero_is_optimal_it_is_proven_at_once():
    result = Newton()(ranking(ElasticNet(0.5), C=1e-9))
    assert (result.iterations, result.converged) == (0, True)
    assert not result.point.any()


def test_steps_are_about_as_many_as_without_corners():
    plain = Newton(tol=1e-6)(ranking(L2()))
    for penalty in (ElasticNet(signs=np.array([1.0, 1.0] + 10 * [0.0])), ElasticNet(0.5), ElasticNet(1.0)):
        assert Newton(tol=1e-6)(ranking(penalty)).iterations <= plain.iterations + 2


@given(st.integers(0, 2**32 - 1), st.integers(-2, 2))
@settings(deadline=None, max_examples=40)
def test_the_hinge_with_l1_is_a_linear_program(seed, power):
    rng = np.random.default_rng(seed)
    X, y, qid = rng.integers(-3, 4, (15, 4)).astype(float), rng.integers(0, 3, 15), rng.integers(0, 2, 15)
    signs, C, listed = rng.integers(-1, 2, 4).astype(float), 10.0**power, pairs(y, qid)
    D = np.array([X[i] - X[j] for i, j in listed]).reshape(-1, 4)
    n = len(D)
    bounds = [(0, 0 if one < 0 else None) for one in signs] + [(0, 0 if one > 0 else None) for one in signs]
    best = optimize.linprog(
        np.append(np.ones(8), np.full(n, C)),
        np.hstack((-D, D, -np.eye(n))),
        -np.ones(n),
        bounds=bounds + n * [(0, None)],
    ).fun
    objective = replace(build(X, y, qid, loss=losses.hinge(), C=C), penalty=ElasticNet(1.0, signs))
    result = Smoothing(tol=1e-5)(objective)
    assert result.converged
    assert result.value <= best * (1 + 1.1e-5)
    assert result.value - best <= result.gap + 1e-6 * best  # the tolerance of the linear program


def test_the_hinge_without_corners_is_that_of_smoothing():
    objective = ranking(L2(), loss="hinge")
    plain, same = Smoothing(tol=1e-6)(objective), Smoothing(tol=1e-6)(objective)
    assert same.converged
    assert same.value == pytest.approx(plain.value, rel=2e-6)


@pytest.mark.parametrize("penalty", [ElasticNet(1.0), ElasticNet(0.5, np.ones(12)), ElasticNet(0.0, np.ones(12))])
def test_a_path_stops_at_a_small_subgradient_too(penalty):
    """The first C leave w = 0, where the shortest subgradient is 0: no measure for the others."""
    solver, unit, Cs = Newton(tol=1e-3, stopping="gradient"), ranking(penalty, C=1.0), (1e-6, 1e-4, 1e-2, 1.0)
    for C, result in zip(Cs, follow(solver, unit, Cs, None, None), strict=True):
        at_zero = unit.times(C).at(np.zeros(12))
        assert result.converged
        assert result.gradient_norm <= 1e-3 * np.linalg.norm(at_zero.slopes)
        assert np.isclose(result.value, Newton(tol=1e-9)(unit.times(C)).value, rtol=1e-3)


@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_a_model_minimised_by_products_tells_what_is_left(l1_ratio):
    """Without a finite answer the hinge would minimise every width to the last digit."""
    current = ranking(ElasticNet(l1_ratio)).at(np.zeros(12))
    exact, step = cornered_step(current.hessian_matrix(), current), accelerated_step(current)
    assert 0.9 * exact.predicted <= step.predicted <= exact.predicted * (1 + 1e-9)
    assert exact.predicted * (1 - 1e-3) <= step.attainable < np.inf
