"""Fits on arrays of torch and CuPy: the same objective, the same optimum, the same sentences as with NumPy."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from rankwise import KernelRankSVM, RankRLS, RankSVM, evaluate
from rankwise.foundation.devices import library_of, to_host
from rankwise.model_selection import c_path
from rankwise.objective import building, losses


def make(n=400, d=7, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    y = np.clip(np.round(X @ rng.normal(size=d) + 2 + rng.normal(size=n)), 0, 4)
    return X, y, rng.integers(0, 12, n), rng.random(n)


FORMS = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_array,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["squared_hinge", "huber:0.5", "logistic:0.05", "squared", "hinge"])
def test_the_objective_is_the_same(put, form, name):
    X, y, q, weights = make()
    X = FORMS[form](X)
    loss = losses.parse(name)
    here = building.build(X, y, q, weights, loss=loss, C=0.3)
    there = building.build(put(X), put(y), put(q), put(weights), loss=loss, C=0.3)
    rng = np.random.default_rng(1)
    w, v = rng.normal(size=(2, X.shape[1]))
    a, b = here.at(w), there.at(put(w))
    close = {"rtol": 1e-11, "atol": 1e-9}
    assert b.value == pytest.approx(a.value, rel=1e-12)
    assert b.certificate.gap() == pytest.approx(a.certificate.gap(), rel=1e-9)
    np.testing.assert_allclose(to_host(b.gradient), a.gradient, **close)
    if loss.smooth:
        np.testing.assert_allclose(to_host(b.hessian(put(v))), a.hessian(v), **close)
        np.testing.assert_allclose(to_host(b.hessian_matrix()), a.hessian_matrix(), **close)
        np.testing.assert_allclose(to_host(b.hessian_diagonal()), a.hessian_diagonal(), **close)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "hinge", "tol": 1e-5},
        {"solver": "trust-region-diagonal"},
        {"solver": "trust-region-sampled"},
        {"solver": "newton-cg"},
        {"scope": "adjacent"},
        {"costs": "ndcg"},
        {"costs": "gain", "rescaling": "margin"},
        {"normalize_pairs": "query"},
        {"l1_ratio": 0.5},
        {"l1_ratio": 1.0, "solver": "newton-cg", "loss": "huber:0.5"},
    ],
    ids=str,
)
def test_ranksvm_finds_the_same_weights(put, place, options):
    X, y, q, weights = make()
    options = {"C": 0.05, "tol": 1e-9} | options
    expected = RankSVM(**options).fit(X, y, q, weights)
    moved = RankSVM(device=place, **options).fit(X, y, q, weights)
    lying = RankSVM(**options).fit(put(X), put(y), q, put(weights))
    within = {"rtol": 1e-6, "atol": 1e-6 * np.abs(expected.coef_).max()} if options["tol"] == 1e-9 else {"rtol": 0.1}
    assert isinstance(moved.coef_, np.ndarray)
    assert library_of(lying.coef_) == library_of(put(X))
    for found in (moved.coef_, to_host(lying.coef_)):
        np.testing.assert_allclose(found, expected.coef_, **within)
    assert lying.result_.value == pytest.approx(expected.result_.value, rel=1e-5)


def test_prediction_and_evaluation(put):
    X, y, q, _ = make()
    ranker = RankSVM(C=0.05).fit(put(X), put(y), put(q))
    scores = ranker.predict(put(X.astype(np.float32)))
    assert library_of(scores) == library_of(put(X))
    np.testing.assert_allclose(to_host(scores), ranker.predict(X), rtol=1e-5, atol=1e-5)
    measures = ["ndcg@10", "map", "pairwise-accuracy"]
    assert evaluate(put(y), ranker.predict(put(X)), put(q), measures).means == pytest.approx(
        evaluate(y, ranker.predict(X), q, measures).means
    )


def test_sparse_rows(put):
    X, y, q, _ = make()
    csr = put(sparse.csr_array(X))
    expected = RankSVM(C=0.05, tol=1e-9).fit(X, y, q)
    for solver in ("newton", "trust-region-diagonal"):
        found = RankSVM(C=0.05, tol=1e-9, solver=solver).fit(csr, put(y), q)
        np.testing.assert_allclose(to_host(found.coef_), expected.coef_, atol=1e-7)
        np.testing.assert_allclose(to_host(found.predict(csr)), expected.predict(X), atol=1e-6)


@pytest.mark.parametrize("ties", ["include", "exclude"])
@pytest.mark.parametrize("scaling", ["pairs", "query"])
def test_rankrls(put, ties, scaling):
    X, y, q, weights = make()
    expected = RankRLS(2.0, ties=ties, scaling=scaling).fit(X, y, q, weights)
    for solver in ("auto", "cg"):
        found = RankRLS(2.0, ties=ties, scaling=scaling, solver=solver).fit(put(X), put(y), q, put(weights))
        np.testing.assert_allclose(to_host(found.coef_), expected.coef_, rtol=1e-7, atol=1e-9)
        assert found.result_.value == pytest.approx(expected.result_.value, rel=1e-10)


def test_path_and_kernel(put, place):
    X, y, q, _ = make()
    ranker = RankSVM(tol=1e-8)
    paths = [c_path(*data, Cs=[0.001, 0.1], ranker=ranker).coef for data in ((X, y, q), (put(X), put(y), q))]
    np.testing.assert_allclose(*paths, rtol=1e-6, atol=1e-8)
    options = {"C": 0.1, "n_components": 40, "random_state": 0, "tol": 1e-8}
    here, there = (KernelRankSVM(device=device, **options).fit(X, y, q).predict(X) for device in (None, place))
    np.testing.assert_allclose(there, here, atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "polynomial", "sigmoid", "laplacian"])
@pytest.mark.parametrize("more", [{"n_components": 40}, {"n_components": 40, "landmarks": "kmeans"}, {}], ids=str)
def test_kernel_values_where_the_rows_lie(put, kernel, more):
    X, y, q, weights = make(150)
    options = {"kernel": kernel, "gamma": 0.1, "C": 0.1, "random_state": 0, "tol": 1e-8} | more
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # sigmoid is not positive semidefinite
        here = KernelRankSVM(**options).fit(X, y, q, weights)
        there = KernelRankSVM(**options).fit(put(X), put(y), q, put(weights))
    expected = here.predict(X)
    np.testing.assert_allclose(to_host(there.predict(put(X))), expected, atol=1e-5 * np.abs(expected).max())
    np.testing.assert_allclose(there.predict(X), expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("fit", "sentence"),
    [
        (lambda X, y, q: RankSVM(solver="bundle").fit(X, y, q), "solver 'bundle' takes arrays of NumPy only"),
        (lambda X, y, q: RankSVM(scheme="explicit").fit(X, y, q), "scheme='explicit' takes arrays of NumPy only"),
        (lambda X, y, q: RankSVM().fit(X * float("nan"), y, q), "X holds NaN or infinity"),
        (lambda X, y, q: RankSVM().fit(X[0], y, q), "X must have rows and columns"),
        (lambda X, y, q: RankSVM().fit(X, y[1:], q), "y must hold one number for each of the 400 documents"),
        (lambda X, y, q: RankSVM().fit(X, y, q[1:]), "qid must hold one id per row"),
        (lambda X, y, q: RankSVM().fit(X, y, q).predict(X[:, 1:]), "X has 6 features"),
        (lambda X, y, q: RankRLS(solver="dual").fit(X, y, q), "solver 'dual' takes arrays of NumPy only"),
    ],
)
def test_what_cannot_be_is_said(put, fit, sentence):
    X, y, q, _ = make()
    with pytest.raises(ValueError, match=sentence):
        fit(put(X), put(y), put(q))


def test_devices_that_are_not_there():
    X, y, q, _ = make(20)
    with pytest.raises(ValueError, match=r"device must be 'cpu', .*; got 'tpu'"):
        RankSVM(device="tpu").fit(X, y, q)
    torch = pytest.importorskip("torch", exc_type=ImportError)
    with pytest.raises(ValueError, match="device 'torch:foo' cannot be used: Expected one of cpu"):
        RankSVM(device="torch:foo").fit(X, y, q)
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="torch finds no GPU"):
            RankSVM(device="cuda").fit(X, y, q)


def test_without_torch_a_sentence_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "torch", None)
    X, y, q, _ = make(20)
    with pytest.raises(ValueError, match=r"device 'cuda' needs torch: pip install torch"):
        RankSVM(device="cuda").fit(X, y, q)


def test_compiled_kernels_do_not_take_rows_on_a_device(put):
    X, y, q, _ = make()
    objective = building.build(put(X), put(y), put(q), loss=losses.squared_hinge(), C=0.3)
    with pytest.raises(TypeError, match="compiled kernels take arrays of NumPy only"):
        _ = objective.rows.arrays
