"""Features collected: one row per document of a query, with NaN where a feature has no value."""

import math
import re
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from rankwise.data.columns import check_missing
from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.memory import check_room
from rankwise.foundation.names import one_of
from rankwise.foundation.texts import counted, first_few
from rankwise.joining.report import Filled, Pair, listed

ON_RELOGGED = ("error", "first", "last")
_NUMBERED = re.compile(r"f(0|[1-9][0-9]{0,8})")
_FEATURES_SHOWN = 5


class FeatureRows:
    """The features of documents. A document that was logged twice with different values has one row.

    on_relogged  which of its rows counts; "error": none
    """

    def __init__(self, on_relogged: str) -> None:
        one_of("on_relogged", on_relogged, ON_RELOGGED)
        self.on_relogged = on_relogged
        self.rows: dict[Pair, array[float]] = {}
        self.repeated = 0
        self.relogged: dict[Pair, None] = {}
        self._columns: dict[str, int] = {}

    def add(self, pair: Pair, values: Mapping[str, float | None], place: str) -> None:
        row = array("d", [math.nan]) * len(self._columns)
        for name, value in values.items():
            column = self._columns.setdefault(name, len(self._columns))
            if column == len(row):
                row.append(math.nan)
                _check_room(len(self.rows) + 1, len(self._columns))
            if value is not None:
                row[column] = value
        known = self.rows.setdefault(pair, row)
        if known is row:
            return
        if _is_same(known, row):
            self.repeated += 1
            return
        self.relogged[pair] = None
        if self.on_relogged == "error":
            raise ValueError(
                f"{place}: {listed([pair])} was logged before with other values: "
                "leave one out, or choose by on_relogged=, --on-relogged first or last"
            )
        if self.on_relogged == "last":
            self.rows[pair] = row

    def matrix(self, pairs: Iterable[Pair]) -> tuple[Floats, list[str]]:
        """The rows of these documents, and the names of the columns: f1, f2, ... by number, others as they came."""
        wanted = list(pairs)
        _check_room(len(wanted), len(self._columns))
        X = np.full((len(wanted), len(self._columns)), np.nan)
        for i, pair in enumerate(wanted):
            row = self.rows[pair]
            X[i, : len(row)] = row
        names = list(self._columns)
        if all(map(_NUMBERED.fullmatch, names)):
            order = sorted(range(len(names)), key=lambda i: int(names[i][1:]))
            return np.ascontiguousarray(X[:, order]), [names[i] for i in order]
        return X, names


def _check_room(rows: int, columns: int) -> None:
    what = f"a table of {rows:,} rows and {columns:,} features"
    check_room(8 * rows * columns, what, "leave out features by ignore=[...], --ignore NAME")


def _is_same(a: "array[float]", b: "array[float]") -> bool:
    """Whether two rows are equal; the older one may lack columns at its end, where the newer has no value then."""
    same = all(x == y or (x != x and y != y) for x, y in zip(a, b, strict=False))
    return same and all(map(math.isnan, b[len(a) :])) and all(map(math.isnan, a[len(b) :]))


@dataclass(frozen=True)
class Filling:
    """The values that features without a value take: one for all, and by name; where there is none, it is an error."""

    default: float | None = None
    by_name: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        for value in (self.default, *(self.by_name or {}).values()):
            check_missing(value)

    def __call__(self, X: Floats, names: list[str], pairs: list[Pair]) -> tuple[Filled, ...]:
        """Fill X in place."""
        by_name = self.by_name or {}
        if unknown := [name for name in by_name if name not in names]:
            known = first_few(names, _FEATURES_SHOWN)
            raise ValueError(f"missing names the feature {unknown[0]!r}, which is not logged (logged: {known})")
        lacking = np.isnan(X)
        counts = lacking.sum(axis=0)
        values = {name: by_name.get(name, self.default) for name in names}
        if open_ones := [i for i in np.flatnonzero(counts).tolist() if values[names[i]] is None]:
            raise ValueError(_without_value(open_ones, names, counts, lacking, pairs))
        filled = []
        for i in np.flatnonzero(counts):
            value = values[names[i]]
            assert value is not None
            X[lacking[:, i], i] = value
            filled.append(Filled(names[i], int(counts[i]), float(value)))
        return tuple(filled)


def _without_value(columns: list[int], names: list[str], counts: Array, lacking: Array, pairs: list[Pair]) -> str:
    which = first_few(columns, _FEATURES_SHOWN, lambda i: f"{names[i]!r} in {counts[i]:,}")
    name, row = names[columns[0]], int(np.flatnonzero(lacking[:, columns[0]])[0])
    found = f"{counted(len(columns), 'features')} without a value in some of {len(pairs):,} rows"
    example = f"as {name!r} of document {listed(pairs[row : row + 1])}"
    return (
        f"{found} ({which}), {example}: give the value that the engine uses then, often 0, by "
        f"--missing 0, or for one feature by --missing {name}=0; in Python missing=0.0 or "
        f"missing_by_name={{{name!r}: 0.0}}"
    )
