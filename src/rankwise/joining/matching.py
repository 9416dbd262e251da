"""`join`: judgements and features matched by query and document.

Judgements are held in memory. Features are streamed, and only those of the rows that result are kept.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, cast

import numpy as np

from rankwise.data.columns import plain_ids
from rankwise.data.records import RankingData
from rankwise.data.streams import Source
from rankwise.foundation.names import Patterns, numbered
from rankwise.foundation.registry import Registry
from rankwise.foundation.strict_json import is_number
from rankwise.foundation.texts import first_few
from rankwise.joining.formats import FEATURES, JUDGMENTS, Options, Record, RecordFormat, read_records
from rankwise.joining.inputs import Row, Values, opened_input
from rankwise.joining.judged import Judged, Settling
from rankwise.joining.logged import FeatureRows, Filling
from rankwise.joining.records import GIVE_QUERIES, Judgment, Logged
from rankwise.joining.report import FeatureFindings, Filled, JoinReport, JudgmentFindings, Pair
from rankwise.pairs.queries import id_array

if TYPE_CHECKING:
    from pandas import DataFrame

Given: TypeAlias = "Source | DataFrame | Iterable[Row]"

_IDS_SHOWN = 3  # in a message


@dataclass(frozen=True)
class Joined:
    """What `join` returns: the data, and what did and did not match."""

    data: RankingData
    report: JoinReport


def join(
    judgments: "Given",
    features: "Given",
    *,
    judgments_format: str | None = None,
    query: str | None = None,
    doc: str | None = None,
    rating: str | None = None,
    judges: Collection[str] | None = None,
    combine: str = "mean",
    on_conflict: str = "error",
    features_format: str | None = None,
    features_query: str | None = None,
    features_doc: str | None = None,
    queries: Sequence[str] | None = None,
    log_name: str | None = None,
    solr_field: str | None = None,
    solr_separators: str | None = None,
    ignore: Collection[str] | None = None,
    on_relogged: str = "error",
    missing: float | None = None,
    missing_by_name: Mapping[str, float] | None = None,
    unjudged: float | None = None,
    strip: bool = False,
    casefold: bool = False,
) -> Joined:
    """Join judgements and logged features into ranking data, by query and document; docs/joining.md has examples.

    judgments, features  files (a path, "-" for standard input, or an open file), data frames, or rows as mappings
    judgments_format, features_format  a name in `rankwise.joining.formats`; by default the content tells

    query, doc, rating   of judgements in a table: its columns
    judges               of judgements by several judges: the judges that count, by default all
    combine              what the ratings of several judges become: "mean" or "median"
    on_conflict          which of several ratings counts: "first", "last", "mean", "max"; "error": they are refused

    features_query, features_doc  of features in a table: its columns; features_doc also names a field of documents that
                         search engines return, by default `_id` (Elasticsearch) or `id` (Solr)
    queries              of responses of a search engine: their queries, in order
    log_name             of Elasticsearch's logs: which one, if there are several
    solr_field, solr_separators  "[features]" and "=,", if they were configured otherwise
    ignore               features, or columns, to leave out, by name or by patterns such as "bm25_*"
    on_relogged          which row counts if a document was logged twice with different values: "first", "last", "error"

    missing, missing_by_name  the value for features without one, and by name; without it they are an error
    unjudged             the label of documents of judged queries that nobody judged; without it they are left out
    strip                ignore spaces at both ends of queries and document ids
    casefold             ignore the case of queries

    Examples
    --------
    >>> from rankwise import join
    >>> judgments = [{"query": "tea", "docid": 1, "rating": 3}, {"query": "tea", "docid": 2, "rating": 0}]
    >>> features = [{"query": "tea", "docid": 1, "bm25": 7.5}, {"query": "tea", "docid": 2, "bm25": 3.2}]
    >>> joined = join(judgments, features)
    >>> joined.data
    RankingData(2 rows, 1 feature, 1 query, dense float64)
    """
    if unjudged is not None and not is_number(unjudged):
        raise ValueError(f"unjudged must be a finite number, got {unjudged!r}")
    settling, filling = Settling(on_conflict, combine, judges), Filling(missing, missing_by_name)
    rows, pair_of = FeatureRows(on_relogged), _Pairs(strip, casefold)
    options: dict[str, Any] = {"query": query, "doc": doc, "rating": rating}
    with _opened(judgments, JUDGMENTS, judgments_format, options) as judgment_file:
        judged = settling(judgment_file.records, pair_of, judgment_file.name)
    options = {"features_query": features_query, "features_doc": features_doc, "queries": queries}
    options |= {"ignore": None if ignore is None else Patterns(ignore)}
    options |= {"log_name": log_name, "solr_field": solr_field, "solr_separators": solr_separators}
    with _opened(features, FEATURES, features_format, options) as feature_file:
        left_out = _collect(feature_file.records, judged, rows, pair_of, takes_unjudged=unjudged is not None)
    if not any(pair in rows.rows for pair in judged.labels):
        raise ValueError(_nothing_matches(judged, [*left_out, *rows.rows], feature_file))
    pairs = _in_order(judged, rows)
    X, names = rows.matrix(pairs)
    if not names:
        raise ValueError(f"{feature_file.name}: no features were logged for the judged documents")
    filled = filling(X, names, pairs)
    kept_names, first_index = numbered(names)
    qid, docid = (plain_ids(id_array(list(ids))) for ids in zip(*pairs, strict=True))
    y = np.array([judged.labels.get(pair, unjudged) for pair in pairs], np.float64)
    data = RankingData(X, y, qid, None, first_index, kept_names, docid)
    report = JoinReport(
        _of_judgments(judgment_file, judged, settling, rows),
        _of_features(feature_file, rows, left_out, filled),
        len(data),
        data.n_queries,
        data.n_features,
        unjudged,
        sum(pair not in judged.labels for pair in pairs),
    )
    return Joined(data, report)


class _File(NamedTuple, Generic[Record]):
    name: str
    format: str
    records: Iterable[Record]


@contextmanager
def _opened(
    given: Given, known: Registry[RecordFormat[Record]], format: str | None, options: Options
) -> Iterator[_File[Record]]:
    """The records of a file, or of rows that are given in Python."""
    if isinstance(given, str | os.PathLike) or hasattr(given, "read"):
        with opened_input(cast(Source, given)) as input:
            name, records = read_records(input, known, format, options)
            yield _File(input.name, name, records)
    else:
        name = known.kind.removesuffix("_format")
        if format is not None:
            raise ValueError(f"{known.kind} is the format of a file; {name} is a {type(given).__name__}: leave it out")
        _, records = read_records(Values(name, _rows(given, name)), known, "jsonl", options)  # also a mapping per row
        yield _File(name, "rows", records)


def _rows(given: "DataFrame | Iterable[Row]", name: str) -> Iterator[tuple[str, Row]]:
    if hasattr(given, "to_dicts"):  # Polars
        given = given.to_dicts()
    elif hasattr(given, "to_dict"):  # pandas
        given = given.to_dict("records")
    return ((f"{name}, row {i}", row) for i, row in enumerate(cast(Iterable[Row], given)))


class _Pairs:
    """(query, document id) -> Pair, without what is to be ignored; equal queries share one text."""

    def __init__(self, strip: bool, casefold: bool) -> None:
        self.strip, self.casefold = strip, casefold
        self._queries: dict[str, str] = {}

    def __call__(self, query: str, docid: str) -> Pair:
        if query not in self._queries:
            plain = query.strip() if self.strip else query
            self._queries[query] = plain.casefold() if self.casefold else plain
        return Pair(self._queries[query], docid.strip() if self.strip else docid)


def _collect(
    records: Iterable[Logged], judged: Judged, rows: FeatureRows, pair_of: _Pairs, takes_unjudged: bool
) -> dict[Pair, None]:
    """Add the features of all documents that the result has; returns the other documents."""
    queries = {pair.query for pair in judged.labels}
    left_out: dict[Pair, None] = {}
    for one in records:
        pair = pair_of(one.query, one.docid)
        if pair in judged.labels or (takes_unjudged and pair.query in queries):
            rows.add(pair, one.values, one.place)
        else:
            left_out[pair] = None
    return left_out


def _in_order(judged: Judged, rows: FeatureRows) -> list[Pair]:
    """The documents of the result, query by query in the order of the judgements; those not judged come last."""
    places: dict[str, int] = {}
    for pair in judged.labels:
        places.setdefault(pair.query, len(places))
    pairs = [pair for pair in judged.labels if pair in rows.rows]
    pairs += [pair for pair in rows.rows if pair not in judged.labels]
    return sorted(pairs, key=lambda pair: places[pair.query])


def _of_judgments(file: _File[Judgment], judged: Judged, settling: Settling, rows: FeatureRows) -> JudgmentFindings:
    return JudgmentFindings(
        file.name,
        file.format,
        *_sizes(judged.labels),
        judged.judges,
        settling.combine,
        judged.unrated,
        judged.repeated,
        judged.conflicts,
        settling.on_conflict,
        tuple(pair for pair in judged.labels if pair not in rows.rows),
    )


def _of_features(
    file: _File[Logged], rows: FeatureRows, left_out: Collection[Pair], filled: tuple[Filled, ...]
) -> FeatureFindings:
    return FeatureFindings(
        file.name,
        file.format,
        *_sizes([*rows.rows, *left_out]),
        rows.repeated,
        tuple(rows.relogged),
        rows.on_relogged,
        tuple(left_out),
        filled,
    )


def _sizes(pairs: Collection[Pair]) -> tuple[int, int]:
    """The numbers of documents and of queries."""
    return len(pairs), len({pair.query for pair in pairs})


def _nothing_matches(judged: Judged, logged: list[Pair], file: _File[Logged]) -> str:
    """Why: ids of both sides, and the option that would match them if there is one."""
    if not logged:
        return f"{file.name} holds no documents"
    queries = {pair.query for pair in logged}
    common = next((pair.query for pair in judged.labels if pair.query in queries), None)
    if common is not None:
        sides = [[one.docid for one in side if one.query == common] for side in (judged.labels, logged)]
        text = f"no document matches, though query {common!r} is on both sides"
    else:
        sides = [list(dict.fromkeys(one.query for one in side)) for side in (judged.labels, logged)]
        text = "no query matches"
    judged_ids, logged_ids = (first_few(side, _IDS_SHOWN) for side in sides)
    return f"{text}: judgements have {judged_ids}, features have {logged_ids}{_cure(sides, common is None, file)}"


def _cure(sides: list[list[str]], are_queries: bool, file: _File[Logged]) -> str:
    changes: list[tuple[str, Callable[[str], str]]] = [("strip", str.strip)]
    if are_queries:
        changes += [("casefold", str.casefold), ("strip and casefold", lambda text: text.strip().casefold())]
    for option, change in changes:
        if {change(one) for one in sides[0]} & {change(one) for one in sides[1]}:
            return f"; {option} would match some of them"
    if are_queries and file.format in FEATURES and "queries" in FEATURES[file.format].options:
        return f"; if the log does not hold the queries, {GIVE_QUERIES}"
    return ""
