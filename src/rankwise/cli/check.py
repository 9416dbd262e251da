"""`rankwise check`: what is wrong with ranking data before a ranker is trained on them."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli.options import DATA_HELP, Jobs, Json, Naming, naming_columns
from rankwise.cli.speech import answer, answer_json, command, doing

if TYPE_CHECKING:
    from rankwise.data.records import RankingData

FINDINGS, UNREADABLE = 1, 2  # exit codes

Sources = Annotated[list[str], typer.Argument(metavar="DATA...", help=DATA_HELP, show_default=False)]
Against = Annotated[
    list[str] | None,
    typer.Option(metavar="DATA", help="Test data, which should share no query with DATA; may be repeated."),
]
Strict = Annotated[bool, typer.Option("--strict", help="Warnings give exit code 1 too.")]


@partial(command, bad_data=UNREADABLE)
@naming_columns
def check(
    columns: Naming,
    data: Sources,
    against: Against = None,
    strict: Strict = False,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Report what is wrong with DATA before a ranker is trained on them: leaks, useless features, bad labels, ...

    Exit code 0: no error was found; 1: errors, with --strict also warnings; 2: DATA cannot be read.

    Example: rankwise check train.txt --against test.txt
    """
    from rankwise.checking import check

    train = _read(data, columns)
    test = _read(against, columns, needs_labels=False) if against else None
    with doing("checking"):
        report = check(train, test, n_jobs=jobs)
    if as_json:
        answer_json(report.to_dict())
    else:
        answer(report.to_text())
    if not report.passes(strict):
        raise typer.Exit(FINDINGS)


def _read(sources: list[str], columns: Naming, needs_labels: bool = True) -> "RankingData":
    from rankwise.cli.inputs import read_data

    keep = columns.missing is None  # so that missing values are counted; missing labels always are
    return read_data(
        sources, columns=columns, comments=True, keep_missing=keep, unjudged=True, needs_labels=needs_labels
    )
