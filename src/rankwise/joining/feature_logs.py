"""Readers of what search engines log: Elasticsearch and OpenSearch with `_ltrlog`, Solr with `[features]`.

A response is a JSON object. A file holds one, several one after the other, a list of them, or those of an `_msearch`.
The query of a response is, in this order: the one at its place in `queries`; a `query` that a script put beside the
response; what the response itself says, a name in `matched_queries` or Solr's parameter q.
"""

from collections.abc import Callable, Iterator, Sequence

from rankwise.foundation.strict_json import Json, is_text
from rankwise.joining.formats import Options, RecordFormat
from rankwise.joining.inputs import Input
from rankwise.joining.records import GIVE_QUERIES, Logged, feature, identifier, shown

EXTRA = "extra_logging"  # what a script of a feature logs besides its value: an object among the features


def _elasticsearch(input: Input, options: Options) -> Iterator[Logged]:
    for place, query, response in _with_queries(input, _has_hits, options.get("queries")):
        hits = response["hits"].get("hits") if isinstance(response["hits"], dict) else None
        if not isinstance(hits, list):
            raise ValueError(f"{place}: hits.hits is {shown(hits)}, expected a list")
        for i, hit in enumerate(hits, 1):
            where = f"{place}, hit {i}"
            if not isinstance(hit, dict):
                raise ValueError(f"{where}: found {shown(hit)}, expected an object")
            text = query if query is not None else _matched_query(hit, where)
            docid = identifier(_hit_id(hit, options.get("features_doc")), "the document", where)
            yield Logged(text, docid, _logged_values(hit, options, where), where)


def _hit_id(hit: dict[str, Json], field: str | None) -> Json:
    if field is None:
        return hit.get("_id")
    for part in ("_source", "fields"):
        if isinstance(hit.get(part), dict) and field in hit[part]:
            return _only(hit[part][field])
    return None


