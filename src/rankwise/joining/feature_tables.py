"""Readers of features in tables, with a row per document: CSV, Vespa's CSV, JSON lines."""

from collections.abc import Iterable, Iterator, Sequence

from rankwise.data.json_lines import flat
from rankwise.foundation.names import Patterns
from rankwise.joining.formats import Options, RecordFormat
from rankwise.joining.inputs import DOCUMENT, QUERY, Input, Row, Values, find_column
from rankwise.joining.records import Logged, feature, identifier, shown

OPTIONS = ("features_query", "features_doc", "ignore")
VESPA_COLUMNS = ("query_id", "doc_id", "relevance_label", "relevance_score")


def of_rows(rows: Iterable[tuple[str, Row]], header: Sequence[str], name: str, options: Options) -> Iterator[Logged]:
    """All columns but those of the query and the document, and the ignored ones, are features."""
    columns = ((QUERY, "features_query"), (DOCUMENT, "features_doc"))
    query, doc = (find_column(header, options.get(option), usual, option, name) for usual, option in columns)
    skipped = Patterns(options.get("ignore", ()))
    if "" in header:
        cure = "name it, or write the table without it (pandas: to_csv(index=False))"
        raise ValueError(f"{name}: column {list(header).index('') + 1} has no name: {cure}")
    for place, row in rows:
        values = _values(row, (query, doc), skipped, place)
        yield Logged(
            identifier(row.get(query), "the query", place),
            identifier(row.get(doc), "the document", place),
            values,
            place,
        )


def _values(row: Row, ids: tuple[str, str], skipped: Patterns, place: str) -> dict[str, float | None]:
    values = {}
    for name, value in row.items():
        if name not in ids and name not in skipped:
            try:
                values[name] = feature(name, value, place)
            except ValueError as error:
                raise ValueError(f"{error}; ignore=[NAME], or --ignore NAME, leaves a column out") from None
    return values


def _csv(input: Input, options: Options) -> Iterator[Logged]:
    header, rows = input.table()
    return of_rows(rows, header, input.name, options)


def _vespa(input: Input, options: Options) -> Iterator[Logged]:
    header, rows = input.table()
    query, doc, *judged = VESPA_COLUMNS
    columns = {"features_query": query, "features_doc": doc}
    return of_rows(rows, header, input.name, columns | {"ignore": [*judged, *options.get("ignore", ())]})


def _jsonl(input: Values, options: Options) -> Iterator[Logged]:
    first = input.first_value()
    header = list(first) if isinstance(first, dict) else []
    return of_rows(_objects(input), header, input.name, options)


def _objects(input: Values) -> Iterator[tuple[str, Row]]:
    for place, value in input.values():
        if not isinstance(value, dict):
            raise ValueError(f"{place}: found {shown(value)}, expected an object with a query, a document and features")
        yield place, flat(value, place)


def _is_vespa(input: Input) -> bool:
    return set(VESPA_COLUMNS) <= set(input.first_cells)


VESPA = RecordFormat(False, _is_vespa, _vespa, ("ignore",))
CSV = RecordFormat(False, lambda input: input.is_table, _csv, OPTIONS)
JSONL = RecordFormat(True, lambda input: isinstance(input.first_value(), dict), _jsonl, OPTIONS)
