"""The training of RankRLS: its options as a value, from which equations and weights follow."""

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.devices import AnyFloats, DeviceArray, library_of
from rankwise.foundation.names import one_of
from rankwise.objective import losses
from rankwise.objective.stored import Features, is_stored
from rankwise.pairs.preferences import Preferences
from rankwise.pairs.queries import Queries, QueryIds
from rankwise.rankers.checks import NO_PAIR, naming_nan, positive
from rankwise.rankers.fitted import Fitted
from rankwise.solvers import Callback, Result, make_solver

if TYPE_CHECKING:  # what solves is imported where it is first needed: a saved model is read without it
    from rankwise.least_squares.regression import Regression
    from rankwise.least_squares.solving import Solution

SOLVERS = ("auto", "primal", "dual", "cg")
LEFT_OUT_BY = ("auto", "primal", "dual")  # whose leave-out formulas are exact
ON_DEVICE = {"auto": "auto", "primal": "newton", "cg": "trust-region-diagonal"}
LEAST_SCORE = 1e-295  # scores so small have lost digits
LEAST_FEATURE = 1e-140  # beside an alpha that float64 cannot hold, features so small have weights that are not known


@dataclass(frozen=True, eq=False)
class RankRLSOptions:
    """The parameters of `rankwise.RankRLS`, which explains them."""

    kind: ClassVar[str] = "RankRLS"

    alpha: float = 1.0
    ties: str = "include"
    scaling: str = "pairs"
    solver: str = "auto"
    tol: float = 1e-8
    max_iter: int = 10_000
    n_jobs: int | None = None
    device: str | None = None

    def check(self, X: object) -> None:
        """What cannot work is refused before the data are looked at."""
        positive("alpha", self.alpha)
        one_of("solver", self.solver, SOLVERS)
        if is_stored(X) and self.solver == "dual":
            raise ValueError("solver 'dual' takes rows in memory: give data.read(), or take 'auto'")

    def fit(
        self,
        X: Features,
        y: AnyFloats,
        qid: QueryIds | None = None,
        sample_weight: AnyFloats | None = None,
        *,
        callback: Callback | None = None,
    ) -> Fitted:
        """Learn from rows, labels and weights that were checked and `placed`; `callback` is not called."""
        from rankwise.least_squares.regression import cheapest

        self.check(X)
        if library_of(X) and self.solver not in ON_DEVICE:
            raise ValueError(f"solver {self.solver!r} takes arrays of NumPy only: for others take 'auto'")
        problem, remarks = self.problem(X, y, qid, sample_weight)
        n_queries = int(problem.starts.size - 1)
        if library_of(X):
            result = self._solved_on_device(problem, X)
            failure = None if result.converged else f"{self.kind} did not converge: {result.message}"
            return Fitted(result, n_queries, remarks=remarks, failure=failure)
        name = cheapest(X.shape[0], X.shape[1], X.size) if self.solver == "auto" else self.solver
        if is_stored(X) and name == "dual":
            name = "cg"
        with naming_nan(X):
            fitted = self.solve(problem, name)
        dual = None if fitted.dual is None else in_rows_given(fitted.dual, qid)
        return replace(fitted, n_queries=n_queries, dual=dual, remarks=remarks)

    def problem(
        self, X: Features, y: AnyFloats, qid: QueryIds | None, sample_weight: AnyFloats | None
    ) -> tuple["Regression", tuple[str, ...]]:
        """The regression, and a remark where there is nothing to learn."""
        from rankwise.least_squares.regression import regression

        problem = regression(X, y, qid, sample_weight, ties=self.ties, scaling=self.scaling, n_jobs=self.n_jobs)
        any_pairs = Preferences(y, qid).any if library_of(X) else problem.any
        return problem, () if any_pairs else (NO_PAIR,)

    def solve(self, problem: "Regression", name: str) -> Fitted:
        """By "primal" or "dual" equations, or by "cg"; the dual is in the order of the problem's rows."""
        from rankwise.least_squares.conjugate import by_conjugate_gradients
        from rankwise.least_squares.solving import ENOUGH, by_dual, by_primal

        alpha = positive("alpha", self.alpha)
        scaled = float(problem.units.alpha(alpha))
        if name == "cg":
            tol, max_iter = positive("tol", self.tol), int(positive("max_iter", self.max_iter))
            solution = by_conjugate_gradients(problem, scaled, tol, max_iter)
        else:
            tol, max_iter = ENOUGH, sys.maxsize
            solution = (by_primal if name == "primal" else by_dual)(problem, scaled)
        stopped = f"max_iter = {max_iter} products were not enough" if solution.products >= max_iter else None
        result, failure = concluded(self.kind, problem, solution, tol, stopped)
        dual: Floats | None = None
        if name == "dual":
            scaled_dual = solution.dual
            dual = problem.dual(result.point, alpha) if scaled_dual is None else problem.units.dual(scaled_dual)
        return Fitted(result, dual=dual, failure=failure)

    def _solved_on_device(self, problem: "Regression", X: DeviceArray) -> Result:
        alpha = positive("alpha", self.alpha)
        tol, max_iter = positive("tol", self.tol), int(positive("max_iter", self.max_iter))
        # What f is above its optimum goes with the square of the scores' error, for which `tol` is meant.
        solver = make_solver(ON_DEVICE[self.solver], losses.squared(), X, tol=tol * tol, max_iter=max_iter)
        found, scale = solver(problem.objective(alpha)), 2 * alpha
        return replace(found, value=scale * found.value, gradient_norm=scale * found.gradient_norm)

    @property
    def reads_parts(self) -> bool:
        """Whether rows may stay on disk."""
        return self.device in (None, "cpu") and self.solver != "dual"


