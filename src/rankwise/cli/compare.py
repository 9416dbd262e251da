"""`rankwise compare`: rankers side by side on the same queries, with significant differences marked."""

from dataclasses import replace
from typing import Annotated

import typer

from rankwise.cli.options import (
    Force,
    Json,
    Labels,
    Measures,
    Naming,
    Qrels,
    Rankers,
    Unjudged,
    UnretrievedLast,
    naming_columns,
)
from rankwise.cli.speech import answer, answer_json, checked, command, doing

Baseline = Annotated[
    str | None, typer.Option(metavar="NAME", help="The ranker to compare the others with; the first if not given.")
]
Test = Annotated[str, typer.Option(metavar="NAME", help="randomization or t (both paired).")]
Alpha = Annotated[float, typer.Option(metavar="X", help="A difference with p below this is significant.")]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Seed of random numbers.")]
PerQuery = Annotated[str | None, typer.Option(metavar="FILE", help="Write the values per query to this file (CSV).")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print the tables in Markdown.")]
Latex = Annotated[bool, typer.Option("--latex", help="Print the tables in LaTeX, for the booktabs package.")]


@command
@naming_columns
def compare(
    rankers: Rankers,
    columns: Naming,
    data: Labels = None,
    qrels: Qrels = None,
    baseline: Baseline = None,
    measure: Measures = None,
    test: Test = "randomization",
    alpha: Alpha = 0.05,
    seed: Seed = 0,
    per_query: PerQuery = None,
    unjudged: Unjudged = None,
    unretrieved_last: UnretrievedLast = False,
    markdown: Markdown = False,
    latex: Latex = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Compare rankers query by query: means with marks of significance, differences, intervals, p, win/tie/loss.

    Example: rankwise compare new.json old.json scores.txt --data test.txt -m ndcg@10 -m map
    """
    if markdown + latex + as_json > 1:
        raise typer.BadParameter("give one of --markdown, --latex and --json")
    from rankwise import metrics
    from rankwise.cli.inputs import parse_measures
    from rankwise.cli.judging import Judge, named
    from rankwise.cli.targets import check_target
    from rankwise.report.display import write_csv

    procedure = metrics.Procedure(random_state=seed)
    procedure = checked("--test", lambda given: replace(procedure, test=given), test)
    procedure = checked("--alpha", lambda given: replace(procedure, alpha=given), alpha)
    measures = parse_measures(measure)
    judge, files = Judge(data, qrels, unjudged, unretrieved_last, columns), named(rankers)
    reference = _reference(files, baseline)
    if per_query is not None:
        check_target(per_query, [*files.values(), data, qrels], force)
    scored = {name: judge.scored(file) for name, file in files.items()}
    measures = measures or parse_measures(metrics.default_measures(scored[reference].y))
    with doing("comparing"):
        evaluations = {name: metrics.evaluate(*one, measures) for name, one in scored.items()}
        comparison = metrics.compare(evaluations, baseline=reference, procedure=procedure)
    if per_query is not None:
        write_csv(per_query, comparison.per_query())
    if as_json:
        answer_json(comparison.to_dict())
    else:
        answer(comparison.to_markdown() if markdown else comparison.to_latex() if latex else comparison.to_text())


def _reference(files: dict[str, str], baseline: str | None) -> str:
    """The name of the ranker that the others are compared with; `baseline` may also be its file."""
    if len(files) < 2:
        raise typer.BadParameter("a comparison needs two rankers or more", param_hint="RANKER")
    by_file = {file: name for name, file in files.items()}
    reference = next(iter(files)) if baseline is None else by_file.get(baseline, baseline)
    if reference not in files:
        raise typer.BadParameter(f"{baseline} is none of {', '.join(files)}", param_hint="--baseline")
    return reference
