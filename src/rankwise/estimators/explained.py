"""From an estimator and what its user gives to what `rankwise.explaining` takes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import vstack
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from rankwise.data.columns import ModelColumns, names_of
from rankwise.data.records import RankingData
from rankwise.estimators.inputs import Data, Elsewhere, Ids, check_columns, frame_columns, rows_to_score
from rankwise.explaining.choosing import LONGEST, Candidates
from rankwise.explaining.functions import Formula, LinearFunction, ScoreFunction
from rankwise.explaining.kernel_sums import KernelSum
from rankwise.foundation.arrays import Floats
from rankwise.foundation.devices import HostMatrix, is_sparse, library_of, to_host
from rankwise.foundation.names import nearest


def formula_of(ranker: BaseEstimator, data: "Data | None" = None) -> Formula:
    """How a fitted ranker computes its scores; features that it does not know by name are called as in the data."""
    check_is_fitted(ranker)
    inner = getattr(ranker, "ranker_", ranker)
    if inner is not ranker and hasattr(inner, "scaler_"):
        raise ValueError(f"{type(ranker).__name__} of a {type(inner).__name__} cannot be explained: scale only once")
    columns = ModelColumns.of(ranker)
    if columns.names is None and not hasattr(ranker, "first_index_"):
        names = data.names if isinstance(data, RankingData | Elsewhere) else frame_columns(data)
        if names is not None and len(names) == columns.n_features:
            columns = replace(columns, names=tuple(map(str, names)))
    scaling = ranker.scaler_.scaling if inner is not ranker else None
    return Formula(_function_of(inner), columns, scaling)


def _function_of(ranker: BaseEstimator) -> ScoreFunction:
    name = type(ranker).__name__
    if not hasattr(ranker, "map_"):
        if not hasattr(ranker, "coef_"):
            raise ValueError(f"a {name} has no weights of features, so its scores cannot be explained")
        return LinearFunction(np.asarray(to_host(ranker.coef_)))
    kernel = ranker.map_.kernel
    if callable(kernel.function) or kernel.precomputed:
        what = "precomputed" if kernel.precomputed else "a function"
        raise ValueError(
            f"the kernel of this {name} is {what}, which says nothing of features, so its scores cannot be explained"
        )
    if ranker.dual_coef_.ndim == 2:
        raise ValueError(f"{name} holds a model for each of several alphas: fit it with a single one to explain it")
    return KernelSum(ranker.map_, ranker.dual_coef_, int(ranker.n_features_in_))


def candidates_of(ranker: BaseEstimator, X: Data, qid: Ids, documents: Any) -> Candidates:
    """The rows with the columns that a ranker knows, in its order."""
    if hasattr(X, "dask"):
        raise ValueError("data on a cluster cannot be explained where they are: give the rows of a query, by compute()")
    X = X.read() if isinstance(X, Elsewhere) else X
    X, qid, documents = (to_host(one) if library_of(one) else one for one in (X, qid, documents))
    return Candidates(_checked_rows(ranker, X), qid, documents)


def two_rows(ranker: BaseEstimator, a: Any, b: Any) -> HostMatrix:
    """Two documents as a matrix: arrays, sparse rows, or values by name."""
    check_is_fitted(ranker)
    columns = ModelColumns.of(ranker)
    given = [_one_row(columns, name, row) for name, row in (("a", a), ("b", b))]
    X = vstack(given, format="csr") if all(map(is_sparse, given)) else np.vstack([_dense(one) for one in given])
    no_labels, one_query = np.zeros(X.shape[0]), np.zeros(X.shape[0], np.int64)
    return _checked_rows(ranker, RankingData(X, no_labels, one_query, None, columns.first_index, columns.names))


def _checked_rows(ranker: BaseEstimator, X: Data) -> HostMatrix:
    with rows_to_score(ranker, X) as rows:
        check_columns(ranker, rows)
        checked: HostMatrix = validate_data(
            ranker, rows, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False
        )
    return checked


def _one_row(columns: ModelColumns, argument: str, row: Any) -> HostMatrix:
    """A row of numbers, of shape (1, n_features); those of a dict or Series by the names that the ranker knows."""
    if hasattr(row, "to_dict"):
        row = row.to_dict()
    if isinstance(row, Mapping):
        row = _by_name(columns, argument, {str(name): value for name, value in row.items()})
    row = to_host(row) if library_of(row) else row
    wanted = f"{argument} must be {columns.n_features} numbers, or a document id together with data="
    try:
        values = row if is_sparse(row) else np.atleast_2d(np.asarray(row, dtype=np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"{wanted}; got {str(row)[:LONGEST]!r}") from None
    if values.shape != (1, columns.n_features):
        raise ValueError(f"{wanted}; got the shape {np.shape(row)}")
    return values


def _dense(row: HostMatrix) -> Floats:
    return row.toarray() if is_sparse(row) else row


def _by_name(columns: ModelColumns, argument: str, given: dict[str, object]) -> list[object]:
    known = names_of(columns)
    missing = next((name for name in known if name not in given), None)
    if missing is None:
        return [given[name] for name in known]
    near = nearest(missing, given)
    hint = f"; it has {near!r}" if near is not None else ""
    raise ValueError(f"{argument} has no value of the feature {missing!r}{hint}")
