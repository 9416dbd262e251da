import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import rankwise.data.synthetic
from rankwise import make_ranking


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


@pytest.mark.parametrize("density", [None, 0.2])
@pytest.mark.parametrize("n_levels", [5, None])
def test_same_seed_same_bits_whatever_the_threads(density, n_levels, monkeypatch):
    monkeypatch.setattr(rankwise.data.synthetic, "BLOCK_VALUES", 1000)
    made = [make_ranking(50, 10, 23, density=density, n_levels=n_levels, random_state=seed) for seed in (7, 7, 8)]
    monkeypatch.setattr(rankwise.data.synthetic, "thread_count", lambda: 1)
    made.append(make_ranking(50, 10, 23, density=density, n_levels=n_levels, random_state=7))
    for again in (made[1], made[3]):
        assert_array_equal(dense(again.X), dense(made[0].X))
        assert_array_equal(again.y, made[0].y)
        assert_array_equal(again.qid, made[0].qid)
    assert (dense(made[2].X) != dense(made[0].X)).any()
    assert (made[2].y != made[0].y).any()


@pytest.mark.parametrize("density", [None, 0.2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shapes_and_types(dtype, density):
    data = make_ranking(30, 12, 11, density=density, dtype=dtype, random_state=0)
    assert data.X.shape == (360, 11)
    assert data.X.dtype == dtype
    assert data.y.dtype == np.float64
    assert sparse.issparse(data.X) == (density is not None)
    assert np.isfinite(dense(data.X)).all()
    assert_array_equal(np.unique(data.qid), np.arange(1, 31))
    assert (np.diff(data.qid) >= 0).all()


def test_query_lengths_are_skewed_and_keep_to_their_bounds():
    by_mean = np.bincount(make_ranking(500, 20, 1, random_state=0).qid)[1:]
    assert by_mean.sum() == 10_000
    assert by_mean.min() >= 1
    assert np.median(by_mean) < 19
    assert by_mean.max() > 50
    between = np.bincount(make_ranking(500, (3, 60), 1, random_state=0).qid)[1:]
    assert between.min() == 3
    assert between.max() == 60
    assert np.median(between) < 20
    assert_array_equal(np.bincount(make_ranking(9, (4, 4), 1, random_state=0).qid)[1:], 4)


def test_five_levels_have_the_shares_of_web_search():
    y = make_ranking(500, 20, 10, random_state=0).y
    assert_allclose(np.bincount(y.astype(int)) / y.size, [0.52, 0.32, 0.13, 0.02, 0.01], atol=2e-4)


@pytest.mark.parametrize("n_levels", [2, 3, 10, 30])
def test_any_number_of_levels_most_documents_low(n_levels):
    y = make_ranking(500, 20, 10, n_levels=n_levels, random_state=0).y
    assert_array_equal(np.unique(y), np.arange(n_levels))
    assert y.mean() < 0.25 * (n_levels - 1)


def test_real_labels_are_distinct():
    y = make_ranking(50, 20, 10, n_levels=None, random_state=0).y
    assert np.unique(y).size == y.size


def test_features_are_correlated_and_of_all_kinds():
    X = make_ranking(200, 20, 16, random_state=0).X
    correlation = np.abs(np.corrcoef(X.T))[np.triu_indices(16, 1)]
    assert (correlation > 0.3).sum() >= 8
    count, score, flag = X[:, 1::4], X[:, 2::4], X[:, 3::4]
    assert_array_equal(count, np.floor(count))
    assert (count.max(axis=0) > 10 * np.median(count, axis=0)).all()
    assert ((score > 0) & (score < 1)).all()
    assert_array_equal(np.unique(flag), [0, 1])


def test_density_is_the_share_of_nonzeros_in_every_row():
    X = make_ranking(40, 10, 1000, density=0.03, random_state=0).X
    assert_array_equal(np.diff(X.indptr), 30)
    assert X.has_canonical_format
    X.has_canonical_format = X.has_sorted_indices = False
    X.sum_duplicates()
    assert X.nnz == 400 * 30
    used = np.sort(np.bincount(X.indices, minlength=1000))[::-1]
    assert used[:100].sum() > 0.3 * X.nnz, "some columns are common, most are rare"
    assert make_ranking(5, 4, 10, density=0.001, random_state=0).X.nnz == 20


def test_relevance_rests_on_the_informative_features():
    def top_five_share(n_informative):
        data = make_ranking(1000, 20, 40, n_informative=n_informative, n_levels=None, noise=0, random_state=0)
        X, y = within(data.X, data.qid), within(data.y, data.qid)
        weights, *_ = np.linalg.lstsq(X / X.std(axis=0), y)
        return np.sort(np.abs(weights))[-5:].sum() / np.abs(weights).sum()

    assert top_five_share(5) > 0.7
    assert top_five_share(40) < 0.5


@pytest.mark.parametrize("density", [None, 0.05])
@pytest.mark.parametrize("n_levels", [2, 5, None])
@pytest.mark.parametrize("seed", range(3))
def test_preferences_within_queries_beat_regression(seed, n_levels, density):
    n_features = 20 if density is None else 200
    data = make_ranking(300, 20, n_features, n_levels=n_levels, density=density, random_state=seed)
    X, y, qid = dense(data.X), data.y, data.qid
    train, test = qid <= 200, qid > 200
    ridge = np.vstack([X[train] - X[train].mean(axis=0), np.eye(n_features)])
    regression, *_ = np.linalg.lstsq(ridge, np.append(y[train] - y[train].mean(), np.zeros(n_features)))
    ridge = np.vstack([within(X[train], qid[train]), np.eye(n_features)])
    ranking, *_ = np.linalg.lstsq(ridge, np.append(within(y[train], qid[train]), np.zeros(n_features)))
    by_regression, by_ranking = (accuracy(y[test], X[test] @ w, qid[test]) for w in (regression, ranking))
    assert by_ranking > 0.7
    assert by_ranking > by_regression + 0.01


def within(values, qid):
    """Values less their query's mean: what pairs of the same query see."""
    means = np.array([values[qid == q].mean(axis=0) for q in np.unique(qid)])
    return values - means[np.searchsorted(np.unique(qid), qid)]


def accuracy(y, scores, qid):
    """Share of the preference pairs in the right order."""
    right = []
    for q in np.unique(qid):
        preferred = np.subtract.outer(y[qid == q], y[qid == q]) > 0
        right.append((np.subtract.outer(scores[qid == q], scores[qid == q]) > 0)[preferred])
    return np.concatenate(right).mean()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n_queries": 0}, "n_queries is 0: it must be at least 1"),
        ({"n_queries": 2.5}, "n_queries is 2.5: give a whole number"),
        ({"n_features": True}, "n_features is True"),
        ({"docs_per_query": 0}, "docs_per_query is 0"),
        ({"docs_per_query": (5, 4)}, r"docs_per_query\[1\] is 4: it must be at least 5"),
        ({"docs_per_query": (1, 2, 3)}, r"docs_per_query is \(1, 2, 3\): give one number, or a pair"),
        ({"n_informative": 21}, "n_informative is 21: it must be from 1 to 20"),
        ({"n_levels": 1}, "n_levels is 1: it must be at least 2"),
        ({"noise": -1}, "noise is -1: give a standard deviation"),
        ({"noise": float("nan")}, "noise is nan"),
        ({"density": 0}, "density is 0: give a share"),
        ({"density": 1.5}, "density is 1.5"),
        ({"dtype": np.int64}, "dtype is int64: X can be float32 or float64"),
    ],
)
def test_bad_arguments_get_one_sentence(arguments, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        make_ranking(**arguments)
