"""Where a primal solver is stuck near separability, the dual over listed pairs goes on."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from rankwise import RankSVM
from rankwise.objective import losses
from rankwise.objective.building import build, build_from_pairs
from rankwise.solvers import DualCoordinateAscent, dual

RNG = np.random.default_rng(0)
X = np.exp(3 * RNG.normal(size=(60, 90)))
Y, QID = RNG.integers(0, 3, 60), RNG.integers(0, 4, 60)
LOSSES = ["hinge", "squared_hinge", "huber:0.5"]


def fitted(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return RankSVM(**options).fit(X, Y, QID).result_


@pytest.fixture
def never_at_rest(monkeypatch):
    """Every line search of Newton's method fails at the fourth step, as rounding may make it."""
    from rankwise.solvers import newton

    calls = iter(range(10**6))
    found = newton.line_search
    monkeypatch.setattr(newton, "line_search", lambda *given: found(*given) if next(calls) < 3 else (None, 1.0))
    monkeypatch.setattr("rankwise.solvers.stuck.SEPARABLE", 1.0)


@pytest.mark.parametrize("loss", ["squared_hinge", "huber:0.5"])
def test_newton_goes_on_in_the_dual(loss, never_at_rest):
    result = fitted(loss=loss, C=1e-4)
    exact = fitted(loss=loss, C=1e-4, solver="dual", tol=1e-6)
    assert result.converged, result.message
    assert 0 <= result.value - exact.value + exact.gap <= result.gap * (1 + 1e-9) + exact.gap
    assert result.value <= exact.value * (1 + 1e-3)
    assert not fitted(loss=loss, C=1e-4, solver="newton").converged


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_converges_and_the_bound_holds(loss):
    result, exact = fitted(loss=loss), fitted(loss=loss, solver="dual", tol=1e-5)
    assert result.converged
    assert exact.converged
    assert result.value - result.gap <= exact.value * (1 + 1e-12)


@pytest.mark.parametrize("max_iter", [70, 100])
def test_steps_of_both_count(max_iter, monkeypatch):
    monkeypatch.setattr("rankwise.solvers.smoothing.PATIENCE", 3)
    monkeypatch.setattr("rankwise.solvers.stuck.BLOCKED", 10**6)
    result = fitted(loss="hinge", tol=1e-7, max_iter=max_iter)
    assert result.iterations <= max_iter
    assert result.message.startswith("after 3 steps, in the dual: max_iter = ")


def test_the_dual_can_be_stopped(monkeypatch):
    monkeypatch.setattr("rankwise.solvers.smoothing.PATIENCE", 3)
    monkeypatch.setattr("rankwise.solvers.stuck.BLOCKED", 10**6)
    seen = []
    result = fitted(loss="hinge", tol=1e-7, callback=lambda step: seen.append(step) or "pairs active" in step.detail)
    assert result.message == "stopped by the callback"
    assert ["pairs active" in step.detail for step in seen].index(True) == len(seen) - 1


@pytest.mark.parametrize("loss", LOSSES)
def test_history_and_callback_go_forward(loss, monkeypatch):
    seen = []
    monkeypatch.setattr("rankwise.solvers.smoothing.PATIENCE", 3)
    result = fitted(loss=loss, tol=1e-6, callback=seen.append)
    for steps in (seen, result.history):
        assert all(a.iteration <= b.iteration and a.seconds <= b.seconds for a, b in pairwise(steps))
    assert result.history[-1].iteration == result.iterations


def test_without_memory_for_the_pairs_there_is_no_rescue(monkeypatch):
    monkeypatch.setattr("rankwise.solvers.smoothing.PATIENCE", 3)
    monkeypatch.setattr(dual, "memory_at_hand", lambda: 1e3)
    assert fitted(loss="hinge").value > 0


def blocked(loss, **options):
    """Raw scales and a large C: pairs that become active cut the steps short."""
    rng = np.random.default_rng(0)
    rows = np.exp(2 * rng.normal(size=(80, 30))) * 10.0 ** np.linspace(-2, 2, 30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return RankSVM(C=1e5, loss=loss, **options).fit(rows, np.digitize(rows[:, 0], [0.003, 0.02])).result_


@pytest.mark.parametrize("loss", LOSSES)
def test_by_way_of_smaller_C(loss, monkeypatch):
    seen = []
    result = blocked(loss, callback=seen.append)
    assert result.converged, result.message
    assert any(step.detail.startswith("smaller C") for step in seen)
    assert all(a.iteration <= b.iteration and a.seconds <= b.seconds for a, b in pairwise(seen))
    monkeypatch.setattr("rankwise.solvers.stuck.BLOCKED", 10**6)
    direct = blocked(loss, max_iter=300)
    assert result.value <= direct.value * (1 + 1e-3)
    assert result.value - result.gap <= direct.value


@pytest.mark.parametrize("loss", LOSSES)
def test_a_detour_can_be_stopped(loss):
    seen = []

    def stop(step):
        seen.append(step.detail.startswith("smaller C"))
        return any(seen)

    result = blocked(loss, callback=stop)
    assert result.message == "stopped by the callback"
    assert not result.converged
    assert seen.index(True) == len(seen) - 1, "nothing is told after the answer"


def test_a_callback_that_stops_is_not_followed_by_the_dual(monkeypatch):
    monkeypatch.setattr("rankwise.solvers.smoothing.PATIENCE", 3)
    monkeypatch.setattr("rankwise.solvers.stuck.BLOCKED", 10**6)
    seen = []
    result = fitted(loss="hinge", tol=1e-7, callback=lambda step: seen.append(step) or step.iteration >= 3)
    assert result.message == "stopped by the callback"
    assert len(result.history) == len(seen)
    assert not any("pairs active" in step.detail for step in seen)


@pytest.mark.parametrize("max_iter", [20, 65, 200])
@pytest.mark.parametrize("loss", LOSSES)
def test_steps_of_a_detour_count(loss, max_iter):
    rows, seen = np.random.default_rng(3).normal(size=(30, 5)), []
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        ranker = RankSVM(C=1e10, loss=loss, tol=1e-12, max_iter=max_iter, callback=seen.append)
        ranker.fit(rows, rows @ [1, 2, 3, -1, 0.5])
    assert any(step.detail.startswith("smaller C") for step in seen)
    assert seen[-1].iteration <= ranker.n_iter_ <= max_iter
    assert ranker.result_.converged or "max_iter = " in ranker.result_.message
    assert all(a.iteration <= b.iteration for a, b in pairwise(seen))


@pytest.mark.parametrize(("n_pairs", "helps"), [(3, True), (5, False)])
def test_pairs_are_counted_to_be_listed(n_pairs, helps, monkeypatch):
    monkeypatch.setattr(dual, "LISTABLE", 4)
    pairs = build_from_pairs(np.ones((100, 1)), [[0, 1]] * n_pairs, loss=losses.hinge(), C=1.0)
    by_labels = build(np.ones((n_pairs + 1, 1)), np.r_[1, np.zeros(n_pairs)], loss=losses.hinge(), C=1.0)
    for objective in (pairs, by_labels):
        assert DualCoordinateAscent().worth_listing(objective) == helps
