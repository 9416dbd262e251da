"""Factorized RankSVM: its formulas against listed pairs and differences, its optimum against RankSVM's."""

from itertools import pairwise

import numpy as np
import oracle
import pytest
from hypothesis import given
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks
from strategies import problems

from rankwise import Preferences, RankSVM, evaluate, make_ranking
from rankwise.estimators.factorization import FactorizedRisk
from rankwise.estimators.factorized import FactorizedRankSVM
from rankwise.objective import losses
from rankwise.objective.rows import MemoryRows

DATA = make_ranking(n_queries=25, docs_per_query=12, n_features=6, random_state=0)
FIT = {"C": 0.01, "random_state": 0, "n_components": 3}


def of_the_start(_):
    """A repeated document has a start of its own, so that the way down is another one; the optimum is not."""
    reason = "a document given twice starts from two random vectors"
    return dict.fromkeys(
        ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"], reason
    )


@parametrize_with_checks(
    [FactorizedRankSVM(max_iter=50), FactorizedRankSVM(solver="gd", max_iter=20)], expected_failed_checks=of_the_start
)
def test_scikit_learn(estimator, check):
    check(estimator)


def naive(X, y, qid, V, C, shape):
    """(5) of the paper: the weights and the value, pair by pair."""
    pairs = oracle.pairs(y, qid)
    w = sum(((V[i] @ V[j]) * (X[i] - X[j]) for i, j in pairs), np.zeros(X.shape[1]))
    return w, 0.5 * w @ w + C * sum(shape(w @ (X[i] - X[j])) for i, j in pairs)


def objective(X, y, qid, C, loss):
    return FactorizedRisk(MemoryRows(X), Preferences(y, qid), losses.parse(loss), C)


@given(problem=problems(max_documents=15))
def test_value_and_weights_are_the_sums_over_pairs(problem):
    y, qid = problem.labels, problem.queries
    rng = np.random.default_rng(y.size)
    X, V = rng.integers(-2, 3, (y.size, 3)).astype(float), rng.integers(-1, 2, (y.size, 2)).astype(float)
    w, value = naive(X, y, qid, V, 0.5, lambda m: max(0.0, 1 - m))
    here = objective(X, y, qid, 0.5, "hinge").at(V)
    np.testing.assert_allclose(here.weights, w, atol=1e-9)
    assert here.value == pytest.approx(value, rel=1e-9, abs=1e-9)


@given(problem=problems(max_documents=15))
def test_the_gradient_is_the_papers(problem):
    """(8) with the sign of u as (5) has it, pair by pair."""
    y, qid = problem.labels, problem.queries
    rng = np.random.default_rng(y.size)
    X, V = rng.normal(size=(y.size, 3)), rng.normal(size=(y.size, 2))
    pairs = oracle.pairs(y, qid)
    w, _ = naive(X, y, qid, V, 0.5, lambda m: 0.0)
    u = sum((X[i] - X[j] for i, j in pairs if w @ (X[i] - X[j]) < 1), np.zeros(3))
    expected = np.zeros_like(V)
    for i, j in pairs:
        slope = (w - 0.5 * u) @ (X[i] - X[j])
        expected[i] += slope * V[j]
        expected[j] += slope * V[i]
    np.testing.assert_allclose(objective(X, y, qid, 0.5, "hinge").at(V).gradient, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "huber:0.5"])
def test_the_gradient_is_the_slope(loss):
    f = objective(DATA.X, DATA.y, DATA.qid, 0.1, loss)
    rng = np.random.default_rng(1)
    V, direction = 0.02 * rng.normal(size=(2, len(DATA), 3))
    h = 1e-6
    ahead, back = f.at(V + h * direction), f.at(V - h * direction)
    assert (ahead.value - back.value) / (2 * h) == pytest.approx((f.at(V).gradient * direction).sum(), rel=1e-5)


