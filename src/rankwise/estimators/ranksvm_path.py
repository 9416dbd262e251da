"""RankSVM for every C of a grid: `c_path`, and the folds on which C is chosen along a path."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.base import BaseEstimator, clone

from rankwise.estimators.inputs import Column, Data, Ids, warn_of_query_ids
from rankwise.estimators.ranksvm import RankSVM
from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.devices import Numbers, to_host
from rankwise.foundation.names import key, one_of
from rankwise.foundation.tabular import Columns, Tabular
from rankwise.foundation.texts import counted
from rankwise.metrics import Measure
from rankwise.model_selection.folds import Documents, Halves, PathFold, RefitFold
from rankwise.model_selection.path import follow
from rankwise.model_selection.search import Fold
from rankwise.objective import losses
from rankwise.objective.building import build
from rankwise.objective.objective import Objective
from rankwise.objective.stored import Features
from rankwise.pairs.queries import QueryIds
from rankwise.preprocessing import make_scaler
from rankwise.rankers.checks import positive
from rankwise.rankers.ranksvm import AUTO_STRENGTH
from rankwise.solvers import Result, Solver

GRID = tuple(2.0**k for k in range(-15, 11))
BELOW = 5  # powers of 2 below C = "auto" that the usual grid has at least
DIRECTIONS = ("up", "down")
SELECTION_TOL = 1e-3  # a smaller tolerance does not change any measure visibly


@dataclass(frozen=True, eq=False, repr=False)
class Path(Tabular):
    """One solution per C, in the order of the Cs given.

    Examples
    --------
    >>> from rankwise import load_sample
    >>> from rankwise.model_selection import c_path
    >>> data = load_sample()
    >>> path = c_path(data.X, data.y, data.qid, Cs=[0.001, 0.01, 0.1])
    >>> path
    <Path: 3 solutions of 13 features, C from 0.001 to 0.1>
    >>> path.coef.shape
    (3, 13)
    """

    Cs: Floats
    coef: Floats  # (n_Cs, n_features)
    results: list[Result]

    def summary(self) -> str:
        shape = f"{counted(self.Cs.size, 'solutions')} of {counted(self.coef.shape[1], 'features')}"
        return f"{shape}, C from {self.Cs.min():g} to {self.Cs.max():g}"

    def __repr__(self) -> str:
        return f"<Path: {self.summary()}>"

    def table_columns(self) -> Columns:
        """One row per C."""
        parts = ("value", "gradient_norm", "iterations", "converged")
        return {"C": self.Cs, **{part: [getattr(one, part) for one in self.results] for part in parts}}


def c_path(
    X: Data,
    y: Column,
    qid: Ids = None,
    Cs: Sequence[float] | Array | None = None,
    *,
    ranker: RankSVM | None = None,
    direction: str = "up",
    sample_weight: Column = None,
) -> Path:
    """`RankSVM(C=C).fit(X, y, qid).coef_` for every C of `Cs` (None: 2^-15, 2^-14, ..., 2^10), to the solver's `tol`.

    ranker     a RankSVM with the options to use (loss, solver, tol, costs, ...); its own C is ignored
    direction  "up": from the smallest C to the largest, each warm-started from the previous one; or "down"

    Examples
    --------
    >>> from rankwise import load_sample
    >>> from rankwise.model_selection import c_path
    >>> data = load_sample()
    >>> path = c_path(data.X, data.y, data.qid, Cs=[0.001, 0.01, 0.1])
    >>> all(result.converged for result in path.results)
    True
    """
    strengths = check_strengths("Cs", Cs)
    one_of("direction", direction, DIRECTIONS)
    template = template_of(ranker)
    warn_of_query_ids(X, qid)
    rows, labels, weights = template._check_fit(X, y, sample_weight)
    solver, unit = template.options.solver_for(rows), objective_at_one(template, rows, labels, qid, weights)
    order = np.argsort(strengths, kind="stable")[:: 1 if direction == "up" else -1]
    solutions = follow(solver, unit, strengths[order], None, template.callback)
    by_place = dict(zip(order.tolist(), solutions, strict=True))
    results = [by_place[place] for place in range(strengths.size)]
    return Path(strengths, np.array([to_host(result.point) for result in results]), results)


def linear_problem(ranker: RankSVM, documents: Documents) -> tuple[Solver, Objective]:
    """The solver of the ranker, and its objective at C = 1."""
    return ranker.options.solver_for(documents.X), objective_at_one(ranker, *documents)


def objective_at_one(
    ranker: RankSVM, X: Features, y: Numbers, qid: QueryIds | None, sample_weight: Numbers | None
) -> Objective:
    """The objective of the ranker at C = 1, which a path multiplies by its Cs."""
    loss, pairing = losses.parse(ranker.loss), ranker.options.pairing()
    return build(X, y, qid, sample_weight, C=1.0, loss=loss, pairing=pairing, n_jobs=ranker.n_jobs)


def for_selection(ranker: RankSVM, n_threads: int) -> RankSVM:
    """A copy with a tolerance that suffices to choose C."""
    copy: RankSVM = clone(ranker).set_params(n_jobs=n_threads, tol=max(ranker.tol, SELECTION_TOL))
    return copy


def path_fold(ranker: RankSVM, halves: Halves, measure: Measure, n_threads: int) -> PathFold:
    """A fold that is solved along a path over C."""
    problem = partial(linear_problem, for_selection(ranker, n_threads))
    return PathFold(halves, problem, measure, n_threads, ranker.callback)


def fold_of(model: BaseEstimator, parameter: str, halves: Halves, measure: Measure, n_threads: int) -> Fold:
    """A fold of any ranker, scaled or not: a linear RankSVM follows a path, others are fitted for each strength.

    parameter  the model's name for the strength of regularisation: C, ranker__alpha, ...
    """
    ranker = getattr(model, "ranker", model)
    if not isinstance(ranker, RankSVM):
        return RefitFold(halves, model, parameter, measure, n_threads)

    def prepared() -> tuple[Documents, Documents]:
        train, held_out = halves()
        if ranker is not model:  # the scaler sees the training queries only
            scaler = make_scaler(model.scaler)
            train = train._replace(X=scaler.fit_transform(train.X, qid=train.qid))
            held_out = held_out._replace(X=scaler.transform(held_out.X, qid=held_out.qid))
        X, y, weight = clone(ranker)._check_fit(train.X, train.y, train.weight)
        return Documents(X, y, train.qid, weight), held_out

    return path_fold(ranker, prepared, measure, n_threads)


def template_of(ranker: RankSVM | None) -> RankSVM:
    """A copy of the ranker, whose C is to be chosen; an error if it is no RankSVM."""
    if not isinstance(ranker, RankSVM | None):
        cure = 'to scale features, use ScaledRanker(RankSVMCV(), "zscore")'
        raise ValueError(f"ranker must be a RankSVM, whose C is chosen; got a {type(ranker).__name__}: {cure}")
    template: RankSVM = RankSVM() if ranker is None else clone(ranker)
    return template


def usual_grid(n_pairs: float, normalize: str = "sum") -> Floats:
    """2^-15, 2^-14, ..., 2^10; with more than about 30,000 pairs from smaller powers on, so that C = "auto" is inside.

    n_pairs    their number, or with weights their total weight
    normalize  what C multiplies; an average of pairs needs no smaller C on larger data
    """
    usual = np.array(GRID)
    if key(normalize) != "sum" or not n_pairs > 0:
        return usual
    lowest = int(np.floor(np.log2(AUTO_STRENGTH / n_pairs))) - BELOW
    return 2.0 ** np.arange(min(lowest, round(np.log2(usual[0]))), round(np.log2(usual[-1])) + 1)


def check_strengths(name: str, given: Sequence[float] | Array | None) -> Floats:
    """The strengths as an array, the usual grid for None; an error that names the parameter if one is not positive."""
    values = np.asarray(GRID if given is None else given, dtype=object).ravel()
    if not values.size:
        raise ValueError(f"{name} is empty: give at least one")
    return np.array([positive(name, value) for value in values])
