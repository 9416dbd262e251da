"""Arguments and options that several commands share."""

from typing import Annotated

import typer

DATA_HELP = (
    "Ranking file: `label qid:ID index:value ... # comment`, plain or .gz .bz2 .xz .zst; - for stdin. Indices count "
    "from 1, or from 0 if a 0 occurs. Rows of one id are one query, over several files too."
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
Json = Annotated[bool, typer.Option("--json", help="Results as JSON.")]