@pytest.mark.parametrize("n_components", [1, 4])
def test_the_minimum_is_that_of_ranksvm(n_components):
    """The factors reach every w, so that the paper's problem has the value of the one without factors."""
    params = {"C": 0.01, "loss": "squared_hinge", "tol": 1e-10}
    plain = RankSVM(**params).fit(DATA.X, DATA.y, DATA.qid)
    ranker = FactorizedRankSVM(n_components=n_components, random_state=0, max_iter=5000, **params)
    ranker.fit(DATA.X, DATA.y, DATA.qid)
    assert ranker.result_.converged
    assert ranker.result_.value == pytest.approx(plain.result_.value, rel=1e-6)
    np.testing.assert_allclose(ranker.coef_, plain.coef_, atol=1e-3)


def factors_of(alphas, y):
    """For one query, V with a component less than there are labels and the same row minus column sums as `alphas`."""
    net, labels = alphas.sum(axis=1) - alphas.sum(axis=0), np.unique(y)[::-1]
    V, total = np.zeros((y.size, labels.size - 1)), 0.0
    for component, (upper, lower) in enumerate(pairwise(labels)):
        rows = net[y == upper] + total / np.count_nonzero(y == upper)
        total = rows.sum()
        columns = -net[y == lower] if lower == labels[-1] else np.full(sum(y == lower), total / sum(y == lower))
        V[y == upper, component], V[y == lower, component] = rows / total, columns
    return V


@pytest.mark.parametrize("n_labels", [2, 3, 5])
def test_a_component_less_than_labels_reaches_every_w(n_labels):
    """So the rank is no restriction on w: any matrix of alphas can be replaced by one of factors."""
    rng = np.random.default_rng(n_labels)
    qid, y = np.repeat([0, 1, 2], 15), np.tile(rng.permutation(np.arange(15) % n_labels), 3)
    X = rng.normal(size=(qid.size, 40))
    pairs = (qid[:, None] == qid) & (y[:, None] > y)
    alphas = np.where(pairs, rng.normal(size=pairs.shape), 0.0)
    V = np.vstack([factors_of(alphas[qid == q][:, qid == q], y[qid == q]) for q in range(3)])
    assert V.shape[1] == n_labels - 1
    w = X.T @ (alphas.sum(axis=1) - alphas.sum(axis=0))
    np.testing.assert_allclose(objective(X, y, qid, 1.0, "hinge").weights(V), w, atol=1e-9)


def test_the_first_step_prefers_directions_in_which_documents_vary():
    """From a random start it is along S Σ d, with d the differences of the pairs and S = Σ d dᵀ; RankSVM's is Σ d."""
    f = objective(DATA.X, DATA.y, DATA.qid, 1.0, "hinge")
    V = 1e-6 * np.random.default_rng(0).normal(size=(len(DATA), 3000))  # so many that they are their own mean
    step = -f.at(V).gradient
    first = (f.weights(V + step) - f.weights(V - step)) / 2
    differences = np.array([DATA.X[i] - DATA.X[j] for i, j in oracle.pairs(DATA.y, DATA.qid)])
    expected = differences.T @ differences @ differences.sum(axis=0)
    plain = differences.sum(axis=0)

    def cosine(a, b):
        return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

    assert cosine(first, expected) > 0.999 > cosine(first, plain)


def test_gradient_descent_takes_the_papers_steps():
    f = objective(DATA.X, DATA.y, DATA.qid, 0.01, "hinge")
    V = 0.01 * np.random.default_rng(0).normal(size=(len(DATA), 3))
    ranker = FactorizedRankSVM(**FIT, solver="gd", learning_rate=1e-4, init=V, max_iter=3)
    with pytest.warns(ConvergenceWarning, match="max_iter = 3 iterations were not enough"):
        ranker.fit(DATA.X, DATA.y, DATA.qid)
    for _ in range(3):
        V = V - 1e-4 * f.at(V).gradient
    np.testing.assert_allclose(ranker.latent_, V)
    np.testing.assert_allclose(ranker.coef_, f.at(V).weights)
    assert ranker.n_iter_ == 3
    assert not ranker.result_.converged
    values = [step.value for step in ranker.result_.history]
    assert values == sorted(values, reverse=True)


