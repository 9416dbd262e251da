"""Linear RankSVM methods where every document of a query has a level of its own."""

from typing import Any

from experiments.lee_lin_data import LISTS, PAIRS, chosen
from experiments.lee_lin_methods import GAPS, Case, draw_measure, draw_values, rows_of, times
from experiments.lee_lin_paths import times_caption
from experiments.pages import Report, Table
from experiments.pictures import legend_below, panels
from experiments.units import Unit

TITLE = "Lee and Lin, figure 6: methods for linear RankSVM, many levels"
NEEDS = ()
CASES = tuple(Case(*one) for one in zip(LISTS, (-12, -14), (5, -14), strict=True))  # of the paper's table 3


def units(quick: bool) -> list[Unit]:
    cases = [case for case in CASES if chosen([case.name], quick)]
    how = {"seconds": 0.5 if quick else 8.0, "quick": quick, "measured": True}
    return [one for case in cases for one in case.units(**how)]


def report(found: dict[str, Any]) -> Report:
    cases = [case for case in CASES if case.paths(found)]
    figure, axes = panels(len(cases), 2)
    for case, row in zip(cases, axes, strict=True):
        draw_values(row[0], case, found)
        draw_measure(row[1], case, found, PAIRS)
        row[0].set_title(f"{case.name}: C = 2^{case.l2:g} (L2), 2^{case.l1:g} (L1)")
    legend_below(figure, axes, ncols=3)
    return Report(
        claim="The paper: with many levels per query, PRSVM+ is much slower than Tree-TRON.",
        rows=[row for case in cases for row in rows_of(case, found)],
        tables=[Table(times_caption(GAPS), [row for case in cases for row in times(case, found)])],
        why="the paper gives curves only, of the real -list sets; these are synthetic, an eighth of their queries, C "
        "scaled to the number of pairs.",
        picture=figure,
    )
