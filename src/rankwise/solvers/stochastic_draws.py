"""Random draws for stochastic steps: pairs by their weight, or queries by the total weight of their pairs.

Both have the same expected step. Both know how often a step reads each row (`uses`), and the largest stable length of
each step: `lengths` estimate Σ_k rate_k d_k² for a pair; for a query, the largest eigenvalue of its mean over pairs.
"""

from abc import ABC, abstractmethod

import numpy as np

from rankwise.foundation.arrays import Floats, Ints
from rankwise.objective.objective import Objective
from rankwise.objective.risks import PairwiseRisk
from rankwise.objective.rows import Rows
from rankwise.pairs.sampling import PairSampler

BLOCK = 1 << 16  # pairs drawn at a time
SAMPLE = 1 << 12  # pairs from which their mean length is estimated
FEW = 32  # queries likewise
POWERS = 8  # iterations of the power method for the largest eigenvalue
TINY = float(np.finfo(float).tiny)


Scales = tuple[Floats, Floats]  # rate and fade (rate · λ / reads), one per feature
Schedule = tuple[int, float, float, float]  # t, η₀, τ and μ of `rankwise.solvers.stochastic`


class Draws(ABC):
    """steps    the number of steps per epoch
    n_pairs  the number (or total weight) of all pairs
    uses     for each row, n_pairs times the expected number of times that a step reads it
    share    length of the first steps, as a share of the step that raises a margin from 0 to 1
    """

    steps: int
    n_pairs: float
    uses: Floats
    share: float

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.rows = objective.rows.arrays
        pieces = objective.loss.pieces
        self.pieces = np.array([(p.threshold, p.slope, p.curvature) for p in pieces])
        self.pull = sum(p.slope + p.curvature for p in pieces if p.threshold > 0)  # of a pair with margin 0

    def moments(self) -> Floats:
        """For each feature, Σ uses, Σ uses · x and Σ uses · x² over the rows that store it."""
        from rankwise.solvers import stochastic_kernels as kernels

        out = np.zeros((3, self.objective.size))
        kernels.moments(self.rows, self.uses, out)
        return out

    def norms(self, rate: Floats, centre: Floats) -> Floats:
        from rankwise.solvers import stochastic_kernels as kernels

        out = np.empty(self.objective.rows.n_rows)
        kernels.norms(self.rows, rate, centre, out)
        return out

    @abstractmethod
    def measure(self, rate: Floats, centre: Floats, random: np.random.Generator) -> float:
        """Compute `lengths`; returns their mean, each weighted by itself, because long ones limit the step."""

    @abstractmethod
    def walk(self, schedule: Schedule, scales: Scales, w: Floats, total: Floats, random: np.random.Generator) -> None:
        """One epoch from w, in place; t times the t-th iterate is added to `total`."""


_ADJACENT = {"all": False, "adjacent": True}  # the argument `adjacent` of `PairSampler` by scope


class Pairs(Draws):
    """A step reads two rows."""

    share = 0.5

    def __init__(self, objective: Objective) -> None:
        super().__init__(objective)
        preferences = objective.pairwise.preferences
        self.sampler = PairSampler(preferences.layout, _ADJACENT[preferences.scope])
        self.n_pairs = float(self.sampler.n_pairs)
        self.steps = objective.rows.n_rows
        self.uses = self.sampler.degree()

    def measure(self, rate: Floats, centre: Floats, random: np.random.Generator) -> float:
        self.lengths = self.pull * self.norms(rate, centre)  # per row; the sum of two is that of their pair on average
        better, worse, _, costs, _ = self._drawn(SAMPLE, random)
        return _own_mean(costs * (self.lengths[better] + self.lengths[worse]), np.ones(SAMPLE))

    def walk(self, schedule: Schedule, scales: Scales, w: Floats, total: Floats, random: np.random.Generator) -> None:
        from rankwise.solvers.stochastic_kernels import pair_steps

        t, *others = schedule
        for done in range(0, self.steps, BLOCK):
            drawn = self._drawn(min(BLOCK, self.steps - done), random)
            pair_steps(self.rows, drawn, self.pieces, (t + done, *others), scales, w, total)

    def _drawn(self, n: int, random: np.random.Generator) -> tuple[Ints, Ints, Floats, Floats, Floats]:
        """Better and worse rows of pairs, their required margins, their costs, and the longest stable steps."""
        better, worse = self.sampler.draw(n, random)
        risk = self.objective.pairwise
        by_document, products = risk.margins, risk.preferences.products
        margins = np.ones(n) if by_document is None else by_document[better] - by_document[worse]
        costs = np.ones(n) if products is None else np.einsum("pr,pr->p", products[0][better], products[1][worse])
        lengths = costs * (self.lengths[better] + self.lengths[worse])
        return better, worse, margins, costs, 1.0 / np.maximum(lengths, TINY)


