"""Readers of judgements: Quepid's exports, RRE, OpenSearch's Search Relevance Workbench, TREC qrels, plain tables."""

from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from typing import Any

from rankwise.data.trec import fields_of
from rankwise.foundation.arrays import read_number
from rankwise.foundation.strict_json import Json
from rankwise.joining.formats import Options, RecordFormat
from rankwise.joining.inputs import DOCUMENT, QUERY, RATING, Input, Row, Values, find_column, usual_columns
from rankwise.joining.records import Judgment, fields_by_name, identifier, rating, shown

COLUMNS = ("query", "doc", "rating")  # options that name columns
_TREC = ("query", "0", "docid", "rating")
_ESCAPED = tuple("-=+@")  # a space before these keeps spreadsheets from taking a query for a formula


def of_rows(rows: Iterable[tuple[str, Row]], header: Sequence[str], name: str, options: Options) -> Iterator[Judgment]:
    """Judgements of a table with a row per document."""
    columns = ((QUERY, "query"), (DOCUMENT, "doc"), (RATING, "rating"))
    query, doc, grade = (find_column(header, options.get(option), usual, option, name) for usual, option in columns)
    return (_judgment(row.get(query), row.get(doc), row.get(grade), place) for place, row in rows)


def _judgment(query: object, docid: object, grade: object, place: str, judge: str | None = None) -> Judgment:
    """A document without a rating may lack its id: so Quepid lists queries without documents."""
    value = rating(grade, place)
    document = "" if value is None and not docid else identifier(docid, "the document", place)
    return Judgment(identifier(query, "the query", place), document, value, judge, place)


def _csv(input: Input, options: Options) -> Iterator[Judgment]:
    header, rows = input.table()
    return of_rows(rows, header, input.name, options)


def _jsonl(input: Values, options: Options) -> Iterator[Judgment]:
    header = list(fields_by_name(input.first_value(), input.name))
    return of_rows(
        ((place, fields_by_name(value, place)) for place, value in input.values()), header, input.name, options
    )


def _quepid(input: Input, options: Options) -> Iterator[Judgment]:
    return (one._replace(query=_unescaped(one.query)) for one in _csv(input, options))


def _unescaped(query: str) -> str:
    return query[1:] if query[:1] == " " and query[1:].startswith(_ESCAPED) else query


def _quepid_book(input: Input, options: Options) -> Iterator[Judgment]:
    (query, docid, *judges), rows = input.table()
    for place, row in rows:
        for judge in judges:
            yield _judgment(_unescaped(str(row[query])), row[docid], row[judge], f"{place}, column {judge!r}", judge)


def _quepid_json(input: Input, options: Options) -> Iterator[Judgment]:
    for place, value in input.values():
        for where, query in _items(value, "queries", place):
            text = query.get("query", query.get("query_text"))
            for docid, grade in fields_by_name(query.get("ratings") or {}, f"{where}, ratings").items():
                yield _judgment(text, docid, grade, f"{where}, document {shown(docid)}")


def _quepid_book_json(input: Input, options: Options) -> Iterator[Judgment]:
    for place, value in input.values():
        for where, pair in _items(value, "query_doc_pairs", place):
            for at, judgement in _items(pair, "judgements", where):
                judge = str(judgement.get("user_email") or "unknown")
                grade = None if judgement.get("unrateable") else judgement.get("rating")
                yield _judgment(pair.get("query_text"), pair.get("doc_id"), grade, at, judge)


def _rre(input: Input, options: Options) -> Iterator[Judgment]:
    """Topics and groups may be left out, as in Quepid's export; a group's documents are those of all its queries."""
    for place, value in input.values():
        placeholder = fields_by_name(value, place).get("query_placeholder", "$query")
        for in_topic, topic in _items_or_itself(value, "topics", place):
            for in_group, group in _items_or_itself(topic, "query_groups", in_topic):
                for where, query in _items(group, "queries", in_group):
                    text = fields_by_name(query.get("placeholders", query), where).get(placeholder)
                    documents = query.get("relevant_documents", group.get("relevant_documents", {}))
                    for docid, grade in _rre_documents(documents, where):
                        yield _judgment(text, docid, grade, f"{where}, document {shown(docid)}")


