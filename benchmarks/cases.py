"""What is measured: each name of `python -m benchmarks` with its data, its problem and its solvers.

A `Fit` is data x loss x C, given to every solver; `goal` is the relative gap at which their times are compared (None:
they have no optimum in common, or finding it would take too long). A `Measure` is a function that yields rows.
`small` takes the place of the data under --quick.
"""

from dataclasses import dataclass

from benchmarks.datasets import Dataset
from benchmarks.datasets.cadata import Cadata
from benchmarks.datasets.letor import Letor
from benchmarks.datasets.synthetic import MSLR_QUERIES, Clicks, Distinct, Plain, Scaled, Sparse, SparseAuc, WebSearch


@dataclass(frozen=True)
class Fit:
    name: str
    data: Dataset
    solvers: tuple[str, ...]
    loss: str | None = "squared_hinge"
    C: float = 1.0
    goal: float | None = 1e-6
    small: Dataset | None = None

    @property
    def problem(self) -> str:
        return "" if self.loss is None else f", {self.loss.replace('_', ' ')}, C = {self.C:g}"


@dataclass(frozen=True)
class Measure:
    name: str
    function: str
    data: Dataset | None = None
    small: Dataset | None = None
    shrinks: bool = False  # whether --quick makes it smaller in a way that `small` does not show
    has_peer: bool = False  # whether it takes the program `liblinear` too, to compare with


SLOW = (
    "distinct-20k",
    "cadata",
    "mslr-tenth",
    "clicks",
    "landmarks",
    "sparse-50k",
    "words-100k",
)  # left out of --quick unless named
LISTED = ("linearsvc", "liblinear-pairs")
ONE_QUERY = ("ranksvm", "survival", "liblinear")
PEERS = (*LISTED, "liblinear", "xgboost", "lightgbm")
WEB, TENTH, HUNDREDTH = WebSearch(), WebSearch(MSLR_QUERIES // 10), WebSearch(MSLR_QUERIES // 100)
MQ2007, MQ2008, TWO_LEVELS = Letor("mq2007"), Letor("mq2008"), Letor("mq2008", two_levels=True)
SPARSE, LESS_SPARSE = SparseAuc(), SparseAuc(50_000)
SMALL, WIDE, WIDER = Plain(9_000, 40), Sparse(20_000, 30_000, 45, 100), Sparse(50_000, 50_000, 50, 100, n_levels=4)
FEWEST_WORDS, FEW_WORDS, WORDS = (
    Sparse(n, d, 60, 50, words=True) for n, d in ((800, 800), (8_000, 8_000), (100_000, 50_000))
)

BENCHMARKS: dict[str, Fit | Measure] = {
    one.name: one
    for one in (
        Measure("start", "start:start", MQ2008),
        Fit("mq2008", MQ2008, ("ranksvm", *PEERS)),
        Fit("mq2008-large-C", MQ2008, ("ranksvm", "liblinear"), C=100.0, goal=1e-10),
        Fit("mq2007", MQ2007, ("ranksvm", *PEERS)),
        Fit("mq2008-hinge", MQ2008, ("ranksvm", *LISTED), loss="hinge", goal=1e-5),
        Fit("mq2007-hinge", MQ2007, ("ranksvm", *LISTED), loss="hinge", goal=1e-5),
        Fit("two-levels-hinge", TWO_LEVELS, ("ranksvm", *LISTED, "dlib"), loss="hinge", goal=1e-3),
        Fit("ohsumed", Letor("ohsumed"), ("ranksvm", "liblinear"), C=1e-4),
        Fit("small", SMALL, ("ranksvm", "liblinear"), goal=1e-10),
        # LinearSVC's gap at tol 1e-2
        Fit("small-hinge", SMALL, ("ranksvm", *LISTED), loss="hinge", goal=3e-6),
        Fit("sparse-20k", WIDE, ("ranksvm", "liblinear"), C=0.3, goal=1e-2, small=Sparse(2_000, 3_000, 45, 100)),
        Fit("sparse-50k", WIDER, ("ranksvm", "liblinear"), goal=5e-6, small=Sparse(5_000, 5_000, 50, 100, n_levels=4)),
        Fit("words-8k", FEW_WORDS, ("ranksvm", "liblinear"), C=0.1, goal=1e-3, small=FEWEST_WORDS),
        Fit("words-100k", WORDS, ("ranksvm", "liblinear"), C=0.1, goal=1e-3, small=FEWEST_WORDS),
        Fit("path", MQ2007, ("ranksvm", "c-path", "c-path-cold"), goal=None),
        Fit("cadata", Cadata(), ONE_QUERY, C=1e-5),
        Fit("distinct-20k", Distinct(20_000), ONE_QUERY, C=1e-5, small=Distinct(5_000)),
        Fit("distinct", Distinct(100_000), ONE_QUERY, C=1e-5, goal=1e-8, small=Distinct(10_000)),
        Measure("million", "products:million", shrinks=True),
        Fit("mslr-tenth", TENTH, ("ranksvm", *PEERS), C=8.0, small=HUNDREDTH),
        Fit("mslr", WEB, ("ranksvm",), C=8.0, small=HUNDREDTH),
        Measure("threads", "threads:threads", WEB, HUNDREDTH),
        Measure("bandwidth", "products:bandwidth", WEB, TENTH),
        Fit("sparse-auc", SPARSE, ("ranksvm", "liblinear"), C=1e-8, small=LESS_SPARSE),
        Measure("sparse-products", "products:sparse_products", SPARSE, LESS_SPARSE),
        Fit("clicks", Clicks(), ("ranksvm",), C=1e-11, goal=None, small=Clicks(100_000)),
        Fit("rankrls", MQ2007, ("rankrls", "rankrls-cv", "rlscore"), loss=None, goal=None),
        Fit("kernels", Scaled(50), ("kernel-ranksvm",), loss=None, goal=None, small=Scaled(10)),
        Fit("landmarks", Scaled(1_000), ("kernel-nystroem",), loss=None, goal=None, small=Scaled(30)),
        Measure("loaders", "text:loaders", shrinks=True),
        Measure("command-line", "text:command_line", shrinks=True),
        Measure("train-text", "commands:train_text", shrinks=True, has_peer=True),
        Measure("predict", "commands:predict", shrinks=True),
        Measure("click-training", "clicks:click_training", shrinks=True),
        Measure("selection", "selection:selection", shrinks=True),
        Measure("evaluation", "evaluation:evaluation", shrinks=True),
        Measure("growth", "growth:growth", shrinks=True),
        Measure("stopping", "stopping:stopping", MQ2008),
        Measure("penalties", "penalties:penalties", MQ2008, shrinks=True),
        Measure("serve", "serving:serving", shrinks=True),
    )
}