def in_rows_given(values: Array, qid: QueryIds | None) -> Array:
    """`values` of the rows query after query, in the order in which the rows were given."""
    rows = Queries(qid, values.shape[0]).rows
    if rows is None:
        return values
    out = np.empty_like(values)
    out[rows] = values
    return out


def concluded(
    name: str, problem: "Regression", solution: "Solution", tol: float = 0.0, stopped: str | None = None
) -> tuple[Result, str | None]:
    """The result in the units of the data, and the warning that it has not converged.

    It has if it is within `tol`, or within `ENOUGH` if that is more; else what `stopped` the solver, or rounding, is
    the reason.
    """
    from rankwise.least_squares.solving import ENOUGH
    from rankwise.least_squares.units import LEAST_ALPHA
    from rankwise.objective.sums import LEAST_TERM

    at, units = solution.at, problem.units
    w, value = units.weights(at.point), units.value(at.value)
    norm = 2 * float(np.linalg.norm(at.gradient)) / units.x / units.y
    largest = float(np.max(np.abs(w) * (problem.largest / units.x), initial=0.0))  # of a score's terms
    lost = at.alpha <= LEAST_ALPHA and bool((problem.largest[problem.largest > 0] < LEAST_FEATURE).any())
    if lost or not np.isfinite(value + norm + largest + float(np.abs(w).sum())):
        raise ValueError(
            f"{name} overflows: scale the features or the labels to a usual size, for example by ScaledRanker"
        )
    if (at.point.any() or at.gradient.any()) and largest < LEAST_SCORE:
        raise ValueError(f"{name}'s scores underflow: scale the features or the labels to a usual size")
    degree, size = problem.degrees[1], float(np.max(problem.largest, initial=0.0))
    if degree > 0 and size > 0 and degree * size < LEAST_TERM:
        raise ValueError(f"{name}'s sums over pairs underflow: use larger weights, for example with a maximum of 1")
    converged = solution.error <= max(tol, ENOUGH)
    failure = None if converged else not_converged(name, solution.error, stopped)
    return Result(w, value, norm, solution.products, converged, solution.message, history=[]), failure


def not_converged(name: str, error: float, stopped: str | None = None) -> str:
    rounding = f"rounding leaves a relative error of about {error:.0e} in its scores: scale the features"
    return f"{name} did not converge: {stopped or rounding}"
