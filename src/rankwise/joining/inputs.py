"""Files of judgements and features: read once from their start, as lines, as the rows of a table or as JSON values.

Lines, tables and JSON lines are streamed. JSON with values of several lines is held in memory.
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from typing import TypeAlias

from rankwise.data.header import check_once
from rankwise.data.streams import Source, Text, name_of, opened, streamed
from rankwise.foundation.names import key
from rankwise.foundation.strict_json import Json, parse_sequence
from rankwise.foundation.texts import first_few
from rankwise.joining.records import shown

Row: TypeAlias = Mapping[str, object]  # the cells of a row by column

DEEPEST = 100  # levels of lists and objects in JSON: a log may hold the documents themselves
_SEPARATORS = ",\t;"
_SEPARATOR_LINE = re.compile(r'(\A\s*)("?)sep=[,;\t|]\2[ \r]*$', re.MULTILINE)  # as Excel writes it; blank lines stay
_COLUMNS_SHOWN = 20

QUERY = ("query", "query_text", "user_query", "keywords", "query_id", "qid")  # usual names of columns
DOCUMENT = ("docid", "doc_id", "doc", "document_id", "document", "id")
RATING = ("rating", "grade", "label", "relevance", "relevance_label", "judgment", "judgement")


class Values:
    """JSON values with their places, of which the first is known before they are read."""

    def __init__(self, name: str, values: Iterator[tuple[str, Json]]) -> None:
        self.name = name
        self._values = values

    def first_value(self) -> Json:
        first = next(self._values, None)
        if first is None:
            raise ValueError(f"{self.name} holds nothing but an empty list")
        self._values = chain([first], self._values)
        return first[1]

    def values(self) -> Iterator[tuple[str, Json]]:
        """(place, value); the items of a list come one by one."""
        return self._values


class Input(Values):
    """A file of which some lines, `head`, are known before it is read: as lines, as a table, or as JSON values."""

    def __init__(self, name: str, pieces: Iterator[Text]) -> None:
        super().__init__(name, self._read_values())
        texts = ((piece.first_line, _decoded(piece)) for piece in pieces)
        first = next(texts, (1, ""))
        if not first[1].strip():
            raise ValueError(f"{name} is empty")
        self.head = _SEPARATOR_LINE.sub(r"\1", first[1])
        self._texts = chain([(first[0], self.head)], texts)

    @property
    def first_line(self) -> str:
        return self.head.strip().partition("\n")[0].strip()

    @property
    def first_cells(self) -> list[str]:
        """Those of a header with commas."""
        return [name.strip().strip('"') for name in self.first_line.split(",")]

    @property
    def is_table(self) -> bool:
        return any(sign in self.first_line for sign in _SEPARATORS)

    @property
    def is_json(self) -> bool:
        return self.head.lstrip()[0] in "{["

    def lines(self) -> Iterator[tuple[int, str]]:
        """(line number, line)."""
        for first, text in self._texts:
            yield from enumerate(text.removesuffix("\n").split("\n"), first)

    def _read_values(self) -> Iterator[tuple[str, Json]]:
        number, text = next(self._texts)
        if not _has_value_per_line(text):
            text += "".join(rest for _, rest in self._texts)
        for first, one in chain([(number, text)], self._texts):
            yield from self._parsed(first, one)

    def _parsed(self, first_line: int, text: str) -> Iterator[tuple[str, Json]]:
        line, before = first_line, 0
        try:
            for begin, end, value in parse_sequence(text, DEEPEST):
                place = f"{self.name}, line {line + text.count(chr(10), before, begin)}"
                line, before = line + text.count("\n", before, end), end
                if isinstance(value, list):
                    yield from ((f"{place}, item {i}", item) for i, item in enumerate(value, 1))
                else:
                    yield place, value
        except json.JSONDecodeError as error:
            where = f"{self.name}, line {first_line + error.lineno - 1}, column {error.colno}"
            raise ValueError(f"{where}: this is not JSON, or it is cut off: {error.msg}") from None
        except ValueError as error:
            blanks = len(text) - before - len(text[before:].lstrip())
            line += text.count("\n", before, before + blanks)
            raise ValueError(f"{self.name}, JSON from line {line} on: {error}") from None

    def table(self) -> tuple[list[str], Iterator[tuple[str, Row]]]:
        """The header, and (place, row) of the rows of a table; commas, tabs or semicolons separate its cells."""
        separator = max(_SEPARATORS, key=self.first_line.count)
        cells = self._cells(separator)
        header = [name.strip() for name in next(cells, (1, []))[1]]
        check_once(header, self.name)
        return header, self._rows(header, cells)

    def _cells(self, separator: str) -> Iterator[tuple[int, list[str]]]:
        """(line number, cells) of the rows that are not blank."""
        reader = csv.reader((f"{line}\n" for _, line in self.lines()), delimiter=separator, strict=True)
        while True:
            line = reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise ValueError(f"{self.name}, line {line}: the row cannot be read: {error}") from None
            if any(cell.strip() for cell in cells):
                yield line, cells

    def _rows(self, header: list[str], rows: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[str, Row]]:
        for line, cells in rows:
            place = f"{self.name}, line {line}"
            if len(cells) != len(header):
                raise ValueError(f"{place}: found {len(cells)} cells, expected {len(header)}, as in the header")
            yield place, dict(zip(header, cells, strict=True))


def _decoded(piece: Text) -> str:
    data = piece.data[piece.start :]
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = piece.first_line + data.count(b"\n", 0, error.start)
        raise ValueError(f"{piece.name}, line {line}: the file is not text in UTF-8: convert it first") from None


def _has_value_per_line(text: str) -> bool:
    """Whether the first line looks like a whole JSON value; otherwise values may be cut at the end of a piece."""
    first, _, rest = text.lstrip().partition("\n")
    return len(first) > 1 and first.rstrip()[-1] in "}]" and rest.lstrip()[:1] in ("", "{", "[")


@contextmanager
def opened_input(source: Source) -> Iterator[Input]:
    """A path, whose suffix may tell a compression, "-" for standard input, or an open file."""
    with ExitStack() as closing:
        yield Input(name_of(source), streamed(opened(source, closing), name_of(source)))


def find_column(
    header: Sequence[str], given: str | None, usual: Sequence[str], option: str, name: str, flag: str | None = None
) -> str:
    """The column that is `given`, or else the only one that has a usual name.

    flag  how the option is typed, if not --OPTION NAME
    """
    found = [one for one in header if one == given] if given is not None else usual_columns(header, usual)
    if len(found) == 1:
        return found[0]
    columns = first_few(header, _COLUMNS_SHOWN, shown)
    what = f"no column {given!r}" if given is not None else f"no column with a usual name ({', '.join(usual)})"
    if len(found) > 1:
        what = f"several columns that could be meant ({', '.join(map(shown, found))})"
    typed = flag or f"--{option.replace('_', '-')} NAME"
    raise ValueError(f"{name} has {what} for {option} (its columns: {columns}): give {option}=NAME, or {typed}")


def usual_columns(header: Sequence[str], usual: Sequence[str]) -> list[str]:
    """The columns with a usual name, in any spelling: docId is doc_id."""
    plain = {key(one).replace("-", "") for one in usual}
    return [one for one in header if key(one).replace("-", "") in plain]