class Queries(Draws):
    """A step uses the whole gradient of a query, by pair sums: O(l_q log l_q), and two products with its rows."""

    share = 1.0

    def __init__(self, objective: Objective) -> None:
        super().__init__(objective)
        preferences = objective.pairwise.preferences
        self.starts = preferences.layout.starts
        self.weights = preferences.pairs_per_query()
        self.n_pairs = float(self.weights.sum())
        self.steps = int(np.count_nonzero(self.weights))
        self.uses = np.repeat(self.weights, np.diff(self.starts))

    def measure(self, rate: Floats, centre: Floats, random: np.random.Generator) -> float:
        degree = self.objective.pairwise.preferences.active(np.zeros(self.uses.size)).degree
        sums = np.add.reduceat(degree * self.norms(rate, centre), self.starts[:-1])
        traces = self.pull * sums / np.where(self.weights > 0, self.weights, 1.0)
        drawn = self._drawn(min(FEW, self.steps), random)
        axes = self.pull * sum(self._main_axis(int(q), np.sqrt(rate), random) for q in drawn)
        self.lengths = traces * (axes / max(float(traces[drawn].sum()), TINY))
        return _own_mean(self.lengths, self.weights)

    def walk(self, schedule: Schedule, scales: Scales, w: Floats, total: Floats, random: np.random.Generator) -> None:
        from rankwise.solvers import stochastic_kernels as kernels

        t, *others = schedule
        mass = 0.0
        longest = 1.0 / np.maximum(self.lengths, TINY)
        for q in self._drawn(self.steps, random):
            risk, features, first = self._query(int(q))
            length = min(kernels.step_length(t, *others), float(longest[q]))
            changes = risk.at(features.dot(w)).gradient * (-length / self.weights[q])
            kernels.query_step(self.rows, first, changes, length, scales, (mass, w, total))
            t += 1
            mass += t
        total += mass * w

    def _drawn(self, n: int, random: np.random.Generator) -> Ints:
        return random.choice(self.weights.size, n, p=self.weights / self.n_pairs)

    def _query(self, q: int) -> tuple[PairwiseRisk, Rows, int]:
        rows = slice(int(self.starts[q]), int(self.starts[q + 1]))
        risk = self.objective.pairwise.select(slice(q, q + 1), rows, 1)
        return risk, self.objective.rows.select(rows, 1), rows.start

    def _main_axis(self, q: int, root: Floats, random: np.random.Generator) -> float:
        """An estimate of the largest eigenvalue of the mean of (root d)(root d)ᵀ over the pairs of query q."""
        risk, features, _ = self._query(q)
        graph = risk.preferences.active(np.zeros(features.n_rows))
        v, length = random.normal(size=features.n_features), 0.0
        for _ in range(POWERS):
            v = root * features.transposed_dot(graph.laplacian(features.dot(root * v))) / self.weights[q]
            length = float(np.linalg.norm(v))
            if not length:
                break
            v /= length
        return length


def _own_mean(lengths: Floats, weights: Floats) -> float:
    """The mean of the lengths, each weighted by itself."""
    return float(weights @ lengths**2) / max(float(weights @ lengths), TINY)