def _rre_documents(given: Json, place: str) -> Iterator[tuple[Json, Json]]:
    """Documents and ratings of `{document: {"gain": rating}}` or `{rating: [documents]}`."""
    for name, value in fields_by_name(given, f"{place}, relevant_documents").items():
        if isinstance(value, list):
            yield from ((docid, name) for docid in value)
        else:
            entry = fields_by_name(value, f"{place}, document {shown(name)}")
            yield name, entry.get("gain", entry.get("rating"))


def _opensearch(input: Input, options: Options) -> Iterator[Judgment]:
    """The body of an import, or the response to a request for a judgement list."""
    for place, value in input.values():
        lists = [(place, value)]
        if "hits" in fields_by_name(value, place):
            hits = _items(fields_by_name(value["hits"], f"{place}, hits"), "hits", place)
            lists = [(where, fields_by_name(hit.get("_source"), f"{where}, _source")) for where, hit in hits]
        for where, one in lists:
            for at, entry in _items(one, "judgmentRatings", where):
                for docid, grade in _opensearch_ratings(entry.get("ratings"), at):
                    yield _judgment(entry.get("query"), docid, grade, f"{at}, document {shown(docid)}")


def _opensearch_ratings(given: Json, place: str) -> Iterable[tuple[Json, Json]]:
    if isinstance(given, list):
        return ((one.get("docId"), one.get("rating")) for _, one in _items({"ratings": given}, "ratings", place))
    return fields_by_name(given, f"{place}, ratings").items()


def _trec(input: Input, options: Options) -> Iterator[Judgment]:
    for line, text in input.lines():
        fields, place = fields_of(text), f"{input.name}, line {line}"
        if fields and len(fields) != len(_TREC):
            raise ValueError(f"{place}: found {len(fields)} fields, expected {len(_TREC)}, `{' '.join(_TREC)}`")
        if fields:
            yield _judgment(fields[0], fields[2], fields[3], place)


def _items(value: Json, field: str, place: str) -> Iterator[tuple[str, dict[str, Json]]]:
    """(place, item) of the objects in a list."""
    items = fields_by_name(value, place).get(field)
    if not isinstance(items, list):
        raise ValueError(f"{place}: {field} is {shown(items)}, expected a list")
    return ((at, fields_by_name(item, at)) for i, item in enumerate(items, 1) for at in [f"{place}, {field} {i}"])


def _items_or_itself(value: dict[str, Json], field: str, place: str) -> Iterable[tuple[str, dict[str, Json]]]:
    return _items(value, field, place) if field in value else [(place, value)]


def _is_trec(input: Input) -> bool:
    fields = fields_of(input.first_line)
    return len(fields) == len(_TREC) and isfinite(read_number(fields[3].encode(errors="replace")))


def _header(input: Input) -> list[str]:
    return [name.lower() for name in input.first_cells]


def _is_book(input: Input) -> bool:
    header = _header(input)
    return len(header) > 2 and header[:2] == ["query", "docid"] and not usual_columns(header, RATING)


def _has(*fields: str) -> Any:
    """Whether the first JSON value is an object with one of these fields."""
    return lambda input: isinstance(value := input.first_value(), dict) and any(field in value for field in fields)


def _is_rre(input: Input) -> bool:
    value = input.first_value()
    queries = value.get("queries") if isinstance(value, dict) else None
    return _has("topics", "query_groups")(input) or (
        isinstance(queries, list) and any("relevant_documents" in one for one in queries if isinstance(one, dict))
    )


TREC = RecordFormat(False, _is_trec, _trec)
QUEPID = RecordFormat(False, lambda input: _header(input) == ["query", "docid", "rating"], _quepid)
QUEPID_BOOK = RecordFormat(False, _is_book, _quepid_book)
CSV = RecordFormat(False, lambda input: input.is_table, _csv, COLUMNS)
RRE = RecordFormat(True, _is_rre, _rre)
QUEPID_JSON = RecordFormat(True, _has("queries"), _quepid_json)
QUEPID_BOOK_JSON = RecordFormat(True, _has("query_doc_pairs"), _quepid_book_json)
OPENSEARCH = RecordFormat(True, _has("judgmentRatings", "hits"), _opensearch)
JSONL = RecordFormat(True, lambda input: isinstance(input.first_value(), dict), _jsonl, COLUMNS)
