"""User Behavior Insights (UBI 1.3): queries with the documents shown for them, and events, some of which are clicks.

A query id of UBI is one search, that is, a list of this package; the text of the search is the query. Positions are
those of the response. Where a click tells its own position, `ordinal`, both must agree: a wrong `first_position`, or
responses that are later pages, would otherwise go unnoticed.
"""

import warnings
from collections.abc import Iterator

from rankwise.clicks.columns import Columns
from rankwise.clicks.log import ClickLog
from rankwise.data.streams import Source
from rankwise.joining.inputs import opened_input
from rankwise.joining.records import fields_by_name, identifier, shown

CLICKS = ("click", "click_through")  # values of action_name


def read_ubi(events: Source, queries: Source, first_position: int) -> ClickLog:
    """The lists of `queries`, with the clicks of `events`; clicks on documents that were not shown are left out."""
    columns = Columns()
    rows = _shown(queries, columns, first_position)
    left_out, first_place = 0, ""
    for place, list_id, doc, ordinal in _clicks(events):
        row, position = rows.get((list_id, doc), (-1, 0))
        if row < 0:
            left_out, first_place = left_out + 1, first_place or place
            continue
        if ordinal is not None and ordinal != position:
            raise ValueError(
                f"{place}: the click was at ordinal {shown(ordinal)}, but query_response_hit_ids has the document at "
                f"position {position}, counted from first_position={first_position}: is first_position right, and is "
                "every response a first page?"
            )
        columns.set_click(row)
    if left_out:
        warnings.warn(
            f"{left_out} clicks are left out, because their document is not among query_response_hit_ids of their "
            f"query; the first is {first_place}",
            stacklevel=3,
        )
    return columns.log(first_position)


def _shown(queries: Source, columns: Columns, first_position: int) -> dict[tuple[str, str], tuple[int, int]]:
    """Adds every document shown; returns its row and position by list and document."""
    rows = {}
    with opened_input(queries) as input:
        for place, value in input.values():
            query = fields_by_name(value, place)
            list_id = identifier(query.get("query_id"), "query_id", place)
            hits = query.get("query_response_hit_ids")
            if not isinstance(hits, list):
                raise ValueError(f"{place}: query_response_hit_ids must be a list of documents, found {shown(hits)}")
            text = identifier(query.get("user_query"), "user_query", place) if hits else ""
            for position, hit in enumerate(hits, first_position):
                doc = identifier(hit, "query_response_hit_ids", place)
                rows[list_id, doc] = len(columns), position
                columns.add((text, doc, list_id), position, 0, place)
        if not rows:
            raise ValueError(f"{input.name} has no query with documents in query_response_hit_ids")
    return rows


def _clicks(events: Source) -> Iterator[tuple[str, str, str, object]]:
    """(place, query id, document, ordinal or None) of the events that are clicks on documents of a query."""
    with opened_input(events) as input:
        for place, value in input.values():
            event = fields_by_name(value, place)
            if event.get("action_name") not in CLICKS or event.get("query_id") is None:
                continue
            attributes = fields_by_name(event.get("event_attributes") or {}, f"{place}, event_attributes")
            clicked = fields_by_name(attributes.get("object") or {}, f"{place}, object")
            position = fields_by_name(attributes.get("position") or {}, f"{place}, position")
            doc = identifier(clicked.get("object_id"), "event_attributes.object.object_id", place)
            yield place, identifier(event["query_id"], "query_id", place), doc, position.get("ordinal")
