"""Columns of ranking data: what a reader is told about them, and in which order a model expects its features.

A column called f1, f2, ... has a number; LETOR text has numbers only. Data without names are counted in the model's own
order. LETOR text and sparse data leave zeros out, so that their last columns may be missing; a table has every column.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
import scipy
from numpy.typing import DTypeLike

from rankwise.data.records import COMMENT, DOCUMENT, LABEL, QUERY, WEIGHT, RankingData
from rankwise.foundation.arrays import Array
from rankwise.foundation.devices import is_sparse
from rankwise.foundation.memory import check_dense_room
from rankwise.foundation.names import by_number, feature_names, nearest
from rankwise.foundation.texts import first_few

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FILL_IN = "missing=0.0 in Python, or --missing 0, puts 0 for a missing feature"
_NAMES_SHOWN = 4  # names of features in a message
_COLUMNS_SHOWN = 20  # and if one of them is to be chosen


@dataclass(frozen=True)
class Reading:
    """The options of `read_data`, which are explained there, as every format's reader receives them.

    known       the columns of the model that the data are for: a table that has all of them by name is read without its
                other columns, of whatever type they are
    on_unknown  is called with the names of these other columns, once or more often

    Examples
    --------
    >>> from rankwise.data import Reading
    >>> reading = Reading(label="grade", ignore=["clicks"])
    >>> reading.is_given("label"), reading.is_given("qid")
    (True, False)
    """

    n_features: int | None = None
    dense: bool | None = None
    dtype: DTypeLike | None = None
    missing: float | None = None
    zero_based: bool | None = None
    comments: bool = False
    n_jobs: int | None = None
    label: str = LABEL
    qid: str | None = QUERY
    features: Sequence[str] | None = None
    needs_labels: bool = True
    docid: str | None = None
    weight: str | None = None
    ignore: Sequence[str] = ()
    known: "Known | None" = None
    on_unknown: Callable[[list[str]], None] | None = None
    unjudged: bool = False
    keep_missing: bool = False

    @property
    def filler(self) -> float | None:
        """What a missing feature becomes; None: it is an error."""
        return np.nan if self.keep_missing else self.missing

    @property
    def takes_unlabelled(self) -> bool:
        """Whether the label of a row may be missing, which is then NaN."""
        return self.unjudged or self.keep_missing

    def is_given(self, option: str) -> bool:
        """Whether an option differs from its default."""
        return bool(getattr(self, option) != getattr(Reading, option))

    @property
    def besides(self) -> tuple[str | None, ...]:
        """The names of the columns that are no features."""
        return self.label, self.qid, self.docid or DOCUMENT, self.weight or WEIGHT, COMMENT

    def __post_init__(self) -> None:
        check_missing(self.missing)
        if self.keep_missing and self.missing is not None:
            raise ValueError(f"keep_missing=True and missing={self.missing} exclude each other: give one of them")
        for name in ("features", "ignore"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"{name} must be a list of names, got the text {getattr(self, name)!r}")
        if self.dtype is not None and np.dtype(self.dtype) not in (np.float32, np.float64):
            raise ValueError(f"dtype must be float32 or float64, got {np.dtype(self.dtype)}")
        if self.n_features is not None and self.n_features < 1:
            raise ValueError(f"n_features must be at least 1, got {self.n_features}")


def check_missing(missing: object) -> None:
    """Raise an error if the value for missing features is not a finite number."""
    is_number = isinstance(missing, int | float | np.number) and not isinstance(missing, bool)
    if missing is not None and not (is_number and np.isfinite(missing)):  # type: ignore[call-overload]
        raise ValueError(f"missing must be a finite number, got {missing!r}")


def largest_number(dtype: DTypeLike) -> float:
    """The largest double that does not become infinite in this type."""
    if np.dtype(dtype) == np.float32:
        return float(np.nextafter(2.0**128 - 2.0**103, 0))
    return float(np.finfo(np.float64).max)


def largest_lost(dtype: DTypeLike) -> float:
    """The largest double that becomes 0 in this type."""
    return 2.0**-150 if np.dtype(dtype) == np.float32 else 0.0


def plain_ids(texts: Array) -> Array:
    """Ids that were read as texts: int64 if each is written as a plain integer that fits, as in `read_letor`."""
    runs = np.concatenate(([True], texts[1:] != texts[:-1])) if texts.size else np.zeros(0, bool)
    ids = texts[runs].tolist()
    if not all(re.fullmatch(r"0|-?[1-9][0-9]{0,18}", one) and -(2**63) < int(one) < 2**63 for one in ids):
        return texts
    return np.repeat(np.array(ids, dtype=np.int64), np.diff(np.flatnonzero(runs), append=texts.size))


def finished(data: RankingData, reading: Reading, where: str) -> RankingData:
    """The data with the type, density and width of X that `reading` requests; without comments if all are empty."""
    X = data.X
    counts_from = None if reading.zero_based is None else 1 - reading.zero_based
    if data.names is None and counts_from not in (None, data.first_index):
        raise ValueError(f"{where} counts its features from {data.first_index}, expected from {counts_from}")
    wide = reading.n_features
    if wide is not None and wide != data.n_features:
        if not is_sparse(X) or wide < data.n_features:
            raise ValueError(f"{where} has {data.n_features} features, {wide} are expected")
        X = scipy.sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], wide))
    if reading.dtype is not None and X.dtype != reading.dtype:
        before = X.data if is_sparse(X) else X
        with np.errstate(over="ignore", under="ignore"):
            X = X.astype(reading.dtype)
        values = X.data if is_sparse(X) else X
        if not np.isfinite(values).all() or np.count_nonzero(values) < np.count_nonzero(before):
            raise ValueError(f"{where} holds a number that {np.dtype(reading.dtype)} cannot hold: read it as float64")
    if reading.dense is True and is_sparse(X):
        check_dense_room(X.shape[0], X.shape[1], X.dtype.itemsize)
        X = X.toarray()
    elif reading.dense is False and not is_sparse(X):
        X = scipy.sparse.csr_array(X)
    comments = data.comments if reading.comments else None
    if comments is not None and not any(comments):
        comments = None
    names = data.names if X.shape[1] == data.n_features else None
    return replace(data, X=X, comments=comments, names=names)


class Known(Protocol):
    """What is known of columns: of a model's, or of the data that it is trained on."""

    @property
    def n_features(self) -> int: ...
    @property
    def first_index(self) -> int: ...
    @property
    def names(self) -> Sequence[str] | None: ...


