"""A request in, a response out: the documents of a query from best to worst, apart from HTTP."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from rankwise.explaining.functions import Formula, relative_parts
from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.strict_json import Json, shown
from rankwise.model_io.conversion import estimator_of
from rankwise.model_io.files import Ranker, as_model
from rankwise.rankers.models import LinearModel, Model
from rankwise.serving.features import Features
from rankwise.serving.limits import DEFAULTS
from rankwise.serving.requests import Request, RequestError, read

MOST_CONTRIBUTIONS = 1 << 20  # of a response: some 30 MB of JSON


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A model, and how it reads the features of a request."""

    model: Model
    features: Features

    @classmethod
    def of(cls, ranker: Ranker, missing: float | None = None, ignore_unknown: bool = False) -> Self:
        """Of a model file, or of a fitted ranker.

        missing         the value of features that a document lacks; None: they are an error
        ignore_unknown  whether features that the model does not have are ignored
        """
        model = as_model(ranker)
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
        if self._formula is not None:
            return self._formula.function.at(self._formula.scaled(X, _one_query(X)))
        scores: Floats = self._estimator.predict(X, _one_query(X))
        return scores

    def contributions(self, X: Floats) -> Floats:
        """How much each feature adds to each score, relative to the mean of the documents, as `explain` tells."""
        if self._formula is None:  # `explain` splits the scores of kernels too, in more time than a request has
            kind = self.model.kind
            raise RequestError(f'"explain" needs a linear model: the score of a {kind} is no sum over its features')
        return relative_parts(self._formula.function, self._formula.scaled(X, _one_query(X)))[1]

    @cached_property
    def _formula(self) -> Formula | None:
        """Of a linear model."""
        return Formula.of_model(self.model) if isinstance(self.model, LinearModel) else None

    @cached_property
    def _estimator(self) -> Any:
        """Of a kernel model; without names, since the columns are in order already."""
        return estimator_of(replace(self.model, columns=replace(self.model.columns, names=None)))


def _one_query(X: Floats) -> Ints:
    return np.zeros(len(X), dtype=np.int64)


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
