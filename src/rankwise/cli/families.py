"""Models that differ in the strength of their regularisation only, judged one after another."""

import base64
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from rankwise.cli.inputs import scores_of
from rankwise.data.records import RankingData
from rankwise.estimators.ranksvm import RankSVM
from rankwise.foundation.arrays import Floats
from rankwise.metrics import Measure, evaluate
from rankwise.model_selection.path import for_selection, walk
from rankwise.objective.rows import MemoryRows
from rankwise.preprocessing import make_scaler


@dataclass(frozen=True)
class Family:
    """`model` with each of `values`, in rising order, for the parameter `strength`: "C" or "alpha"."""

    model: Any
    options: dict[str, Any]
    strength: str
    values: list[float]

    @property
    def ranker(self) -> Any:
        """The model without its scaler."""
        return getattr(self.model, "ranker", self.model)

    def member(self, value: float) -> Any:
        """The model at one strength, not fitted."""
        inside = "" if self.ranker is self.model else "ranker__"
        return clone(self.model).set_params(**{inside + self.strength: value})

    def judged(
        self, train: RankingData, valid: RankingData, measure: Measure, done: list[dict[str, Any]], n_jobs: int
    ) -> Iterator[dict[str, Any]]:
        """What each member scores on `valid` after learning from `train`; the first of them may be `done` already."""
        values = self.values[len(done) :]
        solutions: Iterator[tuple[Floats, Floats | None]]
        if isinstance(self.ranker, RankSVM):
            start = _weights(done[-1]["coef"]) if done else None
            solutions = self._path(train, valid, values, start, n_jobs)
        else:
            solutions = ((scores_of(self.member(one).fit(train.X, train.y, train.qid), valid), None) for one in values)
        began = time.perf_counter()
        for value, (scores, coef) in zip(values, solutions, strict=True):
            name = str(measure)
            found = evaluate(valid.y, scores, valid.qid, [measure], n_jobs=n_jobs)
            by_query = found.per_query[name][~np.isnan(found.per_query[name])]
            error = by_query.std(ddof=1) / np.sqrt(by_query.size) if by_query.size > 1 else 0.0
            score = None if np.isnan(found[name]) else found[name]
            now = time.perf_counter()
            yield {
                "strength": value,
                "score": score,
                "error": float(error),
                "seconds": now - began,
                "coef": _text(coef),
            }
            began = now

    def _path(
        self, train: RankingData, valid: RankingData, Cs: list[float], start: Floats | None, n_jobs: int
    ) -> Iterator[tuple[Floats, Floats | None]]:
        """The scores of `valid` and the weights at each C."""
        X, judged = train.X, valid.X
        if self.ranker is not self.model:
            scaler = make_scaler(self.model.scaler)
            X = scaler.fit_transform(X, qid=train.qid)
            judged = scaler.transform(judged, qid=valid.qid)
        rows = MemoryRows(judged, n_jobs)
        ranker = for_selection(self.ranker, n_jobs)
        X, y, _ = ranker._check_fit(X, train.y, None)
        for result in walk(ranker, (X, y, train.qid, None), Cs, start):
            yield rows.dot(result.point), result.point


def _text(coef: Floats | None) -> str | None:
    """The weights to the last bit, in few characters."""
    return None if coef is None else base64.b64encode(coef.astype("<f8").tobytes()).decode()


def _weights(text: str) -> Floats:
    return np.frombuffer(base64.b64decode(text), "<f8").astype(np.float64)
