"""Landmarks: the few objects whose span contains the ranker in Nyström's approximation."""

import numpy as np
from scipy import linalg, sparse

from rankwise.foundation.arrays import Floats, Ints
from rankwise.kernel_maps.factor import EPS, Triangular
from rankwise.kernel_maps.kernel import Kernel, Objects, count

LANDMARKS = ("random", "kmeans", "leverage")


def at_random(n: int, m: int, rng: np.random.RandomState) -> Ints:
    """m of n places, in order."""
    places: Ints = np.sort(rng.permutation(n)[:m])
    return places


def centres(kernel: Kernel, objects: Objects, m: int, rng: np.random.RandomState) -> Floats:
    """Centres of m clusters of the rows."""
    if kernel.precomputed or not (isinstance(objects, np.ndarray) or sparse.issparse(objects)):
        raise ValueError("landmarks='kmeans' needs rows of features: take 'random' or 'leverage' for other objects")
    from sklearn.cluster import MiniBatchKMeans

    clusters = MiniBatchKMeans(m, n_init=1, max_iter=10, batch_size=max(1024, 4 * m), random_state=rng).fit(objects)
    found: Floats = clusters.cluster_centers_
    return found


def by_leverage(kernel: Kernel, objects: Objects, m: int, rng: np.random.RandomState, block: int) -> Ints:
    """m places drawn by approximate ridge leverage, k(x, x) - k(x, S) (K_SS + λI)⁻¹ k(S, x), for a random pilot S.

    λ is the mean of the smaller half of the eigenvalues of K_SS, which m landmarks are not expected to capture. The
    leverage of an object of the pilot is computed from the others in it, because it would explain itself.
    """
    n = count(objects)
    places = at_random(n, m, rng)
    pilot = kernel.references(objects, places)
    K = kernel.gram(objects, pilot)
    values = linalg.eigvalsh(K)
    ridge = max(float(values[: max(1, m // 2)].mean()), 2 * m * EPS * float(np.abs(values).max()))
    K[np.diag_indices_from(K)] += ridge - min(0.0, float(values[0]))
    basis = Triangular(linalg.cholesky(K, lower=True))
    left = kernel.diagonal(objects)
    for first in range(0, n, block):
        rows = slice(first, min(first + block, n))
        left[rows] -= np.square(basis.features(kernel.matrix(objects[rows], pilot))).sum(axis=1)
    left[places] = 1 / np.square(basis.features(np.eye(m))).sum(axis=1) - ridge
    chances = np.maximum(left, EPS * max(float(left.max()), EPS))  # all are positive, so that m can be drawn
    drawn: Ints = np.sort(rng.choice(n, m, replace=False, p=chances / chances.sum()))
    return drawn
