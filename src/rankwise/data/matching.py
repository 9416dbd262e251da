"""Columns of ranking data put into the order that a model knows: by name, by number, or refused in one sentence.

A column called f1, f2, ... has a number; LETOR text has numbers only. Data without names are counted in the model's own
order. LETOR text and sparse data leave zeros out, so that their last columns may be missing; a table has every column.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from rankwise.data.records import RankingData
from rankwise.foundation.names import by_number, feature_names

_SHOWN = 4  # names that a message shows


class Known(Protocol):
    """What is known of columns: of a model's, or of the data that it is trained on."""

    @property
    def n_features(self) -> int: ...
    @property
    def first_index(self) -> int: ...
    @property
    def names(self) -> Sequence[str] | None: ...


@dataclass(frozen=True)
class ModelColumns:
    """The columns of a model."""

    n_features: int
    first_index: int = 1
    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, model: Any) -> "ModelColumns":
        names = getattr(model, "feature_names_in_", None)
        first_index = int(getattr(model, "first_index_", 1))
        return cls(int(model.n_features_in_), first_index, None if names is None else tuple(map(str, names)))

    @classmethod
    def of_data(cls, data: Known) -> "ModelColumns":
        return cls(data.n_features, data.first_index, None if data.names is None else tuple(data.names))


def same_columns(data: Known, known: Known) -> bool:
    """Whether the columns of the data are the ones known, in the same order."""
    if data.n_features != known.n_features:
        return False
    if data.names is None and (known.names is None or by_number(known.names) is None):
        return data.first_index == known.first_index
    return _names(data) == _names(known)


def matched(data: RankingData, known: Known, where: str, *, zeros_left_out: bool | None = None) -> RankingData:
    """The data with the columns known, in their order.

    zeros_left_out  whether columns that are missing hold zeros, as in LETOR text; None: if X is sparse
    """
    if same_columns(data, known):
        return data
    zeros_left_out = sparse.issparse(data.X) if zeros_left_out is None else zeros_left_out
    X = _placed(data.X, places(data, known, where, zeros_left_out), known.n_features)
    return RankingData(X, data.y, data.qid, data.comments, known.first_index, known.names)


def places(data: Known, known: Known, where: str, zeros_left_out: bool) -> Sequence[int]:
    """Where each column of the data goes among those known; `zeros_left_out`: some may be missing."""
    if data.names is None and (known.names is None or by_number(known.names) is None):
        return _by_place(data, known, where, zeros_left_out)
    return _by_name(data, known, where, zeros_left_out)


def alike(block: RankingData, known: Known, where: str) -> RankingData:
    """A block of a table with the columns of the blocks before: numbers do not stand for names here."""
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
    if data.names is None and data.n_features > known.n_features:  # however many: they are not written out
        raise _other_numbers(data, known, where)
    own, place = _names(data), {name: i for i, name in enumerate(_names(known))}
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
        found = [f"{what}: {_listed(names)}" for what, names in (("missing", missing), ("unknown", extra)) if names]
        raise ValueError(f"{where} has other features than expected ({'; '.join(found)})")
    return [place[name] for name in own]


def _placed(X: Any, places: Sequence[int], n_features: int) -> Any:
    """X with its columns at the given places among n_features; the others are 0."""
    if sparse.issparse(X):
        shape = (X.shape[0], n_features)
        if isinstance(places, range):
            return sparse.csr_array((X.data, X.indices + places.start, X.indptr), shape=shape)
        indices = np.asarray(places, dtype=X.indices.dtype)[X.indices]
        moved = sparse.csr_array((X.data.copy(), indices, X.indptr), shape=shape)  # sorting moves the values too
        moved.sort_indices()
        return moved
    if len(places) == n_features:
        return np.ascontiguousarray(X[:, np.argsort(places)])
    wide = np.zeros((X.shape[0], n_features), X.dtype)
    wide[:, list(places)] = X
    return wide


def _names(known: Known) -> list[str]:
    return feature_names(known.n_features, known.first_index) if known.names is None else list(known.names)


def _other_numbers(data: Known, known: Known, where: str) -> ValueError:
    own, expected = (
        f"{one.n_features} features, {one.first_index} to {one.first_index + one.n_features - 1}"
        for one in (data, known)
    )
    return ValueError(f"{where} has {own}, expected {expected}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(str(name)) for name in names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
