"""Kernels and their maps: against the kernel matrix itself, an eigendecomposition and scikit-learn's Nyström."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel

from rankwise.kernel_maps import Kernel, KernelMap, landmarks
from rankwise.kernel_maps import map as maps

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
NEW = RNG.normal(size=(7, 3))
WORDS = ["rank", "ranks", "ranking", "pair", "pairs", "query", "queries", "crank"]


def shared_letters(a, b):
    """How many pairs of equal letters two words have: an inner product of letter counts."""
    return float(sum(a.count(letter) * b.count(letter) for letter in set(a)))


@pytest.mark.parametrize("name", ["linear", "rbf", "polynomial", "laplacian", "cosine"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_exact_map_gives_the_kernel_back(name, form):
    kernel = Kernel(name, {"gamma": 0.3, "degree": 2, "coef0": 1.0})
    mapping = KernelMap(kernel)
    features = mapping.fit_transform(form(X))
    np.testing.assert_allclose(features @ features.T, kernel.matrix(X, X), atol=1e-10)
    new = mapping.transform(form(NEW))
    np.testing.assert_allclose(new @ features.T, kernel.matrix(NEW, X), atol=1e-7)
    np.testing.assert_allclose(mapping.transform(form(X)), features, atol=1e-7)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 12), rank=st.integers(0, 5))
def test_the_rank_is_found(seed, n, rank):
    """Small integers: repeated and dependent rows all the time."""
    rows = np.random.default_rng(seed).integers(-2, 3, (n, rank)).astype(float)
    K = rows @ rows.T if rank else np.zeros((n, n))
    given = K.copy()
    mapping = KernelMap(Kernel("precomputed"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # none of them is taken for indefinite
        features = mapping.fit_transform(K)
    np.testing.assert_array_equal(K, given)
    np.testing.assert_allclose(features @ features.T, K, atol=1e-9)
    assert features.shape[1] == max(1, np.linalg.matrix_rank(K, hermitian=True))
    assert len(mapping.references) == features.shape[1]


@given(seed=st.integers(0, 1000))
def test_weights_and_coefficients_score_alike(seed):
    rng = np.random.default_rng(seed)
    mapping = KernelMap(Kernel("rbf", {"gamma": 1.0}), rng.choice([None, 5]))
    features = mapping.fit_transform(X)
    w = rng.normal(size=features.shape[1])
    beta = mapping.coefficients(w)
    np.testing.assert_allclose(mapping.scores(X, beta), features @ w, atol=1e-7)
    np.testing.assert_allclose(mapping.kernel.matrix(NEW, mapping.references) @ beta, mapping.scores(NEW, beta))


@pytest.mark.parametrize("how", landmarks.LANDMARKS)
def test_nystroem_is_the_projection_on_the_landmarks(how):
    mapping = KernelMap(Kernel("rbf", {"gamma": 0.5}), 8, how, random_state=3)
    features = mapping.fit_transform(X)
    Z = mapping.references
    cross = rbf_kernel(X, Z, gamma=0.5)
    expected = cross @ np.linalg.solve(rbf_kernel(Z, gamma=0.5), cross.T)
    np.testing.assert_allclose(features @ features.T, expected, atol=1e-8)
    assert features.shape == (40, 8)
    assert mapping.chosen is None if how == "kmeans" else (X[mapping.chosen] == Z).all()
    again = KernelMap(Kernel("rbf", {"gamma": 0.5}), 8, how, random_state=3).fit_transform(X)
    np.testing.assert_array_equal(again, features)


def test_nystroem_agrees_with_scikit_learn():
    """The same landmarks, put in by hand."""
    peer = Nystroem(gamma=0.5, n_components=8, random_state=0).fit(X)
    mapping = KernelMap(Kernel("rbf", {"gamma": 0.5}), 8, "random")
    mapping._candidates = lambda objects: (peer.components_, None)
    features, theirs = mapping.fit_transform(X), peer.transform(X)
    np.testing.assert_allclose(features @ features.T, theirs @ theirs.T, atol=1e-8)


def test_all_documents_as_landmarks_are_exact():
    exact, whole = (KernelMap(Kernel("rbf", {"gamma": 0.5}), m).fit_transform(X) for m in (None, len(X)))
    np.testing.assert_allclose(whole @ whole.T, exact @ exact.T, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_an_offset_does_not_change_an_rbf_kernel(dtype):
    X = np.random.default_rng(0).integers(-64, 65, (30, 4)) / 8
    far = (X + 2.0**17).astype(dtype)  # exact in float32 too
    kernel = Kernel("rbf", {"gamma": 0.1})
    np.testing.assert_allclose(kernel.matrix(far, far[:7]), rbf_kernel(X, X[:7], gamma=0.1), rtol=1e-12)
    assert (kernel.gram(far, far[:7]).diagonal() == 1.0).all()


def test_repeated_landmarks_do_no_harm():
    rows = np.repeat(X[:4], 10, axis=0)
    features = KernelMap(Kernel("rbf", {"gamma": 0.5}), 20, random_state=0).fit_transform(rows)
    assert features.shape[1] <= 4


def test_leverage_finds_the_rare():
    """Two far-off objects among hundreds of copies: leverage takes both, chance hardly ever does."""
    rows = np.vstack((np.zeros((400, 2)) + 1e-3 * RNG.normal(size=(400, 2)), [[50.0, 0], [0, 50.0]]))
    kernel = Kernel("rbf", {"gamma": 1.0})
    for seed in range(5):
        mapping = KernelMap(kernel, 6, "leverage", seed)
        mapping.fit_transform(rows)
        assert {400, 401} <= set(mapping.chosen.tolist())


def test_any_objects():
    mapping = KernelMap(Kernel(shared_letters))
    features = mapping.fit_transform(WORDS)
    K = np.array([[shared_letters(a, b) for b in WORDS] for a in WORDS])
    np.testing.assert_allclose(features @ features.T, K, atol=1e-9)
    some = KernelMap(Kernel(shared_letters), 3, "leverage", 0)
    assert some.fit_transform(WORDS).shape == (8, 3)
    assert [WORDS[i] for i in some.chosen] == some.references


def test_precomputed_is_the_kernel_it_holds():
    K = rbf_kernel(X, gamma=0.5)
    for m, how in ((None, "random"), (9, "random"), (9, "leverage")):
        given, named = (KernelMap(k, m, how, 1) for k in (Kernel("precomputed"), Kernel("rbf", {"gamma": 0.5})))
        np.testing.assert_allclose(given.fit_transform(K), named.fit_transform(X), atol=1e-8)
        np.testing.assert_array_equal(given.references, named.chosen)
        np.testing.assert_allclose(given.transform(rbf_kernel(NEW, X, gamma=0.5)), named.transform(NEW), atol=1e-8)


@pytest.mark.parametrize("K", [np.array([[0.0, 1], [1, 0]]), np.diag([1.0, 2, -1, 3]), np.ones((3, 3)) - 2 * np.eye(3)])
def test_an_indefinite_kernel_is_cut_to_its_positive_part(K):
    mapping = KernelMap(Kernel("precomputed"))
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        features = mapping.fit_transform(K)
    values, vectors = np.linalg.eigh(K)
    np.testing.assert_allclose(features @ features.T, (vectors * np.maximum(values, 0)) @ vectors.T, atol=1e-12)
    np.testing.assert_allclose(mapping.transform(K), features, atol=1e-12)


def test_blocks_change_nothing(monkeypatch):
    mapping = KernelMap(Kernel("rbf", {"gamma": 0.5}), 10, random_state=0)
    features = mapping.fit_transform(X)
    scores = mapping.scores(X, np.arange(10.0))
    monkeypatch.setattr(maps, "BLOCK_VALUES", 70)  # 7 rows a block
    np.testing.assert_allclose(mapping.transform(X), features, atol=1e-12)
    np.testing.assert_allclose(mapping.scores(X, np.arange(10.0)), scores, atol=1e-12)


def test_memory_is_refused_before_it_is_taken(monkeypatch):
    monkeypatch.setattr(maps, "memory_at_hand", lambda: 3 * 8 * 40 * 40 - 1)

    def never(*_):
        raise AssertionError("the kernel was computed")

    with pytest.raises(MemoryError, match=r"exact kernel map of 40 documents .* set n_components"):
        KernelMap(Kernel(never)).fit_transform(X)
    KernelMap(Kernel("rbf"), 40).fit_transform(X)
    monkeypatch.setattr(maps, "memory_at_hand", lambda: 3 * 8 * 40 * 40)
    KernelMap(Kernel("rbf")).fit_transform(X)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Kernel("rbg"),
            "kernel must be one of 'precomputed', .*, or a callable; got 'rbg'. Did you mean 'rbf'",
        ),
        (lambda: KernelMap(Kernel(), 3, "grid"), "landmarks must be one of 'random', 'kmeans', 'leverage'; got 'grid'"),
        (lambda: KernelMap(Kernel(shared_letters), 3, "kmeans").fit_transform(WORDS), "needs rows of features"),
        (lambda: KernelMap(Kernel("precomputed"), 3, "kmeans").fit_transform(np.eye(9)), "needs rows of features"),
        (lambda: KernelMap(Kernel(lambda a, b: np.nan)).fit_transform(WORDS), r"kernel\('rank', 'rank'\) is nan"),
    ],
)
def test_mistakes_are_one_sentence(make, words):
    with pytest.raises(ValueError, match=words):
        make()
