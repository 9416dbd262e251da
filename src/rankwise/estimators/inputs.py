"""What `fit`, `predict`, `score` and `rank` take: arrays, a RankingData, rows on disk, or a frame with named columns.

    fit(X, y, qid)    fit(data)    fit(frame, y="label", qid="query")

Features are matched by name wherever both the ranker and the rows have names.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import _get_feature_names

from rankwise.data.columns import ModelColumns, for_model
from rankwise.data.records import COMMENT, RankingData
from rankwise.foundation.names import QUERY_IDS, by_number, feature_names
from rankwise.objective.stored import is_stored


class Documents(NamedTuple):
    """Rows with what is known of each; `columns`: of a RankingData or rows on disk, the names and the first index."""

    X: Any
    y: Any
    qid: Any
    sample_weight: Any
    columns: ModelColumns | None = None


def documents(X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> Documents:
    """The arguments of `fit` and `score` with labels, query ids and weights taken from where they are."""
    if isinstance(X, RankingData) or is_stored(X):
        if y is not None or qid is not None:
            kind = "RankingData has" if isinstance(X, RankingData) else "rows on disk have"
            raise ValueError(f"{kind} labels and query ids of their own: give X alone, without y and qid")
        names = None if X.names is None else tuple(map(str, X.names))
        width = X.n_features if isinstance(X, RankingData) else X.shape[1]
        columns = ModelColumns(int(width), int(X.first_index), names)
        return Documents(X.X if isinstance(X, RankingData) else X, X.y, X.qid, sample_weight, columns)
    given = {"y": y, "qid": qid, "sample_weight": sample_weight}
    named = {argument: name for argument, name in given.items() if isinstance(name, str)}
    if not named:
        return Documents(X, y, qid, sample_weight)
    known = frame_columns(X)
    for argument, name in named.items():
        if known is None:
            raise ValueError(f"{argument} is the name {name!r}, and X has no named columns: give a DataFrame as X")
        if name not in known:
            raise ValueError(f"{argument} is {name!r}, and X has no such column: it has {', '.join(known[:8])}")
    places = {name: place for place, name in enumerate(known or ())}
    taken = {*named.values(), COMMENT}
    features = _select(X, [place for name, place in places.items() if name not in taken])
    values = {argument: _column(X, name, places[name]) for argument, name in named.items()}
    return Documents(features, **{**given, **values})


def without_column(X: Any, argument: str, name: str) -> tuple[Any, Any]:
    """A frame without the column that an argument names, and the values of that column."""
    names = frame_columns(X) or []
    if name not in names:
        raise ValueError(f"{argument} is {name!r}, and X has no such column: give a DataFrame that has it, or an array")
    place = names.index(name)
    return _select(X, [one for one in range(len(names)) if one != place]), _column(X, name, place)


def keep_columns(ranker: Any, columns: ModelColumns | None) -> None:
    """Feature names and first index of the training data, where they came with the rows."""
    if columns is None:
        return
    ranker.first_index_ = columns.first_index
    if columns.names is not None:
        ranker.feature_names_in_ = np.array(columns.names, dtype=object)


@contextmanager
def rows_to_score(ranker: Any, X: Any) -> Iterator[Any]:
    """The rows that a fitted ranker scores: the columns that it knows, found by name where X has names.

    A RankingData is put into the ranker's order. From a frame with more columns than the ranker knows, labels and query
    ids for instance, the ranker's are taken; one with the same columns in another order is left to scikit-learn, which
    refuses it.
    """
    if isinstance(X, RankingData):
        is_known = hasattr(ranker, "feature_names_in_") or hasattr(ranker, "first_index_")
        X = for_model(X, ModelColumns.of(ranker), "the data").X if is_known else X.X
    if hasattr(ranker, "first_index_") and not is_frame(X) and not is_stored(X):
        with warnings.catch_warnings():  # the names came beside an array, or from a file: an array is what is expected
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            yield X
        return
    known = frame_columns(X)
    if known is not None and (hasattr(ranker, "feature_names_in_") or hasattr(ranker, "first_index_")):
        columns = ModelColumns.of(ranker)
        wanted = columns.names or feature_names(columns.n_features, columns.first_index)
        if len(known) > len(wanted) and set(wanted) <= set(known):
            X = _select(X, [known.index(name) for name in wanted])
    yield X


def is_frame(X: Any) -> bool:
    """Whether X is what `rankwise.from_frame` takes: Polars has Arrow's interface only, and a Series has no columns."""
    return hasattr(X, "__dataframe__") or (hasattr(X, "__arrow_c_stream__") and hasattr(X, "columns"))


