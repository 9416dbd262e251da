"""Linear RankSVM methods on data of few levels: function value, pairwise accuracy and NDCG against time."""

from typing import Any

from experiments.lee_lin_data import GRADED, ORIGINALS, PAIRS, REAL, chosen
from experiments.lee_lin_methods import GAPS, Case, draw_measure, draw_values, rows_of, times
from experiments.lee_lin_paths import times_caption
from experiments.pages import Report, Table
from experiments.pictures import legend_below, panels
from experiments.units import Unit

TITLE = "Lee and Lin, figure 5: methods for linear RankSVM, few levels"
NEEDS = tuple(name.lower() for name in REAL)
# The C of the paper's table 3 for pairwise accuracy; where it has none for L1, that for L2.
CASES = tuple(Case(*one) for one in zip(GRADED, (-5, 7, 3, -14, -10), (-1, 8, 3, -14, -7), strict=True))
PAPER = {"MQ2007": (0.7036, 0.5211), "MQ2008": (0.8270, 0.4571)}


def units(quick: bool) -> list[Unit]:
    cases = [case for case in CASES if chosen([case.name], quick)]
    how = {"seconds": 0.5 if quick else 5.0, "quick": quick, "measured": True}
    return [one for case in cases for one in case.units(**how)]


def report(found: dict[str, Any]) -> Report:
    cases = [case for case in CASES if case.paths(found)]
    figure, axes = panels(len(cases), 3)
    for case, row in zip(cases, axes, strict=True):
        pairs, ndcg = PAPER.get(case.name, (None, None))
        draw_values(row[0], case, found)
        draw_measure(row[1], case, found, PAIRS, pairs)
        # The paper's NDCG is at another C, and drawn for orientation only.
        draw_measure(row[2], case, found, str(ORIGINALS[case.name].ndcg), ndcg)
        row[1].set_title(f"{case.name}: C = 2^{case.l2:g} (L2), 2^{case.l1:g} (L1)")
    legend_below(figure, axes, ncols=4)
    return Report(
        claim="The paper: TreeRankSVM converges more slowly than PRSVM+ and Tree-TRON, which are alike where there are "
        "few levels; measures hardly change after the default stop; L1 and L2 loss rank equally well.",
        rows=[row for case in cases for row in rows_of(case, found)],
        tables=[Table(times_caption(GAPS), [row for case in cases for row in times(case, found)])],
        why="the paper gives curves only. Each method is run by this library in the paper's combination of solver and "
        "pair sums; `rankwise` is what it chooses by itself. On synthetic sets C is scaled to the number of pairs.",
        picture=figure,
    )
