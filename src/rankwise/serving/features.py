"""From the features of a request to the matrix that a model scores, with its columns in the model's order."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import isfinite
from typing import TypeAlias

import numpy as np

from rankwise.data.columns import ModelColumns, names_of
from rankwise.foundation.arrays import Floats
from rankwise.foundation.names import nearest
from rankwise.foundation.strict_json import Json, is_number, shown
from rankwise.foundation.texts import counted, first_few
from rankwise.serving.requests import Block, Id, Request, RequestError, described

Rows: TypeAlias = Sequence[Collection[Json]] | Floats

MOST_NUMBERS = 1 << 24  # of a matrix: 128 MiB
NAMES_SHOWN = 5
COMPARED = 2_000, 100  # features and characters up to which a name is compared with all others


@dataclass(frozen=True)
class Features:
    """The features of a model, as requests name them.

    missing         the value of features that a document lacks, or has as null; None: they are an error
    ignore_unknown  whether features that the model does not have are ignored; otherwise they are an error
    """

    columns: ModelColumns
    missing: float | None = None
    ignore_unknown: bool = False

    @cached_property
    def names(self) -> list[str]:
        return names_of(self.columns)

    @cached_property
    def columns_by_name(self) -> dict[str, int]:
        """Numbered features may also be given without the f."""
        columns = {name: i for i, name in enumerate(self.names)}
        if self.columns.names is None:
            columns |= {name.removeprefix("f"): i for name, i in columns.items()}
        return columns

    def matrix(self, request: Request) -> Floats:
        """One row per document of the request; finite numbers only."""
        shape = len(request.ids), self.columns.n_features
        if shape[0] * shape[1] > MOST_NUMBERS:
            raise RequestError(
                f"{shape[0]:,} documents with {shape[1]:,} features are too many: at most {MOST_NUMBERS:,} numbers are "
                "allowed"
            )
        X: Floats | None = None
        for block in request.blocks:
            columns, rows = self._known(block, request.ids)
            numbers = self._numbers(columns, rows, [request.ids[place] for place in block.places])
            if numbers.shape == shape and columns == range(shape[1]):
                return numbers
            if X is None:
                X = np.full(shape, np.nan if self.missing is None else self.missing)
            X[np.ix_(block.places, columns)] = numbers
        return np.empty(shape) if X is None else X

    def _known(self, block: Block, ids: Sequence[Id]) -> tuple[Sequence[int], Rows]:
        """The columns of the model that the block has, and the values of its documents for these."""
        n_features, rows = self.columns.n_features, block.values
        width = n_features if block.names is None else len(block.names)
        for place, row in zip(block.places, rows, strict=True):
            if len(row) != width:
                raise RequestError(
                    f"document {shown(ids[place])} has {counted(len(row), 'features')}, expected {width:,}"
                )
        if block.names is None:
            return range(n_features), rows
        document = f"document {shown(ids[block.places[0]])}" if block.places else "the request"
        known = [place for place, name in enumerate(block.names) if name in self.columns_by_name]
        if len(known) < width:
            if not self.ignore_unknown:
                raise RequestError(self._unknown(document, block.names))
            if isinstance(rows, np.ndarray):
                rows = rows[:, known]
            else:
                rows = [[values[place] for place in known] for values in map(list, rows)]
        columns = [self.columns_by_name[block.names[place]] for place in known]
        self._check(document, columns)
        in_order = len(columns) == n_features and columns == list(range(n_features))
        return range(n_features) if in_order else columns, rows

    def _check(self, document: str, columns: list[int]) -> None:
        """Raise an error if a feature is given twice, or is missing and must not be."""
        given = Counter(columns)
        if len(given) < len(columns):
            ((twice, _),) = given.most_common(1)
            raise RequestError(f"{document} has the feature {shown(self.names[twice])} twice")
        if self.missing is None and len(given) < len(self.names):
            lacking = [name for place, name in enumerate(self.names) if place not in given]
            listed = first_few(lacking, NAMES_SHOWN, shown)
            count = counted(len(lacking), "features")
            raise RequestError(f"{document} lacks {count}: {listed}; send all, or serve the model with --missing VALUE")

    def _unknown(self, document: str, names: Sequence[str]) -> str:
        name = next(one for one in names if one not in self.columns_by_name)
        most_names, longest = COMPARED
        few = len(self.names) <= most_names and len(name) <= longest
        near = nearest(name, self.names) if few else None
        hint = f"; did you mean {shown(near)}?" if near is not None else ""
        return f"{document} has the feature {shown(name)}, which the model does not have{hint}"

    def _numbers(self, columns: Sequence[int], rows: Rows, ids: list[Id]) -> Floats:
        if isinstance(rows, np.ndarray):
            if np.isfinite(rows).all():
                return rows
            rows = rows.tolist()
        values = list(chain.from_iterable(rows))
        kinds = set(map(type, values))
        if type(None) in kinds and self.missing is not None:
            values = [self.missing if value is None else value for value in values]
            kinds.discard(type(None))
        if kinds <= {float, int}:
            try:
                numbers = np.array(values, dtype=np.float64)
            except OverflowError:  # an integer beyond float64
                pass
            else:
                if np.isfinite(numbers).all():
                    return numbers.reshape(len(rows), len(columns))
        place = next(place for place, value in enumerate(values) if not is_number(value))
        row, column = divmod(place, len(columns))
        raise RequestError(self._not_a_number(ids[row], self.names[columns[column]], values[place]))

    def _not_a_number(self, document: Id, name: str, value: Json) -> str:
        what = f"document {shown(document)} has the feature {shown(name)}"
        if value is None:
            return f"{what} without a value (null): send a number, or serve the model with --missing VALUE"
        if isinstance(value, float) and not isfinite(value):
            return f"{what} = {shown(value)}, which is no finite number"
        if isinstance(value, int) and not isinstance(value, bool):
            return f"{what} = {shown(value)}, which is too large"
        return f"{what} = {described(value)}, expected a number"
