"""The options of a model: for `train` one value each, for `tune` (called Each...) every value to try."""

from typing import Annotated

import typer

from rankwise.cli.options import DATA_HELP

Numbers = list[float] | None
Names = list[str] | None

DataFiles = Annotated[
    list[str], typer.Argument(metavar="DATA...", help=f"{DATA_HELP} Several files are read as one.", show_default=False)
]
ModelOut = Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="Where to write the model (JSON).")]
NamesFile = Annotated[str | None, typer.Option(metavar="FILE", help="Feature names, one per line, for `inspect`.")]
Float32 = Annotated[bool, typer.Option("--float32", help="Keep features in single precision: half the memory.")]

Kind = Annotated[str, typer.Option(metavar="NAME", help="ranksvm, rankrls, rankrls-cv or factorized.")]
C = Annotated[
    float | None,
    typer.Option(
        "--C",
        "-C",
        metavar="X",
        help="Weight of the sum over the pairs; 30 / their number if not given, 1 with --kernel.",
    ),
]
Alpha = Annotated[float | None, typer.Option(metavar="X", help="Regularisation of rankrls; 1 if not given.")]
Kernel = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="A kernel ranksvm or rankrls: rbf, polynomial, laplacian, cosine, sigmoid, ..."),
]
Gamma = Annotated[float | None, typer.Option(metavar="X", help="The kernel's gamma; 1 / features if not given.")]
Components = Annotated[
    int | None, typer.Option(metavar="N", help="Landmarks of a kernel's approximation, or factors of factorized.")
]
Loss = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="squared_hinge (if not given), hinge, huber:WIDTH, logistic:ERROR or squared."),
]
Solver = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="auto, newton, newton-cg, newton-minres, trust-region[-diagonal|-sampled], smoothing, bundle, bmrm, "
        "sgd, sgd-queries or dual.",
    ),
]
Tol = Annotated[
    float | None,
    typer.Option(metavar="X", help="Stop within this relative distance of the optimum; 0.001 by default."),
]
MaxIter = Annotated[int | None, typer.Option(metavar="N", help="Steps at most; the solver's own limit if not given.")]
Scheme = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="How pairs are summed: auto, or a paper's scheme: explicit, by-level, red-black-tree, "
        "score-red-black-tree, selection-tree, avl-tree or aa-tree.",
    ),
]
Pairs = Annotated[str | None, typer.Option(metavar="NAME", hidden=True, help="The former name of --scheme.")]
Scope = Annotated[str | None, typer.Option(metavar="NAME", help="all (pairs), or adjacent (levels only).")]
Costs = Annotated[str | None, typer.Option(metavar="NAME", help="Weigh pairs by what they cost: gain, dcg or ndcg.")]
Rescaling = Annotated[str | None, typer.Option(metavar="NAME", help="What costs scale: slack or margin.")]
NormalizePairs = Annotated[
    str | None, typer.Option(metavar="NAME", help="What C multiplies: sum, mean, query or svm-rank.")
]
Seed = Annotated[int | None, typer.Option(metavar="N", min=0, help="For what is drawn at random; 0 if not given.")]
Normalize = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Scale features: query-minmax, query-zscore, minmax or zscore; kept with the model."
    ),
]
Valid = Annotated[str | None, typer.Option(metavar="DATA", help="Evaluate on this file too.")]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS|local:N", help="Train on a Dask cluster, whose workers read the files, or on N processes here."
    ),
]
Device = Annotated[
    str | None, typer.Option(metavar="NAME", help="Train there: cuda, cuda:1 or cupy; on the CPU if not given.")
]

TunedKind = Annotated[str, typer.Option(metavar="NAME", help="ranksvm, rankrls or factorized.")]
EachC = Annotated[
    Numbers, typer.Option("--C", "-C", metavar="X", help="Each C to try; if not given 2^-15 (or less) to 2^10.")
]
EachAlpha = Annotated[Numbers, typer.Option(metavar="X", help="Each alpha of rankrls to try; the same numbers.")]
EachKernel = Annotated[Names, typer.Option(metavar="NAME", help="A kernel: rbf, polynomial, ...")]
EachGamma = Annotated[Numbers, typer.Option(metavar="X", help="The kernel's gamma.")]
EachComponents = Annotated[
    list[int] | None, typer.Option(metavar="N", help="Landmarks of a kernel, or factors of factorized.")
]
EachLoss = Annotated[
    Names, typer.Option(metavar="NAME", help="squared_hinge, hinge, huber:WIDTH, logistic:ERROR or squared.")
]
EachSolver = Annotated[Names, typer.Option(metavar="NAME", help="As for `train`.")]
EachTol = Annotated[Numbers, typer.Option(metavar="X", help="As for `train`.")]
EachMaxIter = Annotated[list[int] | None, typer.Option(metavar="N", help="As for `train`.")]
EachScope = Annotated[Names, typer.Option(metavar="NAME", help="all (pairs), or adjacent (levels only).")]
EachCosts = Annotated[Names, typer.Option(metavar="NAME", help="Weigh pairs by gain, dcg or ndcg.")]
EachNormalizePairs = Annotated[
    Names, typer.Option(metavar="NAME", help="What C multiplies: sum, mean, query or svm-rank.")
]
EachNormalize = Annotated[
    Names, typer.Option(metavar="NAME", help="Scale features: query-minmax, query-zscore, minmax or zscore.")
]
JudgedBy = Annotated[str | None, typer.Option(metavar="DATA", help="Judge by this file.")]
Folds = Annotated[
    int | None, typer.Option(metavar="K", min=2, help="Judge by K folds of whole queries; 5 without --valid.")
]
Maximised = Annotated[
    str | None,
    typer.Option(
        "--measure", "-m", metavar="NAME", help="What to maximise; ndcg@10, or pairwise-accuracy for real labels."
    ),
]
Rule = Annotated[
    str, typer.Option(metavar="NAME", help="best, or one-se: the simplest within one standard error of the best.")
]
EarlyStopping = Annotated[
    bool,
    typer.Option(
        "--early-stopping/--no-early-stopping",
        help="Leave out the weakest regularisation once the measure has clearly passed its best.",
    ),
]
SeedOfFolds = Annotated[int, typer.Option(metavar="N", min=0, help="For the folds, and what is drawn at random.")]
JournalFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Where to note what is done, to go on after an interruption; MODEL.journal "
        "if not given, which is removed at the end.",
    ),
]
