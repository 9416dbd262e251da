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

    def curvatures(self):
        """Bounds on the second derivatives."""
        most = sum(max(piece.curvature, 0.0) for piece in self.loss.pieces)
        return self.ridge + most * (self.differences**2).T @ self.weights

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
    """As nearly as tol allows: where a weight has the slope s and the curvature h, f can decrease by s² / 2h."""
    objective, listed = problem
    result = Newton(tol=1e-13)(objective)
    w, l1 = result.point, listed.l1
    smooth = listed.gradient(w) + listed.ridge * w
    terms = np.abs(listed.differences).T @ (listed.weights * (1 + np.abs(listed.differences @ w))) + np.abs(w) + l1
    slack = np.sqrt(2 * listed.curvatures() * 1e-13 * result.value) + 1e-7 * terms
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
    plain, result = (Newton(tol=1e-12)(ranking(penalty, loss=loss)) for penalty in (L2(), ElasticNet()))
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
    plain, same = (Smoothing(tol=1e-6)(ranking(penalty, loss="hinge")) for penalty in (L2(), ElasticNet()))
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


@pytest.mark.parametrize(("l1_ratio", "seed"), [(0.1, 0), (0.5, 1), (0.9, 2), (0.0, 3)])
def test_the_hinge_with_an_elastic_net_is_a_quadratic_program(l1_ratio, seed):
    rng = np.random.default_rng(seed)
    X, y, qid = rng.integers(-3, 4, (9, 3)).astype(float), rng.integers(0, 3, 9), rng.integers(0, 2, 9)
    penalty = ElasticNet(l1_ratio, rng.integers(-1, 2, 3).astype(float))
    listed = Listed(X, y, qid, None, losses.hinge(), 0.3, penalty)
    D, n = listed.differences, len(listed.differences)

    def program(at):  # positive and negative halves of the weights, and the loss of each pair
        w = at[:3] - at[3:6]
        value = 0.5 * (1 - l1_ratio) * w @ w + l1_ratio * at[:6].sum() + 0.3 * at[6:].sum()
        return value, np.concatenate(((1 - l1_ratio) * w + l1_ratio, -(1 - l1_ratio) * w + l1_ratio, np.full(n, 0.3)))

    margins = optimize.LinearConstraint(np.hstack((D, -D, np.eye(n))), 1, np.inf)
    bounds = [*listed.bounds, *[(0, None)] * n]
    options = {"maxiter": 1000, "ftol": 1e-14}
    best = optimize.minimize(
        program, np.ones(6 + n), jac=True, bounds=bounds, constraints=margins, method="SLSQP", options=options
    )
    assert best.success
    result = Smoothing(tol=1e-7)(replace(build(X, y, qid, loss=losses.hinge(), C=0.3), penalty=penalty))
    assert result.converged
    assert result.value == pytest.approx(best.fun, rel=1e-6)
    assert result.value - best.fun <= result.gap + 1e-9


@pytest.mark.slow  # skglm compiles
@pytest.mark.parametrize("l1_ratio", [0.3, 1.0])
@pytest.mark.parametrize("scales", [1.0, (1e-3, 1.0, 1e3, 10.0)])
def test_squares_with_an_elastic_net_are_those_of_skglm(l1_ratio, scales):
    skglm = pytest.importorskip("skglm")
    rng = np.random.default_rng(4)
    X, y, qid = rng.normal(size=(30, 4)) * scales, rng.integers(0, 3, 30), rng.integers(0, 3, 30)
    penalty, C = ElasticNet(l1_ratio), 0.01
    listed = Listed(X, y, qid, None, losses.parse("squared"), C, penalty)
    n, D = len(listed.differences), listed.differences
    alpha = 1 / (2 * C * n)  # skglm has the squares over 2 n
    other = skglm.ElasticNet(alpha=alpha, l1_ratio=l1_ratio, fit_intercept=False, tol=1e-12, max_iter=1000)
    w = other.fit(D, np.ones(n)).coef_
    best = listed.at(np.concatenate((np.maximum(w, 0), np.maximum(-w, 0))))[0]
    result = Newton(tol=1e-10)(replace(build(X, y, qid, loss=losses.parse("squared"), C=C), penalty=penalty))
    assert result.value <= best * (1 + 1e-10)
    assert result.value == pytest.approx(best, rel=1e-6)
    np.testing.assert_array_equal(result.point != 0, w != 0)


def hostile(seed=5):
    """More columns than rows: repeated and negated ones, constants, zeros, large offsets and very different scales."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 4))
    X = np.hstack((X, X, -X, 0 * X, 0 * X + 7.7, X[:, :2] * 1e-6, X[:, 2:] * 1e6, rng.normal(size=(12, 2)) + 1e8))
    return X, rng.integers(0, 3, 12), rng.integers(0, 2, 12)


@pytest.mark.parametrize("loss", ["squared_hinge", "huber:0.5", "squared"])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("C", [1e-6, 1e3])
def test_hostile_columns(loss, l1_ratio, C):
    X, y, qid = hostile()
    penalty = ElasticNet(l1_ratio, np.tile([1.0, 0.0, -1.0, 0.0], 7)[: X.shape[1]])
    loss = losses.parse(loss)
    listed = Listed(X, y, qid, None, loss, C, penalty)
    result = Newton(tol=1e-8)(replace(build(X, y, qid, loss=loss, C=C), penalty=penalty))
    best, w = listed.minimum(), result.point
    assert result.converged
    assert result.value - best <= min(1e-8 * best, result.gap) + 1e-12 * best
    assert not w[12:16].any()  # zeros
    assert np.abs(w[16:20]).max() <= (0.0 if l1_ratio else 1e-10)  # constants, but for rounding of their mean
    assert (w * penalty.signs >= 0).all()


@pytest.mark.parametrize("size", [1e-120, 1e-8, 1e8, 1e120])
def test_the_unit_of_the_features_does_not_matter(size):
    """With the L1 norm, features in another unit are the same problem with another C, in another unit."""
    X, y, qid = hostile()
    X = X[:, :20]
    values = []
    for unit, C in ((1.0, 0.1), (size, 0.1 / size)):
        objective = build(X * unit, y, qid, loss=losses.parse("squared_hinge"), C=C)
        result = Newton(tol=1e-9)(replace(objective, penalty=ElasticNet(1.0)))
        assert result.converged
        values.append(result.value * unit)
    assert values[1] == pytest.approx(values[0], rel=1e-8)


def test_a_model_that_rounding_makes_indefinite_stays_within_bounds():
    """Narrow losses, a large C and offsets: weights of 1e154 overflowed on the way."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(10, 8)) + 10.0 ** rng.integers(0, 9, 8)
    objective = build(X, rng.integers(0, 3, 10), rng.integers(0, 2, 10), loss=losses.hinge(), C=1e4)
    with np.errstate(over="raise"):
        result = Smoothing(tol=1e-10, max_iter=200)(replace(objective, penalty=ElasticNet(0.999)))
    assert result.gap <= result.value * (1 + 1e-6)


@given(penalised(), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=30)
def test_no_bound_is_worse_than_the_value(problem, seed):
    objective = problem[0]
    w = objective.penalty.allowed(np.random.default_rng(seed).normal(size=objective.size))
    expansion = objective.at(w)
    assert expansion.gap() <= expansion.value * (1 + 1e-12)
