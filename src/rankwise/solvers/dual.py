"""Coordinate ascent in the dual, over listed pairs p = (i, j) of weight ω_p with d_p = x_i - x_j:

    max  Σ alpha_p - ½|w|² - ½ Σ ridge_p alpha_p²,   w = Σ alpha_p d_p,   0 ≤ alpha_p ≤ most_p

hinge: most = C ω, ridge = 0; squared hinge: most = ∞, ridge = 1 / (2 C ω); huber: most = C ω, ridge = width / (C ω).
A pass goes over the pairs in random order and maximises over one alpha at a time; pairs that seem stuck at a bound are
left out until the others are done (shrinking). The gap between f(w) and the dual's value is computed over all pairs, so
it certifies what is returned.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy

from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.devices import SparseMatrix, length_of
from rankwise.foundation.functions import Expansion
from rankwise.foundation.memory import memory_at_hand
from rankwise.objective.losses import Loss
from rankwise.objective.objective import ROUNDING, Objective
from rankwise.objective.risks import ListedRisk, PairwiseRisk
from rankwise.pairs.levels import by_level
from rankwise.pairs.preferences import Preferences
from rankwise.solvers.base import (
    Callback,
    Journal,
    Result,
    Start,
    certificate_of,
    converged_by,
    relative,
    require,
    within,
)

BYTES_A_PAIR = 96  # the pair, its weight, bounds and curvature, alpha, the order of a pass, and the matrix in the end
LISTABLE = 5_000_000  # pairs that are listed unasked
LOOSE = 0.1  # pairs left out come back when the slopes of the others lie this close together,
CLOSER = 0.1  # and then when they lie this much closer
ROUNDED = 1e-3, 10  # a gap of this share of the tolerance for so many passes: only rounding stands in the way


@dataclass(frozen=True)
class DualCoordinateAscent:
    """Stops when f(w) - dual ≤ tol · min(f(w), f(0) - dual), a certified gap.

    Starts at alpha = 0: a start in w is of no use to it.

    `Result.dual` is the sparse matrix alpha[i, j], its rows and columns the rows of the objective's X.
    """

    needs: ClassVar = ("NumPy arrays", "single pairs", "dual loss")

    tol: float = 1e-3
    max_iter: int = 1000  # passes
    random_state: int = 0

    def worth_listing(self, objective: Objective) -> bool:
        """Whether the pairs are few enough to list them unasked."""
        most = objective.most_pairs
        return most <= LISTABLE and most * BYTES_A_PAIR <= memory_at_hand()

    def __call__(
        self, objective: Objective, start: Floats | Start | None = None, callback: Callback | None = None
    ) -> Result:
        require(objective, "dual", "rows", "risk", "C")
        ascent = Ascent(objective, np.random.default_rng(self.random_state))
        journal = Journal(objective, None, 0.0, callback, stalls=False)  # the gap alone says when it is over
        here, settled = journal.begin(), 0
        while True:
            gap = max(here.value - ascent.value, 0.0)
            scale = journal.scale(here.value, gap)
            small = gap <= self.tol * scale
            rounding = _rounding(ascent, here) + journal.unseen(here) if small else np.inf
            done = within(self.tol, gap, rounding, here.value, journal.value_at_zero)
            settled += gap <= ROUNDED[0] * self.tol * scale
            last = len(journal.history) >= self.max_iter
            share = relative(gap, scale)
            journal.goes_on(here, f"relative gap {share:.2g}, {ascent.n_active} pairs active")
            if done:
                journal.message = converged_by("certified", gap, scale, self.tol)
            elif not journal.message and small and (settled > ROUNDED[1] or last):
                most = relative(rounding, scale)
                journal.message = f"rounding allows no certificate: the relative gap may be {most:.2g}"
            elif not journal.message and last:
                journal.message = f"max_iter = {self.max_iter} passes were not enough: the relative gap is {share:.3g}"
            if journal.message:
                result = replace(journal.result(here), message=journal.message, converged=done)
                proven = journal.bounded(here, gap + _rounding(ascent, here))
                return replace(result, gap=proven, gap_estimate=gap, dual=ascent.matrix())
            ascent.go()
            with np.errstate(over="ignore", invalid="ignore"):
                there = objective.at(ascent.w)
            if np.isfinite(there.value):
                here = there
            else:
                journal.message = "the objective overflows: scale the features"


def _rounding(ascent: "Ascent", here: Expansion) -> float:
    """A bound on what rounding may have hidden of the gap."""
    return ascent.rounding() + certificate_of(here).errors()[1]


class Ascent:
    """The dual problem and where its maximisation stands."""

    def __init__(self, objective: Objective, random: np.random.Generator) -> None:
        from rankwise.objective.row_kernels import squared_distances

        slope, curvature = _limits(objective.loss)
        risk = objective.risk if isinstance(objective.risk, ListedRisk) else objective.pairwise
        better, worse, weights, asked = listed(risk)
        costs = objective.C * weights
        most = costs * slope if slope else np.full(costs.size, np.inf)
        ridge = 1.0 / (costs * curvature) if curvature else np.zeros(costs.size)
        self.features, self.random = objective.rows, random
        self.rows = objective.rows.arrays
        bends = np.empty(costs.size)
        squared_distances(self.rows, better, worse, np.zeros(objective.size), bends)
        bends += ridge
        self.problem = (better, worse, asked, most, ridge, bends)
        self.alpha = np.zeros(costs.size)
        self.w = np.zeros(objective.size)
        self.order = np.arange(costs.size)
        self.n_active = costs.size
        self.range = (-np.inf, np.inf)  # of the slopes in the last pass
        self.close = LOOSE

    def go(self) -> None:
        """As many looks at active pairs as there are pairs: one pass, or many where most are left out."""
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
        self.w = self.features.transposed_dot(self._marginals())  # rounding does not pile up

    @property
    def value(self) -> float:
        """The dual's value, a lower bound on f."""
        _, _, asked, _, ridge, _ = self.problem
        with np.errstate(over="ignore", invalid="ignore"):
            value = float(self.alpha @ (asked - 0.5 * ridge * self.alpha)) - 0.5 * float(self.w @ self.w)
        return value if np.isfinite(value) else -np.inf  # where it overflows there is no bound

    def rounding(self) -> float:
        """A bound on the rounding error of `value`: in the sum over alpha, and in w as a sum of rows."""
        _, _, asked, _, ridge, _ = self.problem
        in_w = ROUNDING * length_of(self.features.absolute_transposed_dot(np.abs(self._marginals())))
        with np.errstate(over="ignore", invalid="ignore"):
            in_sum = ROUNDING * float(self.alpha @ (np.abs(asked) + 0.5 * ridge * self.alpha))
            error = in_sum + in_w * (length_of(self.w) + 0.5 * in_w)
        return error if np.isfinite(error) else np.inf

    def matrix(self) -> SparseMatrix:
        """alpha[i, j], i preferred to j; block diagonal where a query's rows lie together."""
        better, worse = self.problem[:2]
        support = self.alpha > 0
        n = self.features.n_rows
        where = (better[support], worse[support])
        return scipy.sparse.csr_array((self.alpha[support], where), shape=(n, n))

    def _marginals(self) -> Floats:
        """For each document, Σ_j alpha_ij - Σ_j alpha_ji: w is their sum with the rows."""
        better, worse = self.problem[:2]
        n = self.features.n_rows
        given, taken = np.bincount(better, self.alpha, n), np.bincount(worse, self.alpha, n)
        return (given - taken).astype(np.float64)


