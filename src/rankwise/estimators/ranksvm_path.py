"""RankSVM for every C of a grid: `c_path`, and the folds on which C is chosen along a path."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from sklearn.base import BaseEstimator, clone

from rankwise.data.columns import names_of
from rankwise.estimators.inputs import CheckedDocuments, Column, Data, Ids, groups_of, known_columns
from rankwise.estimators.inputs import documents as documents_of
from rankwise.estimators.ranksvm import RankSVM
from rankwise.estimators.scaled import ScaledRanker, check_in_memory
from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.devices import Numbers, to_host
from rankwise.foundation.names import key, one_of
from rankwise.foundation.tabular import Columns, Tabular
from rankwise.foundation.texts import counted
from rankwise.metrics import Measure, default_measure, parse
from rankwise.model_selection.choice import means_and_errors
from rankwise.model_selection.folds import Documents, Halves, PathFold, RefitFold
from rankwise.model_selection.path import follow
from rankwise.model_selection.search import Fold, search
from rankwise.model_selection.signs import with_signs_by_place
from rankwise.model_selection.splits import Folds
from rankwise.objective import losses
from rankwise.objective.building import build
from rankwise.objective.objective import Objective
from rankwise.objective.penalties import ElasticNet
from rankwise.objective.stored import Features
from rankwise.pairs.queries import QueryIds
from rankwise.preprocessing import make_scaler
from rankwise.rankers.checks import positive
from rankwise.rankers.ranksvm import AUTO_STRENGTH
from rankwise.solvers import Result, Solver

GRID = tuple(2.0**k for k in range(-15, 11))
AROUND = 5  # powers of 2 below and above C = "auto" that the usual grid has at least
WIDEST = 60  # powers of 2 that it spans at most, on weights of unusual size
PATH_SPAN = 1.0, 1000.0, 31  # first, last and number of the Cs of an L1 path, relative to the first C
DIRECTIONS = ("up", "down")
SELECTION_TOL = 1e-3  # a smaller tolerance does not change any measure visibly


@dataclass(frozen=True, eq=False, repr=False)
class Path(Tabular):
    """One solution per C, in the order of the Cs given.

    names      of the features; None if they have none
    measure    what `cv_values` holds, by fold and C; both None if no folds were asked for
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
    names: tuple[str, ...] | None = None
    measure: str | None = None
    cv_values: Floats | None = None

    @property
    def n_kept(self) -> Ints:
        """How many features have a weight other than 0, at each C."""
        kept: Ints = (self.coef != 0.0).sum(axis=1)
        return kept

    def at_most(self, n_features: int) -> int:
        """The place of the largest C at which no more than so many features are kept."""
        places = np.flatnonzero(self.n_kept <= n_features)
        if not places.size:
            fewest = counted(int(self.n_kept.min()), "features")
            raise ValueError(
                f"no C of the path keeps at most {n_features} of the features, the fewest are {fewest}: "
                "give smaller Cs, or a ranker with an l1_ratio"
            )
        return int(places[self.Cs[places].argmax()])

    def kept(self, place: int) -> list[str]:
        """The features that are kept at `Cs[place]`, the largest weight first; by number from 0 if nameless."""
        weights = np.abs(self.coef[place])
        order = np.argsort(-weights, kind="stable")[: self.n_kept[place]]
        return [str(i) if self.names is None else self.names[i] for i in order]

    def summary(self) -> str:
        shape = f"{counted(self.Cs.size, 'solutions')} of {counted(self.coef.shape[1], 'features')}"
        fewest, most = self.n_kept.min(), self.n_kept.max()
        kept = f", {fewest} to {most} of them kept" if fewest < self.coef.shape[1] else ""
        return f"{shape}{kept}, C from {self.Cs.min():g} to {self.Cs.max():g}"

    def __repr__(self) -> str:
        return f"<Path: {self.summary()}>"

    def table_columns(self) -> Columns:
        """One row per C."""
        parts = ("value", "gradient_norm", "iterations", "converged")
        evaluation: dict[str, Floats] = {}
        if self.measure is not None and self.cv_values is not None:
            means, errors = means_and_errors(self.cv_values)
            evaluation = {self.measure: means, "standard_error": errors}
        solved = {part: [getattr(one, part) for one in self.results] for part in parts}
        return {"C": self.Cs, "features": self.n_kept, **evaluation, **solved}


