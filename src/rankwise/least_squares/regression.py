"""RankRLS as ridge regression: with Z = RᵀX, t = Rᵀy and R Rᵀ = L (see `comparisons`),

    J(w) = (y - Xw)ᵀ L (y - Xw) + α|w|² = |t - Zw|² + α|w|² = 2α (½|w|² + 1/(2α) risk(X w))

It is the objective of every linear ranker, with the risk of `squared_gaps`, and an executor sums over its
parts: in memory, on disk, on the workers of a cluster. Primal: ZᵀZ, d × d. Dual: ZZᵀ, n × n, w = Zᵀa. Matrix-free:
products with the Hessian.
"""

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.devices import (
    AnyArray,
    DeviceArray,
    device_of,
    is_device_array,
    namespace,
    on_device_of,
    some_rows,
    to_host,
)
from rankwise.foundation.threads import thread_count
from rankwise.least_squares.comparisons import Comparisons, check_options, compare
from rankwise.least_squares.parts import HEIGHT, Facts, Part, moved_of, narrowed, part_of, stacked
from rankwise.least_squares.squared_gaps import SQUARED, SquaredGapRisk
from rankwise.least_squares.twofold import DENSE_BYTES, TwofoldRows
from rankwise.least_squares.units import Units
from rankwise.objective.executors import Executor, Threads
from rankwise.objective.objective import Objective
from rankwise.objective.risks import PairwiseRisk
from rankwise.objective.rows import MemoryRows, Rows
from rankwise.objective.stored import Features, Source, StoredRows
from rankwise.objective.sums import Sum, SumExpansion
from rankwise.pairs.preferences import Preferences
from rankwise.pairs.queries import Queries, QueryIds

PRODUCTS = 200  # products with XᵀLX that conjugate gradients typically take
MATRIX_GAIN = 8  # how many times faster an operation is in a matrix product
MOST_BYTES = 1 << 32  # the largest d × d or n × n matrix
AS_GIVEN = Units(1.0, 1.0)


class Fit(NamedTuple):
    """How well w fits: gradient is half of ∇J, misfit is |t - Zw|², moved is |Zw|²."""

    point: Floats
    alpha: float
    gradient: Floats
    misfit: float
    moved: float

    @property
    def value(self) -> float:
        """J(w)."""
        return self.misfit + self.alpha * float(self.point @ self.point)


class Regression:
    """What solvers need of the data, wherever they are stored.

    units  powers of 2 by which X and y were multiplied so that no square of them overflows
    """

    def __init__(self, executor: Executor, units: Units = AS_GIVEN) -> None:
        self.executor = executor
        self.units = units
        self.size = int(executor.zero.shape[0])
        self.sum = Sum(executor)
        self.parts = executor.state(part_of)

    def objective(self, alpha: float) -> Objective:
        """J / 2α."""
        return Objective(self.sum, 1.0 / (2.0 * alpha))

    @property
    def any(self) -> bool:
        """Whether two labels of a query differ."""
        return self.executor.any

    @cached_property
    def facts(self) -> Facts:
        facts: Facts = self.parts.merged(Part.facts, Facts.with_those_of, size=self.size)
        return facts

    @property
    def n_rows(self) -> int:
        return self.facts.n_rows

    @property
    def largest(self) -> Floats:
        """max |x_ij| of each feature."""
        return self.facts.largest

    @property
    def degrees(self) -> tuple[float, float]:
        """Norm and maximum of the weights that documents are compared to."""
        return float(np.sqrt(self.facts.degrees[0])), self.facts.degrees[1]

    @cached_property
    def start(self) -> SumExpansion:
        """The risk at w = 0; its Hessian is the same everywhere."""
        return self.sum.at(self.executor.zero)

    def right(self) -> Floats:
        """XᵀLy."""
        return -0.5 * self.start.gradient

    def at_zero(self) -> float:
        """J(0)."""
        return self.start.value

    def product(self, v: Floats) -> Floats:
        """XᵀLX v."""
        return 0.5 * self.start.hessian(v)

    def at(self, w: Floats, alpha: float) -> Fit:
        at = self.sum.at(w)
        moved = float(at.state.total(moved_of, size=1))
        return Fit(w, alpha, alpha * w + 0.5 * at.gradient, at.value, moved)

    def normal_matrix(self) -> Floats:
        """[[ZᵀZ, Zᵀt], [tᵀZ, tᵀt]]."""
        return self.parts.total(Part.normal_matrix, size=(self.size + 1) ** 2)

    def diagonal(self) -> Floats:
        """The diagonal of XᵀLX, approximated if X is sparse."""
        return self.parts.total(Part.diagonal, size=self.size)

    def centred_diagonal(self) -> Floats:
        """The diagonal of XᵀLX."""
        return self.parts.total(Part.centred_diagonal, size=self.size)

    def compressed(self) -> Floats:
        """[Z t], or, if smaller, a triangle with the same squares."""
        Zt: Floats = self.parts.merged(Part.compressed, stacked, size=HEIGHT * (self.size + 1) ** 2)
        return narrowed([Zt])

    def twofold_at(self, w: Floats, alpha: float) -> Fit:
        """As `at`, with sums in twice the precision."""
        sums: Floats = self.parts.merged(Part.twofold_sums, added_twofold, w, self._dense, size=2 * self.size)
        gradient = (alpha * w - sums[0, :-2]) - sums[1, :-2]
        return Fit(w, alpha, gradient, float(sums[0, -2]), float(sums[0, -1]))

    def curvature(self, v: Floats) -> float:
        """|Zv|², in twice the precision."""
        return float(self.parts.total(Part.curvature, v, self._dense, size=1))

    @property
    def _dense(self) -> bool:
        """Whether a sparse X is small enough to be converted to dense parts, so that an offset costs no digits."""
        return 8 * self.n_rows * self.size <= DENSE_BYTES

    @cached_property
    def whole(self) -> Part:
        """All queries as one part, for methods that use single documents or queries; needs the rows in this process."""
        rows, risk = self._threads.rows, self._threads.risk
        assert isinstance(rows, MemoryRows)
        assert isinstance(risk, SquaredGapRisk)
        return Part(rows, risk, large=True)

    @property
    def _threads(self) -> Threads:
        assert isinstance(self.executor, Threads)
        return self.executor

    @property
    def starts(self) -> Ints:
        return self._threads.risk.starts

    @property
    def comparisons(self) -> Comparisons:
        return self.whole.comparisons

    @property
    def targets(self) -> Floats:
        return self.whole.risk.targets

    @cached_property
    def labels(self) -> Floats:
        """The labels, in the units of the data."""
        return self.whole.risk.labels / self.units.y

    def dual(self, w: Floats, alpha: float) -> Floats:
        """a with w = Xᵀa, which is L(y - Xw) / α; of w and α in the units of the data."""
        hi, lo = TwofoldRows(self.whole.rows, self.starts, self._dense).dot(w / self.units.x)
        return self.comparisons.laplacian((self.targets / self.units.y - hi) - lo) / alpha


