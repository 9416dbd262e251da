"""The options of `rankwise tune`; its work is done in `rankwise.cli.tuning`."""

import typer

from rankwise.cli import model_options as given
from rankwise.cli.click_options import Clicks, check_training, feature_files, reading_clicks
from rankwise.cli.options import Force, Jobs, Json, Naming, ReportOut, naming_columns
from rankwise.cli.settings import AllowChanges, Config, Like
from rankwise.cli.speech import command


@command
@naming_columns
@reading_clicks
def tune(
    ctx: typer.Context,
    output: given.ModelOut,
    columns: Naming,
    clicks: Clicks | None,
    data: given.DataFilesOrNone = None,
    valid: given.JudgedBy = None,
    folds: given.Folds = None,
    model: given.TunedKind = "ranksvm",
    C: given.EachC = None,
    alpha: given.EachAlpha = None,
    kernel: given.EachKernel = None,
    gamma: given.EachGamma = None,
    components: given.EachComponents = None,
    loss: given.EachLoss = None,
    solver: given.EachSolver = None,
    tol: given.EachTol = None,
    max_iter: given.EachMaxIter = None,
    scope: given.EachScope = None,
    costs: given.EachCosts = None,
    normalize_pairs: given.EachNormalizePairs = None,
    increasing: given.Increasing = None,
    decreasing: given.Decreasing = None,
    l1_ratio: given.EachL1Ratio = None,
    normalize: given.EachNormalize = None,
    measure: given.Maximised = None,
    rule: given.Rule = "best",
    early_stopping: given.EarlyStopping = True,
    seed: given.SeedOfFolds = 0,
    journal: given.JournalFile = None,
    names: given.NamesFile = None,
    report: ReportOut = None,
    config: Config = None,
    like: Like = None,
    allow_changes: AllowChanges = False,
    float32: given.Float32 = False,
    jobs: Jobs = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Choose C, or any option given several times, on a validation file or by folds; fit the best model to all of DATA.

    An option given several times is tried with each value, in all combinations. If the command is interrupted, give it
    again to resume it. With --clicks, DATA (or --features) are the features of the documents shown, as for `train`, and
    folds are of whole queries of the log.

    Example: rankwise tune train.txt --valid vali.txt -o model.json
    """
    from rankwise.cli import tuning
    from rankwise.cli.models import known_model, signs_of
    from rankwise.cli.runs import Run, data_files

    options = {"C": C, "alpha": alpha, "kernel": kernel, "gamma": gamma, "n_components": components, "loss": loss}
    options |= {"solver": solver, "tol": tol, "max_iter": max_iter, "scope": scope, "costs": costs}
    options |= {"normalize_pairs": normalize_pairs, "l1_ratio": l1_ratio, "normalize": normalize}
    grid = {key: values for key, values in options.items() if values}
    signs = signs_of(increasing, decreasing)
    request = tuning.Tuning(known_model(model), grid, signs, measure, folds, seed, float32)
    if clicks is not None:
        check_training(normalize or [], report=report)
        data, columns = feature_files(ctx, data, columns)
    paths = data_files(ctx, data, "ranking data" if clicks is None else "features of the documents shown")
    files = tuning.Files(paths, columns, valid, output, journal, names, force, clicks, report)
    tuning.tune(request, files, tuning.Manner(rule, early_stopping, jobs), Run(ctx, files.data), as_json)
