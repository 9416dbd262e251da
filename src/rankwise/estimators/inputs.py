"""What `fit`, `predict`, `score` and `rank` accept: arrays, a RankingData, rows on disk, or a frame with named columns.

    fit(X, y, qid)    fit(data)    fit(frame, y="label", qid="query")

Features are matched by name wherever both the ranker and the rows have names.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _get_feature_names

from rankwise.data.chunks import ChunkedData
from rankwise.data.columns import ModelColumns, for_model, names_of
from rankwise.data.records import COMMENT, DOCUMENT, WEIGHT, RankingData
from rankwise.data.repeated import SharedData
from rankwise.foundation.arrays import Array
from rankwise.foundation.devices import AnyFloats, Numbers, SparseMatrix, is_device_array, to_host
from rankwise.foundation.names import QUERY_IDS, by_number, nearest
from rankwise.foundation.texts import first_few
from rankwise.objective.stored import Features, Source
from rankwise.pairs.queries import QueryIds

if TYPE_CHECKING:
    from pandas import DataFrame  # in annotations also a frame of Polars or Arrow

Elsewhere: TypeAlias = ChunkedData | SharedData  # ranking data whose X is not in memory row by row
Data: TypeAlias = "Numbers | SparseMatrix | Source | RankingData | DataFrame"  # what X may be
Column: TypeAlias = Numbers | str | None  # y and sample_weight: numbers, or the name of a column of a frame
Ids: TypeAlias = QueryIds | str | None  # qid and document ids: of any type, or the name of a column of a frame


class Documents(NamedTuple):
    """The rows given to `fit` or `score`, with their labels, query ids and weights.

    columns  the feature names and the first index of a RankingData or of rows on disk
    """

    X: Data
    y: Column
    qid: Ids
    sample_weight: Column
    columns: ModelColumns | None = None


class CheckedDocuments(NamedTuple):
    """The same after the checks of `fit`, as trainings in `rankwise.rankers` take them."""

    X: Features
    y: AnyFloats
    qid: QueryIds | None
    sample_weight: AnyFloats | None
    columns: ModelColumns | None = None


def documents(X: Data, y: Column = None, qid: Ids = None, sample_weight: Column = None) -> Documents:
    """The arguments of `fit` and `score`, with labels, query ids and weights taken out of a RankingData or a frame."""
    if isinstance(X, RankingData | Elsewhere):
        if y is not None or qid is not None:
            kind = "data on disk have" if isinstance(X, ChunkedData) else f"a {type(X).__name__} has"
            raise ValueError(f"{kind} labels and query ids already: give X alone, without y and qid")
        if isinstance(sample_weight, str):
            raise ValueError(f"sample_weight is the name {sample_weight!r}, and X is no DataFrame: give an array")
        names = None if X.names is None else tuple(map(str, X.names))
        columns = ModelColumns(X.n_features, X.first_index, names)
        sample_weight = X.weight if sample_weight is None else sample_weight
        return Documents(X.X if isinstance(X, RankingData) else X, X.y, X.qid, sample_weight, columns)
    given: dict[str, Column | Ids] = {"y": y, "qid": qid, "sample_weight": sample_weight}
    named = {argument: name for argument, name in given.items() if isinstance(name, str)}
    if isinstance(X, str | PathLike):
        raise TypeError(
            f"X is a text or a path, {str(X)!r}: read files by rankwise.read_data, and fit to what it returns"
        )
    if y is None and frame_columns(X) is not None:
        raise ValueError(
            "X is a frame, and y is not given: give labels and query ids, or the names of their columns, "
            "as in fit(frame, y='label', qid='qid')"
        )
    if not named:
        return Documents(X, y, qid, sample_weight)
    known = frame_columns(X)
    if sample_weight is None and WEIGHT in (known or ()):
        named["sample_weight"] = WEIGHT
    for argument, name in named.items():
        if known is None:
            raise ValueError(f"{argument} is the name {name!r}, and X has no named columns: give a DataFrame as X")
        if name not in known:
            near = nearest(name, known)
            cure = f"it has {first_few(known, 20, str)}" if near is None else f"did you mean {near!r}?"
            raise ValueError(f"{argument} is {name!r}, and X has no such column: {cure}")
    if len(set(named.values())) < len(named):
        raise ValueError(f"{', '.join(f'{key}={name!r}' for key, name in named.items())}: no two can be one column")
    places = {name: place for place, name in enumerate(known or ())}
    taken = {*named.values(), COMMENT, DOCUMENT}
    features = _select(X, [place for name, place in places.items() if name not in taken])
    given |= {argument: column(X, name) for argument, name in named.items()}
    return Documents(features, given["y"], given["qid"], given["sample_weight"])


def groups_of(X: Data, groups: Ids) -> QueryIds | None:
    """The argument `groups` of `fit`, or the groups that a RankingData or rows on disk have."""
    if isinstance(groups, str):
        raise ValueError(f"groups is the name {groups!r}: give an array with one id per row, and leave it out of X")
    if groups is None and isinstance(X, RankingData | Elsewhere):
        return X.groups
    return to_host(groups) if is_device_array(groups) else groups


def without_column(X: Data, argument: str, name: str) -> tuple[Data, Array]:
    """A frame without the column that an argument names, and the values of that column."""
    names = frame_columns(X) or []
    if name not in names:
        raise ValueError(f"{argument} is {name!r}, and X has no such column: give a DataFrame that has it, or an array")
    return _select(X, [place for place, one in enumerate(names) if one != name]), column(X, name)


def keep_columns(ranker: BaseEstimator, columns: ModelColumns | None) -> None:
    """Store the feature names and the first index of the training data, if these have any."""
    if columns is None:
        return
    ranker.first_index_ = columns.first_index
    if columns.names is not None:
        ranker.feature_names_in_ = np.array(columns.names, dtype=object)


@contextmanager
def rows_to_score(ranker: BaseEstimator, X: Data) -> Iterator[Data]:
    """The columns of X that a fitted ranker was trained on, matched by name if X has names.

    The columns of a RankingData are put into the ranker's order. A frame may have further columns, such as labels and
    query ids, which are dropped. A frame with the same columns in another order is left to scikit-learn, which raises
    an error, unless it does not see their names: it takes a frame with whole numbers as names for one without.
    """
    if isinstance(X, RankingData):
        rows = for_model(X, ModelColumns.of(ranker), "the data").X if _knows_columns(ranker) else X.X
        with _names_not_missed():
            yield rows
        return
    if hasattr(ranker, "first_index_") and not is_frame(X) and not isinstance(X, Elsewhere):
        with _names_not_missed():
            yield X
        return
    known, wanted = frame_columns(X) or [], _names_of(ranker)
    if not has_columns_of(ranker, X) or (len(known) == len(wanted) and _get_feature_names(X) is not None):
        yield X
        return
    with _names_not_missed():
        yield _select(X, [known.index(name) for name in wanted])


@contextmanager
def _names_not_missed() -> Iterator[None]:
    """No warning of scikit-learn that only X or only the ranker has names: the columns were matched before."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X (has|does not have valid) feature names")
        yield


