"""Commands and their options. The work of those defined here is done in `rankwise.cli.work`; each of the others has a
module of its name.
"""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from rankwise import __version__
from rankwise.cli import model_options as given
from rankwise.cli.check import check
from rankwise.cli.click_options import Clicks, Over, check_training, chosen_units, feature_files, reading_clicks
from rankwise.cli.clicks import clicks
from rankwise.cli.compare import compare
from rankwise.cli.convert import convert
from rankwise.cli.doctor import doctor
from rankwise.cli.explain import explain
from rankwise.cli.export import export
from rankwise.cli.join import join
from rankwise.cli.options import (
    DATA_HELP,
    Data,
    Force,
    Form,
    Jobs,
    Json,
    Measures,
    Model,
    Naming,
    Output,
    Qrels,
    ReportOut,
    Unjudged,
    UnretrievedLast,
    naming_columns,
)
from rankwise.cli.plot import plot
from rankwise.cli.report import report as write_report
from rankwise.cli.serve import serve
from rankwise.cli.settings import AllowChanges, Config, Like
from rankwise.cli.speech import answer, chosen, command, say, shown_plainly
from rankwise.cli.tune import tune
from rankwise.data.formats import DEFAULT, format_names


class Commands(TyperGroup):
    """Commands whose usage errors quote arguments with control characters escaped."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        with shown_plainly():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        with shown_plainly(list(ctx.args)):
            return super().invoke(ctx)


app = typer.Typer(
    name="rankwise",
    cls=Commands,
    help="Learn to rank from every preference pair, in linearithmic time.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        answer(f"rankwise {__version__}")
        raise typer.Exit


@app.callback()
def rankwise(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Learn to rank from every preference pair, in linearithmic time."""


