"""Stochastic gradient descent over pairs or over queries.

    w ← w - η_t (λ w + ℓ'(w·d) d),   η_t = min(1 / (1/η₀ + λ (t + 1)), η₀ / √(1 + t/τ)),   λ = 1 / (C · pairs)

d = x_i - x_j is a pair drawn uniformly, or by its weight (Pegasos, sofia-ml; Chapelle and Keerthi's algorithm 2). Over
queries, ℓ' d is averaged over all pairs of one query by pair sums (their algorithm 3), the query being drawn by the
weight of its pairs, so that all steps are of one size. In the end η is 1/(λt); before, with λ tiny, it falls slowly
from η₀. The answer is the average of the iterates, the t-th weighing t.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from rankwise.arrays import Floats, Ints
from rankwise.features import Features
from rankwise.losses import Loss
from rankwise.objective import RegularizedRisk
from rankwise.pairs.sampling import PairSampler
from rankwise.solvers.base import Callback, Journal, Result, require

BLOCK = 1 << 16  # pairs drawn at a time
SAMPLE = 1 << 12  # pairs looked at to choose the first step
FEW = 32  # queries looked at for the same
POWERS = 8  # of a matrix, to see its largest eigenvalue
STEADY = 1 << 10  # η stays near η₀ for so many steps at least


@dataclass(frozen=True)
class StochasticState:
    """Where a run stands, whole: `update` goes on from it. Begin with `StochasticState.at(zeros)`.

    point       the last iterate
    average     Σ t w_t / Σ t over the iterates so far
    steps       their number
    pairs       the number (or weight) of the pairs of all rows given so far, so that λ = 1 / (C · pairs)
    first_step  η₀, 0 until a pair is seen
    settling    τ
    """

    point: Floats
    average: Floats
    steps: int = 0
    pairs: float = 0.0
    first_step: float = 0.0
    settling: float = 0.0

    @classmethod
    def at(cls, point: Floats) -> Self:
        return cls(point, point)


@dataclass(frozen=True)
class Stochastic:
    """An epoch is as many pairs as there are documents, or as many queries as there are queries.

    Stops when the objective changed by at most `tol` of itself since half as many epochs, or by its gradient.
    """

    tol: float = 1e-3
    max_iter: int = 1000  # epochs
    over: str = "pairs"
    average: bool = True
    random_state: int = 0

    def __call__(
        self, objective: RegularizedRisk, start: Floats | None = None, callback: Callback | None = None
    ) -> Result:
        require(objective, "sgd", "features", "preferences", "loss", "C")
        draws_of = _draws(self.over)
        journal = Journal(objective, start, self.tol, callback)
        here = journal.start
        goes_on = journal.goes_on(here)
        if goes_on:
            draws = draws_of(objective)
            state = _joined(StochasticState.at(here.point), draws, self.random_state)
        while goes_on:
            if len(journal.history) > self.max_iter:
                return journal.result(here, f"max_iter = {self.max_iter} epochs were not enough")
            state = _epoch(state, draws, self.random_state)
            here = objective.at(state.average if self.average else state.point)
            goes_on = journal.goes_on(here, f"{state.steps} steps") and not self._settled(journal)
        return journal.result(here)

    def _settled(self, journal: Journal) -> bool:
        """Where the error falls like a power of the epochs, the change since half of them is about the error left."""
        epoch = journal.history[-1].iteration
        now, then = journal.history[epoch].value, journal.history[epoch // 2].value
        if epoch < 2 or abs(then - now) > self.tol * abs(now):
            return False
        journal.converged = True
        journal.message = f"since half as many epochs the objective changed by at most {self.tol:g} of itself"
        return True


def update(
    state: StochasticState,
    objective: RegularizedRisk,
    *,
    epochs: int = 1,
    over: str = "pairs",
    random_state: int = 0,
) -> StochasticState:
    """Go on with new queries: `objective` is theirs alone. The same queries given twice count twice."""
    draws = _draws(over)(objective)
    if not draws.n_pairs:
        return state
    state = _joined(state, draws, random_state)
    for _ in range(epochs):
        state = _epoch(state, draws, random_state)
    return state


def _joined(state: StochasticState, draws: "Pairs | Queries", seed: int) -> StochasticState:
    """λ follows the pairs; η₀ and τ are chosen by the first rows seen."""
    pairs = state.pairs + float(draws.n_pairs)
    if state.first_step:
        return replace(state, pairs=pairs)
    first = draws.first_step(np.random.default_rng((seed, state.steps, SAMPLE)))
    return replace(state, pairs=pairs, first_step=first, settling=float(max(draws.steps, STEADY)))


def _epoch(state: StochasticState, draws: "Pairs | Queries", seed: int) -> StochasticState:
    shrinkage = 1.0 / (draws.objective.C * state.pairs)
    plan = (state.steps, shrinkage, state.first_step, state.settling)
    w, total = state.point.copy(), state.average * _weight(state.steps)
    draws.walk(plan, w, total, np.random.default_rng((seed, state.steps)))
    steps = state.steps + draws.steps
    return replace(state, point=w, average=total / _weight(steps), steps=steps)


def _weight(steps: int) -> float:
    return steps * (steps + 1) / 2


class Pairs:
    """Steps over pairs: O(log l) to draw one, and two rows of X to go on by it."""

    def __init__(self, objective: RegularizedRisk) -> None:
        from rankwise.solvers.row_kernels import row_arrays

        self.objective = objective
        self.sampler = PairSampler(objective.preferences.layout, objective.preferences.scope == "adjacent")
        self.n_pairs = self.sampler.n_pairs
        self.steps = objective.features.n_rows
        self.rows = row_arrays(objective.features.X)
        self.pieces = np.array([(p.threshold, p.slope, p.curvature) for p in objective.loss.pieces])

    def first_step(self, random: np.random.Generator) -> float:
        """Half of what lifts a typical pair from margin 0 to 1: a whole one is too noisy."""
        from rankwise.solvers.row_kernels import squared_distances

        better, worse, _, costs = self._drawn(SAMPLE, random)
        squares = np.empty(SAMPLE)
        squared_distances(self.rows, better, worse, np.zeros(self.objective.size), squares)
        return 0.5 * _lift(self.objective.loss, costs * squares)

    def walk(self, plan: Any, w: Floats, total: Floats, random: np.random.Generator) -> None:
        from rankwise.solvers.stochastic_kernels import pair_steps

        first, *others = plan
        for done in range(0, self.steps, BLOCK):
            drawn = self._drawn(min(BLOCK, self.steps - done), random)
            pair_steps(self.rows, drawn, self.pieces, (first + done, *others), w, total)

    def _drawn(self, n: int, random: np.random.Generator) -> tuple[Ints, Ints, Floats, Floats]:
        """Pairs, the difference of scores asked of each, and what each costs."""
        better, worse = self.sampler.draw(n, random)
        margins, products = self.objective.risk.margins, self.objective.preferences.products
        asked = np.ones(n) if margins is None else margins[better] - margins[worse]
        costs = np.ones(n) if products is None else np.einsum("pr,pr->p", products[0][better], products[1][worse])
        return better, worse, asked, costs


class Queries:
    """Steps over queries: the whole gradient of one, O(l_q log l_q) and its rows of X."""

    def __init__(self, objective: RegularizedRisk) -> None:
        self.objective = objective
        self.weights = objective.preferences.pairs_per_query()
        self.n_pairs = float(self.weights.sum())
        self.steps = int(np.count_nonzero(self.weights))

    def first_step(self, random: np.random.Generator) -> float:
        """What lifts the pairs of a typical query from margin 0 to 1, were they all in line with their main axis."""
        drawn = random.choice(self.weights.size, min(FEW, self.steps), p=self.weights / self.n_pairs)
        return _lift(self.objective.loss, np.array([self._main_axis(int(q), random) for q in drawn]))

    def walk(self, plan: Any, w: Floats, total: Floats, random: np.random.Generator) -> None:
        from rankwise.solvers import stochastic_kernels as kernels
        from rankwise.solvers.row_kernels import row_arrays

        rows = row_arrays(self.objective.features.X)
        t, shrinkage, first, settling = plan
        scale, mass = 1.0, 0.0
        for q in random.choice(self.weights.size, self.steps, p=self.weights / self.n_pairs):
            gradient, row = self._gradient(int(q), scale, w)
            length = kernels.step_length(t, shrinkage, first, settling)
            scale *= 1.0 - length * shrinkage
            change = gradient * (-length / scale)
            kernels.add_rows(rows, row, change, w)
            kernels.add_rows(rows, row, -mass * change, total)
            t += 1
            mass += t * scale
            if scale < kernels.SMALLEST:
                kernels.write_out(scale, mass, w, total)
                scale, mass = 1.0, 0.0
        kernels.write_out(scale, mass, w, total)

    def _gradient(self, q: int, scale: float, v: Floats) -> tuple[Floats, int]:
        """By the scores of query q's rows, averaged over its pairs; and the first of these rows."""
        risk, features, first = self._query(q)
        return risk.at(scale * features.dot(v)).gradient / self.weights[q], first

    def _main_axis(self, q: int, random: np.random.Generator) -> float:
        """The largest eigenvalue of query q's mean d dᵀ, nearly: what |d|² is for a single pair."""
        risk, features, _ = self._query(q)
        graph = risk.preferences.active(np.zeros(features.n_rows))
        v, length = random.normal(size=features.n_features), 0.0
        for _ in range(POWERS):
            v = features.transposed_dot(graph.laplacian(features.dot(v / np.linalg.norm(v)))) / self.weights[q]
            length = float(np.linalg.norm(v))
            if not length:
                break
        return length

    def _query(self, q: int) -> tuple[Any, Features, int]:
        risk = self.objective.risk
        first, last = int(risk.starts[q]), int(risk.starts[q + 1])
        return risk.part(q, q + 1, 1), self.objective.features.part(first, last, 1), first


def _lift(loss: Loss, lengths: Floats) -> float:
    """The step that lifts the margin of a pair with |d|² = length from 0 to 1, for the mean length weighed by length.

    So rare long pairs count as much as they disturb the others.
    """
    pull = sum(piece.slope + piece.curvature for piece in loss.pieces if piece.threshold > 0)
    total = float(lengths.sum())
    return total / (pull * float(lengths @ lengths)) if total else 1.0


def _draws(over: str) -> type[Pairs] | type[Queries]:
    if over not in ("pairs", "queries"):
        raise ValueError(f"over is {over!r}: stochastic steps go over 'pairs' or 'queries'")
    return Pairs if over == "pairs" else Queries
