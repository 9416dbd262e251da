"""`rankwise plot KIND`: figures of rankers, of their tuning and of their convergence."""

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli import model_options as given
from rankwise.cli.model_options import DataFiles
from rankwise.cli.options import Force, Labels, Model, Naming, Qrels, Rankers, naming_columns
from rankwise.cli.speech import checked, command, doing, say

if TYPE_CHECKING:
    from rankwise.foundation.arrays import Floats
    from rankwise.report.display import Display
    from rankwise.solvers import Step

plot = typer.Typer(
    name="plot",
    help="Draw a figure (png, svg or pdf); needs matplotlib: pip install matplotlib.",
    no_args_is_help=True,
)

Output = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The figure: *.png, *.svg or *.pdf.")]
DataOut = Annotated[
    str | None, typer.Option("--data-out", metavar="FILE", help="Also write the data of the figure, as CSV.")
]

RANKER_HELP = "A model, a file of scores, a TREC run, or a column of DATA (column:bm25)."


def _checked(output: str, data_out: str | None, reads: list[str | None], force: bool) -> None:
    """Raise an error before any work if one of the files cannot be written."""
    from rankwise.cli.targets import check_distinct, check_target

    check_figure("--output", output)
    check_distinct([output, data_out])
    for file in (output, data_out):
        if file is not None:
            check_target(file, reads, force)


def check_figure(option: str, file: str) -> None:
    """Raise an error if the file is not named as a figure, or matplotlib is not installed."""
    from rankwise.report.display import check_picture, matplotlib

    checked(option, check_picture, file)
    matplotlib("figure")


def _written(display: "Display", output: str, data_out: str | None) -> None:
    with doing("drawing"):
        display.save(output)
    if data_out is not None:
        display.to_csv(data_out)
    say(f"figure written to {output}")


@plot.command()
@command
def weights(
    model: Model,
    output: Output,
    top: Annotated[int, typer.Option("--top", "-n", min=1, help="Draw this many weights, the largest.")] = 20,
    data_out: DataOut = None,
    force: Force = False,
) -> None:
    """The largest weights of a linear model, by feature name.

    Example: rankwise plot weights model.json -o weights.png
    """
    _checked(output, data_out, [model], force)
    from rankwise.model_io.files import load_model
    from rankwise.report import WeightsDisplay

    _written(WeightsDisplay.from_estimator(load_model(model), top=top), output, data_out)


@plot.command()
@command
@naming_columns
def margins(
    columns: Naming,
    ranker: Annotated[str, typer.Argument(metavar="RANKER", help=RANKER_HELP)],
    output: Output,
    data: Labels = None,
    qrels: Qrels = None,
    bins: Annotated[int, typer.Option(metavar="N", min=5, help="Approximate number of bars.")] = 60,
    data_out: DataOut = None,
    force: Force = False,
) -> None:
    """A histogram of score differences over all preference pairs, which are not enumerated.

    Example: rankwise plot margins model.json --data train.txt -o margins.png
    """
    _checked(output, data_out, [ranker, data, qrels], force)
    from rankwise.cli.judging import Judge
    from rankwise.report import MarginDisplay

    scored = Judge(data, qrels, columns=columns).scored(ranker)
    _written(MarginDisplay.from_predictions(*scored, bins=bins), output, data_out)


