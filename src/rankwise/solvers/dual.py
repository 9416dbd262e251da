"""Coordinate ascent in the dual, over listed pairs p = (i, j) of weight ω_p with d_p = x_i - x_j:

    max  Σ alpha_p - ½|w|² - ½ Σ ridge_p alpha_p²,   w = Σ alpha_p d_p,   0 ≤ alpha_p ≤ most_p

hinge: most = C ω, ridge = 0; squared hinge: most = ∞, ridge = 1 / (2 C ω); huber: most = C ω, ridge = width / (C ω).
A pass visits the pairs in random order and maximises over one alpha at a time. Pairs that seem fixed at a bound are
left out until the others have converged (shrinking). The gap between f(w) and the value of the dual is computed over
all pairs, so it certifies the result.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy

from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.compiling import clock
from rankwise.foundation.devices import SparseMatrix, length_of
from rankwise.foundation.functions import Expansion
from rankwise.foundation.memory import memory_at_hand
from rankwise.objective.executors import Threads
from rankwise.objective.losses import Loss
from rankwise.objective.objective import ROUNDING, Objective
from rankwise.objective.risks import ListedRisk, PairwiseRisk
from rankwise.pairs.levels import by_level
from rankwise.pairs.preferences import Preferences
from rankwise.solvers.base import (
    ROUNDED,
    Callback,
    Journal,
    Result,
    Start,
    begun,
    certificate_of,
    converged_by,
    may_overflow,
    relative,
    require,
    uncertified,
    within,
)

BYTES_A_PAIR = 96  # the pair, its weight, bounds and curvature, alpha, the order of a pass, and the final matrix
LISTABLE = 5_000_000  # most pairs that "auto" lists
LOOSE = 0.1  # pairs left out return when the slopes of the others differ by at most this,
CLOSER = 0.1  # and the next time by this factor less


@dataclass(frozen=True)
class DualCoordinateAscent:
    """Stops when f(w) - dual ≤ tol · min(f(w), f(0) - dual), a certified gap.

    It always starts at alpha = 0; `start` is ignored, because a point w has no alpha.

    `Result.dual` is the sparse matrix alpha[i, j], whose rows and columns are the rows of the objective's X.

    Examples
    --------
    >>> from rankwise import RankSVM, load_sample
    >>> from rankwise.solvers import DualCoordinateAscent
    >>> ranker = RankSVM(loss="hinge", solver=DualCoordinateAscent(tol=1e-3)).fit(load_sample("test"))
    >>> ranker.result_.converged
    True
    """

    needs: ClassVar = ("NumPy arrays", "single pairs", "dual loss")

    tol: float = 1e-3
    max_iter: int = 1000  # passes
    random_state: int = 0

    def worth_listing(self, objective: Objective) -> bool:
        """Whether the pairs are few enough for "auto" to list them."""
        if not isinstance(objective.sum.executor, Threads):
            return False
        n_pairs = _count(_risk(objective))
        return n_pairs <= LISTABLE and n_pairs * BYTES_A_PAIR <= memory_at_hand()

    def __call__(
        self, objective: Objective, start: Floats | Start | None = None, callback: Callback | None = None
    ) -> Result:
        require(objective, "dual", "rows", "risk", "C")
        ascent = Ascent(objective, np.random.default_rng(self.random_state))
        began, settled = clock(), 0
        current, at_zero = begun(objective, None)
        journal = Journal(began, at_zero, 0.0, callback, stalls=False)  # tol 0: only the gap below ends the run
        while True:
            gap = max(current.value - ascent.value, 0.0)
            scale = journal.scale(current.value, gap)
            small = gap <= self.tol * scale
            rounding = _rounding(ascent, current) + journal.unseen(current) if small else np.inf
            done = within(self.tol, gap, rounding, current.value, journal.value_at_zero)
            settled += gap <= ROUNDED[0] * self.tol * scale
            last = len(journal.history) >= self.max_iter
            share = relative(gap, scale)
            journal.goes_on(current, f"relative gap {share:.2g}, {ascent.n_active} pairs active")
            if done:
                journal.message = converged_by("certified", gap, scale, self.tol)
            elif not journal.message and small and (settled > ROUNDED[1] or last):
                journal.message = uncertified(relative(rounding, scale))
            elif not journal.message and last:
                journal.message = f"max_iter = {self.max_iter} passes were not enough: the relative gap is {share:.3g}"
            if journal.message:
                result = replace(journal.result(current), message=journal.message, converged=done)
                proven = journal.bounded(current, gap + _rounding(ascent, current))
                return replace(result, gap=proven, gap_estimate=gap, dual=ascent.matrix())
            ascent.go()
            with may_overflow():
                trial = objective.at(ascent.w)
            if np.isfinite(trial.value):
                current = trial
            else:
                journal.message = "the objective overflows: scale the features"


def _rounding(ascent: "Ascent", current: Expansion) -> float:
    """A bound on the rounding error of the gap."""
    return ascent.rounding() + certificate_of(current).errors()[1]


class Ascent:
    """The dual problem and the state of its maximisation."""

    def __init__(self, objective: Objective, random: np.random.Generator) -> None:
        from rankwise.objective.row_kernels import squared_distances

        slope, curvature = _limits(objective.loss)
        better, worse, weights, margins = listed(_risk(objective))
        costs = objective.C * weights
        most = costs * slope if slope else np.full(costs.size, np.inf)
        ridge = 1.0 / (costs * curvature) if curvature else np.zeros(costs.size)
        self.features, self.random = objective.rows, random
        self.rows = objective.rows.arrays
        bends = np.empty(costs.size)
        squared_distances(self.rows, better, worse, np.zeros(objective.size), bends)
        bends += ridge
        self.problem = (better, worse, margins, most, ridge, bends)
        self.alpha = np.zeros(costs.size)
        self.w = np.zeros(objective.size)
        self.order = np.arange(costs.size)
        self.n_active = costs.size
        self.range = (-np.inf, np.inf)  # of the slopes in the last pass
        self.close = LOOSE

    def go(self) -> None:
        """Visit as many active pairs as there are pairs: one pass, or several if some pairs are left out."""
        from rankwise.solvers.dual_kernels import ascend

        looks = 0
        while looks < self.order.size:
            active = self.order[: self.n_active]
            self.random.shuffle(active)
            looks += active.size
            self.n_active, low, high = ascend(self.rows, self.problem, active, self.range, self.alpha, self.w)
            self.range = (low if low < 0 else -np.inf, high if high > 0 else np.inf)
            if high - low <= self.close:
                self.n_active, self.range = self.order.size, (-np.inf, np.inf)
                self.close *= CLOSER
                break
        self.w = self.features.transposed_dot(self._marginals())  # so that rounding errors do not accumulate

    @property
    def value(self) -> float:
        """The value of the dual, a lower bound on min f."""
        _, _, margins, _, ridge, _ = self.problem
        with may_overflow():
            value = float(self.alpha @ (margins - 0.5 * ridge * self.alpha)) - 0.5 * float(self.w @ self.w)
        return value if np.isfinite(value) else -np.inf  # no bound if it overflows

    def rounding(self) -> float:
        """A bound on the rounding error of `value`: in the sum over alpha, and in w as a sum of rows."""
        _, _, margins, _, ridge, _ = self.problem
        in_w = ROUNDING * length_of(self.features.absolute_transposed_dot(np.abs(self._marginals())))
        with may_overflow():
            in_sum = ROUNDING * float(self.alpha @ (np.abs(margins) + 0.5 * ridge * self.alpha))
            error = in_sum + in_w * (length_of(self.w) + 0.5 * in_w)
        return error if np.isfinite(error) else np.inf

    def matrix(self) -> SparseMatrix:
        """alpha[i, j], where i is preferred to j; block diagonal if rows are stored query by query."""
        better, worse = self.problem[:2]
        support = self.alpha > 0
        n = self.features.n_rows
        where = (better[support], worse[support])
        return scipy.sparse.csr_array((self.alpha[support], where), shape=(n, n))

    def _marginals(self) -> Floats:
        """m_i = Σ_j alpha_ij - Σ_j alpha_ji for each document i, so that w = Xᵀ m."""
        better, worse = self.problem[:2]
        n = self.features.n_rows
        given, taken = np.bincount(better, self.alpha, n), np.bincount(worse, self.alpha, n)
        return (given - taken).astype(np.float64)


def _risk(objective: Objective) -> ListedRisk | PairwiseRisk:
    return objective.risk if isinstance(objective.risk, ListedRisk) else objective.pairwise


def _count(risk: ListedRisk | PairwiseRisk) -> int:
    """The number of pairs, which a list of them has room for."""
    if isinstance(risk, ListedRisk):
        return risk.weights.size
    return sum(sum(by_level(one).pairs.tolist()) for one in risk.preferences.layouts)


def listed(risk: ListedRisk | PairwiseRisk) -> tuple[Ints, Ints, Floats, Floats]:
    """All pairs of positive weight: better, worse, weights, and required margins."""
    if isinstance(risk, ListedRisk):
        ends, signs = risk.differences.indices, risk.differences.data
        better, worse, weights, margins = ends[signs > 0], ends[signs < 0], risk.weights, risk.margins
    else:
        better, worse = _list(risk)
        weights = _weights(risk.preferences, better, worse)
        margins = np.ones(better.size) if risk.margins is None else risk.margins[better] - risk.margins[worse]
    counts = weights > 0
    if counts.all():
        return better, worse, weights, margins
    return better[counts], worse[counts], weights[counts], margins[counts]


def _list(risk: PairwiseRisk) -> tuple[Ints, Ints]:
    from rankwise.pairs.listing import list_pairs

    n_pairs = _count(risk)
    if n_pairs * BYTES_A_PAIR > memory_at_hand():
        raise ValueError(
            f"solver 'dual' lists every pair, and {n_pairs:,} pairs take about {n_pairs * BYTES_A_PAIR / 1e6:,.0f} MB, "
            "more memory than is available: use solver='auto'"
        )
    lists = [list_pairs(one) for one in risk.preferences.layouts]
    return np.concatenate([better for better, _ in lists]), np.concatenate([worse for _, worse in lists])


def _weights(preferences: Preferences, better: Ints, worse: Ints) -> Floats:
    by_row, products = preferences.layout.weights, preferences.products
    weights = np.ones(better.size) if by_row is None else by_row[better] * by_row[worse]
    if products is not None:
        left, right = products
        weights = weights * sum(left[better, r] * right[worse, r] for r in range(left.shape[1]))
    return weights


def has_dual(loss: Loss) -> bool:
    """Whether the dual of the loss has the form given in the module's docstring.

    A second corner would add another term to the dual: without it, its value would be no bound.
    """
    first, *others = loss.pieces
    corner = (first.threshold, first.constant) == (1.0, 0.0) and (first.slope > 0) != (first.curvature > 0)
    straightened = len(others) == 1 and others[0].curvature == -first.curvature  # linear in the end, as huber is
    return corner and (not others or (straightened and loss.smooth))


def _limits(loss: Loss) -> tuple[float, float]:
    """The largest slope of the loss (0: unbounded), and its curvature where the slope is less."""
    if not has_dual(loss):
        raise ValueError(f"solver 'dual' is for the losses hinge, squared_hinge and huber: for {loss} use 'auto'")
    return sum(piece.slope for piece in loss.pieces), loss.pieces[0].curvature