class FittedModel(Protocol):
    """What every fitted estimator has; `feature_names_in_` and `first_index_` are optional."""

    n_features_in_: int


@dataclass(frozen=True)
class ModelColumns:
    """The columns of a model."""

    n_features: int
    first_index: int = 1
    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, model: FittedModel) -> "ModelColumns":
        names: Sequence[object] | None = getattr(model, "feature_names_in_", None)
        first_index = int(getattr(model, "first_index_", 1))
        return cls(int(model.n_features_in_), first_index, None if names is None else tuple(map(str, names)))

    @classmethod
    def of_data(cls, data: Known) -> "ModelColumns":
        return cls(data.n_features, data.first_index, None if data.names is None else tuple(data.names))


def same_columns(data: Known, known: Known) -> bool:
    """Whether the columns of the data are the known ones, in the same order."""
    if data.n_features != known.n_features:
        return False
    if data.names is None and (known.names is None or by_number(known.names) is None):
        return data.first_index == known.first_index
    return names_of(data) == names_of(known)


def matched(data: RankingData, known: Known, where: str, *, zeros_left_out: bool | None = None) -> RankingData:
    """The data with the known columns, in their order.

    zeros_left_out  whether missing columns hold zeros, as in LETOR text; None: if X is sparse
    """
    if same_columns(data, known):
        return data
    zeros_left_out = is_sparse(data.X) if zeros_left_out is None else zeros_left_out
    X = _placed(data.X, places(data, known, where, zeros_left_out), known.n_features)
    return replace(data, X=X, first_index=known.first_index, names=known.names)


def unknown(data: Known, known: Known) -> list[str]:
    """The names of columns that a model does not know, if it finds all its own by name; it ignores them."""
    wanted = set(names_of(known)) if data.names is not None else set()
    return [name for name in data.names or () if name not in wanted] if wanted <= set(data.names or ()) else []


def for_model(data: RankingData, known: Known, where: str) -> RankingData:
    """The columns that a model knows, in its order: by name they may stand among others."""
    extra = set(unknown(data, known))
    if extra and data.names is not None:
        kept = [i for i, name in enumerate(data.names) if name not in extra]
        names = [data.names[i] for i in kept]
        X = np.ascontiguousarray(data.X[:, kept]) if isinstance(data.X, np.ndarray) else data.X[:, kept]
        data = replace(data, X=X, names=names)
    return matched(data, known, where)


