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
