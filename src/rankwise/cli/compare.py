"""`rankwise compare`: rankers side by side on the same queries, with significant differences marked."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli.options import (
    Force,
    Form,
    Json,
    Labels,
    Measures,
    Naming,
    Output,
    Qrels,
    Rankers,
    ReportOut,
    Unjudged,
    UnretrievedLast,
    naming_columns,
)
from rankwise.cli.speech import checked, command, doing

if TYPE_CHECKING:
    from rankwise.metrics import Procedure

Baseline = Annotated[
    str | None, typer.Option(metavar="NAME", help="The ranker to compare the others with; the first if not given.")
]
BaselineColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Compare with the order by this column of DATA, the largest value first; -NAME or NAME:ascending: the "
        "smallest first. Features without names have numbers: 25 or f25.",
    ),
]
Test = Annotated[str, typer.Option(metavar="NAME", help="randomization or t (both paired).")]
Alpha = Annotated[float, typer.Option(metavar="X", help="A difference with p below this is significant.")]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Seed of random numbers.")]
PerQuery = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Write the values per query and their differences to this file, by its suffix; the query that loses most "
        "is the first. -: print them, in place of the comparison.",
    ),
]
Worst = Annotated[int, typer.Option(metavar="N", min=0, help="Show this many of each ranker's worst queries.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="The same as --format markdown.")]
Latex = Annotated[bool, typer.Option("--latex", help="The same as --format latex, for the booktabs package.")]


@command
@naming_columns
def compare(
    ctx: typer.Context,
    rankers: Rankers,
    columns: Naming,
    data: Labels = None,
    qrels: Qrels = None,
    baseline: Baseline = None,
    baseline_column: BaselineColumn = None,
    measure: Measures = None,
    test: Test = "randomization",
    alpha: Alpha = 0.05,
    seed: Seed = 0,
    worst: Worst = 5,
    per_query: PerQuery = None,
    unjudged: Unjudged = None,
    unretrieved_last: UnretrievedLast = False,
    form: Form = None,
    output: Output = "-",
    report: ReportOut = None,
    markdown: Markdown = False,
    latex: Latex = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Compare rankers query by query: means with marks of significance, differences, intervals, p, win/tie/loss.

    Example: rankwise compare new.json old.json scores.txt --data test.txt -m ndcg@10 -m map

    Example: rankwise compare model.json --baseline-column bm25 --data test.csv --per-query queries.csv
    """
    from rankwise import metrics
    from rankwise.cli.forms import chosen_form, deliver, form_of
    from rankwise.cli.inputs import parse_measures
    from rankwise.cli.judging import Judge
    from rankwise.cli.targets import check_distinct, check_target

    chosen = chosen_form(form, output, json=as_json, markdown=markdown, latex=latex)
    procedure = chosen_procedure(test, alpha, seed)
    parse_measures(measure)  # wrong ones are reported before anything is read
    judge = Judge(data, qrels, unjudged, unretrieved_last, columns, comments=report is not None)
    files, reference = with_reference(rankers, baseline, baseline_column)
    if len(files) < 2:
        raise typer.BadParameter("a comparison needs two rankers or more, or --baseline-column", param_hint="RANKER")
    if report is not None and data is None:
        raise typer.BadParameter("a report needs the documents: give --data", param_hint="--report")
    check_distinct([output, per_query, report])
    reads = [*files.values(), data, qrels]
    for target in (output, per_query):
        if target is not None:
            check_target(target, reads, force)
    if report is not None:
        from rankwise.cli.reports import Sources, check_report, write_report

        check_report(report, reads, force)
    query_form = chosen
    if per_query not in (None, "-"):
        query_form = checked("--per-query", lambda file: form_of(file, form and chosen), str(per_query))
    scored = {name: judge.scored(file) for name, file in files.items()}
    measures = judge.measures(measure, scored[reference], *scored.values())
    with doing("comparing"):
        evaluations = {name: judge.evaluate(one, measures) for name, one in scored.items()}
        comparison = metrics.compare(evaluations, baseline=reference, procedure=procedure, n_worst=worst)
    if per_query is not None:
        deliver(comparison.per_query().to_form(query_form), per_query)
    if report is not None:
        subjects = {name: judge.subject(name, files[name]) for name in (reference, *files)}
        options = {"measures": measures, "procedure": procedure, "unjudged": unjudged}
        sources = Sources.of(ctx, rankers, str(data))
        write_report(report, [*subjects.values()], judge.table(), None, sources, **options)
    if per_query != "-" or output != "-":
        deliver(comparison.to_form(chosen), output)


def chosen_procedure(test: str, alpha: float, seed: int) -> "Procedure":
    """How differences are tested; a wrong option is reported by its name."""
    from rankwise.metrics import Procedure

    procedure = Procedure(random_state=seed)
    procedure = checked("--test", lambda given: replace(procedure, test=given), test)
    return checked("--alpha", lambda given: replace(procedure, alpha=given), alpha)


def with_reference(rankers: list[str], baseline: str | None, column: str | None) -> tuple[dict[str, str], str]:
    """name -> ranker, and the name of the one that the others are compared with; `baseline` may also be its file."""
    from rankwise.cli.judging import COLUMN, named

    if column is not None and baseline is not None:
        raise typer.BadParameter("give one of --baseline and --baseline-column")
    files = named(rankers if column is None else [f"{COLUMN}{column}", *rankers])
    by_file = {file: name for name, file in files.items()}
    reference = next(iter(files)) if baseline is None else by_file.get(baseline, baseline)
    if reference not in files:
        cure = "for a column of the data use --baseline-column"
        raise typer.BadParameter(f"{baseline} is none of {', '.join(files)}: {cure}", param_hint="--baseline")
    return files, reference
