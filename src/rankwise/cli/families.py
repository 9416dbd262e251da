"""Models that differ in the strength of their regularisation only: what `rankwise tune` searches, and notes of it."""

import base64
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from rankwise.data.records import RankingData
from rankwise.estimators.ranksvm import RankSVM
from rankwise.estimators.ranksvm_path import path_fold
from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.metrics import Measure
from rankwise.model_selection.folds import Documents, Halves, RefitFold
from rankwise.model_selection.search import Cell, Fold, Judged, Known
from rankwise.preprocessing import make_scaler

Entry = dict[str, Any]  # a line of the journal: family, fold, strength, score, error, seconds, coef


@dataclass(frozen=True)
class Family:
    """`model` with each of `values`, in rising order, for the parameter `strength`: "C" or "alpha"."""

    model: Any
    options: dict[str, Any]
    strength: str
    values: Floats

    @property
    def ranker(self) -> Any:
        """The model without its scaler."""
        return getattr(self.model, "ranker", self.model)

    @property
    def parameter(self) -> str:
        """The strength as the model calls it."""
        return self.strength if self.ranker is self.model else f"ranker__{self.strength}"

    @property
    def simplest_first(self) -> Floats:
        """A number for each value, the smaller the stronger the regularisation."""
        return self.values if self.strength == "C" else -self.values

    @property
    def order(self) -> Ints:
        return np.argsort(self.simplest_first, kind="stable")

    def member(self, value: float) -> Any:
        """The model at one strength, not fitted."""
        return clone(self.model).set_params(**{self.parameter: value})

    def fold(self, halves: Halves, measure: Measure, n_threads: int) -> Fold:
        """A linear RankSVM goes along a path; any other ranker is fitted anew for each value."""
        if isinstance(self.ranker, RankSVM):
            return path_fold(self.ranker, partial(self._prepared, halves), measure, n_threads)
        return RefitFold(halves, self.model, self.parameter, measure, n_threads)

    def _prepared(self, halves: Halves) -> tuple[Documents, Documents]:
        """Scaled as the model does it, by a scaler that has seen the training queries only."""
        train, held_out = halves()
        if self.ranker is not self.model:
            scaler = make_scaler(self.model.scaler)
            train = train._replace(X=scaler.fit_transform(train.X, qid=train.qid))
            held_out = held_out._replace(X=scaler.transform(held_out.X, qid=held_out.qid))
        X, y, _ = clone(self.ranker)._check_fit(train.X, train.y, None)
        return Documents(X, y, train.qid), held_out

    def known(self, entries: list[Entry], n_folds: int) -> Known:
        """What the journal holds of this family's cells."""
        places = {value: place for place, value in enumerate(self.values.tolist())}
        cells = {(one["fold"], places.get(one["strength"])): one for one in entries if one["fold"] in range(n_folds)}
        return {
            (fold, place): (judged_of(one), float(one["seconds"]))
            for (fold, place), one in cells.items()
            if place is not None
        }


def documents_of(data: RankingData) -> Documents:
    return Documents(data.X, data.y, data.qid)


def entry_of(cell: Cell) -> Entry:
    """A cell as the journal notes it: the weights to the last bit, in few characters."""
    judged = cell.judged
    return {
        "fold": cell.fold,
        "strength": cell.strength,
        "score": None if np.isnan(judged.score) else judged.score,
        "error": 0.0 if np.isnan(judged.error) else judged.error,
        "seconds": cell.seconds,
        "coef": None if judged.coef is None else base64.b64encode(judged.coef.astype("<f8").tobytes()).decode(),
    }


def judged_of(entry: Entry) -> Judged:
    """The outcome that a line of the journal tells."""
    coef: Array | None = None
    if entry["coef"] is not None:
        coef = np.frombuffer(base64.b64decode(entry["coef"], validate=True), "<f8").astype(np.float64)
    return Judged(np.nan if entry["score"] is None else float(entry["score"]), float(entry["error"]), coef)