def added_twofold(total: Floats, other: Floats) -> Floats:
    from rankwise.least_squares.twofold_kernels import add_to

    add_to(total, other)
    return total


def regression(
    X: Features,
    labels: Floats,
    queries: QueryIds | None,
    weights: Floats | None,
    *,
    ties: str,
    scaling: str,
    n_jobs: int | None,
) -> Regression:
    """The problem of rows X, in units chosen from the data if these are in memory."""
    executor = build(X, labels, queries, weights, ties=ties, scaling=scaling, n_jobs=n_jobs)
    problem, rows = Regression(executor), executor.rows
    if not isinstance(rows, MemoryRows) or isinstance(rows, StoredRows):
        return problem
    risk = problem.whole.risk
    units = Units.of(problem.largest, risk.labels)
    if units == AS_GIVEN:
        return problem
    scaled = rows if units.x == 1.0 else MemoryRows(rows.X.astype(np.float64) * units.x, rows.n_threads)
    return Regression(Threads(scaled, replace(risk, labels=risk.labels * units.y)), units)


def build(
    X: Features,
    labels: Floats,
    queries: QueryIds | None,
    weights: Floats | None,
    *,
    ties: str,
    scaling: str,
    n_jobs: int | None,
) -> Threads:
    """Rows of any kind (NumPy or SciPy, on disk, torch or CuPy) with the risk of RankRLS.

    Rows are copied only if they are not stored query by query.
    """
    check_options(ties, scaling)
    groups = Queries(queries, X.shape[0])
    if is_device_array(X):
        return _on_device(X, labels, groups, weights, ties, scaling)
    n_threads = thread_count(n_jobs)
    rows = StoredRows(X, 0, X.shape[0], n_threads) if isinstance(X, Source) else MemoryRows(X, n_threads)
    if groups.rows is not None:
        rows, labels = rows.select(groups.rows, n_threads), labels[groups.rows]
        weights = None if weights is None else weights[groups.rows]
        groups = groups.gathered()
    comparisons = compare(labels, groups, weights, ties, scaling)
    return Threads(rows, SquaredGapRisk(comparisons, labels, groups.starts))


def _on_device(
    X: DeviceArray, y: AnyArray, groups: Queries, weights: AnyArray | None, ties: str, scaling: str
) -> Threads:
    """By sums over pairs with the margins y_i - y_j, which are implemented for devices.

    With ties included, all documents of a query are compared, so any order of them may serve as preferences.
    """
    from rankwise.objective.device_sparse import rows_on_device

    xp = namespace(y)
    rows: Rows = rows_on_device(X)
    if groups.rows is not None:
        rows, y = rows.select(groups.rows, 1), some_rows(y, groups.rows)
        weights = None if weights is None else some_rows(weights, groups.rows)
        groups = groups.gathered()
    if scaling == "query":
        omega = np.ones(y.shape[0]) if weights is None else to_host(weights)
        totals = np.bincount(groups.codes, omega)
        weights = on_device_of(y, omega / np.sqrt(np.where(totals > 0, totals, 1.0))[groups.codes])
    order = y if ties == "exclude" else xp.arange(y.shape[0], dtype=xp.float64, device=device_of(y))
    risk = PairwiseRisk(Preferences(order, groups, weights), SQUARED, margins=y)
    return Threads(rows.centred(groups.starts), risk)


def cheapest(n_rows: int, n_features: int, n_stored: int) -> str:
    """ "primal" for few features, "dual" for few documents, "cg" for many of both or a sparse X: the cheapest.

    Primal takes n d² + d³/3 operations and dual n² d + n³/3, in matrix products; conjugate gradients some `PRODUCTS`
    products of 4 operations for every stored value of X.
    """
    n, d = float(n_rows), float(n_features)
    costs = {"cg": 4.0 * PRODUCTS * n_stored}
    if 8 * d * d <= MOST_BYTES:
        costs["primal"] = (n * d * d + d**3 / 3) / MATRIX_GAIN
    if 8 * n * n <= MOST_BYTES:
        costs["dual"] = (n * n * d + n**3 / 3) / MATRIX_GAIN
    return min(costs, key=lambda name: costs[name])
