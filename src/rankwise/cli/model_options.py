"""The options of a model: for `train` one value each, for `tune` (called Each...) every value to try.

{loss}, {solver} and {scheme} in a help text stand for the names that are registered, which `ListingNames` fills in.
"""

from inspect import signature
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from rankwise.cli.options import DATA_HELP

Numbers = list[float] | None
Names = list[str] | None


class ListingNames(TyperCommand):
    """A command whose help lists registered names; the registries are imported only when the help is shown."""

    def get_help(self, ctx: Any) -> str:
        for placeholder, names in _registered_names().items():
            for option in self.params:
                if isinstance(option, TyperOption) and option.help is not None:
                    option.help = option.help.replace(placeholder, names)
        text: str = super().get_help(ctx)
        return text


def _registered_names() -> dict[str, str]:
    from rankwise.objective.losses import LOSSES, Loss
    from rankwise.pairs.schemes import SCHEMES
    from rankwise.solvers import SOLVERS

    losses = []
    for name in LOSSES:
        entry = LOSSES[name]
        arguments = [] if isinstance(entry, Loss) else list(signature(entry).parameters)
        losses.append(":".join([name, *map(str.upper, arguments)]))
    return {"{loss}": ", ".join(losses), "{solver}": ", ".join(SOLVERS), "{scheme}": ", ".join(SCHEMES)}


_DATA = typer.Argument(metavar="DATA...", help=f"{DATA_HELP} Several files are read as one.", show_default=False)
_MODEL = typer.Option("--output", "-o", metavar="MODEL", help="Where to write the model (JSON).")
DataFiles = Annotated[list[str], _DATA]
DataFilesOrNone = Annotated[list[str] | None, _DATA]
ModelOut = Annotated[str, _MODEL]
ModelOutOrNone = Annotated[str | None, _MODEL]
NamesFile = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Feature names, one per line, for `inspect`, --increasing and --decreasing."),
]
Float32 = Annotated[bool, typer.Option("--float32", help="Keep features in single precision: half the memory.")]

Kind = Annotated[str, typer.Option(metavar="NAME", help="ranksvm, rankrls, rankrls-cv or factorized.")]
C = Annotated[
    float | None,
    typer.Option(
        "--C",
        "-C",
        metavar="X",
        help="Weight of the sum over the pairs. If not given: 1 with --kernel or factorized, else 30 / (number of "
        "pairs), or of queries with --normalize-pairs query.",
    ),
]
Alpha = Annotated[float | None, typer.Option(metavar="X", help="Regularisation of rankrls; 1 if not given.")]
Kernel = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Kernel of ranksvm or rankrls: rbf, polynomial, laplacian, cosine, sigmoid, ..."),
]
Gamma = Annotated[
    float | None, typer.Option(metavar="X", help="The kernel's gamma; 1 / (number of features) if not given.")
]
Components = Annotated[
    int | None,
    typer.Option(metavar="N", help="Number of landmarks of a kernel, or of factors of factorized."),
]
Loss = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="One of {loss}; squared_hinge if not given."),
]
Solver = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="One of {solver}; auto if not given."),
]
Tol = Annotated[
    float | None,
    typer.Option(metavar="X", help="Stop within this relative distance of the optimum; 0.001 by default."),
]
MaxIter = Annotated[int | None, typer.Option(metavar="N", help="At most so many steps; the solver's limit by default.")]
Scheme = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="How sums over pairs are computed: one of {scheme}; auto if not given.",
    ),
]
Pairs = Annotated[str | None, typer.Option(metavar="NAME", hidden=True, help="The former name of --scheme.")]
Scope = Annotated[str | None, typer.Option(metavar="NAME", help="all pairs, or adjacent: of neighbouring levels only.")]
Costs = Annotated[str | None, typer.Option(metavar="NAME", help="Weight pairs by their cost: gain, dcg or ndcg.")]
Rescaling = Annotated[str | None, typer.Option(metavar="NAME", help="What costs scale: slack or margin.")]
NormalizePairs = Annotated[
    str | None, typer.Option(metavar="NAME", help="What C multiplies: sum, mean, query or svm-rank.")
]
Seed = Annotated[
    int | None, typer.Option(metavar="N", min=0, max=2**32 - 1, help="Seed of random numbers; 0 if not given.")
]
Normalize = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Scale features: query-minmax, query-zscore, minmax or zscore; stored with the model."
    ),
]
Increasing = Annotated[
    Names,
    typer.Option(
        metavar="FEATURES",
        help="Features whose weight must not be negative: names, or numbers if they have none, separated by commas; "
        "may be repeated.",
    ),
]
Decreasing = Annotated[
    Names, typer.Option(metavar="FEATURES", help="Features whose weight must not be positive, likewise.")
]
L1Ratio = Annotated[
    float | None,
    typer.Option(
        "--l1-ratio", metavar="X", help="From 0 to 1; the larger, the fewer features get a weight; 0 if not given."
    ),
]
Valid = Annotated[str | None, typer.Option(metavar="DATA", help="Evaluate on this file too.")]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS|local:N",
        help="Train on a Dask cluster, whose workers read the files, or on N processes.",
    ),
]
Device = Annotated[
    str | None, typer.Option(metavar="NAME", help="Device to train on: cuda, cuda:1 or cupy; the CPU if not given.")
]

