"""`read_clicks`: tables and JSON lines with one row per impression, and UBI's events with its queries."""

import re
from collections.abc import Iterator, Sequence

from rankwise.clicks.columns import Columns
from rankwise.clicks.log import ClickLog, check_first_position
from rankwise.clicks.ubi import read_ubi
from rankwise.data.streams import Source
from rankwise.joining.inputs import DOCUMENT, QUERY, Input, Row, find_column, opened_input, usual_columns
from rankwise.joining.records import fields_by_name, identifier, shown

_POSITION = ("position", "rank", "ordinal", "pos")  # usual names of columns
_CLICK = ("click", "clicked", "clicks", "is_click")
_IMPRESSION = ("impression", "impression_id", "list", "list_id", "serp_id", "search_id")
_CLICKS = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1}
_WHOLE = re.compile(r"-?[0-9]{1,9}(\.0+)?")  # pandas writes 3.0 where a cell of the column is empty


def read_clicks(
    log: Source,
    *,
    first_position: int,
    queries: Source | None = None,
    query: str | None = None,
    doc: str | None = None,
    position: str | None = None,
    click: str | None = None,
    impression: str | None = None,
) -> ClickLog:
    """Read a click log: a path, whose suffix may tell a compression, "-" for standard input, or an open file.

    log             a table (commas, tabs or semicolons, with a header) or JSON lines with one row per document shown:
                    its query, its id, its position, whether it was clicked, and an id of the list it was shown in; or,
                    with `queries`, events of User Behavior Insights (UBI 1.3) as JSON lines
    first_position  the number of the top position in this log, 0 or 1: logs differ, so it is not guessed
    queries         UBI's queries as JSON lines, with the documents shown for each (`query_response_hit_ids`)
    query, doc, position, click, impression
                    names of the columns, if they are not usual ones

    Without a column for the list, each query is one list. A document or a position twice in a list is an error.
    Documents that were not shown need no rows.
    """
    check_first_position(first_position)
    if hasattr(log, "columns"):
        columns_of = 'frame["query"], frame["doc"], frame["position"], frame["click"], frame["impression"]'
        raise TypeError(f"read_clicks reads files; for a frame, use ClickLog.of({columns_of}, first_position=...)")
    columns = {"query": query, "doc": doc, "position": position, "click": click, "impression": impression}
    if queries is not None:
        if given := [name for name, column in columns.items() if column is not None]:
            raise ValueError(f"{given[0]} names a column of a table, but with queries= the log has UBI events")
        return read_ubi(log, queries, first_position)
    with opened_input(log) as input:
        header, rows = _json_rows(input) if input.is_json else input.table()
        if doc is None and {"action_name", "query_id"} <= set(header):
            cure = "give UBI's queries too, which tell what was shown, by queries=FILE (--queries FILE)"
            raise ValueError(f"{input.name} has events of User Behavior Insights: {cure}")
        options = [("query", QUERY), ("doc", DOCUMENT), ("position", _POSITION), ("click", _CLICK)]
        if impression is not None or usual_columns(header, _IMPRESSION):
            options.append(("impression", _IMPRESSION))
        names = [
            find_column(header, columns[option], usual, option, input.name, f"--log-columns {option}=NAME")
            for option, usual in options
        ]
        return _log_of_rows(rows, names, first_position, input.name)


def read_swaps(
    source: Source, *, first_position: int, impression: str | None = None, position: str | None = None
) -> dict[str, int]:
    """Read which position was exchanged with the top one in which list, as `swap_bias` takes it.

    source  a table or JSON lines with a row per list of the experiment
    impression, position  the columns of the list and of the position, if they have no usual names
    """
    check_first_position(first_position)
    swapped: dict[str, int] = {}
    with opened_input(source) as input:
        header, rows = _json_rows(input) if input.is_json else input.table()
        lists = find_column(header, impression, _IMPRESSION, "impression", input.name, "rename the column")
        positions = find_column(header, position, _POSITION, "position", input.name, "rename the column")
        for place, row in rows:
            one, other = identifier(row.get(lists), lists, place), _position(row.get(positions), positions, place)
            if other <= first_position:
                raise ValueError(f"{place}: {positions} must be one after the top, {first_position}, found {other}")
            if one in swapped:
                raise ValueError(f"{place}: the list {one!r} occurs twice")
            swapped[one] = other - first_position + 1
    return swapped


def _json_rows(input: Input) -> tuple[list[str], Iterator[tuple[str, Row]]]:
    header = fields_by_name(input.first_value(), input.name)
    return list(header), ((place, fields_by_name(value, place)) for place, value in input.values())


def _log_of_rows(rows: Iterator[tuple[str, Row]], names: Sequence[str], first_position: int, file: str) -> ClickLog:
    query, doc, position, click, *impression = names
    list_id = impression[0] if impression else query
    columns = Columns()
    for place, row in rows:
        one, two, three = (identifier(row.get(name), name, place) for name in (query, doc, list_id))
        where, clicked = _position(row.get(position), position, place), _click(row.get(click), click, place)
        columns.add((one, two, three), where, clicked, place)
    if not len(columns):
        raise ValueError(f"{file} has a header and no rows: a click log needs a row per document shown")
    return columns.log(first_position)


def _position(value: object, name: str, place: str) -> int:
    text = str(value).strip()
    if isinstance(value, bool) or not _WHOLE.fullmatch(text):
        raise ValueError(f"{place}: {name} must be a whole number, found {shown(value)}")
    return int(float(text))


def _click(value: object, name: str, place: str) -> int:
    click = _CLICKS.get(str(value).strip().lower())
    if click is None:
        raise ValueError(f"{place}: {name} must be 0 or 1, true or false, found {shown(value)}")
    return click
