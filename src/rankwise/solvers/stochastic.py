"""Stochastic gradient descent over pairs or over queries (Chapelle and Keerthi's algorithms 2 and 3).

    w_k ← (w_k - η_t rate_k ℓ'(w·d) d_k) / (1 + η_t λ rate_k / reads_k)^times,      λ = 1 / (C · pairs)
    rate_k = min(1, reads_k) / (|ℓ'(0)| E d_k² + λ),    η_t = min(1 / (1/η₀ + μ (t + 1)), η₀ / √(1 + t/τ))

d = x_i - x_j is a pair drawn uniformly, or by its weight; over queries, ℓ' d is averaged over all pairs of a query. A
step reads feature k `times` times, reads_k on average, and touches no other. The rates make features of any unit alike.
η falls like 1/√t and in the end like 1/(μt), μ = λ min rate; for a pair of great length it is cut, lest its margin be
thrown past its goal. The answer is the average of the iterates, the t-th weighing t.
"""

import time
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from rankwise.foundation.arrays import Floats
from rankwise.foundation.functions import Expansion
from rankwise.objective.objective import Objective, hinge_slack
from rankwise.solvers.base import Callback, Journal, Result, Start, agrees, begun, decrease, require, went_as_predicted
from rankwise.solvers.conjugate import ModelStep, conjugate_gradients, make_preconditioner
from rankwise.solvers.stochastic_draws import Draws, Pairs, Queries

WIDTHS = 0.1, 0.01  # over which the hinge's corner is rounded, to estimate how far the optimum is
EARLIEST = 4  # epochs; before, two values may be near by chance
STEADY = 1 << 10  # τ is an epoch, and so many steps at least
ROUNDING = 1e-12  # a variance below this share of the second moment is rounding


@dataclass(frozen=True)
class StochasticState:
    """Where a run stands, whole: `update` goes on from it. Begin with `StochasticState.at(zeros)`.

    point     the last iterate
    average   Σ t w_t / Σ t over the iterates so far
    steps     their number
    settling  τ
    pairs     the number (or weight) of the pairs of all rows given so far
    length    their number times their mean length, as `Draws.measure` has it
    uses      Σ over all rows of how often they would be read in that many draws
    moments   for each feature, Σ uses, Σ uses · x and Σ uses · x² over the rows that store it
    """

    point: Floats
    average: Floats
    moments: Floats
    steps: int = 0
    settling: float = 0.0
    pairs: float = 0.0
    length: float = 0.0
    uses: float = 0.0

    @classmethod
    def at(cls, point: Floats) -> Self:
        return cls(point, point, np.zeros((3, point.size)))