@plot.command()
@command
@naming_columns
def cutoffs(
    columns: Naming,
    rankers: Rankers,
    output: Output,
    data: Labels = None,
    qrels: Qrels = None,
    measure: Annotated[
        str, typer.Option("--measure", "-m", metavar="NAME", help="ndcg, precision, ndcg:letor, ...")
    ] = "ndcg",
    depth: Annotated[int, typer.Option(metavar="K", min=2, help="Up to this cutoff.")] = 20,
    data_out: DataOut = None,
    force: Force = False,
) -> None:
    """NDCG@k of several rankers against k.

    Example: rankwise plot cutoffs new.json old.json --data test.txt -o ndcg.png
    """
    _checked(output, data_out, [*rankers, data, qrels], force)
    from rankwise.cli.judging import Judge, named
    from rankwise.report import CutoffDisplay
    from rankwise.report.cutoffs import at_cutoffs

    ks = range(1, depth + 1)
    checked("--measure", lambda given: at_cutoffs(given, ks), measure)
    judge = Judge(data, qrels, columns=columns)
    curves: dict[str, Floats] = {}
    for name, file in named(rankers).items():
        y, scores, qid = judge.scored(file)
        display = CutoffDisplay.from_predictions(y, {name: scores}, qid, measure, ks)
        curves |= display.curves
    _written(CutoffDisplay(display.measure, display.cutoffs, curves), output, data_out)


@plot.command()
@command
@naming_columns
def differences(
    columns: Naming,
    first: Annotated[str, typer.Argument(metavar="RANKER", help=RANKER_HELP)],
    other: Annotated[str, typer.Argument(metavar="RANKER", help="Another one.")],
    output: Output,
    data: Labels = None,
    qrels: Qrels = None,
    measure: Annotated[str, typer.Option("--measure", "-m", metavar="NAME", help="ndcg@10, map, ...")] = "ndcg@10",
    data_out: DataOut = None,
    force: Force = False,
) -> None:
    """In which queries one ranker beats another, and by how much.

    Example: rankwise plot differences new.json old.json --data test.txt -o differences.png
    """
    _checked(output, data_out, [first, other, data, qrels], force)
    from rankwise import metrics
    from rankwise.cli.judging import Judge, named
    from rankwise.report import QueryDifferenceDisplay

    parsed = checked("--measure", metrics.parse, measure)
    judge, files = Judge(data, qrels, columns=columns), named([first, other])
    a, b = (metrics.evaluate(*judge.scored(file), parsed) for file in files.values())
    one, two = files
    _written(QueryDifferenceDisplay.from_evaluations(a, b, str(parsed), (one, two)), output, data_out)


@plot.command()
@command
def path(
    tuned: Annotated[str, typer.Argument(metavar="FILE", help="The output of `rankwise tune --json`.")],
    output: Output,
    data_out: DataOut = None,
    force: Force = False,
) -> None:
    """A measure against C (or alpha) with the spread over folds.

    Example: rankwise tune train.txt -o model.json --json > tuned.json; rankwise plot path tuned.json -o path.png
    """
    _checked(output, data_out, [tuned], force)
    from rankwise.foundation.strict_json import read_json
    from rankwise.report import RegularizationDisplay

    try:
        display = RegularizationDisplay.from_tuning(read_json(tuned, 1 << 28))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
        raise ValueError(f"{tuned} is not the output of `rankwise tune --json`: {error!r}") from None
    _written(display, output, data_out)


