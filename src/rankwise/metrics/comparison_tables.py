"""A Comparison as two tables: the means of all rankers with marks, then every difference with interval and p."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankwise.foundation.texts import Rows, counted, latex_table, latex_text, markdown_table, table, visible

if TYPE_CHECKING:
    from rankwise.metrics.comparison import Comparison, Contrast

LEAST_SHOWN = 0.0001


@dataclass(frozen=True)
class Style:
    """How a text, the best mean of a column, a mark behind a mean and a number are written."""

    text: Callable[[str], str] = str
    best: Callable[[str], str] = str
    mark: Callable[[str], str] = lambda mark: mark or " "  # so that the digits stand below each other
    number: Callable[[str], str] = str


MARKDOWN = Style(best=lambda text: f"**{text}**", mark=lambda mark: mark and f"<sup>{mark}</sup>")
LATEX = Style(
    text=latex_text,
    best=lambda text: rf"\textbf{{{text}}}",
    mark=lambda mark: mark and f"$^{{{mark}}}$",
    number=lambda text: f"${text}$",
)


def plain(found: "Comparison") -> str:
    tables = [table(*make(found, Style())) for make in (_means, _differences)]
    return "\n\n".join([_title(found), *tables, _legend(found)])


def markdown(found: "Comparison") -> str:
    tables = [markdown_table(*make(found, MARKDOWN)) for make in (_means, _differences)]
    return "\n\n".join([_title(found), *tables, _legend(found)])


def latex(found: "Comparison") -> str:
    remarks = "\n".join(f"% {line}" for line in f"{_title(found)}\n{_legend(found)}".splitlines())
    return "\n\n".join([remarks, *(latex_table(*make(found, LATEX)) for make in (_means, _differences))])


def _means(found: "Comparison", style: Style) -> tuple[Rows, list[str]]:
    """A row a ranker, a column a measure."""
    by_place = {(one.ranker, one.measure): one for one in found.contrasts}
    tops = {m: max(by_place[name, m].mean for name in found.rankers) for m in found.measures}

    def cell(one: "Contrast") -> str:
        mean = f"{one.mean:.4f}"
        return (style.best(mean) if one.mean == tops[one.measure] else mean) + style.mark(one.mark)

    rows = [[style.text(name), *(cell(by_place[name, m]) for m in found.measures)] for name in found.rankers]
    return rows, ["ranker", *(style.text(measure) + style.mark("") for measure in found.measures)]


def _differences(found: "Comparison", style: Style) -> tuple[Rows, list[str]]:
    """A row for each measure and each ranker but the baseline."""
    percent = style.text(f"{100 * found.procedure.confidence:g} %")
    header = [style.text(f"against {found.baseline}"), "measure", "difference", f"{percent} from", "to"]
    header += ["p", "p (Holm)", "win/tie/loss"]
    rows = []
    for one in found.contrasts:
        if one.win_tie_loss is not None:
            numbers = [_signed(x) for x in (one.difference, *one.difference_interval)]
            numbers += [_chance(one.p_value), _chance(one.p_adjusted)]
            counts = "/".join(map(str, one.win_tie_loss))
            rows.append([style.text(one.ranker), style.text(one.measure), *map(style.number, numbers), counts])
    return rows, header


def _title(found: "Comparison") -> str:
    return f"{counted(found.evaluations[found.baseline].query_ids.size, 'queries')}, baseline {visible(found.baseline)}"


def _legend(found: "Comparison") -> str:
    procedure = found.procedure
    test = "the paired randomisation test" if procedure.test == "randomization" else "the paired t test"
    others = len(found.rankers) - 1
    holm = f", corrected by Holm for {others} comparisons" if others > 1 else ""
    return (
        f"+ better, - worse than {visible(found.baseline)}: p < {procedure.alpha:g} by {test}{holm}.\n"
        f"Intervals by the bootstrap over queries, {procedure.resamples:,} resamples."
    )


def _signed(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:+.4f}"


def _chance(p: float) -> str:
    if math.isnan(p):
        return "-"
    return f"{p:.4f}" if p >= LEAST_SHOWN else f"<{LEAST_SHOWN:.4f}"