TunedKind = Annotated[str, typer.Option(metavar="NAME", help="ranksvm, rankrls or factorized.")]
EachC = Annotated[
    Numbers, typer.Option("--C", "-C", metavar="X", help="Each C to try; if not given 2^-15 (or less) to 2^10.")
]
EachAlpha = Annotated[
    Numbers, typer.Option(metavar="X", help="Each alpha of rankrls to try; 2^-15, 2^-14, ..., 2^10 if none is given.")
]
EachKernel = Annotated[Names, typer.Option(metavar="NAME", help="A kernel: rbf, polynomial, ...")]
EachGamma = Annotated[Numbers, typer.Option(metavar="X", help="The kernel's gamma.")]
EachComponents = Annotated[
    list[int] | None,
    typer.Option(metavar="N", help="Number of landmarks of a kernel, or of factors of factorized."),
]
EachLoss = Annotated[Names, typer.Option(metavar="NAME", help="One of {loss}.")]
EachSolver = Annotated[Names, typer.Option(metavar="NAME", help="As for `train`.")]
EachTol = Annotated[Numbers, typer.Option(metavar="X", help="As for `train`.")]
EachMaxIter = Annotated[list[int] | None, typer.Option(metavar="N", help="As for `train`.")]
EachScope = Annotated[Names, typer.Option(metavar="NAME", help="all pairs, or adjacent: of neighbouring levels only.")]
EachCosts = Annotated[Names, typer.Option(metavar="NAME", help="Weight pairs by their cost: gain, dcg or ndcg.")]
EachNormalizePairs = Annotated[
    Names, typer.Option(metavar="NAME", help="What C multiplies: sum, mean, query or svm-rank.")
]
EachL1Ratio = Annotated[
    Numbers,
    typer.Option("--l1-ratio", metavar="X", help="From 0 to 1; the larger, the fewer features get a weight."),
]
EachNormalize = Annotated[
    Names, typer.Option(metavar="NAME", help="Scale features: query-minmax, query-zscore, minmax or zscore.")
]
JudgedBy = Annotated[str | None, typer.Option(metavar="DATA", help="Evaluate on this file.")]
Folds = Annotated[
    int | None,
    typer.Option(metavar="K", min=2, help="Evaluate on K folds of whole queries; 5 without --valid."),
]
Maximised = Annotated[
    str | None,
    typer.Option(
        "--measure",
        "-m",
        metavar="NAME",
        help="The measure to maximise; if not given, ndcg@10, or pairwise-accuracy for labels that are not grades.",
    ),
]
Rule = Annotated[
    str, typer.Option(metavar="NAME", help="best, or one-se: the simplest model within one standard error of the best.")
]
EarlyStopping = Annotated[
    bool,
    typer.Option(
        "--early-stopping/--no-early-stopping",
        help="Skip the weakest regularisation once the measure has clearly passed its best.",
    ),
]
SeedOfFolds = Annotated[
    int, typer.Option(metavar="N", min=0, max=2**32 - 1, help="Seed of the folds and of random numbers.")
]
JournalFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="File that records finished fits, so that an interrupted command can be resumed; MODEL.journal if not "
        "given, which is removed at the end.",
    ),
]
