"""What stochastic steps go over: pairs drawn by weight, or queries drawn by the weight of their pairs.

Both give the same expected step. Both know how often a step reads each row (`uses`), and how long each of their steps
may be: `lengths` estimate Σ_k rate_k d_k² for a pair, and for a query the largest eigenvalue of its mean over pairs.
"""

from abc import ABC, abstractmethod

import numpy as np

from rankwise.foundation.arrays import Floats, Ints
from rankwise.objective.objective import Objective
from rankwise.objective.risks import PairwiseRisk
from rankwise.objective.rows import Rows
from rankwise.pairs.sampling import PairSampler

BLOCK = 1 << 16  # pairs drawn at a time
SAMPLE = 1 << 12  # pairs looked at for their mean length
FEW = 32  # queries looked at for theirs
POWERS = 8  # of a matrix, to see its largest eigenvalue
TINY = float(np.finfo(float).tiny)


Scales = tuple[Floats, Floats]  # per feature, its rate and how it fades
Schedule = tuple[int, float, float, float]  # t, η₀, τ and μ of `rankwise.solvers.stochastic`


class Draws(ABC):
    """steps    an epoch's
    n_pairs  the number (or weight) of all pairs
    uses     for each row, n_pairs times how often a step reads it
    share    of a step that would lift a margin from 0 to 1, how much is taken at first
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
        """Settle the lengths; their mean, long ones weighing more: it is they that disturb the others."""

    @abstractmethod
    def walk(self, schedule: Schedule, scales: Scales, w: Floats, total: Floats, random: np.random.Generator) -> None:
        """An epoch from w on, in place; t times the t-th iterate is added to `total`."""


_ADJACENT = {"all": False, "adjacent": True}  # the scopes that pairs can be drawn from


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
        self.lengths = self.pull * self.norms(rate, centre)  # the sum of two rows' is that of their pair, on average
        better, worse, _, costs, _ = self._drawn(SAMPLE, random)
        return _own_mean(costs * (self.lengths[better] + self.lengths[worse]), np.ones(SAMPLE))

    def walk(self, schedule: Schedule, scales: Scales, w: Floats, total: Floats, random: np.random.Generator) -> None:
        from rankwise.solvers.stochastic_kernels import pair_steps

        t, *others = schedule
        for done in range(0, self.steps, BLOCK):
            drawn = self._drawn(min(BLOCK, self.steps - done), random)
            pair_steps(self.rows, drawn, self.pieces, (t + done, *others), scales, w, total)

    def _drawn(self, n: int, random: np.random.Generator) -> tuple[Ints, Ints, Floats, Floats, Floats]:
        """Pairs, the difference of scores asked of each, what each costs, and the longest step that each bears."""
        better, worse = self.sampler.draw(n, random)
        risk = self.objective.pairwise
        margins, products = risk.margins, risk.preferences.products
        asked = np.ones(n) if margins is None else margins[better] - margins[worse]
        costs = np.ones(n) if products is None else np.einsum("pr,pr->p", products[0][better], products[1][worse])
        lengths = costs * (self.lengths[better] + self.lengths[worse])
        return better, worse, asked, costs, 1.0 / np.maximum(lengths, TINY)


class Queries(Draws):
    """A step takes the whole gradient of a query, by pair sums: O(l_q log l_q), and its rows once each way."""

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
        """The largest eigenvalue of query q's mean of (root d)(root d)ᵀ, nearly."""
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
    """The mean of lengths, each weighed by itself."""
    return float(weights @ lengths**2) / max(float(weights @ lengths), TINY)
