"""Columns with large common offsets: only differences within queries count, and they are kept exactly."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from rankwise import RankSVM, open_chunks, write_chunks
from rankwise.data.records import RankingData
from rankwise.objective.centring import shifted
from rankwise.objective.rows import MemoryRows

RNG = np.random.default_rng(0)
STARTS = np.array([0, 3, 4, 9])
ROWS = RNG.normal(size=(9, 4))


def differences(X, starts):
    X = X.toarray() if sparse.issparse(X) else X
    return np.vstack([X[a:b] - X[a] for a, b in pairwise(starts)])


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e3, 1e9, 1e12]), st.booleans())
def test_differences_within_queries_stay_the_same_to_the_last_bit(seed, offset, as_sparse):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, 4)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    X = (
        rng.integers(-3, 4, (starts[-1], 3))
        + offset * rng.integers(0, 2, 3) * rng.integers(1, 4, 4).repeat(sizes)[:, None]
    )
    X = X.astype(float)
    found = shifted(sparse.csr_array(X) if as_sparse else X, starts)
    np.testing.assert_array_equal(differences(found, starts), differences(X, starts))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_large_offsets_are_taken_off_and_others_left(kind):
    X = ROWS.copy()
    X[:, 1] += 1e9
    X[:, 3] = np.repeat([1e12, 0.0, 7e15], np.diff(STARTS))  # an id per query
    found = shifted(kind(X), STARTS)
    found = found.toarray() if sparse.issparse(found) else found
    assert np.abs(found).max() < 10
    np.testing.assert_array_equal(found[:, [0, 2]], X[:, [0, 2]])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_ordinary_rows_are_not_copied(kind):
    X = kind(ROWS)
    assert shifted(X, STARTS) is X


def test_sparse_rows_are_not_copied_for_large_values_that_are_no_offset():
    """In the query of one document every value may be an offset; in the other the same columns differ by much."""
    X = sparse.csr_array(1e9 * np.array([[1.0, 2.0], [1.0, 5.0], [3.0, 1.0]]))
    assert shifted(X, np.array([0, 1, 3])) is X


def test_the_given_rows_stay_as_they_are():
    X = ROWS + 1e9
    before = X.copy()
    assert MemoryRows(X).centred(STARTS).X is not X
    np.testing.assert_array_equal(X, before)


def test_float32_differences_are_exact():
    X = (np.round(8 * ROWS) / 8 + 2**16).astype(np.float32)
    found = shifted(X, STARTS)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(differences(found, STARTS), differences(X.astype(float), STARTS))


@pytest.mark.parametrize("v", [123456789012.3, 1e300, -5e15])
def test_a_large_constant_column_ends(v):
    ranker = RankSVM(max_iter=3).fit([[0, v], [1, v], [3, v]], [0, 1, 2])
    np.testing.assert_allclose(ranker.coef_, RankSVM(max_iter=3).fit([[0, 0], [1, 0], [3, 0]], [0, 1, 2]).coef_)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("offset", [1e6, 1e9, 1e12])
def test_an_offset_changes_nothing_from_memory_and_disk(loss, offset, tmp_path):
    X, y, q = RNG.normal(size=(200, 4)), RNG.integers(0, 3, 200), np.repeat(np.arange(20), 10)
    moved = X + offset
    plain = RankSVM(loss=loss, tol=1e-6).fit(moved - offset, y, q).result_
    write_chunks(tmp_path / "chunks", RankingData(moved, y.astype(float), q))
    rows = ((moved, y, q), (sparse.csr_array(moved), y, q), (open_chunks(tmp_path / "chunks"),))
    for found in (RankSVM(loss=loss, tol=1e-6).fit(*one).result_ for one in rows):
        assert found.converged
        assert found.value == pytest.approx(plain.value, rel=3e-6)


def test_pairs_given_one_by_one():
    X = np.column_stack((RNG.normal(size=20), np.full(20, 1e12)))
    pairs = np.array([(i, i + 1) for i in range(0, 20, 2)])
    found = RankSVM(max_iter=50).fit(X, pairs=pairs)
    np.testing.assert_allclose(found.coef_, RankSVM().fit(X * [1, 0], pairs=pairs).coef_)


def test_tiny_features_are_refused_in_one_sentence():
    with pytest.raises(ValueError, match=r"the gradient at w = 0 is only 6e-300: scale the features up"):
        RankSVM(C=1.0).fit(1e-300 * np.array([[0.0], [1.0], [2.0]]), [0, 1, 1])


def test_a_spline_that_is_off_over_all_pairs_is_said():
    X = RNG.normal(size=(300, 5))
    with pytest.warns(UserWarning, match=r"over all pairs that may be .* such as 'logistic:1e-05'"):
        RankSVM(C=1e4, loss="logistic:1e-4").fit(X, X[:, 0] > 0)
