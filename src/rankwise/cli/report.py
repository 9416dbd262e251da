"""`rankwise report`: one HTML page about models on test data."""

from typing import Annotated

import typer

from rankwise.cli.compare import Alpha, Baseline, BaselineColumn, Seed, Test
from rankwise.cli.options import Force, Labels, Measures, Naming, Rankers, Unjudged, naming_columns
from rankwise.cli.speech import answer, command, say

Output = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Where to write the page, *.html.")]
Train = Annotated[
    list[str] | None,
    typer.Option(
        metavar="DATA",
        help="The training data, for intervals of weights, the learning curve and a check of DATA; may be repeated.",
    ),
]
Resamples = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        help="With --train: refits for intervals of weights, 10 or more. 0 leaves out all refits, also the learning "
        "curve; with thousands of features they take minutes.",
    ),
]


@command
@naming_columns
def report(
    ctx: typer.Context,
    rankers: Rankers,
    columns: Naming,
    output: Output,
    data: Labels = None,
    train: Train = None,
    baseline: Baseline = None,
    baseline_column: BaselineColumn = None,
    measure: Measures = None,
    test: Test = "randomization",
    alpha: Alpha = 0.05,
    seed: Seed = 0,
    resamples: Resamples = 50,
    unjudged: Unjudged = None,
    force: Force = False,
) -> None:
    """Write one HTML page about rankers on DATA: how good they are, for which queries, why, and what they learnt.

    Example: rankwise report model.json --data test.csv --train train.csv --baseline-column bm25 -o report.html
    """
    from rankwise.cli.compare import chosen_procedure, with_reference
    from rankwise.cli.inputs import parse_measures, read_data
    from rankwise.cli.judging import Judge
    from rankwise.cli.reports import Sources, check_report, write_report

    procedure = chosen_procedure(test, alpha, seed)
    measures = parse_measures(measure) or None
    if data is None:
        raise typer.BadParameter("give the file with the labels, --data DATA", param_hint="--data")
    files, reference = with_reference(rankers, baseline, baseline_column)
    check_report(output, [*files.values(), data, *(train or [])], force)
    judge = Judge(data, None, unjudged, False, columns, comments=True)
    subjects = {name: judge.subject(name, files[name]) for name in (reference, *files)}
    learnt = read_data(train, columns=columns, comments=True) if train else None
    sources = Sources.of(ctx, rankers, data, train or ())
    options = {"measures": measures, "procedure": procedure, "unjudged": unjudged, "resamples": resamples}
    page = write_report(output, [*subjects.values()], judge.table(), learnt, sources, **options)
    for one in page.cautions:
        say(f"note: {one}")
    answer(page.verdict, aside=output == "-")
