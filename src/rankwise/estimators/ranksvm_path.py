"""RankSVM for every C of a grid: `c_path`, and the folds along whose paths C is chosen."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from rankwise.estimators.inputs import warn_of_query_ids
from rankwise.estimators.ranksvm import RankSVM
from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.devices import to_host
from rankwise.foundation.names import key
from rankwise.foundation.tabular import Columns, Tabular
from rankwise.foundation.texts import counted
from rankwise.metrics import Measure
from rankwise.model_selection.folds import Documents, Halves, PathFold, RefitFold
from rankwise.model_selection.path import follow
from rankwise.model_selection.search import Fold
from rankwise.objective import losses
from rankwise.objective.building import build
from rankwise.objective.objective import Objective
from rankwise.preprocessing import make_scaler
from rankwise.rankers.checks import positive
from rankwise.rankers.ranksvm import AUTO_STRENGTH
from rankwise.solvers import Result

GRID = tuple(2.0**k for k in range(-15, 11))
BELOW = 5  # powers of 2 below C = "auto" that the usual grid has at least
DIRECTIONS = ("up", "down")
SELECTION_TOL = 1e-3  # what is gained beyond it does not show in any measure


@dataclass(frozen=True, eq=False, repr=False)
class Path(Tabular):
    """The solutions by C, in the order in which the Cs were given."""

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
    X: Any,
    y: Any,
    qid: Any = None,
    Cs: Sequence[float] | Array | None = None,
    *,
    ranker: RankSVM | None = None,
    direction: str = "up",
    sample_weight: Any = None,
) -> Path:
    """`RankSVM(C=C).fit(X, y, qid).coef_` for every C of `Cs` (None: 2^-15, 2^-14, ..., 2^10), to the solver's `tol`.

    ranker     a RankSVM with the options to use (loss, solver, tol, costs, ...); its own C is ignored
    direction  "up": from the smallest C to the largest, each from the last one's solution; or "down"
    """
    strengths = check_strengths("Cs", Cs)
    if direction not in DIRECTIONS:
        raise ValueError(f"direction is {direction!r}: there are 'up' and 'down'")
    template = template_of(ranker)
    warn_of_query_ids(X, qid)
    X, y, sample_weight = template._check_fit(X, y, sample_weight)
    solver, unit = linear_problem(template, Documents(X, y, qid, sample_weight))
    order = np.argsort(strengths, kind="stable")[:: 1 if direction == "up" else -1]
    solutions = follow(solver, unit, strengths[order], None, template.callback)
    by_place = dict(zip(order.tolist(), solutions, strict=True))
    results = [by_place[place] for place in range(strengths.size)]
    return Path(strengths, np.array([to_host(result.point) for result in results]), results)


def linear_problem(ranker: RankSVM, documents: Documents) -> tuple[Any, Objective]:
    """The solver and the objective at C = 1 that the ranker stands for."""
    options, loss = ranker.options, losses.parse(ranker.loss)
    unit = build(*documents, C=1.0, loss=loss, pairing=options.pairing(), n_jobs=ranker.n_jobs)
    return options.solver_for(documents.X), unit


def for_selection(ranker: RankSVM, n_threads: int) -> RankSVM:
    """A copy that is as exact as a choice needs."""
    copy: RankSVM = clone(ranker).set_params(n_jobs=n_threads, tol=max(ranker.tol, SELECTION_TOL))
    return copy


def path_fold(ranker: RankSVM, halves: Halves, measure: Measure, n_threads: int) -> PathFold:
    """A fold along whose path C is chosen."""
    problem = partial(linear_problem, for_selection(ranker, n_threads))
    return PathFold(halves, problem, measure, n_threads, ranker.callback)


def fold_of(model: Any, parameter: str, halves: Halves, measure: Measure, n_threads: int) -> Fold:
    """A fold of any ranker, scaled or not: a linear RankSVM goes along a path, others are fitted for each strength.

    parameter  the strength of regularisation as the model calls it: C, ranker__alpha, ...
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
    """A copy of the ranker whose C is to change, or one sentence."""
    if not isinstance(ranker, RankSVM | None):
        cure = 'it must be a RankSVM, whose C is chosen; to scale features take ScaledRanker(RankSVMCV(), "zscore")'
        raise ValueError(f"ranker is a {type(ranker).__name__}: {cure}")
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
    """Positive numbers as an array, the usual grid for None, or one sentence that calls the parameter by its name."""
    values = np.asarray(GRID if given is None else given, dtype=object).ravel()
    if not values.size:
        raise ValueError(f"{name} is empty: give at least one")
    return np.array([positive(name, value) for value in values])
