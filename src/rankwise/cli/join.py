"""`rankwise join`: judgements and feature logs into ranking data."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli.options import Force, Json, listed_names
from rankwise.cli.speech import answer, answer_json, checked, chosen, command, doing, say
from rankwise.data.formats import Format, format_names, format_of, get_format, suffixes_shown, write_data
from rankwise.joining.formats import FEATURES, JUDGMENTS

if TYPE_CHECKING:
    from rankwise.foundation.tabular import Table
    from rankwise.joining.report import JoinReport

UNMATCHED = ("side", "query", "docid")  # the columns of --unmatched


def _option(help: str, metavar: str = "NAME") -> Any:
    return typer.Option(metavar=metavar, help=help, show_default=False)


@command
def join(
    judgments: Annotated[str, _option("Judgements; - for stdin.", "FILE")],
    features: Annotated[str, _option("Logged features; - for stdin.", "FILE")],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help=f"Where to write; by suffix: {suffixes_shown(on_disk=False)}."
        ),
    ],
    to: Annotated[
        str | None,
        _option(f"The format to write, if the suffix does not tell it: {', '.join(format_names(on_disk=False))}."),
    ] = None,
    judgments_format: Annotated[str | None, _option(f"{', '.join(JUDGMENTS)}; by content if not given.")] = None,
    features_format: Annotated[str | None, _option(f"{', '.join(FEATURES)}; by content if not given.")] = None,
    query: Annotated[str | None, _option("In a table of judgements, the column of the queries.")] = None,
    doc: Annotated[str | None, _option("In a table of judgements, the column of the document ids.")] = None,
    rating: Annotated[str | None, _option("In a table of judgements, the column of the ratings.")] = None,
    judge: Annotated[list[str] | None, _option("A judge whose ratings count; may be repeated.")] = None,
    combine: Annotated[str, _option("What ratings of several judges become: mean (the default) or median.")] = "mean",
    on_conflict: Annotated[
        str, _option("Which of different ratings counts: error (the default), first, last, mean, max.")
    ] = "error",
    features_query: Annotated[str | None, _option("In a table of features, the column of the queries.")] = None,
    features_doc: Annotated[str | None, _option("The column, or the engine's field, of the document ids.")] = None,
    queries: Annotated[str | None, _option("Queries of the responses, one per line, in order.", "FILE")] = None,
    log_name: Annotated[str | None, _option("The log of Elasticsearch, if a response has several.")] = None,
    solr_field: Annotated[str | None, _option("The field with Solr's features, [features] if not given.")] = None,
    solr_separators: Annotated[str | None, _option("Between name and value, and after it: '=,'.", "XY")] = None,
    ignore: Annotated[
        list[str] | None,
        _option(
            "Features to leave out: names or patterns such as bm25_*, separated by commas; may be repeated.", "NAMES"
        ),
    ] = None,
    on_relogged: Annotated[
        str,
        _option(
            "If a document was logged twice with different values, which counts: error (the default), first, last."
        ),
    ] = "error",
    missing: Annotated[
        list[str] | None,
        _option("The value of features without one, or NAME=X for one feature; may be repeated.", "X|NAME=X"),
    ] = None,
    unjudged: Annotated[
        float | None, _option("The label of logged documents without a judgement; else they are left out.", "X")
    ] = None,
    strip: Annotated[bool, typer.Option("--strip", help="Ignore spaces at the ends of queries and ids.")] = False,
    casefold: Annotated[bool, typer.Option("--casefold", help="Ignore the case of queries.")] = False,
    unmatched: Annotated[str | None, _option("Write all documents without a match to this file (CSV).", "FILE")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Join judgements and logged features by query and document, and report what did not match.

    Example: rankwise join --judgments quepid.csv --features log.jsonl -o judged.parquet --missing 0
    """
    from rankwise.cli.targets import check_distinct, check_target
    from rankwise.joining import matching

    written = _written(output, to)
    reads = [judgments, features, queries]
    if reads.count("-") > 1:
        raise typer.BadParameter("standard input can be only one of the files", param_hint="-")
    check_distinct([output, unmatched])
    for target in (output, unmatched):
        if target is not None:
            check_target(target, reads, force)
    default, by_name = checked("--missing", _missing_values, missing or [])
    options: dict[str, Any] = {"query": query, "doc": doc, "rating": rating, "judges": judge, "combine": combine}
    options |= {"features_query": features_query, "features_doc": features_doc, "log_name": log_name}
    options["ignore"] = checked("--ignore", listed_names, ignore or ()) or None
    options |= {"solr_field": solr_field, "solr_separators": solr_separators, "strip": strip, "casefold": casefold}
    options |= {"on_conflict": on_conflict, "on_relogged": on_relogged, "unjudged": unjudged}
    options |= {"judgments_format": judgments_format, "features_format": features_format}
    _check_choices(options)
    options |= {"missing": default, "missing_by_name": by_name, "queries": _queries(queries)}
    with doing(f"joining {judgments} and {features}"):
        joined = matching.join(judgments, features, **options)
    with doing(f"writing {output}"):
        write_data(output, joined.data, format=written.name)
    if written.is_indexed and joined.data.names is not None:
        say(f"note: {written.name} text numbers its features: write CSV or Parquet to keep their names")
    if unmatched is not None:
        _unmatched(joined.report).to_csv(unmatched)
    if as_json:
        answer_json(joined.report.to_dict(), aside=output == "-")
    else:
        answer(joined.report.to_text(), aside=output == "-")


def _written(output: str, to: str | None) -> Format:
    written = (
        checked("--to", get_format, to) if to else checked("--output", lambda one: format_of(one, writing=True), output)
    )
    written.check_installed()
    if written.on_disk is not None:
        raise typer.BadParameter(
            "chunks are written by `rankwise convert`: write another format first",
            param_hint="--to" if to else "--output",
        )
    return written


def _check_choices(options: dict[str, Any]) -> None:
    from rankwise.joining.judged import COMBINE, ON_CONFLICT
    from rankwise.joining.logged import ON_RELOGGED

    choices: dict[str, Iterable[str]] = {"combine": COMBINE, "on_conflict": ON_CONFLICT, "on_relogged": ON_RELOGGED}
    choices |= {"judgments_format": JUDGMENTS, "features_format": FEATURES}
    for name, known in choices.items():
        options[name] = chosen(name, options[name], known)


def _missing_values(given: list[str]) -> tuple[float | None, dict[str, float]]:
    """Of `0` and `bm25=-1`: the value for all features, and values by name."""
    from rankwise.foundation.arrays import read_number

    default, by_name = None, {}
    for one in given:
        name, sign, text = one.rpartition("=")
        value = read_number(text.encode(errors="replace"))
        if not math.isfinite(value):
            raise ValueError(f"{one!r} is neither a number nor NAME=NUMBER")
        if sign:
            by_name[name] = value
        else:
            default = value
    return default, by_name


def _queries(path: str | None) -> list[str] | None:
    from rankwise.joining.inputs import opened_input

    if path is None:
        return None
    with opened_input(path) as input:
        return [line.removesuffix("\r") for _, line in input.lines()]


def _unmatched(report: "JoinReport") -> "Table":
    """The file of documents without a match."""
    from rankwise.foundation.tabular import Table

    sides = {"judgements": report.judgments.unmatched, "features": report.features.unmatched}
    rows = [(side, *pair) for side, pairs in sides.items() for pair in pairs]
    return Table({name: [row[i] for row in rows] for i, name in enumerate(UNMATCHED)})
