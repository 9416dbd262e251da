"""Propensities: how often users look at each position, relative to position 1."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rankwise.clicks.log import LARGEST
from rankwise.data.streams import Source
from rankwise.foundation.arrays import Floats, Ints, finite, read_number
from rankwise.foundation.tabular import Columns, Tabular
from rankwise.foundation.texts import counted
from rankwise.joining.inputs import opened_input

COLUMNS = ("position", "propensity", "lower", "upper")  # of the CSV file


@dataclass(frozen=True, eq=False)
class Propensities(Tabular):
    """The probability that a user looks at a position, relative to position 1.

    positions  1, 2, …, or some of them, ascending
    values     0 or more
    lower, upper  the ends of an interval for each value; equal to it if there is none
    """

    positions: Ints
    values: Floats
    lower: Floats
    upper: Floats

    @classmethod
    def of(
        cls, positions: ArrayLike, values: ArrayLike, lower: ArrayLike | None = None, upper: ArrayLike | None = None
    ) -> "Propensities":
        """Propensities that are known, or come from elsewhere; intervals may be left out."""
        places = np.asarray(positions)
        if places.dtype.kind not in "iu" or places.ndim != 1 or not places.size:
            raise ValueError("positions must hold whole numbers from 1 on, at least one")
        if (places < 1).any() or (np.diff(places) <= 0).any():
            raise ValueError("positions must be counted from 1 and be ascending, each once")
        one = np.array(finite(np.asarray(values), "values", places.size))
        ends = [one if given is None else np.asarray(given, dtype=np.float64) for given in (lower, upper)]
        if (one < 0).any():
            row = int((one < 0).argmax())
            raise ValueError(f"values must be 0 or more, found {one[row]} at position {places[row]}")
        if any(end.shape != one.shape for end in ends):
            raise ValueError(f"lower and upper must hold one number for each of the {one.size} positions")
        return cls(places.astype(np.int64), one, *ends)

    def at(self, positions: Ints) -> Floats:
        """The propensities of these positions; an error if one is not known."""
        place = np.minimum(np.searchsorted(self.positions, positions), self.positions.size - 1)
        unknown = self.positions[place] != positions
        if unknown.any():
            known = f"{self.positions[0]} to {self.positions[-1]}"
            raise ValueError(
                f"no propensity is known for position {positions[unknown.argmax()]} (known: {known}): "
                "log.top(k) (--top k) leaves out what comes after position k"
            )
        return self.values[place]

    def table_columns(self) -> Columns:
        return dict(zip(COLUMNS, (self.positions, self.values, self.lower, self.upper), strict=True))

    def summary(self) -> str:
        return f"Propensities of {counted(self.positions.size, 'positions')}"

    def save(self, target: str) -> None:
        """Write a CSV file, which `load` reads."""
        self.to_csv(target)

    @classmethod
    def load(cls, source: Source) -> "Propensities":
        """Read a CSV file with the columns position and propensity, and lower and upper if there are intervals."""
        with opened_input(source) as input:
            header, rows = input.table()
            lacking = [name for name in COLUMNS[:2] if name not in header]
            if lacking:
                raise ValueError(f"{input.name} has no column {lacking[0]!r}: is it a file of propensities?")
            names = [name for name in COLUMNS if name in header]
            cells = [[_number(row[name], name, place) for name in names] for place, row in rows]
            columns = dict(zip(names, np.array(cells).reshape(-1, len(names)).T, strict=True))
            positions = columns.pop("position")
            if not positions.size or (positions != np.floor(positions)).any() or (abs(positions) > LARGEST).any():
                raise ValueError(f"{input.name}: position must hold whole numbers up to {LARGEST:,}, at least one")
            try:
                return cls.of(positions.astype(np.int64), columns.pop("propensity"), **columns)
            except ValueError as error:
                raise ValueError(f"{input.name}: {error}") from None


def check_clip(clip: float) -> None:
    if not 0 < clip <= 1:
        raise ValueError(f"clip must be above 0 and at most 1; got {clip!r}")


def _number(cell: object, name: str, place: str) -> float:
    number = read_number(str(cell).strip().encode(errors="replace"))
    if not np.isfinite(number):
        raise ValueError(f"{place}: {name} must be a number, found {cell!r}")
    return number