def test_too_long_a_step_is_said():
    with pytest.warns(ConvergenceWarning, match="diverged: learning_rate=100 is too large"):
        ranker = FactorizedRankSVM(**FIT, solver="gd", learning_rate=100).fit(DATA.X, DATA.y, DATA.qid)
    assert np.isfinite(ranker.coef_).all()


def test_both_ways_down_arrive():
    params = FIT | {"loss": "huber:0.5"}
    quick = FactorizedRankSVM(**params, tol=1e-7).fit(DATA.X, DATA.y, DATA.qid)
    slow = FactorizedRankSVM(**params, solver="gd", learning_rate=1e-4, max_iter=4000, tol=1e-4)
    slow.fit(DATA.X, DATA.y, DATA.qid)
    assert slow.result_.value == pytest.approx(quick.result_.value, rel=2e-2)
    assert quick.n_iter_ < slow.n_iter_ / 4


def test_the_factors_are_kept():
    ranker = FactorizedRankSVM(**FIT).fit(DATA.X, DATA.y, DATA.qid)
    w, value = naive(DATA.X, DATA.y, DATA.qid, ranker.latent_, 0.01, lambda m: max(0.0, 1 - m))
    np.testing.assert_allclose(ranker.coef_, w, atol=1e-9)
    assert ranker.result_.value == pytest.approx(value)
    np.testing.assert_allclose(ranker.predict(DATA.X), DATA.X @ w, atol=1e-9)
    again = FactorizedRankSVM(**FIT, init=ranker.latent_).fit(DATA.X, DATA.y, DATA.qid)
    assert again.result_.value <= ranker.result_.value


def test_row_order_and_names_of_queries_do_not_matter():
    V = np.random.default_rng(0).normal(size=(len(DATA), 3)) / 50
    shuffle = np.random.default_rng(1).permutation(len(DATA))
    params = FIT | {"loss": "squared_hinge", "tol": 1e-9, "max_iter": 3000}
    plain = FactorizedRankSVM(**params, init=V).fit(DATA.X, DATA.y, DATA.qid)
    names = np.array([f"q{q}" for q in DATA.qid])
    moved = FactorizedRankSVM(**params, init=V[shuffle])
    moved.fit(DATA.X[shuffle], DATA.y[shuffle], names[shuffle])
    np.testing.assert_allclose(moved.coef_, plain.coef_, atol=1e-3)


def test_stopping_by_validation_keeps_the_best():
    train, test = DATA.qid <= 15, DATA.qid > 15
    data = DATA.X[test], DATA.y[test], DATA.qid[test]
    ranker = FactorizedRankSVM(C=10.0, n_components=3, random_state=0, n_iter_no_change=5, measure="map", tol=1e-12)
    ranker.fit(DATA.X[train], DATA.y[train], DATA.qid[train], validation=data)
    scores = [float(step.detail.split()[1]) for step in ranker.result_.history]
    assert evaluate(data[1], ranker.predict(data[0]), data[2], "map")["map"] == pytest.approx(max(scores), abs=1e-4)
    assert ranker.validation_score_ == pytest.approx(max(scores), abs=1e-4)
    assert len(scores) == scores.index(max(scores)) + 6
    assert "no improvement on validation for 5 iterations" in ranker.result_.message


def test_queries_are_held_out_whole():
    ranker = FactorizedRankSVM(**FIT, validation_fraction=0.2).fit(DATA.X, DATA.y, DATA.qid)
    empty = ~ranker.latent_.any(axis=1)
    held = np.unique(DATA.qid[empty])
    assert len(held) == 5
    assert np.isin(DATA.qid, held).tolist() == empty.tolist()
    assert 0 < ranker.validation_score_ <= 1


