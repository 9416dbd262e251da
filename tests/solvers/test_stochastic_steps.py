"""Every step as the formula says, by plain loops over listed pairs."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse

from rankwise import make_ranking
from rankwise.objective import losses
from rankwise.objective.building import build
from rankwise.pairs.sampling import PairSampler
from rankwise.solvers.stochastic import StochasticState, Walk
from rankwise.solvers.stochastic_draws import Pairs, Queries

LOSSES = ["hinge", "squared_hinge", "huber:0.1", "logistic:1e-3", "squared"]
SMALL = make_ranking(n_queries=30, n_features=6, random_state=1)
WEIGHTS = np.random.default_rng(2).integers(0, 4, len(SMALL.y)).astype(float)


def slope(loss, margin):
    return -sum(p.slope + p.curvature * (1 - margin) for p in loss.pieces if margin < p.threshold)


class Formula:
    """The module's formula, by plain loops over a dense X and the listed pairs; 0 counts as stored where X is dense."""

    def __init__(self, problem, X, stored, C):
        layout = problem.pairwise.preferences.layout
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
    pairs = zip(*PairSampler(problem.pairwise.preferences.layout).draw(600, np.random.default_rng((3, 0))), strict=True)
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
    problem = build(SMALL.X, SMALL.y, SMALL.qid, loss=losses.squared_hinge(), C=1.0)
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