@plot.command()
@command
@naming_columns
def features(
    columns: Naming,
    data: DataFiles,
    output: Output,
    C: Annotated[
        given.Numbers,
        typer.Option(
            "--C",
            "-C",
            metavar="X",
            help="Each C to try; if not given, 31 values from the C at which the first feature gets a weight to "
            "1,000 times that; with --l1-ratio 0, 2^-15 to 2^10.",
        ),
    ] = None,
    l1_ratio: Annotated[float, typer.Option("--l1-ratio", metavar="X", help="As for `train`.")] = 1.0,
    loss: Annotated[str, typer.Option(metavar="NAME", help="As for `train`.")] = "squared_hinge",
    increasing: given.Increasing = None,
    decreasing: given.Decreasing = None,
    normalize: Annotated[
        str | None, typer.Option(metavar="NAME", help="Scale features: query-minmax, query-zscore, minmax or zscore.")
    ] = None,
    tol: Annotated[float, typer.Option(metavar="X", help="As for `train`.")] = 1e-5,
    folds: Annotated[
        int, typer.Option(metavar="K", min=0, help="Draw a measure over K folds of whole queries too; 0 for none.")
    ] = 5,
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure",
            "-m",
            metavar="NAME",
            help="The measure to draw; if not given, ndcg@10, or pairwise-accuracy for labels that are not grades.",
        ),
    ] = None,
    names: given.NamesFile = None,
    top: Annotated[int, typer.Option("--top", "-n", min=1, help="Name this many features, the largest weights.")] = 10,
    data_out: DataOut = None,
    force: Force = False,
) -> None:
    """The weights of a RankSVM against C, and how many features it keeps, with a measure over folds beside them.

    Example: rankwise plot features train.csv --normalize zscore -o features.png
    """
    _checked(output, data_out, [*data, names], force)
    from rankwise.cli.inputs import names_for, parse_measures, read_data
    from rankwise.cli.models import check_signs, make_model, signs_of
    from rankwise.model_selection import c_path
    from rankwise.report import FeaturePathDisplay

    if folds == 1:
        raise typer.BadParameter("give at least 2, or 0 for no measure", param_hint="--folds")
    parse_measures(None if measure is None else [measure])
    signs = signs_of(increasing, decreasing)
    options = {"l1_ratio": l1_ratio, "loss": loss, "monotonic_cst": signs, "tol": tol}
    for value in C or (1.0,):  # each is checked
        model = make_model("ranksvm", options | {"C": value}, normalize)
    rows = read_data(data, columns=columns)
    rows = replace(rows, names=names_for(rows, names))
    check_signs(signs or {}, rows)
    with doing("training along the path"):
        path = c_path(rows, Cs=C, ranker=model, cv=folds or None, measure=measure)
    _written(FeaturePathDisplay.from_path(path, top), output, data_out)


@plot.command()
@command
@naming_columns
def convergence(
    columns: Naming,
    data: DataFiles,
    output: Output,
    solver: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="As for `train`; may be repeated. newton if not given.")
    ] = None,
    C: Annotated[float | None, typer.Option("--C", "-C", metavar="X", help="As for `train`.")] = None,
    loss: Annotated[str, typer.Option(metavar="NAME", help="As for `train`.")] = "squared_hinge",
    tol: Annotated[float, typer.Option(metavar="X", help="As for `train`.")] = 1e-8,
    seconds: Annotated[float, typer.Option(metavar="X", help="Stop each solver after so many seconds.")] = 10.0,
    gradient: Annotated[
        bool, typer.Option("--gradient", help="Draw the gradient's norm instead of the gap to the best value.")
    ] = False,
    data_out: DataOut = None,
    force: Force = False,
) -> None:
    """Fit a RankSVM by each solver and draw how it approaches the optimum.

    Example: rankwise plot convergence train.txt --solver newton --solver bundle -C 0.01 -o convergence.png
    """
    _checked(output, data_out, [*data], force)
    from rankwise.cli.inputs import read_data
    from rankwise.cli.models import make_model
    from rankwise.cli.speech import stop_here
    from rankwise.report import ConvergenceDisplay

    options = {"C": C, "loss": loss, "tol": tol}
    rankers = {name: make_model("ranksvm", options | {"solver": name}, None) for name in solver or ["newton"]}
    rows = read_data(data, columns=columns)

    def after(step: "Step") -> bool:
        stop_here()
        return step.seconds > seconds

    for name, ranker in rankers.items():
        with doing(f"training by {name}"):
            with warnings.catch_warnings(action="ignore"):  # two steps first, so that compilation is not timed
                ranker.set_params(callback=lambda step: step.iteration > 0).fit(rows)
            ranker.set_params(callback=after).fit(rows)
    quantity = "gradient_norm" if gradient else "relative_gap"
    _written(ConvergenceDisplay.from_estimators(rankers, quantity=quantity), output, data_out)
