"""`rankwise tune`: its options; what it does is in `rankwise.cli.tuning`."""

from typing import Annotated

import typer

from rankwise.cli.options import DATA_HELP, Force, Jobs, Json
from rankwise.cli.speech import command

Numbers = list[float] | None
Names = list[str] | None


@command
def tune(
    data: Annotated[list[str], typer.Argument(metavar="DATA...", help=DATA_HELP, show_default=False)],
    output: Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="Where to write the model (JSON).")],
    valid: Annotated[str | None, typer.Option(metavar="DATA", help="Judge by this file.")] = None,
    folds: Annotated[
        int | None, typer.Option(metavar="K", min=2, help="Judge by K folds of whole queries; 5 without --valid.")
    ] = None,
    model: Annotated[str, typer.Option(metavar="NAME", help="ranksvm, rankrls or factorized.")] = "ranksvm",
    C: Annotated[
        Numbers, typer.Option("--C", "-C", metavar="X", help="Each C to try; 2^-15, 2^-14, ..., 2^10 if none is given.")
    ] = None,
    alpha: Annotated[Numbers, typer.Option(metavar="X", help="Each alpha of rankrls to try; the same numbers.")] = None,
    kernel: Annotated[Names, typer.Option(metavar="NAME", help="A kernel: rbf, polynomial, ...")] = None,
    gamma: Annotated[Numbers, typer.Option(metavar="X", help="The kernel's gamma.")] = None,
    components: Annotated[
        list[int] | None, typer.Option(metavar="N", help="Landmarks of a kernel, or factors of factorized.")
    ] = None,
    loss: Annotated[
        Names, typer.Option(metavar="NAME", help="squared_hinge, hinge, huber:WIDTH, logistic:ERROR or squared.")
    ] = None,
    solver: Annotated[Names, typer.Option(metavar="NAME", help="As for `train`.")] = None,
    tol: Annotated[Numbers, typer.Option(metavar="X", help="As for `train`.")] = None,
    max_iter: Annotated[list[int] | None, typer.Option(metavar="N", help="As for `train`.")] = None,
    scope: Annotated[Names, typer.Option(metavar="NAME", help="all (pairs), or adjacent (levels only).")] = None,
    costs: Annotated[Names, typer.Option(metavar="NAME", help="Weigh pairs by gain, dcg or ndcg.")] = None,
    normalize_pairs: Annotated[
        Names, typer.Option(metavar="NAME", help="What C multiplies: sum, mean, query or svm-rank.")
    ] = None,
    normalize: Annotated[
        Names, typer.Option(metavar="NAME", help="Scale features: query-minmax, query-zscore, minmax or zscore.")
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure", "-m", metavar="NAME", help="What to maximise; ndcg@10, or pairwise-accuracy for real labels."
        ),
    ] = None,
    rule: Annotated[
        str, typer.Option(metavar="NAME", help="best, or one-se: the simplest within one standard error of the best.")
    ] = "best",
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="For the folds, and what is drawn at random.")] = 0,
    journal: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Where to note what is done, to go on after an interruption; MODEL.journal "
            "if not given, which is removed at the end.",
        ),
    ] = None,
    names: Annotated[str | None, typer.Option(metavar="FILE", help="Feature names, one a line, for `inspect`.")] = None,
    float32: Annotated[
        bool, typer.Option("--float32", help="Keep features in single precision: half the memory.")
    ] = False,
    jobs: Jobs = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Choose C, or any option given several times, by a validation file or by folds; fit the best to all of DATA.

    An option given several times is tried with each value, in all combinations. The same command again goes on with
    what was interrupted.

    Example: rankwise tune train.txt --valid vali.txt -o model.json
    """
    from rankwise.cli import tuning

    options = {"C": C, "alpha": alpha, "kernel": kernel, "gamma": gamma, "n_components": components, "loss": loss}
    options |= {"solver": solver, "tol": tol, "max_iter": max_iter, "scope": scope, "costs": costs}
    options |= {"normalize_pairs": normalize_pairs, "normalize": normalize}
    grid = {key: values for key, values in options.items() if values}
    asked = tuning.Tuning(model, grid, measure, folds, seed, float32)
    tuning.tune(asked, tuning.Files(data, valid, output, journal, names, force), rule, jobs, as_json)
