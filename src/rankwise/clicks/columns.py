"""The columns of a click log, grown row by row as a file is read: numbers only, with each id stored once."""

from array import array

import numpy as np

from rankwise.clicks.log import ClickLog, Coded, assembled
from rankwise.pairs.queries import id_array


class Codes:
    """A column of ids."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._codes = array("q")

    def add(self, one: str) -> None:
        self._codes.append(self._numbers.setdefault(one, len(self._numbers)))

    def column(self) -> Coded:
        return Coded(np.array(self._codes, dtype=np.int64), id_array(list(self._numbers)))

    def name(self, row: int) -> str:
        return list(self._numbers)[self._codes[row]]


class Places:
    """Places such as "log.csv, line 7": the number of each row, and the few texts before the numbers."""

    def __init__(self) -> None:
        self._before = Codes()
        self._numbers = array("q")

    def add(self, place: str) -> None:
        before, _, number = place.rpartition(" ")
        self._before.add(before)
        self._numbers.append(int(number))

    def of_row(self, row: int) -> str:
        return f"{self._before.name(row)} {self._numbers[row]}"


class Columns:
    """Query, document, list, position and click of impressions, with their places in a file."""

    def __init__(self) -> None:
        self._ids = Codes(), Codes(), Codes()
        self._position, self._click = array("q"), array("q")
        self._places = Places()

    def __len__(self) -> int:
        return len(self._position)

    def add(self, ids: tuple[str, str, str], position: int, click: int, place: str) -> None:
        """`ids` are the query, the document and the list."""
        for codes, one in zip(self._ids, ids, strict=True):
            codes.add(one)
        self._position.append(position)
        self._click.append(click)
        self._places.add(place)

    def set_click(self, row: int) -> None:
        self._click[row] = 1

    def log(self, first_position: int) -> ClickLog:
        ids = [codes.column() for codes in self._ids]
        position, click = (np.array(one, dtype=np.int64) for one in (self._position, self._click))
        return assembled(ids, position, click, first_position, self._places.of_row)
