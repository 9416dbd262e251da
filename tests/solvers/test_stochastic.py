"""Stochastic steps: each as the formula says, by a plain loop; and where they lead, against Newton's optimum."""

import time
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from rankwise import losses, make_ranking
from rankwise.pairs.sampling import PairSampler
from rankwise.problems import Pairing, build, build_from_pairs
from rankwise.solvers import Newton
from rankwise.solvers.stochastic import Stochastic, StochasticState, Walk, update
from rankwise.solvers.stochastic_draws import Pairs, Queries

LOSSES = ["hinge", "squared_hinge", "huber:0.1", "logistic:1e-3", "squared"]
SMALL = make_ranking(n_queries=30, n_features=6, random_state=1)
WEIGHTS = np.random.default_rng(2).integers(0, 4, len(SMALL.y)).astype(float)


def objective(loss="squared_hinge", C=1.0, convert=np.asarray, weights=None, pairing=None, data=SMALL, n_jobs=None):
    loss = losses.parse(loss)
    return build(convert(data.X), data.y, data.qid, weights, loss=loss, C=C, pairing=pairing, n_jobs=n_jobs)


def optimum(problem):
    """For the hinge, that of a narrow Huber: lower by at most 0.0005 a pair."""
    result = Newton(tol=1e-6)(problem if problem.loss.name != "hinge" else problem.smoothed(1e-3))
    assert result.converged
    return result.value


def real_valued(n=2000, d=10):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + 2 * rng.normal(size=n)


def slope(loss, margin):
    return -sum(p.slope + p.curvature * (1 - margin) for p in loss.pieces if margin < p.threshold)


class Formula:
    """The module's formula, by plain loops over a dense X and the listed pairs; 0 counts as stored where X is dense."""

    def __init__(self, problem, X, stored, C):
        layout = problem.preferences.layout
        n, queries = len(X), np.repeat(np.arange(layout.starts.size - 1), np.diff(layout.starts))
        pairs = [(i, j) for i in range(n) for j in range(n) if queries[i] == queries[j] and SMALL.y[i] > SMALL.y[j]]
        self.X, self.stored, self.loss, self.queries = X, stored, problem.loss, queries
        self.weight = {(i, j): WEIGHTS[i] * WEIGHTS[j] for i, j in pairs}
        self.total = sum(self.weight.values())
        self.shrinkage = 1 / (C * self.total)
        self.of_query = np.bincount(queries[[i for i, _ in pairs]], list(self.weight.values()), queries[-1] + 1)

    def scales(self, uses):
        """`uses`: how often a step reads each row, on average."""
        self.reads = uses @ self.stored
        self.centre = uses @ self.X / uses.sum()
        variance = uses @ self.X**2 / uses.sum() - self.centre**2
        pull = -slope(self.loss, 0.0)
        self.rate = np.minimum(1, self.reads) / (2 * pull * variance + self.shrinkage)
        self.norms = pull * (self.rate * (self.X - self.centre) ** 2).sum(1)

    def pair_gradient(self, w, i, j):
        d = self.X[i] - self.X[j]
        return slope(self.loss, w @ d) * d

    def run(self, w, first, settling, steps):
        """`steps`: (the loss's gradient as a function of w, the rows it reads, the longest step it bears)."""
        total = np.zeros_like(w)
        slowest = self.shrinkage * self.rate.min()
        for t, (gradient, rows, longest) in enumerate(steps):
            length = min(1 / (1 / first + slowest * (t + 1)), first / np.sqrt(1 + t / settling), longest)
            w = w - length * self.rate * gradient(w)
            for i in rows:
                fade = length * self.shrinkage * self.rate / self.reads
                w = np.where(self.stored[i], w / (1 + fade), w)
            total = total + (t + 1) * w
        return w, total / sum(range(1, len(steps) + 1))


FORMATS = {
    "dense": (np.asarray, np.ones_like),
    "float32": (lambda X: X.astype(np.float32), np.ones_like),
    "csr": (sparse.csr_array, lambda X: X != 0),
}


