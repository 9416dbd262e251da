"""Folds of rows in memory, on disk or on a device, for `search`.

Rows in memory are copied for each fold. Kernels take the rows of neighbouring queries as one run, and folds of shuffled
queries leave no runs; a splitter may also cut through queries, a scaler makes new rows in each fold, and many rankers
are trained from rows, not from an objective. `Workers` bounds how many copies are held at a time.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from sklearn.base import clone

from rankwise.data.repeated import RepeatedRows
from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.devices import AnyArray, HostMatrix, is_device_array, is_sparse, library_of, some_rows, to_host
from rankwise.foundation.threads import thread_count
from rankwise.metrics import Evaluation, Measure
from rankwise.metrics.evaluation import evaluate_held_out
from rankwise.model_selection.path import follow
from rankwise.model_selection.search import SIDE_BY_SIDE, Judged, Workers
from rankwise.model_selection.splits import Folds, Split, splits_of
from rankwise.model_selection.validation import Estimator, fit, predicted
from rankwise.objective.device_sparse import csr_of, rows_on_device
from rankwise.objective.objective import Objective
from rankwise.objective.rows import MemoryRows
from rankwise.objective.stored import Features, Source, StoredRows, is_stored
from rankwise.pairs.queries import QueryIds
from rankwise.solvers import Callback, Solver


class Documents(NamedTuple):
    """Rows of features (arrays and sparse matrices of NumPy, SciPy, torch or CuPy, or rows on disk), with labels."""

    X: Features
    y: AnyArray
    qid: Array | None = None
    weight: AnyArray | None = None

    def splits(self, cv: Folds, groups: QueryIds | None = None) -> list[Split]:
        """The folds of `cv`; for rows that are not in memory, a splitter gets an array of their shape."""
        elsewhere = is_stored(self.X) or library_of(self.X)
        rows = np.broadcast_to(0.0, self.X.shape) if elsewhere else self.X
        return splits_of(cv, rows, to_host(self.y), self.qid, groups=groups)

    def workers(self, n_folds: int, n_jobs: int | None) -> Workers:
        """How to work on `n_folds` folds: a device does one at a time, and rows on disk are not copied."""
        if library_of(self.X):
            return Workers(all_held=rows_on_device(self.X).nbytes <= SIDE_BY_SIDE)
        if is_stored(self.X):
            return Workers(threads=thread_count(n_jobs))
        return Workers.of(MemoryRows(self.X).nbytes, n_folds, n_jobs)

    def folds(self, cv: Folds, n_jobs: int | None, groups: QueryIds | None = None) -> tuple[list["Halves"], Workers]:
        """The two halves of each fold of `cv`, and how to work on them."""
        splits = self.splits(cv, groups)
        return [partial(self.halves, split) for split in splits], self.workers(len(splits), n_jobs)

    def select(self, rows: Ints) -> "Documents":
        qid, weight = (None if one is None else some_rows(one, rows) for one in (self.qid, self.weight))
        return Documents(_select(self.X, rows), some_rows(self.y, rows), qid, weight)

    def halves(self, split: Split) -> tuple["Documents", "Documents"]:
        """The documents to train on, and those held out."""
        return self.select(split[0]), self.select(split[1])

    def scores(self, coef: Array, n_threads: int) -> Floats:
        """X coef, as a NumPy array."""
        if isinstance(self.X, Source):
            return StoredRows(self.X, 0, self.X.shape[0], n_threads).scores(to_host(coef))
        if library_of(self.X):
            scores: Floats = to_host(rows_on_device(self.X).scores(coef))
            return scores
        return MemoryRows(self.X, n_threads).scores(to_host(coef))

    def judge(self, scores: Floats, measure: Measure, n_threads: int, coef: Array | None = None) -> Judged:
        """The measure of the scores, and its standard error over queries, with the weights of the fit.

        Documents of weight 0 are left out.
        """
        y, qid, weight = to_host(self.y), self.qid, None
        if self.weight is not None:
            weight = to_host(self.weight)
            counted = weight > 0
            y, scores, weight = y[counted], scores[counted], weight[counted]
            qid = None if qid is None else qid[counted]
        if not y.size:
            return Judged(np.nan, np.nan, coef)
        evaluation = evaluate_held_out(y, scores, qid, [measure], n_jobs=n_threads, sample_weight=weight)
        return Judged(evaluation[measure], _standard_error(evaluation, str(measure)), coef)


def _standard_error(evaluation: Evaluation, measure: str) -> float:
    """Of the weighted mean, over the queries that count; 0 if there is only one."""
    values = evaluation.per_query[measure]
    weights = evaluation.weights.get(measure, np.ones(values.size))
    counts = ~np.isnan(values) & (weights > 0)
    n, weights = np.count_nonzero(counts), weights[counts]
    if n <= 1:
        return 0.0
    squares = (weights * (values[counts] - evaluation[measure])) ** 2
    return float(np.sqrt(squares.sum() * n / (n - 1)) / weights.sum())


Halves = Callable[[], tuple[Documents, Documents]]  # to train on, and held out; copied when it is called


class Problem(Protocol):
    """A linear ranker without its C: returns the solver and the objective at C = 1 for some documents."""

    def __call__(self, documents: Documents) -> tuple[Solver, Objective]: ...


@dataclass(frozen=True, eq=False)
class PathFold:
    """A linear ranker: one objective with varying C, each fit warm-started from the one before."""

    halves: Halves
    problem: Problem
    measure: Measure
    n_threads: int = 1
    callback: Callback | None = None

    def path(self, strengths: Sequence[float], start: Array | None) -> Iterator[Judged]:
        train, held_out = self.halves()
        solver, unit = self.problem(train)
        for result in follow(solver, unit, strengths, start, self.callback):
            scores = held_out.scores(result.point, self.n_threads)
            yield held_out.judge(scores, self.measure, self.n_threads, result.point)


@dataclass(frozen=True, eq=False)
class RefitFold:
    """Any ranker with a parameter for the strength of its regularisation, fitted from scratch for each value."""

    halves: Halves
    ranker: Estimator
    parameter: str
    measure: Measure
    n_threads: int = 1

    def path(self, strengths: Sequence[float], start: Array | None) -> Iterator[Judged]:
        train, held_out = self.halves()
        for strength in strengths:
            fitted = fit(clone(self.ranker).set_params(**{self.parameter: strength}), *train)
            scores = to_host(predicted(fitted, held_out.X, held_out.qid))
            yield held_out.judge(scores, self.measure, self.n_threads)


@dataclass(frozen=True, eq=False)
class SomeRows:
    """Some rows of a source on disk, read when a pass reaches them."""

    source: Source
    numbers: Ints

    @property
    def shape(self) -> tuple[int, int]:
        return self.numbers.size, self.source.shape[1]

    @property
    def nbytes(self) -> int:
        return self.source.nbytes * self.numbers.size // max(self.source.shape[0], 1)

    @property
    def size(self) -> int:
        """The approximate number of stored values."""
        return int(self.source.size * self.numbers.size // max(self.source.shape[0], 1))

    def load(self, low: int, high: int) -> HostMatrix:
        rows = StoredRows(self.source, 0, self.source.shape[0], 1)
        return rows.select(self.numbers[low:high], 1).X


def _select(x: Features, rows: Ints) -> Features:
    if isinstance(x, RepeatedRows):
        return x[rows]
    if isinstance(x, Source):
        return SomeRows(x, rows)
    if is_device_array(x):
        return csr_of(x).some_rows(rows).matrix if is_sparse(x) else some_rows(x, rows)
    return x[rows]