@dataclass(frozen=True)
class Stochastic:
    """An epoch is as many pairs as there are documents, or as many queries as there are with a pair.

    When the objective changed by at most `tol` of itself since half as many epochs, conjugate gradients estimate how
    far it is from the optimum: it stops when that is within `tol`, as the other solvers do, and else goes on.
    """

    needs: ClassVar = ("NumPy arrays", "single pairs")

    tol: float = 1e-3
    max_iter: int = 1000  # epochs
    over: str = "pairs"
    average: bool = True
    random_state: int = 0

    def __call__(
        self, objective: Objective, start: Floats | Start | None = None, callback: Callback | None = None
    ) -> Result:
        require(objective, "sgd", "rows", "pairwise", "loss", "C")
        began, kind = time.perf_counter(), _kind(self.over)
        here, at_zero = begun(objective, start)
        journal = Journal(began, at_zero, self.tol, callback, stalls=False)
        goes_on = journal.goes_on(here)
        if goes_on:
            walk = Walk(StochasticState.at(here.point), kind(objective), self.random_state)
        while goes_on:
            if len(journal.history) > self.max_iter:
                return journal.result(here, f"max_iter = {self.max_iter} epochs were not enough")
            state = walk.epoch()
            here = objective.at(state.average if self.average else state.point)
            estimate = self._estimate(objective, journal, here)
            goes_on = journal.goes_on(here, f"{state.steps} steps", estimate)
        return journal.result(here)

    def _estimate(self, objective: Objective, journal: Journal, here: Expansion) -> float:
        """How far the optimum is, once the values have settled: before, it is not worth products with the Hessian.

        Where the error falls like a power of the epochs, the change since half of them is about the error left.
        """
        epoch = len(journal.history)
        then = journal.history[epoch // 2].value
        if epoch < EARLIEST or epoch % (epoch // EARLIEST) or abs(then - here.value) > self.tol * abs(here.value):
            return np.inf
        if objective.loss.smooth:
            return _attainable(objective, here, journal)
        return min(_attainable_rounded(objective.smoothed(width), here, journal) for width in WIDTHS)


def _attainable_rounded(smooth: Objective, here: Expansion, journal: Journal) -> float:
    """The decrease of the hinge that a rounded one allows."""
    there = smooth.at(here.point)
    # The slack is a difference of nearly equal values: its rounding is added.
    slack = max(hinge_slack(there, here.value), 0.0) + there.certificate.errors()[1]
    return slack + _attainable(smooth, there, journal)


def _model(objective: Objective, here: Expansion, journal: Journal) -> ModelStep:
    """The minimum of the quadratic model of a smooth objective."""
    inverse = make_preconditioner("diagonal", objective)(here, 0)
    return conjugate_gradients(here, inverse, enough=journal.enough(here.value))


def _attainable(objective: Objective, here: Expansion, journal: Journal) -> float:
    """The decrease that the model allows, if a step shows it to be right."""
    model = _model(objective, here, journal)
    if not journal.near(here.value, model.attainable):
        return model.attainable
    there = objective.at(here.point + model.step)
    if not went_as_predicted(model.predicted, decrease(here, there)):
        return np.inf
    now = _model(objective, there, journal).predicted
    return model.attainable if agrees(model.attainable, now, here.value) else np.inf


def update(
    state: StochasticState,
    objective: Objective,
    *,
    epochs: int = 1,
    over: str = "pairs",
    random_state: int = 0,
) -> StochasticState:
    """Go on with new queries: `objective` is theirs alone. The same queries given twice count twice."""
    draws = _kind(over)(objective)
    if not draws.n_pairs:
        return state
    walk = Walk(state, draws, random_state)
    for _ in range(epochs):
        walk.epoch()
    return walk.state


class Walk:
    """Epochs over one set of rows, from a state that has not seen them."""

    def __init__(self, state: StochasticState, draws: Draws, seed: int) -> None:
        self.draws, self.seed = draws, seed
        seen = replace(
            state,
            settling=state.settling or float(max(draws.steps, STEADY)),
            pairs=state.pairs + draws.n_pairs,
            uses=state.uses + float(draws.uses.sum()),
            moments=state.moments + draws.moments(),
        )
        reads, centre, square = seen.moments / np.array([[seen.pairs], [seen.uses], [seen.uses]])
        variance = np.maximum(square - centre * centre, ROUNDING * square)
        shrinkage = 1.0 / (draws.objective.C * seen.pairs)
        rate = np.minimum(reads, 1.0) / (draws.pull * 2.0 * variance + shrinkage)  # 2 variance, about E d²
        fade = np.divide(shrinkage * rate, reads, out=np.zeros_like(rate), where=reads > 0)
        mean = draws.measure(rate, centre, np.random.default_rng((seed, state.steps, 1)))
        self.state = replace(seen, length=state.length + mean * draws.n_pairs)
        self.scales = (rate, fade)
        self.slowest = shrinkage * float(rate[reads > 0].min(initial=np.inf))

    def epoch(self) -> StochasticState:
        state, draws = self.state, self.draws
        first = draws.share / max(state.length / state.pairs, draws.share)
        schedule = (state.steps, first, state.settling, self.slowest)
        w, total = state.point.copy(), state.average * _weight(state.steps)
        draws.walk(schedule, self.scales, w, total, np.random.default_rng((self.seed, state.steps)))
        steps = state.steps + draws.steps
        self.state = replace(state, point=w, average=total / _weight(steps), steps=steps)
        return self.state


def _weight(steps: int) -> float:
    return steps * (steps + 1) / 2


def _kind(over: str) -> type[Draws]:
    kinds: dict[str, type[Draws]] = {"pairs": Pairs, "queries": Queries}
    if over not in kinds:
        raise ValueError(f"over is {over!r}: stochastic steps go over 'pairs' or 'queries'")
    return kinds[over]
