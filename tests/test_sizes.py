"""Features, C and weights of any size: a fit ranks as it does at a usual size, or says in a sentence why it cannot."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy
from sklearn.exceptions import ConvergenceWarning

import rankwise
from rankwise import RankRLS, RankSVM, losses
from rankwise.model_selection import c_path
from rankwise.objective.building import build
from rankwise.solvers.base import UNDERFLOW

RNG = np.random.default_rng(0)
QUERIES = np.repeat(np.arange(5), 8)
X = RNG.normal(size=(40, 3))
Y = np.round(X @ [2.0, -1.0, 0.5] + 0.3 * RNG.normal(size=40))
SIZES = [1e-320, 1e-300, 1e-200, 1e-150, 1e-30, 1.0, 1e30, 1e150, 1e300]
WEIGHTS = np.full(40, 1e-150)


def agreement(scores):
    """The share of pairs that are in order, minus the share of those in the wrong order."""
    pairs = (QUERIES[:, None] == QUERIES) & (Y[:, None] > Y)
    return float(np.sign(scores[:, None] - scores)[pairs].mean())


def exact_gradient(features, weights=None):
    """That of the hinge at w = 0 with C = 1, by fractions."""
    weights = np.ones(40) if weights is None else weights
    total = [Fraction(0)] * features.shape[1]
    for i, j in np.argwhere((QUERIES[:, None] == QUERIES) & (Y[:, None] > Y)):
        weight = Fraction(weights[i]) * Fraction(weights[j])
        pair = zip(total, features[i], features[j], strict=True)
        total = [one - weight * (Fraction(better) - Fraction(worse)) for one, better, worse in pair]
    return total


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array, lambda rows: rows.astype(np.float32)])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "squared"])
def test_a_gradient_that_underflows_to_0_is_one_sentence(loss, form):
    with pytest.raises(ValueError, match=UNDERFLOW):
        RankSVM(C=1e-300, loss=loss).fit(form(1e-30 * X), Y, QUERIES)
    with pytest.raises(ValueError, match=UNDERFLOW):
        RankSVM(C=1.0, loss=loss).fit(form(1e-30 * X), Y, QUERIES, sample_weight=WEIGHTS)


@pytest.mark.parametrize("solver", ["newton", "newton-cg", "trust-region", "dual", "sgd", "bundle"])
def test_it_is_one_sentence_of_every_solver(solver):
    with pytest.raises(ValueError, match=UNDERFLOW):
        RankSVM(C=1e-200, solver=solver).fit(1e-200 * X, Y, QUERIES)


@pytest.mark.parametrize(
    "given",
    [
        {"C": 1e-320, "normalize_pairs": "mean"},  # C divided by the number of pairs is 0
        {"C": 1e-300, "monotonic_cst": [1, -1, 0]},
        {"C": 1e-300, "loss": losses.Loss("tiny", (losses.Piece(1.0, 0.0, 0.0, 1e-100),))},
    ],
)
def test_options_that_make_a_gradient_underflow(given):
    with pytest.raises(ValueError, match=UNDERFLOW):
        RankSVM(**given).fit(1e-30 * X, Y, QUERIES)


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_path_to_a_c_whose_gradient_underflows(direction):
    with pytest.raises(ValueError, match=r"underflows at w = 0|gradient at w = 0 is only 0: scale the features up"):
        c_path(1e-30 * X, Y, QUERIES, [1.0, 1e-300], direction=direction)


@pytest.mark.parametrize("size", [1e-200, 1e-30])
def test_a_batch_whose_gradient_underflows(size):
    with pytest.raises(ValueError, match=UNDERFLOW):
        RankSVM(C=1e-300, solver="sgd", random_state=0).partial_fit(size * X, Y, QUERIES)


def test_weights_of_documents_and_queries_whose_products_underflow():
    with pytest.raises(ValueError, match="the largest sample_weight times the square root of query_weight is 1e-290"):
        RankSVM(C=1.0).fit(X, Y, QUERIES, np.full(40, 1e-140), query_weight=dict.fromkeys(range(5), 1e-300))
    with pytest.raises(ValueError, match=UNDERFLOW):
        RankSVM(C=1.0).fit(1e-30 * X, Y, QUERIES, query_weight=dict.fromkeys(range(5), 1e-300))


def test_pairs_whose_gradient_underflows():
    with pytest.raises(ValueError, match=UNDERFLOW):
        RankSVM(C=1.0).fit(1e-30 * X, pairs=[[0, 1], [2, 3]], pair_weight=[1e-300, 1e-300])


def test_a_gradient_that_lost_digits_only_is_one_sentence():
    features = 1e-22 * X
    objective = build(features, Y, QUERIES, WEIGHTS, loss=losses.hinge(), C=1.0)
    off = [abs(Fraction(float(g)) / e - 1) for g, e in zip(*_gradients(objective, features), strict=True)]
    assert max(off) > 1e-6
    assert objective.sum.at(np.zeros(3)).gradient.any()
    with pytest.raises(ValueError, match=UNDERFLOW):
        RankSVM(C="auto", loss="hinge").fit(features, Y, QUERIES, WEIGHTS)


def test_a_tiny_gradient_with_all_its_digits_is_fine():
    features = 1e-300 * X
    objective = build(features, Y, QUERIES, loss=losses.hinge(), C=1.0)
    gradient, exact = _gradients(objective, features, weights=None)
    assert max(abs(Fraction(float(g)) / e - 1) for g, e in zip(gradient, exact, strict=True)) < 1e-6
    weights = RankSVM(C=1e300).fit(features, Y, QUERIES).coef_  # C x² is so small that w is -∇f(0)
    np.testing.assert_allclose(weights, [float(-2 * Fraction(1e300) * one) for one in exact], rtol=1e-6)


def _gradients(objective, features, weights=WEIGHTS):
    return objective.sum.at(np.zeros(3)).gradient, exact_gradient(features, weights)


def test_scores_that_underflow_are_one_sentence():
    with pytest.raises(ValueError, match=UNDERFLOW):
        RankSVM(C=1e200).fit(1e-320 * X, Y, QUERIES)  # weights of 1e-120


@pytest.mark.parametrize(("size", "weights"), [(1e-30, None), (1.0, None), (1e100, None), (1.0, WEIGHTS)])
@pytest.mark.parametrize("ranker", [RankSVM(), RankSVM(loss="hinge"), RankRLS()])
def test_features_that_are_constant_within_queries_are_no_underflow(ranker, size, weights):
    constant = np.repeat(size * np.round(8 * X[:5]), 8, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)  # rounding errors are all there is to minimise
        ranker.fit(constant, Y, QUERIES, weights)
    assert agreement(ranker.predict(constant)) == 0.0


def test_a_gradient_of_0_by_symmetry_is_no_underflow():
    rows, labels = np.array([[1.0], [-1.0], [0.0]]), [1, 1, 0]
    for size in (1e-300, 1.0):
        assert not RankSVM(C=1.0).fit(size * rows, labels).coef_.any()


def test_weights_that_an_l1_penalty_keeps_at_0_are_no_underflow():
    assert not RankSVM(C=1e-300, l1_ratio=0.5).fit(1e-30 * X, Y, QUERIES).coef_.any()


def test_rankrls_with_weights_that_underflow():
    for solver in ("primal", "dual", "cg"):
        with pytest.raises(ValueError, match="RankRLS's sums over pairs underflow: use larger weights"):
            RankRLS(solver=solver).fit(1e-50 * X, Y, QUERIES, WEIGHTS)


@pytest.mark.parametrize(
    ("size", "C", "words"),
    [(1e-200, 1e-200, UNDERFLOW), (1e-200, 1e100, "scores underflow at the random"), (1e-320, 1e200, "underflow")],
)
def test_factorized_weights_that_underflow(size, C, words):
    for solver in ("lbfgs", "gd"):
        with pytest.raises(ValueError, match=words):
            rankwise.FactorizedRankSVM(C=C, solver=solver, random_state=0).fit(size * X, Y, QUERIES)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "polynomial", "sigmoid"])
@pytest.mark.parametrize("n_components", [None, 10])
def test_a_kernel_that_is_the_same_for_all_documents_is_said(n_components, kernel, form):
    for estimator in (rankwise.KernelRankSVM, rankwise.KernelRankRLS):
        ranker = estimator(kernel, n_components=n_components, random_state=0)
        with pytest.warns(UserWarning, match="the kernel has the same value for all documents, within rounding"):
            ranker.fit(form(1e-50 * X), Y, QUERIES)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ranker.fit(form(1e-50 * np.ones((40, 3))), Y, QUERIES)  # documents that are the same
        assert agreement(ranker.predict(1e-50 * X)) == 0.0


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "ranker",
    [
        *(RankSVM(loss=loss, max_iter=100) for loss in ("hinge", "squared_hinge", "huber", "logistic", "squared")),
        *(RankSVM(solver=solver, max_iter=20) for solver in ("newton-cg", "trust-region", "dual")),
        rankwise.FactorizedRankSVM(n_components=2, random_state=0, max_iter=20),
        rankwise.KernelRankSVM("linear", max_iter=50),
    ],
)
def test_no_size_gives_scores_of_0_in_silence(ranker, size):
    for C in SIZES:
        ranker.set_params(C=C)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error")
            try:
                scores = ranker.fit(size * X, Y, QUERIES).predict(size * X)
            except UserWarning:
                continue
            except ValueError:
                assert (size, C) != (1.0, 1.0)
                continue
        assert np.isfinite(scores).all()
        assert scores.any(), (size, C)
        if not isinstance(ranker, rankwise.FactorizedRankSVM):  # whose objective is not convex
            assert agreement(scores) > 0.6, (size, C)
