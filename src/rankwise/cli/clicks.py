"""`rankwise clicks`: the bias of positions in a click log, and logs with a known bias."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli.click_options import LOG_HELP, LogOptions, Over, check_stdin, chosen_units, reading_log
from rankwise.cli.options import Data, Force, Json, Naming, naming_columns
from rankwise.cli.plot import check_figure
from rankwise.cli.speech import answer, chosen, command, doing, say

if TYPE_CHECKING:
    from rankwise.clicks import ClickLog, Propensities

clicks = typer.Typer(name="clicks", help="The bias of positions in click logs.", no_args_is_help=True)

METHODS = ("harvest", "swap", "em")
Swapped = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="With --method swap: a table with the columns impression and position, where position is the one that "
        "was exchanged with the top one by a fair coin, numbered as in LOG.",
    ),
]


@clicks.command()
@command
@reading_log
def bias(
    log: Annotated[str, typer.Argument(metavar="LOG", help=f"{LOG_HELP} - for stdin.", show_default=False)],
    options: LogOptions,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="harvest: from documents shown at several positions for one query; em: likewise, by regression EM; "
            "swap: from an experiment that exchanged positions.",
        ),
    ] = "harvest",
    swapped: Swapped = None,
    over: Over = None,
    resamples: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Draws of the bootstrap; 200, or 1000 for swap.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the bootstrap.")] = 0,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the propensities, as CSV for --propensities."),
    ] = None,
    plot: Annotated[
        str | None, typer.Option(metavar="FILE", help="Draw the propensities: *.png, *.svg or *.pdf.")
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Estimate how often users look at each position, relative to the top one, with 95 % intervals.

    Example: rankwise clicks bias log.csv --first-position 1 -o bias.csv --plot bias.png
    """
    from rankwise.cli.targets import check_distinct, check_target

    method = str(chosen("method", method, METHODS))
    if swapped is None and method == "swap":
        raise typer.BadParameter(
            "--method swap needs the file of the experiment: give --swapped FILE", param_hint="--swapped"
        )
    if swapped is not None and method != "swap":
        raise typer.BadParameter(f"only --method swap uses this file, not {method}", param_hint="--swapped")
    if plot is not None:
        check_figure("--plot", plot)
    check_distinct([output, plot])
    for target in (output, plot):
        if target is not None:
            check_target(target, [log, options.queries, swapped], force)
    check_stdin([log, options.queries, swapped])
    given = options.read(log)
    drawing: dict[str, Any] = {"over": chosen_units(over), "random_state": seed}
    if resamples is not None:
        drawing["n_resamples"] = resamples
    with doing("estimating"):
        found = _estimated(given, method, swapped, options.first_position, drawing)
    if output is not None:
        found.save(output)
    if plot is not None:
        from rankwise.report import PropensityDisplay

        PropensityDisplay.from_propensities(found).save(plot)
    answer(found.to_json() if as_json else f"{given.summary()}\n{found.to_text()}", aside=output == "-")
    for what, file in (("propensities", output), ("figure", plot)):
        if file not in (None, "-"):
            say(f"{what} written to {file}")


def _estimated(
    log: "ClickLog", method: str, swapped: str | None, first_position: int, drawing: dict[str, Any]
) -> "Propensities":
    from rankwise.clicks import em_bias, harvested_bias, read_swaps, swap_bias

    if swapped is not None:
        return swap_bias(log, read_swaps(swapped, first_position=first_position), **drawing)
    return (em_bias if method == "em" else harvested_bias)(log, **drawing)


@clicks.command()
@command
@naming_columns
def simulate(
    data: Data,
    columns: Naming,
    by: Annotated[
        list[str],
        typer.Option(
            metavar="COLUMN",
            help="Order lists by this column of DATA, the largest value first, or by -COLUMN the smallest; may be "
            "repeated: every list is ordered by one of them, at random.",
        ),
    ],
    output: Annotated[str, typer.Option("--output", "-o", metavar="LOG", help="Where to write the log, as CSV.")],
    lists: Annotated[int, typer.Option(metavar="N", min=1, help="How many lists are shown.")] = 10_000,
    depth: Annotated[int, typer.Option(metavar="K", min=1, help="The documents shown per list.")] = 10,
    eta: Annotated[float, typer.Option(metavar="X", min=0, help="Users look at position k with (1/k)^eta.")] = 1.0,
    noise: Annotated[
        float, typer.Option(metavar="X", min=0, max=1, help="They click on documents of the label 0 with this.")
    ] = 0.1,
    swapped: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Exchange the top position and another by a fair coin, told in this file."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of random numbers.")] = 0,
    force: Force = False,
) -> None:
    """Generate a log of clicks on judged documents, with a known bias of positions; positions count from 1.

    Example: rankwise clicks simulate train.txt --by f1 --by f6 -o log.csv
    """
    import numpy as np

    from rankwise.cli.inputs import read_features
    from rankwise.cli.targets import check_distinct, check_target
    from rankwise.clicks import simulate_clicks
    from rankwise.data.column_scores import column_scores
    from rankwise.foundation.tabular import Table

    check_distinct([output, swapped])
    for target in (output, swapped):
        if target is not None:
            check_target(target, [data], force)
    judged = read_features([data], None, columns, needs_labels=True)
    rankers = np.stack([column_scores(judged, column, data) for column in by])
    options: dict[str, Any] = {"eta": eta, "noise": noise, "depth": depth, "random_state": seed}
    with doing("simulating"):
        log, exchanged, _ = simulate_clicks(judged, rankers, lists, swaps=swapped is not None, **options)
    log.to_csv(output)
    if swapped is not None and exchanged is not None:
        Table({"impression": log.lists, "position": exchanged}).to_csv(swapped)
    say(f"{output}: {log.summary()}")
