"""What the sparse samples are like."""

from pathlib import Path
from typing import Any

import numpy as np

from experiments.lee_lin_data import count_pairs
from experiments.lee_lin_sparse import SAMPLES, make
from experiments.pages import Report, Table
from experiments.units import Unit

TITLE = "Lee and Lin, table 8: samples of sparse click-through data"
NEEDS = ()


def units(quick: bool) -> list[Unit]:
    return [Unit(name, statistics, {"name": name, "quick": quick}, timed=False) for name in SAMPLES]


def statistics(data: Path, name: str, quick: bool) -> dict[str, Any]:
    train = make(name, quick)[0]
    shape = {"rows": len(train), "features": train.n_features, "stored a row": train.X.nnz / len(train)}
    return shape | {"levels": np.unique(train.y).size, "pairs": count_pairs(train)}


def report(found: dict[str, Any]) -> Report:
    rows = []
    for name, ours in found.items():
        one = SAMPLES[name]
        paper = dict(zip(ours, (one.rows, one.features, one.stored, one.levels, one.pairs), strict=True))
        rows += [{"data": name, "of": "paper"} | paper, {"data": name, "of": "here"} | ours]
    formats = {"rows": ",", "features": ",", "pairs": ",", "stored a row": ".1f"}
    return Report(
        claim="The paper samples two click-through sets of millions of rows down to what random forests can do.",
        rows=rows,
        tables=[Table("Training sets. Both are synthetic, of the samples' shape.", rows, formats)],
        why="the data are synthetic: of every strip of columns each row has one entry, so the number stored is whole.",
    )
