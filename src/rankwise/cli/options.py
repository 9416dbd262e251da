"""Arguments and options that several commands share."""

from typing import Annotated

import typer

from rankwise.data.formats import suffixes_shown

DATA_HELP = (
    f"Ranking data; formats by suffix: {suffixes_shown()}. All other files are LETOR text, "
    "`label qid:ID index:value ... # comment`, whose indices count from 1, or from 0 if a 0 occurs; - for text on "
    "stdin. Rows with the same query id are one query."
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
        "(column:bm25, or column:-price for the smallest first); NAME=RANKER names one.",
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
Qrels = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Evaluate TREC runs on TREC judgements, `qid 0 docid label`."),
]
Unjudged = Annotated[
    float | None, typer.Option(metavar="X", help="The label of documents that were not judged; trec_eval uses 0.")
]
UnretrievedLast = Annotated[
    bool, typer.Option("--unretrieved-last", help="With --qrels: rank judged documents that are not in a run last.")
]
