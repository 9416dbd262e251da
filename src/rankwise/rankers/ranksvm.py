"""The training of RankSVM: its options as a value, from which solver, objective and weights follow."""

import sys
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self, TypeAlias

import numpy as np
import scipy
from numpy.typing import ArrayLike

from rankwise.data.columns import Known
from rankwise.foundation.arrays import Floats
from rankwise.foundation.compiling import told_of_compiling
from rankwise.foundation.devices import (
    AnyFloats,
    HostMatrix,
    Numbers,
    SparseMatrix,
    library_of,
    namespace,
    on_device_of,
)
from rankwise.objective import losses
from rankwise.objective.building import Pairing, build, build_from_pairs, query_weights
from rankwise.objective.objective import Objective
from rankwise.objective.penalties import PLAIN, Penalty, make_penalty
from rankwise.objective.stored import Features
from rankwise.pairs.costs import Costs
from rankwise.pairs.queries import Queries, QueryIds, grouped
from rankwise.pairs.schemes import Scheme
from rankwise.rankers.checks import NO_PAIR, check_pair_weights, naming_nan, positive, share, whole
from rankwise.rankers.fitted import Fitted
from rankwise.rankers.signs import Signs, signs_by_name, signs_by_place
from rankwise.solvers import Callback, Result, Solver, Step, make_solver, name_of, needs_of

QueryWeights: TypeAlias = Numbers | dict[Hashable, float]  # one per row, or by query id

AUTO = "auto"
AUTO_STRENGTH = 30.0  # over the mean of the pairs: close to tuned on most data (benchmarks/default_strength.py)
SPLINE_SHARE = 0.5  # of the objective, that the error of a spline may be without a word


@dataclass(frozen=True, eq=False)
class RankSVMOptions:
    """The parameters of `rankwise.RankSVM`, which explains them."""

    kind: ClassVar[str] = "RankSVM"

    C: float | str = AUTO
    loss: str | losses.Loss = "squared_hinge"
    solver: str | Solver = "auto"
    tol: float = 1e-3
    max_iter: int | None = None
    n_jobs: int | None = None
    verbose: int = 0
    warm_start: bool = False  # of the estimator, which has last weights
    scheme: str | Scheme = "auto"
    scope: str = "all"
    costs: Costs | None = None
    rescaling: str = "slack"
    normalize_pairs: str = "sum"
    random_state: int | np.random.RandomState | None = None
    device: str | None = None
    stopping: str = "gap"
    monotonic_cst: Signs | None = None
    l1_ratio: float = 0.0

    def fit(
        self,
        X: Features,
        y: Numbers,
        qid: QueryIds | None = None,
        sample_weight: AnyFloats | None = None,
        *,
        query_weight: QueryWeights | None = None,
        start: Floats | None = None,
        callback: Callback | None = None,
    ) -> Fitted:
        """Learn from rows, labels and weights that were checked and `placed`."""
        solver = self.solver_for(X)
        self.penalty(X.shape[1])  # what is wrong with it is an error before anything is built
        queries = Queries(qid, X.shape[0])
        with told_of_compiling("" if self.verbose else None):
            objective = self.objective(X, y, queries, sample_weight, query_weight)
            with naming_nan(X):
                fitted = self.solve(solver, objective, start, callback)
        return replace(fitted, n_queries=len(queries))

    def solve(
        self, solver: Solver, objective: Objective, start: Floats | None = None, callback: Callback | None = None
    ) -> Fitted:
        """Minimise an objective that was built elsewhere."""
        objective = self.penalised(objective)
        return self._concluded(solver(objective, _fitting(start, objective), self._reporting(callback)), objective)

    def solver_for(self, X: Features) -> Solver:
        """The solver for rows of the shape of X; what cannot work is refused here."""
        tol, max_iter = positive("tol", self.tol), None if self.max_iter is None else whole("max_iter", self.max_iter)
        loss, seed = losses.parse(self.loss), self.seed()
        return make_solver(
            self.solver,
            loss,
            X,
            tol=tol,
            max_iter=max_iter,
            random_state=seed,
            stopping=self.stopping,
            corners=self.has_corners,
        )

    @property
    def has_corners(self) -> bool:
        """Whether the penalty may have corners."""
        return self.monotonic_cst is not None or share("l1_ratio", self.l1_ratio) > 0.0

    def named(self, columns: Known | None) -> Self:
        """The options for these columns: signs that were given by name are in the order of the columns."""
        if columns is None or not isinstance(self.monotonic_cst, Mapping):
            return self
        return replace(self, monotonic_cst=signs_by_name(self.monotonic_cst, columns))

    def penalty(self, n_features: int) -> Penalty:
        if not self.has_corners:
            return PLAIN
        return make_penalty(self.l1_ratio, self.signs(n_features))

    def signs(self, n_features: int) -> Floats | None:
        """1, -1 or 0 per feature; None if all weights are free."""
        return None if self.monotonic_cst is None else signs_by_place(self.monotonic_cst, n_features)

    def penalised(self, objective: Objective) -> Objective:
        """The objective with the penalty of these options."""
        return replace(objective, penalty=self.penalty(objective.size))

    def seed(self) -> int:
        given = self.random_state
        random = np.random.RandomState(given) if isinstance(given, int | np.integer) else given or np.random
        return int(random.randint(2**31))

    def objective(
        self,
        X: Features,
        y: Numbers,
        qid: QueryIds | None,
        sample_weight: AnyFloats | None,
        query_weight: QueryWeights | None = None,
    ) -> Objective:
        by_query = None
        if query_weight is not None:
            qid = grouped(qid, X.shape[0])
            by_query = query_weights(query_weight, qid)
            by_row = np.sqrt(by_query)[qid.codes]
            by_row = on_device_of(X, by_row) if library_of(X) else by_row
            if sample_weight is not None:
                by_row = sample_weight * by_row
                check_pair_weights(by_row, "sample_weight times the square root of query_weight")
            sample_weight = by_row
        C, normalize = self.strength()
        loss, pairing = losses.parse(self.loss), replace(self.pairing(), normalize=normalize)
        return build(
            X, y, qid, sample_weight, loss=loss, C=C, pairing=pairing, query_weight=by_query, n_jobs=self.n_jobs
        )

    def objective_of_pairs(self, X: HostMatrix, pairs: ArrayLike, pair_weight: Numbers | None) -> Objective:
        C, normalize = self.strength()
        loss = losses.parse(self.loss)
        return build_from_pairs(X, pairs, pair_weight, loss=loss, C=C, normalize=normalize, n_jobs=self.n_jobs)

    def strength(self) -> tuple[float, str]:
        """C and how the pairs are normalised, "auto" resolved."""
        return strength(self.C, self.pairing().normalize)

    def pairing(self) -> Pairing:
        return Pairing(self.scheme, self.scope, self.costs, self.rescaling, self.normalize_pairs)

    def remark_on_loss(self) -> str | None:
        """The warning that the loss is minimal for equal scores; None if it is not, or if costs set the margins."""
        pairing = self.pairing()
        own_margins = pairing.rescaling == "margin" and pairing.costs is not None
        return None if own_margins else flat_loss_remark(losses.parse(self.loss))

    @property
    def reads_parts(self) -> bool:
        """Whether rows may stay on disk."""
        return self.device in (None, "cpu") and "single pairs" not in needs_of(self.solver)

    def _concluded(self, result: Result, objective: Objective) -> Fitted:
        if not isinstance(result, Result) or result.point.shape != (objective.size,):
            raise TypeError(f"solver must return a Result whose point has {objective.size} entries; got {result!r}")
        if not namespace(result.point).isfinite(result.point).all():
            raise ValueError(f"solver {name_of(self.solver)!r} returned weights that are not finite: {result.point}")
        idle = self.remark_on_loss() if objective.sum.executor.any else NO_PAIR
        remarks = (idle, _remark_on_spline(objective, result))
        return Fitted(
            replace(result, end=None),  # which holds the objective
            C=objective.C,
            dual=None if result.dual is None else _dual(result, objective),
            remarks=tuple(one for one in remarks if one is not None),
            failure=None if result.converged else f"RankSVM did not converge: {result.message}",
        )

    def _reporting(self, callback: Callback | None) -> Callback:
        def report(step: Step) -> object:
            if self.verbose:
                values = f"objective {step.value:.9g}  gradient {step.gradient_norm:.3g}"
                print(f"{step.iteration:4d}  {values}  {step.detail}", file=sys.stderr)
            return None if callback is None else callback(step)

        return report