def test_no_pairs():
    with pytest.warns(UserWarning, match="no preference pair: no query has two different labels"):
        ranker = FactorizedRankSVM(**FIT).fit(DATA.X, np.ones(len(DATA)), DATA.qid)
    assert not ranker.coef_.any()


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"C": 0}, "C must be a positive number"),
        ({"learning_rate": -1}, "learning_rate must be a positive number"),
        ({"n_components": 0}, "n_components must be a positive number"),
        ({"solver": "adam"}, "solver must be one of 'lbfgs', 'gd'; got 'adam'"),
        ({"init": "zero"}, r"init must be 'random', or an array of shape \(300, 10\); got 'zero'"),
        ({"init": np.zeros((3, 3))}, r"of shape \(300, 10\); got shape \(3, 3\)"),
        ({"validation_fraction": 1.5}, "validation_fraction must be between 0 and 1; got 1.5"),
        ({"loss": "hing"}, "loss must be one of 'hinge', .*; got 'hing'"),
        ({"measure": "ndgc"}, "ndgc"),
    ],
)
def test_mistakes_are_one_sentence(params, words):
    with pytest.raises(ValueError, match=words):
        FactorizedRankSVM(**params).fit(DATA.X, DATA.y, DATA.qid)
    with pytest.raises(ValueError, match="only one"):
        FactorizedRankSVM(validation_fraction=0.5).fit(DATA.X, DATA.y)


def test_weights_lead_to_the_optimum_of_ranksvm():
    weights = np.random.default_rng(0).integers(0, 3, len(DATA)).astype(float)
    given = {"C": 0.01, "loss": "squared_hinge", "tol": 1e-12}
    reached = FactorizedRankSVM(n_components=6, max_iter=5000, random_state=0, **given)
    reached.fit(DATA.X, DATA.y, DATA.qid, weights)
    optimum = RankSVM(**given).fit(DATA.X, DATA.y, DATA.qid, weights)
    unweighted = RankSVM(**given).fit(DATA.X, DATA.y, DATA.qid)
    assert reached.result_.value == pytest.approx(optimum.result_.value, rel=1e-6)
    assert reached.result_.value != pytest.approx(unweighted.result_.value, rel=1e-2)


def test_validation_data_are_given_by_name():
    with pytest.raises(ValueError, match="pass validation data by name"):
        FactorizedRankSVM().fit(DATA.X, DATA.y, DATA.qid, (DATA.X, DATA.y, DATA.qid))


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-100, 1e-20, 1e50, 1e100, 1e200, 1e300])
def test_features_of_an_extreme_scale_do_not_converge_at_the_start(scale):
    ranker = FactorizedRankSVM(C=1.0, random_state=0, n_components=2)
    if 1e-150 < scale < 1e150:
        with pytest.warns(ConvergenceWarning, match="no decrease near the start: scale the features"):
            assert not ranker.fit(scale * DATA.X, DATA.y, DATA.qid).result_.converged
    else:
        with pytest.raises(ValueError, match=r"the objective overflows at w = 0|the gradient at w = 0 is only"):
            ranker.fit(scale * DATA.X, DATA.y, DATA.qid)


@pytest.mark.parametrize("seed", range(3))
def test_features_that_are_constant_within_queries_give_weights_of_0(seed):
    qid = np.repeat(np.arange(6), 10)
    y = np.random.default_rng(0).integers(0, 3, 60)
    ranker = FactorizedRankSVM(random_state=seed).fit(qid[:, None] * np.ones(2), y, qid)
    assert not ranker.coef_.any()
    assert ranker.result_.converged


def test_queries_in_any_order_have_the_same_value_at_zero():
    rng = np.random.default_rng(0)
    rows, qid, y = rng.normal(size=(3000, 5)), rng.integers(0, 60, 3000), rng.integers(0, 3, 3000)
    risk = FactorizedRisk(MemoryRows(rows), Preferences(y, qid), losses.squared_hinge(), C=2.0)
    pairs = sum((y[qid == one][:, None] > y[qid == one]).sum() for one in range(60))
    assert risk.value_at_zero == 2.0 * pairs