def frame_columns(X: Any) -> list[str] | None:
    """The names of the columns of a frame (pandas, Polars, Arrow); None of anything else."""
    if not is_frame(X):
        return None
    names = [str(name) for name in (X.column_names if hasattr(X, "column_names") else X.columns)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"X has two columns named {twice!r}: rename one of them")
    return names


def _select(frame: Any, places: Sequence[int]) -> Any:
    """Some columns of a frame, by place: names need not be texts."""
    if hasattr(frame, "iloc"):
        return frame.iloc[:, list(places)]
    names = frame.column_names if hasattr(frame, "column_names") else frame.columns
    return frame.select([names[place] for place in places])


def _column(frame: Any, name: str, place: int) -> Any:
    return np.asarray(frame.iloc[:, place] if hasattr(frame, "iloc") else frame[name])


def check_columns(ranker: Any, X: Any) -> None:
    """What scikit-learn does not check of the columns to predict on: the names of rows on disk, and that the columns
    f1, f2, ... of a frame are numbers, which a model without names knows too.
    """
    known = getattr(ranker, "feature_names_in_", None)
    if is_stored(X):
        _check_stored_columns(ranker, X, known)
    names = X.names if is_stored(X) else _get_feature_names(X)
    order = None if known is not None or names is None else by_number([str(name) for name in names])
    if order is None:
        return
    if order != sorted(order):
        raise ValueError("the columns f1, f2, ... of X are not in the order of their numbers: put them into it")
    first = getattr(ranker, "first_index_", None)  # of a model from a file
    if first is not None and names[0] != f"f{first}":
        raise ValueError(f"the columns of X count from {names[0]}, and the features of the model from f{first}")


def _check_stored_columns(ranker: Any, X: Any, known: Any) -> None:
    name = type(ranker).__name__
    if X.shape[1] != ranker.n_features_in_:
        raise ValueError(f"the rows have {X.shape[1]} features, the model has {ranker.n_features_in_}")
    numbers = X.names is not None and by_number(X.names) is not None
    if (X.names is None) != (known is None) and not (known is None and numbers):
        lacking, having = ("X does not have valid", "with") if X.names is None else ("X has", "without")
        warnings.warn(f"{lacking} feature names, but {name} was fitted {having} feature names", stacklevel=4)
    elif known is not None and list(X.names) != [str(one) for one in known]:
        odd = sorted(set(X.names) ^ {str(one) for one in known})
        found = f"{odd[0]!r} is not in both" if odd else "they are in another order, which `rankwise predict` mends"
        raise ValueError(f"the rows have other features than the model: {found}")


@contextmanager
def curable(X: Any) -> Iterator[None]:
    """What scikit-learn says of texts and missing values in the rows of a fit, with the column and the cure."""
    try:
        yield
    except ValueError as error:
        said = str(error)
        if said.startswith("Input X contains NaN"):
            cure = "fill them, by from_frame(frame, missing=0.0) or by a SimpleImputer in a pipeline"
            raise ValueError(f"Input X contains NaN, missing values{_first_column(X, _has_nan)}: {cure}") from None
        if "could not convert string to float" in said:
            cure = "leave the column out, or encode it as numbers"
            raise ValueError(f"{said}, a text{_first_column(X, _has_text)}: {cure}") from None
        raise


def _first_column(X: Any, is_odd: Callable[[Any], bool]) -> str:
    for place, name in enumerate(frame_columns(X) or []):
        if is_odd(_column(X, name, place)):
            return f" in the column {name!r}"
    return ""


def _has_nan(values: Any) -> bool:
    return bool((values != values).any())


def _has_text(values: Any) -> bool:
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        return True
    return False


def warn_of_query_ids(X: Any, qid: Any) -> None:
    """A UserWarning where qid is not given and X is a frame with a column, or an index, named like query ids.

    Nothing else can tell: features and labels of many queries and of one look alike.
    """
    names = None if qid is not None else _get_feature_names(X)
    if names is None:
        return
    in_index = list(getattr(getattr(X, "index", None), "names", []))
    for name, place in [*((one, "a column") for one in names), *((one, "an index") for one in in_index)]:
        if str(name).lower() in QUERY_IDS:
            cure = "pass the query ids as qid, and leave them out of X"
            text = f"X has {place} {name!r} and qid is not given: all rows are taken as one query; {cure}"
            warnings.warn(text, stacklevel=3)
            return
