"""Scores as functions of features, and how a difference of scores is split among the features."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rankwise.data.columns import ModelColumns
from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.devices import HostMatrix, is_sparse
from rankwise.preprocessing.scaling import Scaling
from rankwise.rankers.models import LinearModel, linear_scores


class ScoreFunction(Protocol):
    """The score of a row of features."""

    @property
    def method(self) -> str:
        """In words, how differences are split."""
        ...

    def at(self, X: HostMatrix) -> Floats:
        """One score per row."""
        ...

    def split(self, columns: Ints, starts: Floats, ends: Floats) -> Floats:
        """The part of each feature in score(end) - score(start), row by row.

        The rows hold the given columns only; all others are 0 at both ends.
        """
        ...


@dataclass(frozen=True, eq=False)
class LinearFunction:
    """score = coef · x."""

    coef: Floats
    method = "exact: the score is a sum over the features"

    def at(self, X: HostMatrix) -> Floats:
        return linear_scores(X, self.coef)

    def split(self, columns: Ints, starts: Floats, ends: Floats) -> Floats:
        return (ends - starts) * self.coef[columns]


@dataclass(frozen=True, eq=False)
class Formula:
    """How a fitted ranker gets from features to scores.

    columns  the features as the user gives them, before the scaling
    """

    function: ScoreFunction
    columns: ModelColumns
    scaling: Scaling | None = None

    @classmethod
    def of_model(cls, model: LinearModel) -> "Formula":
        return cls(LinearFunction(model.coef), model.columns, model.scaling)

    def names(self, columns: Ints) -> Array:
        """The names of these columns; f1, f2, ... of those that have only numbers."""
        known, first = self.columns.names, self.columns.first_index
        return np.array([f"f{first + i}" if known is None else known[i] for i in columns.tolist()], dtype=object)

    def scaled(self, X: HostMatrix, qid: Array | None) -> HostMatrix:
        """The rows of a query as the function takes them; dense if the scaling moves zeros."""
        if self.scaling is None:
            return X
        moves_zeros = self.scaling.by_query or self.scaling.shift is None or self.scaling.shift.any()
        return self.scaling.transform(X.toarray() if moves_zeros and is_sparse(X) else X, qid, n_jobs=1)


def used_columns(X: HostMatrix) -> Ints:
    """The columns of the features to explain: all of dense rows, and of sparse ones those that are not 0 throughout."""
    if not is_sparse(X):
        return np.arange(X.shape[1])
    columns: Ints = np.unique(X.indices[X.data != 0]).astype(np.intp)
    return columns


def packed(X: HostMatrix, columns: Ints) -> Floats:
    """These columns of X as a dense float64 array. Takes memory for these columns only, however many X has."""
    if not is_sparse(X):
        return np.asarray(X[:, columns], dtype=np.float64)
    out = np.zeros((X.shape[0], columns.size))
    rows, kept = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), np.isin(X.indices, columns)
    np.add.at(out, (rows[kept], np.searchsorted(columns, X.indices[kept])), X.data[kept])
    return out