def has_columns_of(ranker: BaseEstimator, X: Data) -> bool:
    """Whether X is a frame with all columns that the ranker knows by name or number."""
    known, wanted = frame_columns(X), _names_of(ranker)
    return known is not None and bool(wanted) and set(wanted) <= set(known)


def known_columns(ranker: BaseEstimator) -> ModelColumns | None:
    """The columns of a ranker that knows them by name or number; None if it was fitted to an array."""
    return ModelColumns.of(ranker) if _knows_columns(ranker) else None


def _names_of(ranker: BaseEstimator) -> Sequence[str]:
    """The names of the columns that a ranker knows; of those that it knows by number, f1, f2, ..."""
    columns = known_columns(ranker)
    return () if columns is None else names_of(columns)


def _knows_columns(ranker: BaseEstimator) -> bool:
    return hasattr(ranker, "feature_names_in_") or hasattr(ranker, "first_index_")


def is_frame(X: Data) -> bool:
    """Whether X is what `rankwise.from_frame` takes: Polars has Arrow's interface only, and a Series has no columns."""
    return hasattr(X, "__dataframe__") or (hasattr(X, "__arrow_c_stream__") and hasattr(X, "columns"))


def frame_columns(X: Data) -> list[str] | None:
    """The names of the columns of a frame (pandas, Polars, Arrow), as texts; None if X is no frame."""
    if not is_frame(X):
        return None
    names = [str(name) for name in _names(X)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"X has two columns named {twice!r}: rename one of them")
    return names


def _names(frame: "DataFrame") -> Sequence[object]:
    """The names of the columns of a frame; those of pandas need not be texts."""
    names: Sequence[object] = frame.column_names if hasattr(frame, "column_names") else frame.columns
    return names


def _select(frame: "DataFrame", places: Sequence[int]) -> "DataFrame":
    """Some columns of a frame, by position."""
    if hasattr(frame, "iloc"):
        return frame.iloc[:, list(places)]
    names = _names(frame)
    return frame.select([names[place] for place in places])


