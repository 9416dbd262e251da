"""Ridge regression by one eigendecomposition against numpy.linalg, with nothing and with something left out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.least_squares.spectral import decompose, downdated, left_out, reduction_pays
from rankwise.least_squares.spectral_kernels import reduced, shifted_solutions, tridiagonalise

ALPHAS = 2.0 ** np.arange(-10, 11, 2)


def ridge(Z, t, alpha):
    return np.linalg.solve(Z.T @ Z + alpha * np.eye(Z.shape[1]), Z.T @ t)


def rows(rng, n, d, rank=None):
    Z = rng.normal(size=(n, d))
    return Z if rank is None else rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d))


@given(seed=st.integers(0, 10_000), n=st.integers(1, 12), d=st.integers(1, 12))
def test_every_alpha_of_one_decomposition(seed, n, d):
    rng = np.random.default_rng(seed)
    Z, t = rng.integers(-2, 3, (n, d)).astype(float), rng.normal(size=n)
    spectrum = decompose(Z.T @ Z, Z.T @ t)
    expected = np.column_stack([ridge(Z, t, alpha) for alpha in ALPHAS])
    np.testing.assert_allclose(spectrum.solutions(ALPHAS), expected, rtol=1e-8, atol=1e-9)


@given(
    seed=st.integers(0, 10_000), d=st.integers(1, 20), kind=st.sampled_from(["plain", "integers", "diagonal", "low"])
)
def test_tridiagonal_reduction(seed, d, kind):
    """Integers and zeros make columns that need no reflection."""
    rng = np.random.default_rng(seed)
    Z = {
        "plain": lambda: rng.normal(size=(2 * d, d)),
        "integers": lambda: rng.integers(-1, 2, (d, d)).astype(float) * rng.integers(0, 2, d),
        "diagonal": lambda: np.diag(rng.normal(size=d)),
        "low": lambda: rows(rng, d, d, 1),
    }[kind]()
    G, b = Z.T @ Z, rng.normal(size=d)
    T, turned = G.copy(), b.copy()
    tridiagonalise(T, turned, np.zeros(d))
    beside = np.diag(T, -1)
    tridiagonal = np.diag(np.diag(T)) + np.diag(beside, -1) + np.diag(beside, 1)
    scale = max(1.0, np.linalg.norm(G))
    np.testing.assert_allclose(np.linalg.eigvalsh(tridiagonal), np.linalg.eigvalsh(G), atol=1e-13 * scale)
    assert np.linalg.norm(turned) == pytest.approx(np.linalg.norm(b))
    found = shifted_solutions(G.copy(), b.copy(), ALPHAS, 1e-300)
    for column, alpha in zip(found.T, ALPHAS, strict=True):
        expected = np.linalg.solve(G + alpha * np.eye(d), b)
        np.testing.assert_allclose(column, expected, rtol=1e-9, atol=1e-11 * scale / alpha)


@pytest.mark.parametrize(("d", "rank"), [(1, None), (2, None), (5, None), (30, None), (8, 3)])
def test_blocks_left_out_both_ways(d, rank):
    rng = np.random.default_rng(d)
    starts = np.array([0, 1, 1, 9, 12, 31, 40])  # one row, none, a few, many
    Z, t = rows(rng, 40, d, rank), rng.normal(size=40)
    Zt = np.column_stack((Z, t))
    X = rng.normal(size=(40, d))
    blocks = np.stack((starts[:-1], starts[1:]), axis=1)
    spectrum = decompose(Z.T @ Z, Z.T @ t)
    by_reduction = np.empty((40, ALPHAS.size))
    reduced(Zt.T @ Zt, np.column_stack((X, t)), Zt, blocks, ALPHAS, by_reduction)
    for first, last in blocks:
        stay = np.ones(40, bool)
        stay[first:last] = False
        expected = np.column_stack([ridge(Z[stay], t[stay], alpha) for alpha in ALPHAS])
        by_block = spectrum.basis @ left_out(spectrum, Z[first:last] @ spectrum.basis, ALPHAS, t[first:last])
        np.testing.assert_allclose(by_block, expected, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(by_reduction[first:last], X[first:last] @ expected, rtol=1e-8, atol=1e-9)


def test_many_small_changes_at_once():
    rng = np.random.default_rng(0)
    Z, t = rng.normal(size=(40, 6)), rng.normal(size=40)
    F, targets, probes = rng.normal(size=(25, 3, 6)), rng.normal(size=(25, 3)), rng.normal(size=(25, 6))
    middle = np.array([[0.5, 0.1, 0.0], [0.1, 0.3, 0.0], [0.0, 0.0, -2.0]])
    spectrum = decompose(Z.T @ Z, Z.T @ t)
    found = downdated(spectrum, F @ spectrum.basis, middle, targets, probes @ spectrum.basis, ALPHAS)
    for item in range(25):
        A = Z.T @ Z - F[item].T @ middle @ F[item]
        b = Z.T @ t - F[item].T @ middle @ targets[item]
        expected = [probes[item] @ np.linalg.solve(A + alpha * np.eye(6), b) for alpha in ALPHAS]
        np.testing.assert_allclose(found[item], expected, rtol=1e-9, atol=1e-10)


def test_which_way_is_cheaper():
    assert reduction_pays(np.array([40, 1000]), 46, 26).all()
    assert not reduction_pays(np.array([1, 40]), 2000, 26).any()
