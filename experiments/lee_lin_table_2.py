"""What the data sets are like, the synthetic ones beside the originals."""

from pathlib import Path
from typing import Any

import numpy as np

from experiments.lee_lin_data import ORIGINALS, REAL, SYNTHETIC, chosen, count_pairs, load
from experiments.pages import Report, Table
from experiments.units import Unit

TITLE = "Lee and Lin, table 2: the training sets"
NEEDS = tuple(name.lower() for name in REAL)


def units(quick: bool) -> list[Unit]:
    return [Unit(name, statistics, {"name": name, "quick": quick}, timed=False) for name in chosen(ORIGINALS, quick)]


def statistics(data: Path, name: str, quick: bool) -> dict[str, Any]:
    train = load(data, name, quick)[0]
    queries, sizes = np.unique(train.qid, return_counts=True)
    levels = np.array([np.unique(train.y[train.qid == query]).size for query in queries])
    return {
        "rows": len(train),
        "features": train.n_features,
        "levels": np.unique(train.y).size,
        "queries": queries.size,
        "pairs": count_pairs(train),
        "levels/documents": float(np.mean(levels / sizes)),
    }


PAPER_RATIO = dict(zip(ORIGINALS, (0.0546, 0.1697, 0.0492, 0.2228, 0.1560, 1.0, 1.0), strict=True))


def report(found: dict[str, Any]) -> Report:
    rows: list[dict[str, Any]] = []
    for name, ours in found.items():
        original = ORIGINALS[name]
        paper = {key: getattr(original, key) for key in ("rows", "features", "levels", "queries", "pairs")}
        paper["pairs/row"], ours["pairs/row"] = original.pairs / original.rows, ours["pairs"] / ours["rows"]
        paper["levels/documents"] = PAPER_RATIO[name]
        rows += [{"data": name, "of": "paper"} | paper, {"data": name, "of": "here"} | ours]
    formats = {"pairs/row": ".1f", "levels/documents": ".4f"} | dict.fromkeys(("rows", "pairs"), ",")
    return Report(
        claim="The paper trains on fold 1 of LETOR 4.0 and MSLR and on both sets of Yahoo's challenge. " + SYNTHETIC,
        rows=rows,
        tables=[Table("The last column is the mean over queries of levels by documents.", rows, formats)],
        why="MQ2007 and MQ2008 are the paper's own. The synthetic sets follow its documents per query, features and "
        "levels; they have fewer queries, so that everything runs in minutes.",
    )