def masked():
    """Rows of which a third is missing, in numbers that float32 holds exactly."""
    kept = np.random.default_rng(4).random(SMALL.X.shape) < 0.7
    return np.round(SMALL.X * kept * 16) / 16


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [10.0, 1e-7])
def test_steps_over_pairs_are_those_of_the_formula(loss, C, format_):
    convert, stored = FORMATS[format_]
    X = masked()
    problem = build(convert(X), SMALL.y, SMALL.qid, WEIGHTS, loss=losses.parse(loss), C=C)
    formula = Formula(problem, X, stored(X).astype(float), C)
    degree = np.zeros(len(X))
    for pair, weight in formula.weight.items():
        degree[list(pair)] += weight
    formula.scales(degree / formula.total)
    walk = Walk(StochasticState.at(np.ones(6)), Pairs(problem), 3)
    first = 0.5 / max(walk.state.length / walk.state.pairs, 0.5)
    lengths = np.array([formula.norms[i] + formula.norms[j] for i, j in formula.weight])
    weights = np.array(list(formula.weight.values()))
    mean = weights @ lengths**2 / (weights @ lengths)
    assert walk.state.length / walk.state.pairs == pytest.approx(mean, rel=0.2)  # by a sample of pairs
    pairs = zip(*PairSampler(problem.preferences.layout).draw(600, np.random.default_rng((3, 0))), strict=True)
    steps = [
        (partial(formula.pair_gradient, i=i, j=j), (i, j), 1 / (formula.norms[i] + formula.norms[j])) for i, j in pairs
    ]
    w, average = formula.run(np.ones(6), first, 1024, steps)
    state = walk.epoch()
    np.testing.assert_allclose(state.point, w, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(state.average, average, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("C", [10.0, 1e-7])
def test_steps_over_queries_are_those_of_the_formula(C, format_):
    convert, stored = FORMATS[format_]
    X = masked()
    problem = build(convert(X), SMALL.y, SMALL.qid, WEIGHTS, loss=losses.parse("huber:0.5"), C=C)
    formula = Formula(problem, X, stored(X).astype(float), C)
    formula.scales(formula.of_query[formula.queries] / formula.total)
    draws = Queries(problem)
    walk = Walk(StochasticState.at(np.ones(6)), draws, 3)
    first = 1 / max(walk.state.length / walk.state.pairs, 1)
    drawn = np.random.default_rng((3, 0)).choice(30, draws.steps, p=formula.of_query / formula.total)

    def gradient(w, q):
        of_q = {pair: weight for pair, weight in formula.weight.items() if formula.queries[pair[0]] == q}
        return sum(weight * formula.pair_gradient(w, *pair) for pair, weight in of_q.items()) / formula.of_query[q]

    steps = [(partial(gradient, q=q), np.flatnonzero(formula.queries == q), 1 / draws.lengths[q]) for q in drawn]
    w, average = formula.run(np.ones(6), first, 1024, steps)
    state = walk.epoch()
    np.testing.assert_allclose(state.point, w, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(state.average, average, rtol=1e-7, atol=1e-9)


def test_the_length_of_a_query_is_its_largest_eigenvalue():
    """Up to one factor for all queries, which is right on average over those looked at."""
    problem = objective("squared_hinge")
    draws = Queries(problem)
    rate = np.geomspace(0.1, 10, 6)
    draws.measure(rate, SMALL.X.mean(0), np.random.default_rng(0))
    largest = np.zeros(30)
    for q in np.flatnonzero(draws.weights):
        rows = slice(draws.starts[q], draws.starts[q + 1])
        X, y = SMALL.X[rows] * np.sqrt(rate), SMALL.y[rows]
        ds = np.array([a - b for a, s in zip(X, y, strict=True) for b, t in zip(X, y, strict=True) if s > t])
        largest[q] = 2 * np.linalg.eigvalsh(ds.T @ ds / len(ds))[-1]
    assert draws.lengths @ draws.weights == pytest.approx(largest @ draws.weights, rel=0.3)
    assert np.corrcoef(draws.lengths, largest)[0, 1] > 0.8


@pytest.mark.parametrize("C", [1e-6, 1e-2, 100.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_reaches_the_optimum_over_pairs(loss, C):
    problem = objective(loss, C, weights=WEIGHTS)
    result = Stochastic(max_iter=300)(problem)
    assert result.converged, result.message
    assert result.value <= 1.01 * optimum(problem)


@pytest.mark.parametrize("loss", LOSSES)
def test_reaches_the_optimum_over_queries(loss):
    problem = objective(loss, 0.1, weights=WEIGHTS)
    result = Stochastic(max_iter=500, over="queries")(problem)
    assert result.converged, result.message
    assert result.value <= 1.01 * optimum(problem)


def test_the_unit_of_a_feature_does_not_matter():
    X, y = real_valued()
    units = np.geomspace(1e-3, 1e3, X.shape[1])
    plain, scaled = (build(one, y, loss=losses.hinge(), C=1e6) for one in (X, X * units))
    one, other = (Stochastic(tol=0.0, max_iter=3)(problem) for problem in (plain, scaled))
    np.testing.assert_allclose(other.point * units, one.point, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_one_query_of_real_valued_labels(loss):
    X, y = real_valued()
    problem = build(X, y, loss=losses.parse(loss), C=1.0)
    result = Stochastic()(problem)
    assert result.converged
    assert result.iterations <= 100
    assert result.value <= 1.01 * optimum(problem)


@pytest.mark.parametrize("over", ["pairs", "queries"])
@pytest.mark.parametrize(
    "pairing", [Pairing(scope="adjacent"), Pairing(costs="gain"), Pairing(costs="gain", rescaling="margin")], ids=str
)
def test_scopes_and_costs(pairing, over):
    problem = objective("squared_hinge", 0.1, weights=WEIGHTS, pairing=pairing)
    result = Stochastic(tol=2e-4, max_iter=500, over=over)(problem)
    assert result.value <= 1.01 * optimum(problem)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("over", ["pairs", "queries"])
def test_mq2008(read_parts, over, convert):
    data = read_parts("mq2008", 1, 2, 3)
    problem = objective("hinge", data=data, convert=convert)
    result = Stochastic(over=over)(problem)
    assert result.converged
    assert result.iterations <= 100
    assert result.value <= 1.01 * 24916.656


@pytest.mark.parametrize("over", ["pairs", "queries"])
def test_deterministic(over):
    def solve(seed, n_jobs=None):
        return Stochastic(over=over, max_iter=5, random_state=seed)(objective(n_jobs=n_jobs)).point

    np.testing.assert_array_equal(solve(0), solve(0))
    np.testing.assert_array_equal(solve(0, 1), solve(0, 2))
    assert (solve(0) != solve(1)).all()


def test_the_average_is_better_than_the_last_iterate():
    X, y = real_valued()
    problem = build(X, y, loss=losses.parse("hinge"), C=1.0)
    averaged, last = (Stochastic(tol=0.0, max_iter=10, average=average)(problem) for average in (True, False))
    assert averaged.value < last.value


def test_a_step_an_epoch():
    seen = []
    result = Stochastic(tol=0.0)(objective(), None, lambda step: seen.append(step) or len(seen) == 4)
    assert result.message == "stopped by the callback"
    assert not result.converged
    assert seen == result.history
    assert [step.iteration for step in seen] == [0, 1, 2, 3]
    assert seen[3].detail == f"{3 * len(SMALL.y)} steps"
    assert seen[3].value == objective().at(result.point).value
    short = Stochastic(tol=0.0, max_iter=2)(objective())
    assert short.iterations == 2
    assert "max_iter = 2 epochs" in short.message


def test_starts_where_it_is_told():
    problem = objective()
    best = Newton(tol=1e-10)(problem).point
    at_best = Stochastic()(problem, best)
    assert at_best.iterations == 0
    assert at_best.converged
    near = Stochastic(tol=0.0, max_iter=1)(problem, best + 0.01)
    assert near.history[0].value == problem.at(best + 0.01).value
    assert near.value < Stochastic(tol=0.0, max_iter=1)(problem).value


def test_no_pairs():
    problem = build(SMALL.X, np.ones(len(SMALL.y)), loss=losses.hinge(), C=1.0)
    result = Stochastic()(problem)
    assert result.converged
    assert not result.point.any()
    state = StochasticState.at(np.zeros(6))
    assert update(state, problem) is state
    same_rows = build(np.ones((4, 2)), [1, 2, 1, 2], loss=losses.hinge(), C=1.0)
    assert not Stochastic(max_iter=3)(same_rows).point.any()


def test_what_it_cannot_do_is_a_sentence():
    with pytest.raises(ValueError, match="over is 'rows': stochastic steps go over 'pairs' or 'queries'"):
        Stochastic(over="rows")(objective())
    with pytest.raises(TypeError, match="solver 'sgd' needs an objective that offers features"):
        Stochastic()(object())
    listed = build_from_pairs(SMALL.X, [(0, 1)], loss=losses.hinge(), C=1.0)
    with pytest.raises(TypeError, match="cannot take a list of pairs"):
        Stochastic()(listed)


@pytest.mark.parametrize("over", ["pairs", "queries"])
def test_updates_on_all_rows_are_epochs(over):
    problem = objective("hinge")
    state = update(StochasticState.at(np.zeros(6)), problem, epochs=3, over=over, random_state=7)
    result = Stochastic(tol=0.0, max_iter=3, over=over, random_state=7)(problem)
    np.testing.assert_array_equal(state.average, result.point)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_stream_of_queries_approaches_the_optimum_of_all(loss):
    data = make_ranking(n_queries=600, n_features=6, random_state=1)
    whole = objective(loss, 0.1, data=data)
    best, zero = optimum(whole), whole.at(np.zeros(6)).value
    state, excess = StochasticState.at(np.zeros(6)), []
    for batch in np.array_split(np.unique(data.qid), 60):
        rows = np.isin(data.qid, batch)
        state = update(state, build(data.X[rows], data.y[rows], data.qid[rows], loss=losses.parse(loss), C=0.1))
        excess.append((whole.at(state.average).value - best) / (zero - best))
    assert state.pairs == whole.preferences.active(np.zeros(len(data.y))).n_pairs
    assert state.steps == len(data.y)
    assert excess[-1] < 0.01
    assert excess[-1] < 0.5 * excess[0]


def test_a_rare_long_pair_does_not_make_it_diverge():
    X, y = real_valued(500, 3)
    X[7] *= 300
    problem = build(X, y, loss=losses.parse("squared"), C=1.0)
    result = Stochastic(tol=0.0, max_iter=30)(problem)
    assert max(step.value for step in result.history) < 10 * result.history[0].value


@pytest.mark.slow
def test_a_step_on_sparse_rows_costs_what_they_store():
    """A hundred times the features, the same number stored: far less than a hundred times the time."""
    rng = np.random.default_rng(0)

    def seconds(d, n=30_000, stored=20):
        X = sparse.csr_array((rng.normal(size=n * stored), rng.integers(0, d, n * stored), np.arange(n + 1) * stored))
        problem = build(X, rng.normal(size=n), loss=losses.hinge(), C=1.0)
        walk = Walk(StochasticState.at(np.zeros(X.shape[1])), Pairs(problem), 0)
        times = []
        for _ in range(5):
            begin = time.perf_counter()
            walk.epoch()
            times.append(time.perf_counter() - begin)
        return min(times)

    seconds(100)
    assert seconds(1_000_000) / seconds(10_000) < 10
