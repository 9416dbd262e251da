"""Model files of other ranking tools, which know features by their position, counted from 1."""

from rankwise.exporting.parts import Linear
from rankwise.exporting.targets import DOUBLE, FOLD, SINGLE, Arithmetic, Request, Target

_COORDINATE_ASCENT = """## Coordinate Ascent
## Restart = 5
## MaxIteration = 25
## StepBase = 0.05
## StepScale = 2.0
## Tolerance = 0.001
## Regularized = false
## Slack = 0.001
"""


def ranklib(model: Linear, request: Request) -> str:
    """RankLib's linear model without a constant; the lines of `##` are those of its own files and mean nothing here."""
    return _COORDINATE_ASCENT + _numbered(model) + "\n"


def _numbered(model: Linear) -> str:
    return " ".join(f"{j}:{weight!r}" for j, weight in enumerate(model.weights.tolist(), start=1))


def liblinear(model: Linear, request: Request) -> str:
    """A regression model of LIBLINEAR: its `predict` writes the score, where that of a classifier writes a class."""
    return _liblinear("L2R_L2LOSS_SVR", [*model.weights.tolist(), model.intercept], bias=1)


def liblinear_ranksvm(model: Linear, request: Request) -> str:
    """A model of LIBLINEAR's ranking extension, which adds no constant."""
    return _liblinear("L2R_L2LOSS_RANKSVM", model.weights.tolist(), bias=-1)


def _liblinear(solver: str, weights: list[float], bias: int) -> str:
    n_features = len(weights) - (bias == 1)
    head = [f"solver_type {solver}", "nr_class 2", f"nr_feature {n_features}", f"bias {bias}", "w"]
    return "\n".join([*head, *(f"{weight!r} " for weight in weights)]) + "\n"


def svmrank(model: Linear, request: Request) -> str:
    """SVM^rank's linear model: a single support vector, the weights. Its score is w · x - threshold."""
    return f"""SVM-light Version V6.20
0 # kernel type
3 # kernel parameter -d
1 # kernel parameter -g
1 # kernel parameter -s
1 # kernel parameter -r
empty# kernel parameter -u
{len(model.names)} # highest feature index
1 # number of training documents
2 # number of support vectors plus 1
{-model.intercept!r} # threshold b, each following line is a SV (starting with alpha*y)
1 {_numbered(model)} #
"""


RANKLIB = Target(
    "ranklib",
    ranklib,
    arithmetic={DOUBLE: Arithmetic(features=SINGLE)},
    scalings=(FOLD,),
    has_names=False,
    has_intercept=False,
)
LIBLINEAR = Target("liblinear", liblinear, scalings=(FOLD,), has_names=False)
LIBLINEAR_RANKSVM = Target(
    "liblinear-ranksvm", liblinear_ranksvm, scalings=(FOLD,), has_names=False, has_intercept=False
)
SVMRANK = Target(
    "svmrank", svmrank, arithmetic={SINGLE: Arithmetic(SINGLE, SINGLE, DOUBLE)}, scalings=(FOLD,), has_names=False
)