def _only(value: Json) -> Json:
    """The item of a list of one: engines return some fields as lists."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _matched_query(hit: dict[str, Json], place: str) -> str:
    names = hit.get("matched_queries")
    names = list(names) if isinstance(names, list | dict) else []  # an object if scores were requested
    if len(names) != 1:
        what = f"several names in matched_queries ({', '.join(map(str, names[:4]))})" if names else "no matched_queries"
        raise ValueError(f"{place} has {what}, so that its query is not known: {GIVE_QUERIES}")
    return identifier(names[0], "the query", place)


def _logged_values(hit: dict[str, Json], options: Options, place: str) -> dict[str, float | None]:
    """The features of a hit; none if it has no log."""
    fields = hit.get("fields")
    logs = _only(fields.get("_ltrlog")) if isinstance(fields, dict) else None
    if logs is None:
        return {}
    if not isinstance(logs, dict):
        raise ValueError(f"{place}: _ltrlog is {shown(logs)}, expected a list of one object")
    name = options.get("log_name")
    if name is None and len(logs) > 1:
        raise ValueError(
            f"{place} has several logs ({', '.join(map(repr, logs))}): say which by log_name=NAME, or --log-name NAME"
        )
    if name is not None and name not in logs:
        raise ValueError(f"{place} has no log {name!r}; it has {', '.join(map(repr, logs))}")
    entries = logs[name] if name is not None else next(iter(logs.values()), [])
    if not isinstance(entries, list):
        raise ValueError(f"{place}: the log is {shown(entries)}, expected a list of features")
    pairs = (_entry(entry, place) for entry in entries)
    return _by_name((pair for pair in pairs if not (pair[0] == EXTRA and isinstance(pair[1], dict))), options, place)


def _entry(entry: Json, place: str) -> tuple[str, Json]:
    if not isinstance(entry, dict) or not is_text(entry.get("name")):
        raise ValueError(f'{place}: found {shown(entry)}, expected {{"name": feature, "value": number}}')
    return entry["name"], entry.get("value")


def _by_name(pairs: Iterator[tuple[str, Json]], options: Options, place: str) -> dict[str, float | None]:
    ignored = options.get("ignore", ())
    values: dict[str, float | None] = {}
    for name, value in pairs:
        if name in values:
            raise ValueError(f"{place} has feature {shown(name)} twice")
        if name not in ignored:
            values[name] = feature(name, value, place)
    return values


def _solr(input: Input, options: Options) -> Iterator[Logged]:
    field, separators = options.get("features_doc", "id"), options.get("solr_separators", "=,")
    if len(separators) != 2 or separators[0] == separators[1]:
        raise ValueError(f"solr_separators must be two different signs, such as '=,'; got {separators!r}")
    for place, query, response in _with_queries(input, _has_docs, options.get("queries")):
        text = query if query is not None else _solr_query(response, place)
        for i, doc in enumerate(response["response"]["docs"], 1):
            where = f"{place}, document {i}"
            if not isinstance(doc, dict):
                raise ValueError(f"{where}: found {shown(doc)}, expected an object")
            docid = identifier(_only(doc.get(field)), f"the field {field!r}", where)
            yield Logged(text, docid, _solr_values(doc, options, where), where)


def _solr_query(response: dict[str, Json], place: str) -> str:
    header = response.get("responseHeader")
    params = header.get("params") if isinstance(header, dict) else None
    query = params.get("q") if isinstance(params, dict) else None
    if query is None:
        raise ValueError(f"{place} has no responseHeader.params.q, so that its query is not known: {GIVE_QUERIES}")
    return identifier(query, "responseHeader.params.q", place)


def _solr_values(doc: dict[str, Json], options: Options, place: str) -> dict[str, float | None]:
    field, (between, after) = options.get("solr_field", "[features]"), options.get("solr_separators", "=,")
    text = doc.get(field)
    if not isinstance(text, str):
        cure = "request it by fl=id,[features], or name its field by solr_field=NAME, --solr-field NAME"
        raise ValueError(f"{place}: {field} is {shown(text)}, expected the logged features: {cure}")
    pairs = []
    for part in text.split(after) if text else ():
        name, sign, value = part.rpartition(between)
        if not sign or not name:
            cure = 'solr_separators="=,", or --solr-separators "=,", gives the two signs used'
            raise ValueError(f"{place}: found {part[:40]!r}, expected name{between}value: {cure}")
        pairs.append((name, value))
    return _by_name(iter(pairs), options, place)


def _with_queries(
    input: Input, is_response: Callable[[Json], bool], queries: Sequence[str] | None
) -> Iterator[tuple[str, str | None, dict[str, Json]]]:
    """(place, query or None, response) of all responses of a file."""
    n = 0
    for place, value in input.values():
        for where, beside, response in _responses(value, place, is_response):
            if queries is not None and n == len(queries):
                raise ValueError(f"{where}: there are more responses than the {n} queries given")
            given = queries[n] if queries is not None else beside
            yield where, None if given is None else identifier(given, "the query", where), response
            n += 1
    if queries is not None and n < len(queries):
        raise ValueError(f"{input.name} has {n} responses, and {len(queries)} queries are given: they must be as many")


def _responses(
    value: Json, place: str, is_response: Callable[[Json], bool], query: Json = None
) -> Iterator[tuple[str, Json, dict[str, Json]]]:
    """(place, query beside it or None, response), out of what a script or an `_msearch` wraps around responses."""
    if not isinstance(value, dict):
        raise ValueError(f"{place}: found {shown(value)}, expected a response")
    query = value.get("query", query)
    if is_response(value):
        yield place, query, value
    elif isinstance(value.get("responses"), list):
        for i, one in enumerate(value["responses"], 1):
            yield from _responses(one, f"{place}, response {i}", is_response, query)
    elif isinstance(value.get("response"), dict):
        yield from _responses(value["response"], place, is_response, query)
    elif "error" in value:
        raise ValueError(f"{place} is an error of the engine, {shown(value['error'])}: log it again, or remove it")
    else:
        raise ValueError(f"{place}: found {shown(value)}, expected a response")


def _has_hits(value: Json) -> bool:
    return "hits" in value


def _has_docs(value: Json) -> bool:
    return isinstance(value.get("response"), dict) and isinstance(value["response"].get("docs"), list)


def _holds(value: Json, is_response: Callable[[Json], bool]) -> bool:
    """Whether the value is a response, or wraps one."""
    if not isinstance(value, dict):
        return False
    wrapped = value["responses"] if isinstance(value.get("responses"), list) else [value.get("response")]
    return is_response(value) or any(_holds(one, is_response) for one in wrapped)


def _fits(is_response: Callable[[Json], bool]) -> Callable[[Input], bool]:
    return lambda input: _holds(input.first_value(), is_response)


COMMON = ("features_doc", "queries", "ignore")
ELASTICSEARCH = RecordFormat(True, _fits(_has_hits), _elasticsearch, (*COMMON, "log_name"))
SOLR = RecordFormat(True, _fits(_has_docs), _solr, (*COMMON, "solr_field", "solr_separators"))
