"""Problems on which a solver once gave up, or stopped where it began."""

import warnings

import numpy as np
import pytest

from rankwise import RankSVM


def make(n, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.digitize(X[:, 0] + rng.normal(size=n), [0, 1]).astype(float), np.repeat(np.arange(n // 20), 20)


@pytest.mark.parametrize(
    ("options", "scale"),
    [({"C": 1e-3, "normalize_pairs": "mean"}, 1.0), ({"C": 1e-7}, 1.0), ({}, 1e-4), ({"C": 1e4}, 1e2)],
)
def test_the_hinge_moves_whatever_C_is(options, scale):
    """A gap that is small beside the value can be all that there is to gain; a bound can be far off at the start."""
    X, y, q = make(600, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker = RankSVM(loss="hinge", tol=1e-3, **options).fit(X * scale, y, q)
    exact = RankSVM(loss="hinge", tol=1e-6, **options).fit(X * scale, y, q)
    angle = ranker.coef_ @ exact.coef_ / np.linalg.norm(ranker.coef_) / np.linalg.norm(exact.coef_)
    assert angle > 0.99


def test_dependent_columns_of_large_scale():
    X, y, q = make(41_000)
    X = np.hstack((X, 2 * X[:, :1] + X[:, 1:2])) * 1e6
    ranker = RankSVM(tol=1e-5).fit(X, y, q)
    assert ranker.result_.value == pytest.approx(
        RankSVM(solver="newton", tol=1e-6).fit(X, y, q).result_.value, rel=1e-5
    )


def test_a_first_step_that_is_too_long_by_ten_orders():
    rng = np.random.default_rng(0)
    X = 1e3 * rng.normal(size=(2000, 8))
    y = X[:, 0] + 1e3 * rng.normal(size=2000)
    found = [RankSVM(loss="huber:0.5", solver=solver).fit(X, y).result_ for solver in ("newton", "trust-region")]
    assert found[0].value == pytest.approx(found[1].value, rel=0.02)


def test_a_sample_near_separability():
    """Few pairs are left, and a sample sees too few of them: all rows show the way in the end."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 8))
    y, q = (X[:, 0] > 0).astype(float), np.repeat(np.arange(1000), 20)
    found = [RankSVM(C=1e6, tol=1e-6, solver=one).fit(X, y, q).result_ for one in ("trust-region-sampled", "newton")]
    assert found[0].converged
    assert found[0].value <= 2 * found[1].value


def rare_levels(n=300, variables=8, levels=12):
    """Categories as columns of 0 and 1, most of them rare, and classes that they do not separate."""
    rng = np.random.default_rng(0)
    shares = 1.0 / np.arange(1, levels + 1) ** 2
    chosen = rng.choice(levels, size=(n, variables), p=shares / shares.sum())
    X = (chosen[:, :, None] == np.arange(levels)).reshape(n, -1).astype(float)
    return X, (X @ rng.normal(size=X.shape[1]) + 2 * rng.normal(size=n) > 1).astype(float)


def test_the_hinge_on_rare_categories_with_a_large_C():
    """Backtracking made steps a tenth as long as they could be: no certificate after 1,000 of them."""
    X, y = rare_levels()
    result = RankSVM(C=1e4, loss="hinge", max_iter=150).fit(X, y).result_
    assert result.converged
    assert result.gap <= 1e-3 * result.value


def test_a_trust_region_that_must_shrink_by_many_orders_goes_on():
    X, y = rare_levels()
    result = RankSVM(C=1e4, loss="huber:0.0625", solver="trust-region").fit(X, y).result_
    exact = RankSVM(C=1e4, loss="huber:0.0625", tol=1e-8).fit(X, y).result_
    assert result.converged
    assert result.value <= exact.value * (1 + 2e-3)


@pytest.mark.parametrize("loss", ["squared_hinge", "huber:1.0"])
def test_small_full_steps_far_from_the_optimum_are_not_convergence(loss):
    """Raw, nearly separable features: each step gains little, as predicted, and the optimum is 2 to 400 % lower."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    rows = np.sort(np.argsort(np.random.default_rng(0).random(y.size))[:120])
    result = RankSVM(C=1e4, loss=loss).fit(X[rows], y[rows]).result_
    exact = RankSVM(C=1e4, loss=loss, tol=1e-6).fit(X[rows], y[rows]).result_
    assert result.converged, result.message
    assert result.value <= (1 + 3e-3) * exact.value


@pytest.mark.parametrize("loss", ["squared_hinge", "huber:0.5", "hinge"])
def test_heavy_tailed_columns_where_pairs_are_almost_active(loss):
    """Steps are stopped by pairs that are satisfied by next to nothing: they must go along them."""
    rng = np.random.default_rng(0)
    X = np.exp(3 * rng.normal(size=(200, 300)))
    y, q = rng.integers(0, 3, 200), rng.integers(0, 10, 200)
    found = RankSVM(loss=loss).fit(X, y, q).result_
    assert found.converged, found.message
    assert found.value == pytest.approx(1.20404e-05, rel=2e-3)  # by the dual, over listed pairs