def strength(C: float | str, normalize: str = "sum") -> tuple[float, str]:
    """C and how the pairs are normalised, where C may be "auto"."""
    if not isinstance(C, str):
        return positive("C", C), normalize
    if C != AUTO:
        raise ValueError(f"C must be a positive number or 'auto', got {C!r}")
    return AUTO_STRENGTH, "query" if normalize == "query" else "mean"


def _fitting(start: Floats | None, objective: Objective) -> Floats | None:
    if start is not None and start.shape[0] != objective.size:
        raise ValueError(f"warm_start: the last fit had {start.shape[0]} features, X has {objective.size}")
    return start


def _dual(result: Result, objective: Objective) -> SparseMatrix:
    """alpha[i, j] by the rows as they were given."""
    alpha = scipy.sparse.coo_array(result.dual)
    rows = np.arange(alpha.shape[0]) if objective.order is None else objective.order
    return scipy.sparse.csr_array((alpha.data, (rows[alpha.row], rows[alpha.col])), shape=alpha.shape)


def flat_loss_remark(loss: losses.Loss) -> str | None:
    """The warning that a loss is minimal for equal scores; None if it is not."""
    if not loss.minimal_for_equal_scores:
        return None
    cure = "change its pieces so that it falls there"
    return f"loss {loss} does not fall with the margin at 0: equal scores minimise it, so coef_ is 0; {cure}"


def _remark_on_spline(objective: Objective, result: Result) -> str | None:
    """A spline is within its error for each pair; with many pairs, near separability, the sum may be off by much."""
    error = objective.loss.error
    if not error:
        return None
    pairs = float(objective.sum.executor.totals.sum())
    share = 2.0 * objective.C * error * pairs / max(result.value, 1e-300)
    if share <= SPLINE_SHARE:
        return None
    cure = "" if error <= 1e-5 else f": take a smaller error, such as 'logistic:{max(error / 10, 1e-5):g}'"
    return (
        f"loss {objective.loss} is within {error:g} for each pair; over all pairs that may be {share:.2g} times "
        f"the objective, and the weights those of another optimum{cure}"
    )
