"""The driver of all searches: every strength of regularisation is evaluated in every fold.

All folds advance together, from the strongest regularisation to the weakest. So the mean over the folds is known at
each strength, and the path ends when the measure is clearly past its best.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import NamedTuple, Protocol

import numpy as np

from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.compiling import clock
from rankwise.foundation.threads import share, thread_count
from rankwise.model_selection.choice import means_and_errors, passed_its_best

SIDE_BY_SIDE = 1 << 28  # bytes of X up to which the rows of all folds are in memory at the same time
TURN = 5  # strengths that a fold advances at a time, if only its rows are in memory


class Judged(NamedTuple):
    """The evaluation of a ranker on the held-out queries of a fold.

    score  the measure; NaN if no query counts
    error  its standard error over the queries; NaN if unknown
    coef   the weights, if the next strength is warm-started from them
    """

    score: float
    error: float
    coef: Array | None = None


class Fold(Protocol):
    """Queries to train on and queries held out, in memory, on disk, on a device or on a cluster."""

    def path(self, strengths: Sequence[float], start: Array | None) -> Iterator[Judged]:
        """Train and evaluate at each strength in turn; `start`: the weights at the strength before the first."""
        ...


class Cell(NamedTuple):
    """One trained and evaluated ranker: its fold, the index and value of its strength, and the seconds it took."""

    fold: int
    place: int
    strength: float
    judged: Judged
    seconds: float


Observer = Callable[[Cell], None]
Known = Mapping[tuple[int, int], tuple[Judged, float]]  # (fold, place) -> evaluation, and seconds


@dataclass(frozen=True)
class Workers:
    """How many folds advance at a time, by how many threads each, and whether the rows of all are in memory."""

    at_once: int = 1
    threads: int = 1
    all_held: bool = True

    @classmethod
    def of(cls, nbytes: int, n_folds: int, n_jobs: int | None) -> "Workers":
        """For rows in memory of `nbytes` bytes, most of which each fold copies."""
        threads, all_held = thread_count(n_jobs), nbytes <= SIDE_BY_SIDE
        at_once = min(threads, n_folds) if all_held else 1
        return cls(at_once, max(1, threads // at_once), all_held)


@dataclass(eq=False)
class Table:
    """Results by fold (rows) and strength (columns); NaN, 0 seconds and no weights for those not computed."""

    values: Floats
    errors: Floats
    seconds: Floats
    coefs: dict[tuple[int, int], Array] = field(default_factory=dict)
    known: set[tuple[int, int]] = field(default_factory=set)

    @classmethod
    def empty(cls, n_folds: int, n_strengths: int) -> "Table":
        shape = n_folds, n_strengths
        return cls(np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape))

    def put(self, cell: Cell) -> None:
        at = cell.fold, cell.place
        self.values[at], self.errors[at], self.seconds[at] = cell.judged.score, cell.judged.error, cell.seconds
        if cell.judged.coef is not None:
            self.coefs[at] = cell.judged.coef
        self.known.add(at)

    def features_kept(self) -> Floats:
        """By strength, the mean number of weights other than 0 over the folds; NaN if no weights are known."""
        counts = np.full(self.values.shape, np.nan)
        for at, coef in self.coefs.items():
            counts[at] = float((coef != 0.0).sum())
        return means_and_errors(counts)[0]


def search(
    folds: Sequence[Fold],
    strengths: Floats,
    order: Ints,
    *,
    early_stopping: bool = True,
    workers: Workers | None = None,
    known: Known | None = None,
    observer: Observer | None = None,
) -> Table:
    """Evaluate every strength in every fold, or stop early when the measure is clearly past its best.

    order     the indices of the strengths, from the strongest regularisation to the weakest
    known     results of an interrupted search, which are not computed again
    observer  called with each cell that is computed, never by two threads at the same time
    """
    workers, table, lock = workers or Workers(), Table.empty(len(folds), strengths.size), Lock()
    for (fold, place), (judged, seconds) in (known or {}).items():
        table.put(Cell(fold, place, float(strengths[place]), judged, seconds))

    def note(cell: Cell) -> None:
        with lock:
            table.put(cell)
            if observer is not None:
                observer(cell)

    paths = [_Path(k, fold, strengths, order, table, note) for k, fold in enumerate(folds)]
    step = 1 if workers.all_held else TURN
    for first in range(0, order.size, step):
        span = range(first, min(first + step, order.size))
        share(partial(_Path.advance, span=span, held=workers.all_held), paths, workers.at_once)
        done = order[: span.stop]
        if early_stopping and passed_its_best(table.values[:, done], table.errors[:, done]):
            break
    return table


class _Path:
    """The path of one fold over the strengths."""

    def __init__(self, k: int, fold: Fold, strengths: Floats, order: Ints, table: Table, note: Observer) -> None:
        self.k, self.fold, self.strengths, self.order = k, fold, strengths, order
        self.table, self.note = table, note
        self.rest: Iterator[Judged] | None = None  # the path after the first `reached` strengths of the order
        self.reached = 0

    def advance(self, span: range, held: bool) -> None:
        """Evaluate the strengths of a span of the order; the fold's rows stay in memory if `held` is true."""
        for i in span:
            place = int(self.order[i])
            if (self.k, place) in self.table.known:
                continue
            if self.rest is None or self.reached != i:
                self.rest = self._from(i)
            began = clock()
            judged = next(self.rest)
            self.reached = i + 1
            self.note(Cell(self.k, place, float(self.strengths[place]), judged, clock() - began))
        if not held:
            self.rest = None

    def _from(self, i: int) -> Iterator[Judged]:
        """The path from the i-th strength of the order on, warm-started from the weights before it if known."""
        start = self.table.coefs.get((self.k, int(self.order[i - 1]))) if i else None
        return self.fold.path(self.strengths[self.order[i:]].tolist(), start)
