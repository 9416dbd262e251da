"""Stochastic gradient descent over pairs or over queries (Chapelle and Keerthi's algorithms 2 and 3).

    w_k ← (w_k - η_t rate_k ℓ'(w·d) d_k) / (1 + η_t λ rate_k / reads_k)^times,      λ = 1 / (C · pairs)
    rate_k = min(1, reads_k) / (|ℓ'(0)| E d_k² + λ),    η_t = min(1 / (1/η₀ + μ (t + 1)), η₀ / √(1 + t/τ))

d = x_i - x_j is a pair drawn with a probability proportional to its weight; over queries, ℓ' d is averaged over all
pairs of a query. A step reads feature k `times` times, reads_k on average, and changes only the features that it reads.
The rates make steps independent of the units of features. η decreases like 1/√t and in the end like 1/(μt), with
μ = λ min rate; for a pair of great length it is reduced, so that the margin does not overshoot its goal. The result is
the average of the iterates, the t-th with weight t.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from rankwise.foundation.arrays import Floats
from rankwise.foundation.compiling import clock
from rankwise.foundation.functions import Expansion
from rankwise.foundation.names import one_of
from rankwise.objective.losses import hinge
from rankwise.objective.objective import Objective, hinge_slack
from rankwise.solvers.base import Callback, Journal, Result, Start, agrees, begun, decrease, require, went_as_predicted
from rankwise.solvers.conjugate import ModelStep, conjugate_gradients, make_preconditioner
from rankwise.solvers.stochastic_draws import Draws, Pairs, Queries

WIDTHS = 0.1, 0.01  # of the Huber losses in place of the hinge, to estimate the distance to the optimum
EARLIEST = 4  # first epoch to estimate it; before, two values may be close by chance
STEADY = 1 << 10  # least value of τ, which otherwise is the number of steps of an epoch
ROUNDING = 1e-12  # a variance below this share of the second moment is rounding


@dataclass(frozen=True)
class StochasticState:
    """The complete state of a run, from which `update` continues. The first one is `StochasticState.at(zeros)`.

    point     the last iterate
    average   Σ t w_t / Σ t over the iterates so far
    steps     the number of iterates
    settling  τ
    pairs     the number (or total weight) of the pairs of all rows so far
    length    `pairs` times the mean length of a pair, see `Draws.measure`
    uses      the sum of `Draws.uses` over all rows so far
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
    """An epoch has as many pairs as there are documents, or as many queries as have pairs.

    When the objective has changed by at most a share `tol` of itself since half as many epochs, conjugate gradients
    estimate its distance to the optimum; the run stops when that is within `tol`, as with the other solvers. If the
    loss has corners and is not the hinge, there is no estimate, and the run ends after `max_iter` epochs.

    Examples
    --------
    >>> from rankwise import RankSVM, load_sample
    >>> from rankwise.solvers import Stochastic
    >>> ranker = RankSVM(solver=Stochastic(tol=0.1, random_state=0)).fit(load_sample())
    >>> ranker.coef_.shape
    (13,)
    """

    needs: ClassVar = ("NumPy arrays", "single pairs")

    tol: float = 1e-3
    max_iter: int = 1000  # epochs
    over: str = "pairs"
    random_state: int = 0

    def __call__(
        self, objective: Objective, start: Floats | Start | None = None, callback: Callback | None = None
    ) -> Result:
        require(objective, "sgd", "rows", "pairwise", "loss", "C")
        began, kind = clock(), _kind(self.over)
        current, at_zero = begun(objective, start)
        journal = Journal(began, at_zero, self.tol, callback, stalls=False)
        goes_on = journal.goes_on(current)
        if goes_on:
            walk = Walk(StochasticState.at(current.point), kind(objective), self.random_state)
        while goes_on:
            if len(journal.history) > self.max_iter:
                return journal.result(current, f"max_iter = {self.max_iter} epochs were not enough")
            state = walk.epoch()
            current = objective.at(state.average)
            estimate = self._estimate(objective, journal, current)
            goes_on = journal.goes_on(current, f"{state.steps} steps", estimate)
        return journal.result(current)

    def _estimate(self, objective: Objective, journal: Journal, current: Expansion) -> float:
        """The estimated gap; inf while the values still change, because Hessian products would be wasted then.

        If the error decreases like a power of the epochs, the change since half of them is about the remaining error.
        """
        epoch = len(journal.history)
        then = journal.history[epoch // 2].value
        if epoch < EARLIEST or epoch % (epoch // EARLIEST) or abs(then - current.value) > self.tol * abs(current.value):
            return np.inf
        if objective.loss.smooth:
            return _attainable(objective, current, journal)
        if objective.loss.pieces != hinge().pieces:  # no smooth loss is known to be near: the epochs run out
            return np.inf
        return min(_attainable_rounded(objective.smoothed(width), current, journal) for width in WIDTHS)


def _attainable_rounded(smooth: Objective, current: Expansion, journal: Journal) -> float:
    """The remaining decrease of the objective with the hinge, estimated by a Huber loss."""
    smoothed = smooth.at(current.point)
    # The slack is a difference of nearly equal values, so its rounding error is added.
    slack = max(hinge_slack(smoothed, current.value), 0.0) + smoothed.certificate.errors()[1]
    return slack + _attainable(smooth, smoothed, journal)


def _model(objective: Objective, current: Expansion, journal: Journal) -> ModelStep:
    """The minimum of the quadratic model of a smooth objective."""
    inverse = make_preconditioner("diagonal", objective)(current, 0)
    return conjugate_gradients(current, inverse, enough=journal.enough(current.value))


def _attainable(objective: Objective, current: Expansion, journal: Journal) -> float:
    """The largest decrease that the model allows; inf if its step shows that the model is wrong."""
    model = _model(objective, current, journal)
    if not journal.near(current.value, model.attainable):
        return model.attainable
    trial = objective.at(current.point + model.step)
    if not went_as_predicted(model.predicted, decrease(current, trial)):
        return np.inf
    now = _model(objective, trial, journal).predicted
    return model.attainable if agrees(model.attainable, now, current.value) else np.inf


def update(
    state: StochasticState,
    objective: Objective,
    *,
    over: str = "pairs",
    random_state: int = 0,
) -> StochasticState:
    """Continue with an epoch on new queries, those of `objective`. Queries that are passed twice count twice."""
    draws = _kind(over)(objective)
    if not draws.n_pairs:
        return state
    return Walk(state, draws, random_state).epoch()


class Walk:
    """Epochs over one set of rows, from a state that does not include them yet."""

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
    one_of("over", over, kinds)
    return kinds[over]
