"""Gradient boosting and random forests with few trees."""

from typing import Any

from experiments.lee_lin_data import ORIGINALS, REAL, SYNTHETIC
from experiments.lee_lin_trees import BOOSTING, FOREST, FORMATS, rows_of
from experiments.lee_lin_trees import units as trees
from experiments.pages import Report, Table
from experiments.units import Unit

TITLE = "Lee and Lin, table 6: random forests of 40 trees, GBDT of 100"
NEEDS = tuple(name.lower() for name in REAL)
COUNTS = {name: {FOREST: 40, BOOSTING: 100} for name in ORIGINALS}
PAPER = {
    "MQ2007": ((14.8, 0.6616, 0.4959), (1.4, 0.6978, 0.5182)),
    "MQ2008": ((2.3, 0.8036, 0.4541), (0.4, 0.8283, 0.4706)),
    "MSLR 30k*": ((5102.1, 0.6376, 0.5598), (1339.3, 0.6277, 0.5375)),
    "Yahoo set 1*": ((1672.2, 0.7069, 0.7797), (557.7, 0.6922, 0.7707)),
    "Yahoo set 2*": ((58.7, 0.6876, 0.7629), (11.3, 0.7121, 0.7711)),
    "MQ2007-list*": ((606.0, 0.7878, None), (106.8, 0.7985, None)),
    "MQ2008-list*": ((423.3, 0.8204, None), (59.3, 0.8243, None)),
}


def units(quick: bool) -> list[Unit]:
    return trees(COUNTS, quick)


def report(found: dict[str, Any]) -> Report:
    rows = rows_of(found, COUNTS, PAPER)
    return Report(
        claim="The paper: trees rank well, though not always better than linear RankSVM (table 5), and take far longer "
        "to train; boosting is faster than forests, whose trees grow without limit.",
        rows=rows,
        tables=[Table("Test measures and seconds of training. " + SYNTHETIC, rows, FORMATS)],
        why="other programs (the paper: pGBRT and RT-Rank), splits and random numbers. Seconds here are those of all "
        "cores together, the paper's those of the clock with eight cores. The labels of the synthetic sets come from "
        "the features of a document, its query and noise, nearly linearly: pointwise models learn what tells queries "
        "apart, and trees have little to gain. The two real sets decide.",
    )