def column(frame: "DataFrame", name: str) -> Array:
    """One column of a frame, by its name as a text."""
    if hasattr(frame, "iloc"):
        return np.asarray(frame.iloc[:, (frame_columns(frame) or []).index(name)])
    return np.asarray(frame[name])


def check_columns(ranker: BaseEstimator, X: Data) -> None:
    """Check what scikit-learn does not: the feature names of rows on disk, and the order of the columns f1, f2, ... of
    a frame if the model has no names.
    """
    known = getattr(ranker, "feature_names_in_", None)
    if isinstance(X, Elsewhere):
        _check_stored_columns(ranker, X, known)
    names = X.names if isinstance(X, Elsewhere) else _get_feature_names(X)
    order = None if known is not None or names is None else by_number([str(name) for name in names])
    if names is None or order is None:
        return
    if order != sorted(order):
        raise ValueError("the columns f1, f2, ... of X are not in the order of their numbers: sort them")
    first = getattr(ranker, "first_index_", None)  # of a model from a file
    if first is not None and names[0] != f"f{first}":
        raise ValueError(f"the columns of X count from {names[0]}, and the features of the model from f{first}")


def _check_stored_columns(ranker: BaseEstimator, X: Elsewhere, known: Array | None) -> None:
    name = type(ranker).__name__
    if X.shape[1] != ranker.n_features_in_:
        raise ValueError(f"the rows have {X.shape[1]} features, the model has {ranker.n_features_in_}")
    numbers = X.names is not None and by_number(X.names) is not None
    if (X.names is None) != (known is None) and not (known is None and numbers):
        lacking, having = ("X does not have valid", "with") if X.names is None else ("X has", "without")
        warnings.warn(f"{lacking} feature names, but {name} was fitted {having} feature names", stacklevel=4)
    elif known is not None and X.names is not None and list(X.names) != [str(one) for one in known]:
        odd = sorted(set(X.names) ^ {str(one) for one in known})
        reason = f"only one of them has {odd[0]!r}" if odd else "the order differs; `rankwise predict` reorders them"
        raise ValueError(f"the features of the rows are not those of the model: {reason}")


@contextmanager
def curable(X: Data) -> Iterator[None]:
    """What scikit-learn says of texts and missing values in rows, with the column and the cure."""
    try:
        yield
    except ValueError as error:
        said = str(error)
        if said.startswith("Input X contains NaN"):
            cure = "fill them, by from_frame(frame, missing=0.0) or by a SimpleImputer in a pipeline"
            raise ValueError(f"Input X contains NaN, missing values{_first_column(X, _has_nan)}: {cure}") from None
        if "could not convert string to float" in said:
            cure = "leave the column out, as by from_frame(frame, label=..., qid=..., ignore=[...]), or encode it"
            raise ValueError(f"{said}, a text{_first_column(X, _has_text)}: {cure} as numbers") from None
        raise
    except np.exceptions.DTypePromotionError:
        cure = "put a number in its place, such as an age in days, or leave the column out"
        raise ValueError(f"X has a date or time{_first_column(X, _is_time)}: {cure}") from None


def _first_column(X: Data, is_odd: Callable[[Array], bool]) -> str:
    for name in frame_columns(X) or []:
        if is_odd(column(X, name)):
            return f" in the column {name!r}"
    return ""


def _is_time(values: Array) -> bool:
    return values.dtype.kind in "mM"


def _has_nan(values: Array) -> bool:
    return bool((values != values).any())


def _has_text(values: Array) -> bool:
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        return True
    return False


def warn_of_query_ids(X: Data, qid: Ids) -> None:
    """Warn if qid is not given and X is a frame with a column, or an index, named like query ids.

    The name is the only sign: the features and labels of one query look like those of many.
    """
    names = None if qid is not None else _get_feature_names(X)
    if names is None:
        return
    in_index = list(getattr(getattr(X, "index", None), "names", []))
    for name, place in [*((one, "a column") for one in names), *((one, "an index") for one in in_index)]:
        if str(name).lower() in QUERY_IDS:
            cure = "pass the query ids as qid, and leave them out of X"
            text = f"X has {place} {name!r} and qid is not given: all rows are treated as one query; {cure}"
            warnings.warn(text, stacklevel=3)
            return


def refuse_several_queries(ranker: BaseEstimator, X: Data) -> None:
    """An error if X is a frame with a column of several query ids, which `qid` does not name: it is no feature."""
    features = set(map(str, getattr(ranker, "feature_names_in_", ())))
    for name in frame_columns(X) or []:
        if name.lower() in QUERY_IDS and name not in features and len(set(column(X, name).tolist())) > 1:
            raise ValueError(f"X has a column {name!r} of several query ids: pass qid={name!r}, or leave it out")
