"""What the cross-validating rankers share: the search over strengths, its progress lines, and its results."""

import sys
import warnings
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from rankwise.estimators.base import Ranker
from rankwise.foundation.arrays import Array, Floats
from rankwise.model_selection.choice import choose, end_of_grid, means_and_errors
from rankwise.model_selection.search import Cell, Fold, Table, Workers, search

MOST_FOLDS = 100  # with a column each in `cv_results_`; there may be more queries that are left out one by one


class CrossValidated(Ranker):
    """A ranker whose strength of regularisation is chosen on queries that were not trained on."""

    __metadata_request__fit: ClassVar = {"qid": True, "groups": True}

    strength: ClassVar[tuple[str, int]]  # its name, and 1 if the smallest is the simplest, -1 if the largest is
    measure_: str
    rule: str
    early_stopping: bool
    verbose: int

    def _searched(self, folds: Sequence[Fold], strengths: Floats, workers: Workers) -> Table:
        """Every strength evaluated in every fold, the one of the simplest model first."""
        name, sign = self.strength
        order = np.argsort(sign * strengths, kind="stable")
        observer = Progress(name, self.measure_, len(folds)) if self.verbose else None
        table = search(folds, strengths, order, early_stopping=self.early_stopping, workers=workers, observer=observer)
        if self.verbose and len(table.known) < table.values.size:
            left = strengths.size - len(table.known) // len(folds)
            print(f"{self.measure_} has passed its best: {left} of {strengths.size} {name}s skipped", file=sys.stderr)
        return table

    def _choose(self, strengths: Floats, values: Floats, means: Floats | None = None, level: int = 3) -> int:
        """The position of the chosen strength.

        values  the measure by fold, or by query left out, and strength
        means   over the queries, if they were left out one by one; all NaN if there is no pair (warned of already)
        level   the stack level of the caller of `fit`, for warnings
        """
        name, sign = self.strength
        self.cv_values_: Floats = values
        over_folds, self.standard_errors_ = means_and_errors(values)
        self.scores_: Floats = over_folds if means is None else means
        if means is not None and np.isnan(means).all():
            best = int(np.argmin(sign * strengths))
        else:
            best = choose(self.scores_, self.standard_errors_, sign * strengths, self.rule)
            if note := end_of_grid(name, strengths, float(strengths[best])):
                warnings.warn(f"{note} ({name}s)", stacklevel=level)
        self.best_score_ = float(self.scores_[best])
        self.cv_results_ = {f"param_{name}": strengths, **results_by_model(values, self.scores_)}
        return best


class Progress:
    """An observer of a search: one line per strength on stderr, once it has been evaluated in every fold."""

    def __init__(self, name: str, measure: str, n_folds: int) -> None:
        self.name, self.measure, self.n_folds = name, measure, n_folds
        self.cells: dict[int, list[Cell]] = {}

    def __call__(self, cell: Cell) -> None:
        cells = self.cells.setdefault(cell.place, [])
        cells.append(cell)
        if len(cells) < self.n_folds:
            return
        scores = np.array([[one.judged.score] for one in cells])
        (mean,), (error,) = means_and_errors(scores)
        seconds = sum(one.seconds for one in cells)
        line = f"{self.name} = {cell.strength:<12.6g} {self.measure} {mean:.4f} ± {error:.4f}"
        print(f"{line}   {self.n_folds} folds, {seconds:.2f} s", file=sys.stderr)


def mean_weights(table: Table, place: int) -> Array:
    """The weights at one strength, averaged over the folds: the start of the final fit."""
    coefs = [table.coefs[fold, place] for fold in range(len(table.values))]
    return sum(coefs[1:], start=coefs[0]) / len(coefs)


def results_by_model(values: Floats, means: Floats) -> dict[str, Array]:
    """The results under GridSearchCV's names; `values` by fold and model."""
    losses = np.where(np.isnan(means), np.inf, -means)
    ranks = np.searchsorted(np.sort(losses), losses) + 1  # equal means, equal ranks
    by_fold = {f"split{k}_test_score": row for k, row in enumerate(values)} if len(values) <= MOST_FOLDS else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a strength without any value has no spread
        spread = np.nanstd(values, axis=0)
    return {**by_fold, "mean_test_score": means, "std_test_score": spread, "rank_test_score": ranks}
