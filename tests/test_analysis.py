"""The dual's spectrum, on matrices whose spectrum is known, and on a real dual."""

import sys

import numpy as np
import pytest
from scipy import sparse

from rankwise import RankSVM, make_ranking
from rankwise.papers.dual_spectrum import dual_spectrum


def planted(values, n):
    """An n × n matrix of those singular values, whose first half of documents is preferred to the second."""
    rng = np.random.default_rng(len(values))
    half = n // 2
    left, right = (np.linalg.qr(rng.normal(size=(half, half)))[0][:, : len(values)] for _ in range(2))
    out = np.zeros((n, n))
    out[:half, half:] = (left * values) @ right.T
    return out


def test_planted_values_are_found():
    alpha = sparse.block_diag([planted([3.0, 1.0], 10), planted([2.0, 2.0, 2.0, 2.0], 8), np.zeros((4, 4))])
    qid = np.repeat(["a", "b", "none"], [10, 8, 4])
    spectrum = dual_spectrum(alpha, qid)
    assert spectrum.query_ids.tolist() == ["a", "b"]
    np.testing.assert_array_equal(spectrum.documents, [10, 8])
    np.testing.assert_array_equal(spectrum.block, [5, 4])
    np.testing.assert_allclose(spectrum.singular[0], [3, 1, 0, 0, 0], atol=1e-12)
    # squares 9 + 1: the first holds exactly 90 %; values 3 + 1: it holds 75 %
    np.testing.assert_array_equal(spectrum.dimensions(0.9), [1, 4])
    np.testing.assert_array_equal(spectrum.dimensions(0.9, "values"), [2, 4])
    np.testing.assert_array_equal(spectrum.dimensions(0.5), [1, 2])
    np.testing.assert_array_equal(spectrum.dimensions(1.0), [2, 4])
    np.testing.assert_allclose(spectrum.shares(1.0), [0.2, 0.5])
    np.testing.assert_allclose(spectrum.shares(1.0, among="block"), [0.4, 1.0])
    np.testing.assert_array_equal(spectrum.histogram(0.9), [1, 0, 0, 0, 1, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(spectrum.histogram(1.0, among="block"), [0, 0, 0, 1, 0, 0, 0, 0, 0, 1])


def test_rows_may_be_scattered_and_dense():
    alpha = np.zeros((14, 14))
    alpha[:8, :8], alpha[8:, 8:] = planted([5.0, 4.0, 1.0], 8), planted([1.0], 6)
    qid = np.repeat([1, 2], [8, 6])
    shuffle = np.random.default_rng(0).permutation(14)
    plain, moved = dual_spectrum(alpha, qid), dual_spectrum(alpha[np.ix_(shuffle, shuffle)], qid[shuffle])
    order = [moved.query_ids.tolist().index(q) for q in (1, 2)]
    for q in range(2):
        np.testing.assert_allclose(moved.singular[order[q]], plain.singular[q], atol=1e-12)


def test_a_share_on_an_edge_belongs_below_it():
    """3 of 10 dimensions is the category 20 % to 30 %, though 10 * 0.3 is not 3 in every rounding."""
    for n in (10, 20, 30):
        assert dual_spectrum(planted([1.0] * (3 * n // 10), n)).histogram(1.0)[2] == 1


def test_the_spectrum_of_a_fitted_dual():
    data = make_ranking(n_queries=8, docs_per_query=15, n_features=4, random_state=0)
    ranker = RankSVM(C=0.1, loss="hinge", solver="dual", tol=1e-6).fit(data.X, data.y, data.qid)
    alpha = ranker.dual_coef_
    spectrum = dual_spectrum(alpha, data.qid)
    whole = np.linalg.svd(alpha.toarray(), compute_uv=False)
    found = np.sort(np.concatenate(spectrum.singular))[::-1]
    np.testing.assert_allclose(found, whole[: found.size], atol=1e-10)
    assert np.abs(whole[found.size :]).max(initial=0) < 1e-10
    assert (spectrum.dimensions(0.9) <= spectrum.dimensions(1.0)).all()
    assert (spectrum.dimensions(1.0) <= spectrum.block).all()
    assert (2 * spectrum.block <= spectrum.documents + 15).all()


def test_the_papers_claims_on_ohsumed(read_parts):
    """Figure 1: 90 % of the energy lies in at most 40 % of the dimensions, everywhere. That all of it needs more than
    80 % almost everywhere is not so: nearly all alphas are C, and a block of equal numbers has one dimension."""
    data = read_parts("ohsumed", 1, 2, 3)
    ranker = RankSVM(C=0.01, loss="hinge", solver="dual").fit(data.X, data.y, data.qid)
    spectrum = dual_spectrum(ranker.dual_coef_, data.qid)
    for among in ("documents", "block"):
        assert spectrum.shares(0.9, among=among).max() <= 0.4
    assert np.mean(spectrum.shares(1.0, among="documents") > 0.8) == 0
    assert np.mean(spectrum.shares(1.0, among="block") > 0.8) < 0.25
    assert np.mean(ranker.dual_coef_.data > 0.999 * 0.01) > 0.9


def test_the_picture(tmp_path):
    spectrum = dual_spectrum(planted([3.0, 1.0], 10))
    pytest.importorskip("matplotlib")
    path = tmp_path / "spectrum.svg"
    figure = spectrum.plot(path)
    assert [bar.get_height() for bar in figure.axes[0].patches] == spectrum.histogram(0.9).tolist()
    assert [bar.get_height() for bar in figure.axes[1].patches] == spectrum.histogram(1.0).tolist()
    assert path.read_bytes().startswith(b"<?xml")
    with pytest.raises(ValueError, match=r"spectrum is not a picture that can be drawn: name it \*\.png"):
        spectrum.plot(tmp_path / "spectrum")
    assert list(tmp_path.iterdir()) == [path]


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"a figure needs matplotlib: pip install matplotlib"):
        dual_spectrum(planted([3.0, 1.0], 10)).plot()


@pytest.mark.parametrize(
    ("look", "words"),
    [
        (lambda: dual_spectrum(np.zeros((2, 3))), r"alpha must be square.* got shape \(2, 3\)"),
        (lambda: dual_spectrum(np.zeros((3, 3))), "alpha is 0 everywhere"),
        (lambda: dual_spectrum(np.ones((2, 2)), [1, 2]), "alpha has pairs of documents from different queries"),
        (lambda: dual_spectrum(np.eye(2)).dimensions(1.1), "energy must be above 0 and at most 1; got 1.1"),
        (lambda: dual_spectrum(np.eye(2)).dimensions(of="cubes"), "of must be one of 'squares', 'values'; got 'cubes'"),
        (
            lambda: dual_spectrum(np.eye(2)).shares(among="rows"),
            "among must be one of 'documents', 'block'; got 'rows'",
        ),
    ],
)
def test_mistakes_are_one_sentence(look, words):
    with pytest.raises(ValueError, match=words):
        look()
