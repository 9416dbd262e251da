"""JSON lines: one object per row. The features are its other members, or those of an object `features` in it.

{"qid": "rambo", "docid": 7555, "label": 4, "features": {"title_bm25": 12.5, "votes": 31}}
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike

from rankwise.data.columns import Reading, finished
from rankwise.data.records import COMMENT, DOCUMENT, LABEL, QUERY, WEIGHT, RankingData, check_finite, column_names
from rankwise.data.streams import Source, Target, Text, name_of, opened, streamed
from rankwise.data.tables import Numbers, from_table
from rankwise.foundation.arrays import LARGEST_EXACT, Array
from rankwise.foundation.strict_json import Json, parse_json

FEATURES = "features"
_ROWS = 1 << 12  # written at a time
_SHOWN = 40  # characters of a line that a message shows


@dataclass(frozen=True)
class JsonTable:
    """Rows as objects with their numbers of lines; a member that a row lacks is missing."""

    header: list[str]
    rows: list[Mapping[str, Json]]
    lines: list[int]
    known: bytes = b"{}"

    @property
    def n_rows(self) -> int:
        return len(self.rows)

    def place(self, row: int) -> str:
        return f"line {self.lines[row]}"

    def _column(self, i: int) -> tuple[list[Json], Array | None]:
        """The values, and which of them are missing."""
        values = [row.get(self.header[i]) for row in self.rows]
        mask = np.array([one is None for one in values], bool)
        return values, mask if mask.any() else None

    def numbers(self, i: int) -> Numbers:
        values, missing = self._column(i)
        odd = next((one for one in values if not isinstance(one, int | float | None)), None)
        if odd is not None:
            return Numbers(np.zeros(0), missing, "texts" if isinstance(odd, str) else "lists or objects", False)
        plain = [0 if one is None else one for one in values]
        has_long = any(isinstance(one, int) and abs(one) > LARGEST_EXACT for one in plain)
        held = [_held(one) for one in plain] if has_long else plain
        return Numbers(np.array(held, object if has_long else np.float64), missing, "numbers")

    def ids(self, i: int) -> tuple[ArrayLike, Array | None]:
        return self._column(i)

    def texts(self, i: int) -> list[str]:
        return ["" if one is None else str(one) for one in self._column(i)[0]]

    def is_lists(self, i: int) -> bool:
        return False

    def lists(self, i: int) -> tuple[Array, Numbers] | None:
        return None


def _held(value: float) -> float:
    """An integer that float64 cannot hold as an infinite number, which is refused with its line."""
    try:
        float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf
    return value


def json_data(sources: Sequence[Source], reading: Reading) -> RankingData:
    """All rows of the sources together: a member may first occur in the last line."""
    where = ", ".join(map(name_of, sources))
    tables = [table for source in sources for table in _tables(source)]
    if not tables:
        raise ValueError(f"{where}: there are no rows to read")
    header = list(dict.fromkeys(name for table in tables for name in table.header))
    rows, lines = (list(chain.from_iterable(getattr(one, part) for one in tables)) for part in ("rows", "lines"))
    return finished(from_table(JsonTable(header, rows, lines), reading, where), reading, where)


def json_blocks(source: Source, reading: Reading) -> Iterator[RankingData]:
    """The rows a piece at a time. A feature must occur in the first piece."""
    names: dict[str, None] = {}
    for table in _tables(source):
        names |= dict.fromkeys(table.header)
        yield from_table(JsonTable(list(names), table.rows, table.lines), reading, name_of(source))


def _tables(source: Source) -> Iterator[JsonTable]:
    with ExitStack() as closing:
        for text in streamed(opened(source, closing), name_of(source)):
            rows, lines = [], []
            for number, line in _lines(text):
                rows.append(_row(line, f"{text.name}, line {number}"))
                lines.append(number)
            if rows:
                yield JsonTable(list(dict.fromkeys(name for row in rows for name in row)), rows, lines)


def _lines(text: Text) -> Iterator[tuple[int, bytes]]:
    lines = text.data[text.start :].split(b"\n")
    return ((number, line) for number, line in enumerate(lines, text.first_line) if line.strip())


def _row(line: bytes, where: str) -> Mapping[str, Json]:
    try:
        row = parse_json(line)
    except ValueError as error:
        raise ValueError(f"{where}: it is not an object of JSON: {error}") from None
    if not isinstance(row, dict):
        shown = line.strip()[:_SHOWN].decode(errors="replace")
        raise ValueError(f"{where}: found {shown!r}, expected an object of JSON on every line, as in {{...}}")
    return flat(row, where)


def flat(row: Mapping[str, Json], where: str) -> Mapping[str, Json]:
    """The row with the members of an object `features` in it among its own."""
    features = row.get(FEATURES)
    if not isinstance(features, Mapping):
        return row
    if twice := [name for name in features if name in row]:
        raise ValueError(f"{where}: {twice[0]!r} is both a member of the row and of its {FEATURES}: rename one of them")
    return {name: one for name, one in row.items() if name != FEATURES} | dict(features)


def write_json(target: Target, data: RankingData) -> None:
    """One object per row: label, qid, docid and sample_weight if there are any, the features, and comment likewise."""
    from rankwise.data.text_writer import refuse_zeros, write_text  # imports Numba

    refuse_zeros(data, "JSON lines")
    check_finite(data)
    names = [json.dumps(name) for name in column_names(data)]
    blocks = (slice(start, start + _ROWS) for start in range(0, len(data), _ROWS))
    write_text(target, (partial(_objects, data, rows, names) for rows in blocks))


def _objects(whole: RankingData, some: slice, names: list[str]) -> bytes:
    data = whole.select(some)
    besides = {LABEL: data.y, QUERY: data.qid, DOCUMENT: data.docid, WEIGHT: data.weight}
    columns = {name: one.tolist() for name, one in besides.items() if one is not None}
    comments = [] if data.comments is None else [{COMMENT: str(one)} for one in data.comments]
    X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    lines = []
    for row, values in enumerate(X):
        head = json.dumps({name: column[row] for name, column in columns.items()})[1:-1]
        body = (f"{name}: {value!s}" for name, value in zip(names, values, strict=True))
        tail = [json.dumps(comments[row])[1:-1]] if comments else []
        lines.append("{" + ", ".join([head, *body, *tail]) + "}\n")
    return "".join(lines).encode()
