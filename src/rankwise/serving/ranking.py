"""A request in, a response out: the documents of a query from best to worst, apart from HTTP."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.strict_json import Json, shown
from rankwise.model_io.conversion import estimator_of, model_of
from rankwise.model_io.files import read_model
from rankwise.rankers.models import LinearModel, Model, linear_scores
from rankwise.serving.features import Features
from rankwise.serving.limits import DEFAULTS
from rankwise.serving.requests import Request, RequestError, read

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

MOST_CONTRIBUTIONS = 1 << 20  # of a response: some 30 MB of JSON


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A model, and how it reads the features of a request."""

    model: Model
    features: Features

    @classmethod
    def of(
        cls, ranker: "str | Path | Model | BaseEstimator", missing: float | None = None, ignore_unknown: bool = False
    ) -> Self:
        """Of a model file, or of a fitted ranker.

        missing         the value of features that a document lacks; None: they are an error
        ignore_unknown  whether features that the model does not have are ignored
        """
        if isinstance(ranker, str | Path):
            model: Model = read_model(ranker)
        else:
            model = ranker if isinstance(ranker, Model) else model_of(ranker)
        served = cls(model, Features(model.columns, missing, ignore_unknown))
        served.warm_up()
        return served

    def warm_up(self) -> None:
        """Import and prepare now what the first request would wait for."""
        _ = self.features.columns_by_name
        with np.errstate(all="ignore"):
            self.scores(np.zeros((1, self.model.columns.n_features)))

    def scores(self, X: Floats) -> Floats:
        """Of the documents of one query."""
        if isinstance(self.model, LinearModel):
            return linear_scores(self._scaled(X), self.model.coef)
        scores: Floats = self._estimator.predict(X, np.zeros(len(X), dtype=np.int64))
        return scores

    def contributions(self, X: Floats) -> Floats:
        """How much each feature adds to each score, relative to the mean of the documents: the sum of a row is its
        score less the mean score. Scaling is included, so they belong to the features as they were given.
        """
        if not isinstance(self.model, LinearModel):
            kind = self.model.kind
            raise RequestError(f'"explain" needs a linear model: the score of a {kind} is no sum over its features')
        scaled = self._scaled(X)
        contributions: Floats = (scaled - scaled.mean(axis=0)) * self.model.coef
        return contributions

    def _scaled(self, X: Floats) -> Floats:
        scaling = self.model.scaling
        if scaling is None:
            return X
        scaled: Floats = scaling.transform(X, np.zeros(len(X), dtype=np.int64), n_jobs=1)
        return scaled

    @cached_property
    def _estimator(self) -> Any:
        """Of a kernel model; without names, since the columns are in order already."""
        return estimator_of(replace(self.model, columns=replace(self.model.columns, names=None)))


def rank(model: ServedModel, given: Json, most_documents: int = DEFAULTS.documents) -> dict[str, Json]:
    """The response to a request (rankwise.serving.requests): the ids from best to worst, and their scores.

    Documents with equal scores stay in the order in which they were given. RequestError says what is wrong.
    """
    return answer(model, read(given, most_documents))


def answer(model: ServedModel, request: Request) -> dict[str, Json]:
    """The response to a request that was read already."""
    X = model.features.matrix(request)
    response: dict[str, Json] = {} if request.query is None else {"query": request.query}
    if not len(X):
        return response | {"order": [], "scores": []} | ({} if request.explain == 0 else {"contributions": []})
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            scores = model.scores(X)
    except ValueError as error:  # such as numbers too far apart for a scaling by query
        raise RequestError(f"the documents cannot be scored: {error}") from None
    _check_finite(scores, request)
    order = np.argsort(-scores, kind="stable")[: request.top]
    response |= {"order": [request.ids[place] for place in order.tolist()], "scores": scores[order].tolist()}
    if request.explain != 0:
        response["contributions"] = _explained(model, X, order, request)
    return response


def _check_finite(scores: Floats, request: Request) -> None:
    bad = np.flatnonzero(~np.isfinite(scores))
    if bad.size:
        document = shown(request.ids[bad[0]])
        raise RequestError(f"document {document} has the score {scores[bad[0]]}: its features are too large")


def _explained(model: ServedModel, X: Floats, order: Ints, request: Request) -> list[dict[str, float]]:
    """Contributions of each document in the given order, the largest first."""
    names = model.features.names
    n = len(names) if request.explain is None else min(request.explain, len(names))
    if order.size * n > MOST_CONTRIBUTIONS:
        raise RequestError(
            f"{order.size * n:,} contributions are too many, at most {MOST_CONTRIBUTIONS:,} are allowed: give "
            '"explain" a number of features, or "top" a number of documents'
        )
    with np.errstate(over="ignore", invalid="ignore"):
        contributions = model.contributions(X)[order]
    if not np.isfinite(contributions).all():
        raise RequestError("the contributions cannot be computed: some features are too large")
    largest = _largest(np.abs(contributions), n)
    values = np.take_along_axis(contributions, largest, axis=1)
    return [
        dict(zip([names[place] for place in places], row, strict=True))
        for places, row in zip(largest.tolist(), values.tolist(), strict=True)
    ]


def _largest(sizes: Floats, n: int) -> Ints:
    """The places of the n largest numbers of each row, in order; there may be a million in a row."""
    chosen = np.sort(np.argpartition(-sizes, n - 1, axis=1)[:, :n], axis=1)
    order = np.argsort(-np.take_along_axis(sizes, chosen, axis=1), axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1)