def places(data: Known, known: Known, where: str, zeros_left_out: bool) -> Sequence[int]:
    """The place of each column of the data among the known ones; with `zeros_left_out` some may be missing."""
    if data.names is None and (known.names is None or by_number(known.names) is None):
        return _by_place(data, known, where, zeros_left_out)
    return _by_name(data, known, where, zeros_left_out)


def alike(block: RankingData, known: Known, where: str) -> RankingData:
    """A block of a table with the columns of the blocks before it; numbers do not stand for names."""
    if block.names is None and known.names is not None and by_number(known.names) is None:
        raise ValueError(f"{where} numbers its features, and they were called {_listed(known.names)} before")
    return matched(block, known, where)


def _by_place(data: Known, known: Known, where: str, zeros_left_out: bool) -> range:
    """Both are counted from their first index on."""
    first = data.first_index - known.first_index
    last = first + data.n_features
    if first < 0 or last > known.n_features or (not zeros_left_out and data.n_features < known.n_features):
        raise _other_numbers(data, known, where)
    return range(first, last)


def _by_name(data: Known, known: Known, where: str, zeros_left_out: bool) -> list[int]:
    if data.names is None and data.n_features > known.n_features:  # there may be billions: do not list their names
        raise _other_numbers(data, known, where)
    own, place = names_of(data), {name: i for i, name in enumerate(names_of(known))}
    if known.names is None and by_number(own) is None:
        raise ValueError(
            f"{where} names its features {_listed(own)}, and the model knows numbers only: "
            f"call the columns {_listed(list(place))}, or train with names"
        )
    if len(place) < known.n_features or len(set(own)) < len(own):
        raise ValueError(f"{where} cannot be put into order: two features have one name")
    extra = [name for name in own if name not in place]
    missing = [] if zeros_left_out and data.names is None else list(place.keys() - set(own))
    if extra or missing:
        missing.sort(key=place.__getitem__)
        differing = [f"{what}: {_listed(names)}" for what, names in (("missing", missing), ("unknown", extra)) if names]
        raise ValueError(f"{where} has other features than expected ({'; '.join(differing)})")
    return [place[name] for name in own]


def _placed(X: "Array | csr_array", places: Sequence[int], n_features: int) -> "Array | csr_array":
    """X with its columns at the given places among n_features; the others are 0."""
    if not isinstance(X, np.ndarray):
        shape = (X.shape[0], n_features)
        if isinstance(places, range):
            return scipy.sparse.csr_array((X.data, X.indices + places.start, X.indptr), shape=shape)
        indices = np.asarray(places, dtype=X.indices.dtype)[X.indices]
        moved = scipy.sparse.csr_array((X.data.copy(), indices, X.indptr), shape=shape)  # sorting moves the values too
        moved.sort_indices()
        return moved
    if len(places) == n_features:
        return np.ascontiguousarray(X[:, np.argsort(places)])
    wide = np.zeros((X.shape[0], n_features), X.dtype)
    wide[:, list(places)] = X
    return wide


def place_of(known: Known, name: str) -> int | None:
    """The place of a column: by its name or, if columns have none, by its number, 25 or f25; None if it is absent."""
    if known.names is not None:
        return list(known.names).index(name) if name in known.names else None
    place = int(name.removeprefix("f")) - known.first_index if re.fullmatch("f?[0-9]{1,18}", name) else -1
    return place if 0 <= place < known.n_features else None


def no_column(known: Known, name: str, where: str, spelled: str | None = None) -> str:
    """The sentence about a column that `where` does not have, with the nearest name; `spelled`: as it was given."""
    if not known.n_features:
        cure = "none of its columns are features"
    elif known.names is None:
        cure = f"its features are f{known.first_index} to f{known.first_index + known.n_features - 1}"
    elif near := nearest(name, known.names):
        cure = f"did you mean {str(near)!r}?"
    else:
        cure = f"its columns are {first_few(known.names, _COLUMNS_SHOWN, lambda one: repr(str(one)))}"
    return f"no column {spelled or name!r} in {where}: {cure}"


def names_of(known: Known) -> list[str]:
    """The names of the columns, f1, f2, ... if they have numbers only."""
    return feature_names(known.n_features, known.first_index) if known.names is None else list(known.names)


def _other_numbers(data: Known, known: Known, where: str) -> ValueError:
    own, expected = (
        f"{one.n_features} features, {one.first_index} to {one.first_index + one.n_features - 1}"
        for one in (data, known)
    )
    return ValueError(f"{where} has {own}, expected {expected}")


def _listed(names: Sequence[str]) -> str:
    return first_few(names, _NAMES_SHOWN, lambda name: repr(str(name)))
