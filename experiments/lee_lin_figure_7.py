"""Linear RankSVM methods at a large, a medium and a small C."""

from typing import Any

import numpy as np

from experiments.lee_lin_data import LISTS, REAL
from experiments.lee_lin_methods import GAPS, Case, draw_values, rows_of, times
from experiments.lee_lin_paths import times_caption
from experiments.pages import Report, Table
from experiments.pictures import legend_below, panels
from experiments.units import Unit

TITLE = "Lee and Lin, figure 7: the same C for all methods"
NEEDS = tuple(name.lower() for name in REAL)
SETS = (*REAL, "Yahoo set 2*", *LISTS)
VALUES = (100.0, 1.0, 1e-4)
CASES = {(name, C): Case(name, float(np.log2(C)), float(np.log2(C))) for name in SETS for C in VALUES}


def units(quick: bool) -> list[Unit]:
    cases = [case for case in CASES.values() if case.name == "MQ2008" or not quick]
    return [one for case in cases for one in case.units(seconds=0.3 if quick else 2.0, quick=quick)]


def report(found: dict[str, Any]) -> Report:
    cases = [case for case in CASES.values() if case.paths(found)]
    names = list(dict.fromkeys(case.name for case in cases))
    figure, axes = panels(len(names), len(VALUES))
    for row, name in zip(axes, names, strict=True):
        for axis, C in zip(row, VALUES, strict=True):
            draw_values(axis, CASES[name, C], found)
            axis.set_title(f"{name}, C = {C:g}")
    legend_below(figure, axes, ncols=4)
    return Report(
        claim="The paper: Tree-TRON is always one of the fastest methods, whatever C.",
        rows=[row for case in cases for row in rows_of(case, found)],
        tables=[Table(times_caption(GAPS), [row for case in cases for row in times(case, found)], {"log2 C": ".3g"})],
        why="the paper gives curves only. C is scaled to the number of pairs on the synthetic sets, and every run ends "
        "after a few seconds.",
        picture=figure,
    )