def listed(risk: ListedRisk | PairwiseRisk) -> tuple[Ints, Ints, Floats, Floats]:
    """Every pair of some weight: better, worse, its weight, and the difference of scores asked of it."""
    if isinstance(risk, ListedRisk):  # a list already
        ends, signs = risk.differences.indices, risk.differences.data
        better, worse, weights, asked = ends[signs > 0], ends[signs < 0], risk.weights, risk.margins
    else:
        better, worse = _list(risk.preferences)
        weights = _weights(risk.preferences, better, worse)
        asked = np.ones(better.size) if risk.margins is None else risk.margins[better] - risk.margins[worse]
    counts = weights > 0
    if counts.all():
        return better, worse, weights, asked
    return better[counts], worse[counts], weights[counts], asked[counts]


def _list(preferences: Preferences) -> tuple[Ints, Ints]:
    from rankwise.pairs.listing import list_pairs

    n_pairs = sum(sum(by_level(one).pairs.tolist()) for one in preferences.layouts)
    if n_pairs * BYTES_A_PAIR > memory_at_hand():
        raise ValueError(
            f"solver 'dual' lists every pair, and {n_pairs:,} pairs take about {n_pairs * BYTES_A_PAIR / 1e6:,.0f} MB, "
            "more memory than is at hand: take another solver"
        )
    lists = [list_pairs(one) for one in preferences.layouts]
    return np.concatenate([better for better, _ in lists]), np.concatenate([worse for _, worse in lists])


def _weights(preferences: Preferences, better: Ints, worse: Ints) -> Floats:
    by_row, products = preferences.layout.weights, preferences.products
    weights = np.ones(better.size) if by_row is None else by_row[better] * by_row[worse]
    if products is not None:
        left, right = products
        weights = weights * sum(left[better, r] * right[worse, r] for r in range(left.shape[1]))
    return weights


def bounded(loss: Loss) -> bool:
    """Whether the dual of the loss is the one above."""
    first, *others = loss.pieces
    corner = (first.threshold, first.constant) == (1.0, 0.0) and (first.slope > 0) != (first.curvature > 0)
    straightened = len(others) == 1 and others[0].curvature == -first.curvature  # as huber is beyond its width
    return corner and (not others or straightened)


def _limits(loss: Loss) -> tuple[float, float]:
    """The largest slope of the loss, and its curvature where the slope is less."""
    if not bounded(loss):
        raise ValueError(f"solver 'dual' is for the losses hinge, squared_hinge and huber: for {loss} take another")
    return sum(piece.slope for piece in loss.pieces), loss.pieces[0].curvature
