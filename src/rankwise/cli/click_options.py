"""Options of the commands that read a click log: where it is, how its positions count, and what corrects their bias."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli.options import Naming, Shared, listed_names, sharing
from rankwise.cli.speech import checked, chosen, doing, say
from rankwise.foundation.names import key

if TYPE_CHECKING:
    from rankwise.clicks import ClickLog, Propensities

LOG_HELP = (
    "A click log, with a row per document shown: a table or JSON lines with the columns query, doc, position, click "
    "and impression (the list); or, with --queries, events of User Behavior Insights."
)
LOG_COLUMNS = ("query", "doc", "position", "click", "impression")
CLIP = 0.01
Over = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="What the bootstrap of intervals draws: queries (the default), or lists if queries are few.",
    ),
]

_LOG = {
    "queries": Shared(str | None, ("--queries",), None, "FILE", "UBI's queries, with the documents shown for each."),
    "first_position": Shared(
        int | None, ("--first-position",), None, "0|1", "The number of the top position in LOG; needed, as logs differ."
    ),
    "columns": Shared(
        list[str] | None,
        ("--log-columns",),
        None,
        "NAME=COLUMN",
        "Columns of LOG with unusual names, as in query=search,click=clicked.",
    ),
    "top": Shared(int | None, ("--top",), None, "K", "Leave out the positions of LOG after the first K."),
}
_CLICKS = {
    "log": Shared(
        str | None,
        ("--clicks",),
        None,
        "LOG",
        f"{LOG_HELP} The features of its documents are DATA or, without DATA, the files of --features.",
    ),
    "propensities": Shared(
        str | None,
        ("--propensities",),
        None,
        "FILE",
        "How often users look at each position of LOG: the output of `rankwise clicks bias`.",
    ),
    "naive": Shared(
        bool, ("--naive",), False, None, "Instead of --propensities: take clicks as they are, biased by position."
    ),
    "clip": Shared(
        float | None, ("--clip",), None, "X", f"Propensities below this count as this; {CLIP} if not given."
    ),
    **_LOG,
}


@dataclass(frozen=True)
class LogOptions:
    """How a click log is read; as `rankwise.clicks.read_clicks` takes it."""

    queries: str | None
    first_position: int
    columns: dict[str, str]
    top: int | None

    @classmethod
    def given(cls, options: dict[str, Any]) -> "LogOptions":
        """By the values of the options, which are checked."""
        first, top = options["first_position"], options["top"]
        if first not in (0, 1):
            got = "" if first is None else f"; got {first}"
            raise typer.BadParameter(
                f"say whether the top position of the log is numbered 0 or 1: logs differ, so it is not guessed{got}",
                param_hint="--first-position",
            )
        if top is not None and top < 1:
            raise typer.BadParameter(f"it must be 1 or more, got {top}", param_hint="--top")
        columns = checked("--log-columns", _named_columns, options["columns"] or [])
        return cls(options["queries"], first, columns, top)

    def read(self, path: str) -> "ClickLog":
        from rankwise.clicks import read_clicks

        with doing(f"reading {path}"):
            log = read_clicks(path, first_position=self.first_position, queries=self.queries, **self.columns)
        if log.position.min() > 1:
            say(f"note: {path} has no document at position {self.first_position}: is --first-position right?")
        return log if self.top is None else log.top(self.top)


def _named_columns(given: list[str]) -> dict[str, str]:
    pairs = [one.partition("=") for one in listed_names(given)]
    odd = next(("".join(pair) for pair in pairs if pair[0] not in LOG_COLUMNS or not pair[2]), None)
    if odd is not None:
        raise ValueError(f"expected NAME=COLUMN, where NAME is one of {', '.join(LOG_COLUMNS)}; got {odd!r}")
    return {name: column for name, _, column in pairs}


@dataclass(frozen=True)
class Clicks:
    """A click log, and the file of propensities by which its clicks are weighted; None: clicks as they are."""

    path: str
    options: LogOptions
    propensities: str | None
    clip: float

    @classmethod
    def given(cls, options: dict[str, Any]) -> "Clicks | None":
        """By the values of the options; None if there is no --clicks."""
        if options["log"] is None:
            idle = next((name for name, value in options.items() if value is not None and value is not False), None)
            if idle is not None:
                raise typer.BadParameter("it needs a click log, --clicks LOG", param_hint=_CLICKS[idle].flags[0])
            return None
        log, propensities, clip = LogOptions.given(options), options["propensities"], options["clip"]
        if propensities is None and not options["naive"]:
            raise typer.BadParameter(
                "give a file of `rankwise clicks bias`, or --naive to take clicks as they are, biased by position",
                param_hint="--propensities",
            )
        if propensities is not None and options["naive"]:
            raise typer.BadParameter("it excludes --propensities: give one of them", param_hint="--naive")
        clip = CLIP if clip is None else clip
        if not 0 < clip <= 1:
            raise typer.BadParameter(f"it must be above 0 and at most 1, got {clip:g}", param_hint="--clip")
        return cls(options["log"], log, propensities, clip)

    @property
    def files(self) -> list[str | None]:
        return [self.path, self.options.queries, self.propensities]

    def read(self) -> "tuple[ClickLog, Propensities | None]":
        from rankwise.clicks import Propensities

        known = None if self.propensities is None else Propensities.load(self.propensities)
        return self.options.read(self.path), known


def check_stdin(files: Iterable[str | None]) -> None:
    """Raise an error if standard input is to be several of the files of a command."""
    if list(files).count("-") > 1:
        raise typer.BadParameter("standard input can be only one of the files", param_hint="-")


def chosen_units(over: str | None) -> str:
    """What the bootstrap draws, by --over."""
    return chosen("over", over, ("queries", "lists")) or "queries"


def reading_log(function: Callable[..., None]) -> Callable[..., None]:
    """A command with the options of a click log, which it gets as its parameter `options`."""
    return sharing(function, "options", _LOG, LogOptions.given)


def reading_clicks(function: Callable[..., None]) -> Callable[..., None]:
    """A command with --clicks and its options, which it gets as its parameter `clicks`."""
    return sharing(function, "clicks", _CLICKS, Clicks.given)


def check_training(
    normalize: Iterable[str | None],
    measures: list[str] | None = None,
    dask: str | None = None,
    report: str | None = None,
) -> None:
    """Raise an error for options of a training that are not available with clicks."""
    if any(one is not None and key(one).startswith("query") for one in normalize):
        raise typer.BadParameter(
            "the lists of a click log are parts of queries: with --clicks use minmax or zscore",
            param_hint="--normalize",
        )
    if measures:
        raise typer.BadParameter(
            "with --clicks it needs --valid, a file with labels; `rankwise evaluate --clicks` estimates measures from "
            "the log",
            param_hint="--measure",
        )
    if dask is not None:
        raise typer.BadParameter("not available with --clicks: click problems are made in memory", param_hint="--dask")
    if report is not None:
        raise typer.BadParameter(
            "not available with --clicks, which have no labels: give `rankwise report` the model and data with labels",
            param_hint="--report",
        )


def feature_files(ctx: typer.Context, data: list[str] | None, columns: Naming) -> tuple[list[str] | None, Naming]:
    """With a click log, the files of features: DATA or, if there are none, those of --features."""
    if data or (ctx.default_map or {}).get("data") or columns.features is None:
        return data, columns
    ctx.params["columns_features"] = None  # so that the record of the run has these files as its data, and no columns
    return list(columns.features), replace(columns, features=None)
