"""Arguments and options that several commands share.

Every command that reads data takes the options that name its columns, --label to --from. `naming_columns` adds them
to the command's own, and gives them to it as one value, the `Naming`. `sharing` does this for any group of options.
"""

import csv
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, NamedTuple

import typer
from typer.models import OptionInfo

from rankwise.cli.speech import checked
from rankwise.data.formats import format_names, get_format, suffixes_shown

DATA_HELP = (
    f"Ranking data; formats by suffix: {suffixes_shown()}. All other files are LETOR text, "
    "`label qid:ID index:value ... # comment`, whose indices count from 1, or from 0 if a 0 occurs; - for text on "
    "stdin, whose first bytes show its format. Rows with the same query id are one query."
)
Data = Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP, show_default=False)]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="Model file written by `rankwise train`.")]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        "-m",
        metavar="NAME",
        help="ndcg@10, ndcg@10:letor, map, mrr, pairwise-accuracy, ...; may be repeated.",
    ),
]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", metavar="N", help="Threads; all cores if not given.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist, even if rankwise did not write them.")]
Json = Annotated[bool, typer.Option("--json", help="Print results as JSON.")]
Rankers = Annotated[
    list[str],
    typer.Argument(
        metavar="RANKER...",
        help="Models, files of scores (one per line, as `rankwise predict` writes), TREC runs or columns of DATA "
        "(column:bm25, or column:-price if small values are better); NAME=RANKER names one.",
        show_default=False,
    ),
]
Labels = Annotated[
    str | None, typer.Option("--data", "-d", metavar="DATA", help="Ranking file with the labels to evaluate on.")
]
Form = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", help="table, csv, json, markdown or latex; by default the suffix of -o."),
]
Output = Annotated[
    str,
    typer.Option("--output", "-o", metavar="FILE", help="Where to write results: *.txt, *.csv, *.json, *.md or *.tex."),
]


def _no_stdout(report: str | None) -> str | None:
    if report == "-":
        raise typer.BadParameter("standard output has the results: give the name of a file")
    return report


ReportOut = Annotated[
    str | None,
    typer.Option(
        "--report",
        metavar="FILE",
        callback=_no_stdout,
        help="Also write a report, one HTML page (docs/reporting.md).",
    ),
]
Qrels = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Evaluate TREC runs on TREC judgements, `qid 0 docid label`."),
]
Unjudged = Annotated[
    float | None, typer.Option(metavar="X", help="The label of documents that were not judged; trec_eval uses 0.")
]
MISSING_HELP = "The value of missing features; without it they are an error."
UnretrievedLast = Annotated[
    bool, typer.Option("--unretrieved-last", help="With --qrels: rank judged documents that are not in a run last.")
]


@dataclass(frozen=True)
class Naming:
    """Which columns of a table are what, and the format of the files; as `rankwise.read_data` takes them.

    qid      None: all rows are one query
    docid    None: a column called docid, if there is one
    weight   None: a column called sample_weight, if there is one
    format   None: by the suffix, or of a pipe by its first bytes
    """

    label: str = "label"
    qid: str | None = "qid"
    docid: str | None = None
    weight: str | None = None
    features: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    missing: float | None = None
    format: str | None = None

    @classmethod
    def given(cls, options: dict[str, Any]) -> "Naming":
        """By the values of the options, which are checked."""
        from rankwise.data.columns import check_missing

        checked("--missing", check_missing, options["missing"])
        if options["format"] is not None:
            checked("--from", get_format, options["format"])
        lists = {name: checked(f"--{name}", listed_names, options[name] or ()) for name in ("features", "ignore")}
        return cls(
            options["label"],
            options["qid"] or None,
            options["doc"],
            options["weight"],
            lists["features"] or None,
            lists["ignore"],
            options["missing"],
            options["format"],
        )


def listed_names(given: Sequence[str]) -> tuple[str, ...]:
    """Names separated by commas; one that has a comma itself is in quotes, as in CSV."""
    try:
        cells = [cell for one in given for cell in next(csv.reader([one], strict=True), [])]
    except csv.Error as error:
        raise ValueError(f"a list of names cannot be read: {error}") from None
    if (given and not cells) or not all(cell.strip() for cell in cells):
        raise ValueError("a name is empty: give names separated by commas")
    return tuple(cells)


class Shared(NamedTuple):
    """An option of several commands: its type, its flags, its default, and what help shows."""

    kind: object
    flags: tuple[str, ...]
    default: str | bool | None
    metavar: str | None
    help: str

    def parameter(self, name: str, taken: set[str]) -> Parameter | None:
        """The option without the flags that are taken; None if no flag is left."""
        flags = [flag for flag in self.flags if flag not in taken]
        annotation = Annotated[self.kind, typer.Option(*flags, metavar=self.metavar, help=self.help)]  # type: ignore[name-defined]
        return Parameter(name, Parameter.KEYWORD_ONLY, default=self.default, annotation=annotation) if flags else None


_NAMING = {
    "label": Shared(str, ("--label",), "label", "COLUMN", "Of a table: the labels."),
    "qid": Shared(str, ("--qid",), "qid", "COLUMN", 'The query ids; "" if all rows are one query.'),
    "doc": Shared(
        str | None, ("--doc", "--doc-column"), None, "COLUMN", "The document ids; a column docid if not given."
    ),
    "features": Shared(
        list[str] | None,
        ("--features", "--feature"),
        None,
        "COLUMNS",
        "The features: names or patterns such as bm25_*, separated by commas; may be repeated. All other columns if "
        "not given.",
    ),
    "ignore": Shared(list[str] | None, ("--ignore",), None, "COLUMNS", "Columns to leave out, likewise."),
    "weight": Shared(
        str | None, ("--weight",), None, "COLUMN", "Weights in a fit; a column sample_weight if not given."
    ),
    "missing": Shared(float | None, ("--missing",), None, "X", MISSING_HELP),
    "format": Shared(str | None, ("--from",), None, "FORMAT", f"Format of the data: {', '.join(format_names())}."),
}


def naming_columns(function: Callable[..., None]) -> Callable[..., None]:
    """A command with the options that name columns, which it gets as its parameter `columns`."""
    return sharing(function, "columns", _NAMING, Naming.given)


def sharing(
    function: Callable[..., None], name: str, options: Mapping[str, Shared], given: Callable[[dict[str, Any]], object]
) -> Callable[..., None]:
    """A command with these options, of which it gets one value, that of `given`, as its parameter `name`.

    A flag that the command has for itself is its own.
    """
    before = f"{name}_"  # begins the parameters of the options: a command may have one of the same name
    own = [one for key, one in signature(function).parameters.items() if key != name]
    taken = {flag for one in own for flag in _flags(one)}
    shared = (one.parameter(before + key, taken) for key, one in options.items())
    added = [one for one in shared if one is not None]

    @functools.wraps(function)
    def run(**values: Any) -> None:
        typed = {key: one.default for key, one in options.items()}
        typed |= {one.name.removeprefix(before): values.pop(one.name) for one in added}
        function(**values, **{name: given(typed)})

    run.__signature__ = Signature([*own, *added])  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in (*own, *added)}
    return run


def _flags(parameter: Parameter) -> list[str]:
    """The flags of an option of a command; typer takes the first one for a default."""
    info = next((one for one in getattr(parameter.annotation, "__metadata__", ()) if isinstance(one, OptionInfo)), None)
    if info is None:
        return []
    flags = [one for one in (info.default, *(info.param_decls or ())) if isinstance(one, str) and one.startswith("-")]
    return flags or [f"--{parameter.name.replace('_', '-')}"]