def c_path(
    X: Data,
    y: Column = None,
    qid: Ids = None,
    Cs: Sequence[float] | Array | None = None,
    *,
    ranker: RankSVM | ScaledRanker | None = None,
    direction: str = "up",
    sample_weight: Column = None,
    cv: Folds | None = None,
    measure: str | Measure | None = None,
) -> Path:
    """`RankSVM(C=C).fit(X, y, qid).coef_` for every C of `Cs`, to the solver's `tol`; X, y, qid, weights as in `fit`.

    Cs         None: 2^-15, 2^-14, ..., 2^10; if the ranker has an l1_ratio, 31 values from the C at which the first
               feature gets a weight to 1,000 times that
    ranker     a RankSVM with the options to use (loss, solver, tol, l1_ratio, ...), or a ScaledRanker with one; its
               own C is ignored
    direction  "up": from the smallest C to the largest, each warm-started from the previous one; or "down"
    cv         folds as of RankSVMCV, of whole groups if X has any, on which every C is evaluated, with a `tol` of 1e-3
               or the ranker's own if that is larger; None: no evaluation
    measure    of the evaluation; None: the `default_measure` of y

    Examples
    --------
    >>> from rankwise import load_sample
    >>> from rankwise.model_selection import c_path
    >>> data = load_sample()
    >>> path = c_path(data.X, data.y, data.qid, Cs=[0.001, 0.01, 0.1])
    >>> all(result.converged for result in path.results)
    True
    """
    strengths = None if Cs is None else check_strengths("Cs", Cs)
    one_of("direction", direction, DIRECTIONS)
    scaled = ranker if isinstance(ranker, ScaledRanker) else None
    template = template_of(ranker if scaled is None else scaled.ranker)
    if scaled is not None:
        check_in_memory(X)
    given = template._checked(documents_of(X, y, qid, sample_weight))
    columns = known_columns(template)
    template = with_signs_by_place(template, columns)
    rows = given.X if scaled is None else make_scaler(scaled.scaler).fit_transform(given.X, qid=given.qid)
    solver = template.options.solver_for(rows)
    unit = objective_at_one(template, rows, given.y, given.qid, given.sample_weight)
    strengths = grid_of(unit) if strengths is None else strengths
    order = np.argsort(strengths, kind="stable")[:: 1 if direction == "up" else -1]
    solutions = follow(solver, unit, strengths[order], None, template.callback)
    by_place = dict(zip(order.tolist(), solutions, strict=True))
    results = [by_place[place] for place in range(strengths.size)]
    path = Path(strengths, np.array([to_host(one.point) for one in results]), results)
    path = path if columns is None else replace(path, names=tuple(names_of(columns)))
    model = template if scaled is None else ScaledRanker(template, scaled.scaler)
    return path if cv is None else _evaluated(path, model, given, cv, measure, groups_of(X, None))


def _evaluated(
    path: Path,
    model: RankSVM | ScaledRanker,
    given: CheckedDocuments,
    cv: Folds,
    measure: str | Measure | None,
    groups: QueryIds | None,
) -> Path:
    """The path with the measure of every C in every fold."""
    chosen = parse(default_measure(to_host(given.y)) if measure is None else measure)
    documents = Documents(given.X, given.y, None if given.qid is None else to_host(given.qid), given.sample_weight)
    ranker = model if isinstance(model, RankSVM) else model.ranker
    halves, workers = documents.folds(cv, ranker.n_jobs, groups)
    if ranker is model:
        folds: list[Fold] = [path_fold(ranker, one, chosen, workers.threads) for one in halves]
    else:
        folds = [fold_of(model, "ranker__C", one, chosen, workers.threads) for one in halves]
    order = np.argsort(path.Cs, kind="stable")
    table = search(folds, path.Cs, order, early_stopping=False, workers=workers)
    return replace(path, measure=str(chosen), cv_values=table.values)


def linear_problem(ranker: RankSVM, documents: Documents) -> tuple[Solver, Objective]:
    """The solver of the ranker, and its objective at C = 1."""
    return ranker.options.solver_for(documents.X), objective_at_one(ranker, *documents)


def objective_at_one(
    ranker: RankSVM, X: Features, y: Numbers, qid: QueryIds | None, sample_weight: Numbers | None
) -> Objective:
    """The objective of the ranker at C = 1, which a path multiplies by its Cs."""
    loss, pairing = losses.parse(ranker.loss), ranker.options.pairing()
    unit = build(X, y, qid, sample_weight, C=1.0, loss=loss, pairing=pairing, n_jobs=ranker.n_jobs)
    return ranker.options.penalised(unit)


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

    Weights of unusual size move it, as they move C = "auto".

    n_pairs    their number, or with weights their total weight
    normalize  what C multiplies; an average of pairs needs no smaller C on larger data
    """
    usual = np.array(GRID)
    if key(normalize) != "sum" or not n_pairs > 0:
        return usual
    auto = int(np.floor(np.log2(AUTO_STRENGTH) - np.log2(n_pairs)))
    low, high = min(auto - AROUND, round(np.log2(usual[0]))), max(auto + AROUND, round(np.log2(usual[-1])))
    if high - low > WIDEST:
        low = max(low, auto - AROUND)
        high = min(high, low + WIDEST)
    return 2.0 ** np.arange(low, high + 1)


def grid_of(unit: Objective) -> Floats:
    """The Cs of a path if none are given: with an L1 penalty, from the C at which the first feature gets a weight."""
    penalty = unit.penalty
    if not isinstance(penalty, ElasticNet) or not penalty.l1_ratio:
        return np.array(GRID)
    slopes = penalty.allowed(-unit.sum.at(unit.zero).gradient)
    largest = float(abs(slopes).max()) if slopes.shape[0] else 0.0
    return penalty.l1_ratio / largest * np.geomspace(*PATH_SPAN) if largest > 0.0 else np.array(GRID)


def check_strengths(name: str, given: Sequence[float] | Array | None) -> Floats:
    """The strengths as an array, the usual grid for None; an error that names the parameter if one is not positive."""
    values = np.asarray(GRID if given is None else given, dtype=object).ravel()
    if not values.size:
        raise ValueError(f"{name} is empty: give at least one")
    return np.array([positive(name, value) for value in values])