@app.command(cls=given.ListingNames)
@command
@naming_columns
@reading_clicks
def train(
    ctx: typer.Context,
    columns: Naming,
    clicks: Clicks | None,
    data: given.DataFilesOrNone = None,
    output: given.ModelOutOrNone = None,
    model: given.Kind = "ranksvm",
    C: given.C = None,
    alpha: given.Alpha = None,
    kernel: given.Kernel = None,
    gamma: given.Gamma = None,
    components: given.Components = None,
    loss: given.Loss = None,
    solver: given.Solver = None,
    tol: given.Tol = None,
    max_iter: given.MaxIter = None,
    scheme: given.Scheme = None,
    pairs: given.Pairs = None,
    scope: given.Scope = None,
    costs: given.Costs = None,
    rescaling: given.Rescaling = None,
    normalize_pairs: given.NormalizePairs = None,
    increasing: given.Increasing = None,
    decreasing: given.Decreasing = None,
    l1_ratio: given.L1Ratio = None,
    seed: given.Seed = None,
    normalize: given.Normalize = None,
    valid: given.Valid = None,
    measure: Measures = None,
    names: given.NamesFile = None,
    report: ReportOut = None,
    config: Config = None,
    like: Like = None,
    allow_changes: AllowChanges = False,
    float32: given.Float32 = False,
    dask: given.Cluster = None,
    device: given.Device = None,
    jobs: Jobs = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Learn a ranker from DATA and write it to MODEL.

    With --clicks, DATA (or, without DATA, --features) are the features of the documents shown; labels are not needed.
    With --like and without MODEL, nothing is written: the weights are compared with those of the earlier run.

    Example: rankwise train train.txt -o model.json --C 0.03 --valid vali.txt

    Example: rankwise train --clicks log.csv --first-position 1 --propensities bias.csv --features docs.csv -o m.json
    """
    from rankwise.cli import work
    from rankwise.cli.models import signs_of
    from rankwise.cli.runs import Run, data_files

    if output is None and like is None:
        raise typer.BadParameter("give the file of the model, -o MODEL", param_hint="--output")
    if pairs is not None:
        say("rankwise: --pairs is now called --scheme; the old name will be removed")
        scheme = pairs if scheme is None else scheme
    options: dict[str, object] = {"C": C, "alpha": alpha, "loss": loss, "solver": solver, "tol": tol}
    options |= {"max_iter": max_iter, "n_jobs": jobs, "device": device}
    options |= {"scheme": scheme, "scope": scope, "costs": costs, "rescaling": rescaling, "random_state": seed}
    options |= {"normalize_pairs": normalize_pairs, "kernel": kernel, "gamma": gamma, "n_components": components}
    options |= {"monotonic_cst": signs_of(increasing, decreasing), "l1_ratio": l1_ratio}
    if clicks is not None:
        check_training([normalize], measure if valid is None else None, dask, report)
        data, columns = feature_files(ctx, data, columns)
    files = data_files(ctx, data, "ranking data" if clicks is None else "features of the documents shown")
    run = Run(ctx, files)
    request = work.Training(
        model,
        files,
        columns,
        output,
        options,
        normalize,
        valid,
        measure,
        names,
        float32,
        force,
        run,
        clicks,
        report,
    )
    if dask is None:
        work.train(request, as_json)
    else:
        from rankwise.cli import cluster

        if report is not None:
            raise typer.BadParameter("not available with --dask: use `rankwise report`", param_hint="--report")
        cluster.train(request, dask, as_json)


app.command(cls=given.ListingNames)(tune)
app.command()(convert)
app.command()(join)
app.command()(check)


@app.command()
@command
@naming_columns
def predict(
    model: Model,
    data: Data,
    columns: Naming,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Where to write the scores.")] = "-",
    ids: Annotated[
        bool,
        typer.Option(
            "--ids",
            help="Write a table of qid, docid and score, as to files called *.csv, *.tsv, *.jsonl or *.parquet; "
            "documents without ids are counted.",
        ),
    ] = False,
    trec: Annotated[
        bool,
        typer.Option("--trec", help="Write a TREC run; documents without ids are counted."),
    ] = False,
    tag: Annotated[str, typer.Option(metavar="NAME", help="With --trec: the name of the run.")] = "rankwise",
    qrels: Annotated[
        str | None, typer.Option(metavar="FILE", help="With --trec: write the labels to this file, as TREC judgements.")
    ] = None,
    force: Force = False,
) -> None:
    """Score the documents of DATA: one number per line, in the order of the documents; the higher, the better.

    Examples: rankwise predict model.json test.txt > scores.txt; rankwise predict model.json new.csv -o scores.csv
    """
    from rankwise.cli import predict
    from rankwise.cli.targets import check_distinct, check_target

    if qrels is not None and not trec:
        raise typer.BadParameter("it needs --trec", param_hint="--qrels")
    if trec and ids:
        raise typer.BadParameter("a run has the ids already: give --trec or --ids", param_hint="--ids")
    check_distinct([output, qrels])
    for target in (output, qrels):
        if target is not None:
            check_target(target, [model, data], force)
    if trec:
        predict.write_trec(model, data, columns, output, tag, qrels)
    elif ids or predict.is_table(output):
        predict.write_table(model, data, columns, output)
    else:
        predict.write_scores(model, data, columns, output)


@app.command()
@command
@naming_columns
@reading_clicks
def evaluate(
    ctx: typer.Context,
    columns: Naming,
    clicks: Clicks | None,
    ranker: Annotated[
        str,
        typer.Argument(
            metavar="RANKER",
            help="A model, a file of scores (one per line), a TREC run or a column of DATA (column:bm25); - for stdin.",
        ),
    ],
    data: Annotated[str | None, typer.Argument(metavar="DATA", help=DATA_HELP, show_default=False)] = None,
    measure: Measures = None,
    per_query: Annotated[bool, typer.Option("--per-query", help="One line per query.")] = False,
    qrels: Qrels = None,
    unjudged: Unjudged = None,
    unretrieved_last: UnretrievedLast = False,
    over: Over = None,
    form: Form = None,
    output: Output = "-",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Evaluate a model, a file of scores, a TREC run or a column on the labels of DATA; or a TREC run on --qrels.

    With --clicks, measures of the ranking are estimated from clicks on the lists that were shown: dcg@k,
    reciprocal-rank@k, average-rank, hits@k or clicks@k; if none is given dcg@10, average-rank and, with --propensities,
    clicks. DATA (or --features) has the features of the documents.

    Example: rankwise evaluate model.json test.txt -m ndcg@10 -m map

    Example: rankwise evaluate m.json --clicks log.csv --first-position 1 --propensities bias.csv --features docs.csv
    """
    from rankwise.cli import work
    from rankwise.cli.forms import chosen_form, deliver
    from rankwise.cli.judging import Judge
    from rankwise.cli.targets import check_target

    chosen = chosen_form(form, output, json=as_json)
    if clicks is not None:
        from rankwise.cli import click_evaluation

        if per_query or qrels is not None or unjudged is not None or unretrieved_last:
            raise typer.BadParameter("a click log takes no --per-query, --qrels, --unjudged or --unretrieved-last")
        files, columns = feature_files(ctx, [data] if data else None, columns)
        check_target(output, [ranker, *(files or []), *clicks.files], force)
        found = click_evaluation.evaluate(ranker, files, columns, clicks, measure, chosen_units(over))
        deliver(found.to_form(chosen), output)
        return
    if over is not None:
        raise typer.BadParameter("it needs a click log, --clicks LOG", param_hint="--over")
    check_target(output, [ranker, data, qrels], force)
    judge = Judge(data, qrels, unjudged, unretrieved_last, columns)
    deliver(work.evaluate(ranker, judge, measure, per_query, chosen), output)


app.command()(compare)
app.command("report")(write_report)
app.command()(explain)
app.command()(export)
app.command()(serve)
app.command()(doctor)
app.add_typer(plot)
app.add_typer(clicks)


@app.command()
@command
def inspect(
    model: Model,
    top: Annotated[int, typer.Option("--top", "-n", min=0, help="Show this many weights; 0 for all.")] = 20,
    as_json: Json = False,
) -> None:
    """Show what a model has learnt: its weights by size, with feature names if they are known.

    Example: rankwise inspect model.json --top 10
    """
    from rankwise.cli import work

    work.inspect(model, top, as_json)


@app.command()
@command
def demo(
    save: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER", help="Write the sample to it: train, vali and test; as LETOR text, names.txt too."
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help=f"What --save writes: {', '.join(format_names(on_disk=False))}."),
    ] = None,
    force: Force = False,
) -> None:
    """Train on the sample data of rankwise, which are synthetic, evaluate, and show what was learnt.

    Example: rankwise demo --save books --to csv
    """
    from rankwise.cli import demo

    format_name = chosen("to", to, format_names(on_disk=False))
    if save is not None:
        demo.save(save, force, format_name or DEFAULT)
    elif format_name is not None:
        raise typer.BadParameter("only --save writes files: give --save FOLDER", param_hint="--to")
    else:
        demo.run()
