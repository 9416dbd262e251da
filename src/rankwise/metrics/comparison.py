"""The result of `compare`: the contrasts of several rankers with a baseline, and their tables."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.names import one_of
from rankwise.foundation.strict_json import Json
from rankwise.foundation.tabular import Columns, Tabular
from rankwise.foundation.texts import Rows, counted, latex_table, latex_text, markdown_table, table, visible
from rankwise.metrics.evaluation import Evaluation
from rankwise.metrics.significance import bootstrap_interval, paired_t_test, randomization_test

TESTS = ("randomization", "t")
LEAST_SHOWN = 0.0001  # p values below this are shown as <0.0001


@dataclass(frozen=True)
class Style:
    """How to write a text, the best mean of a column, a significance mark after a mean, and a number."""

    text: Callable[[str], str] = str
    best: Callable[[str], str] = str
    mark: Callable[[str], str] = lambda mark: mark or " "  # a blank keeps the digits aligned
    number: Callable[[str], str] = str


MARKDOWN = Style(best=lambda text: f"**{text}**", mark=lambda mark: mark and f"<sup>{mark}</sup>")
LATEX = Style(
    text=latex_text,
    best=lambda text: rf"\textbf{{{text}}}",
    mark=lambda mark: mark and f"$^{{{mark}}}$",
    number=lambda text: f"${text}$",
)


@dataclass(frozen=True)
class Procedure:
    """How differences are tested: the test, the significance level, the intervals, and the random numbers."""

    test: str = "randomization"
    alpha: float = 0.05
    confidence: float = 0.95
    sign_flips: int = 100_000
    resamples: int = 10_000
    random_state: int = 0

    def __post_init__(self) -> None:
        one_of("test", self.test, TESTS)
        for name in ("alpha", "confidence"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} must be between 0 and 1; got {getattr(self, name)!r}")
        for name in ("sign_flips", "resamples"):
            if getattr(self, name) < 100:
                raise ValueError(f"{name} must be at least 100; got {getattr(self, name)!r}")

    def p_value(self, differences: Floats, weights: Floats | None) -> float:
        if self.test == "t":
            return paired_t_test(differences, weights)
        return randomization_test(differences, weights, self.sign_flips, self.random_state).p_value

    def intervals(self, values: Floats, weights: Floats) -> tuple[Floats, Floats]:
        ends: tuple[Floats, Floats] = bootstrap_interval(
            values, weights, self.confidence, self.resamples, self.random_state
        )
        return ends


@dataclass(frozen=True)
class Contrast:
    """One ranker and one measure: its mean, and its difference from the baseline (NaN for the baseline itself)."""

    ranker: str
    measure: str
    mean: float
    interval: tuple[float, float]
    queries: int
    difference: float = math.nan
    difference_interval: tuple[float, float] = (math.nan, math.nan)
    p_value: float = math.nan
    p_adjusted: float = math.nan
    win_tie_loss: tuple[int, int, int] | None = None
    mark: str = ""  # + significantly better than the baseline, - significantly worse


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Tabular):
    """The result of `compare`; prints as a table.

    baseline     the ranker that the others are compared with
    contrasts    one `Contrast` per measure and ranker, measure after measure
    evaluations  ranker -> its Evaluation, the queries in the same order in all of them
    """

    baseline: str
    contrasts: list[Contrast]
    evaluations: dict[str, Evaluation] = field(repr=False)
    procedure: Procedure

    @property
    def rankers(self) -> list[str]:
        return list(self.evaluations)

    @property
    def measures(self) -> list[str]:
        return list(self.evaluations[self.baseline])

    def per_query(self) -> dict[str, Array]:
        """Columns of equal length: query, and `RANKER MEASURE` for each; NaN if a query does not count."""
        columns = {"query": self.evaluations[self.baseline].query_ids}
        for measure in self.measures:
            columns |= {f"{name} {measure}": one.per_query[measure] for name, one in self.evaluations.items()}
        return columns

    def to_dict(self) -> dict[str, Json]:
        """Numbers, lists and strings, ready for JSON; NaN becomes None."""
        return {
            "baseline": self.baseline,
            "queries": int(self.evaluations[self.baseline].query_ids.size),
            "procedure": dict(vars(self.procedure)),
            "contrasts": [{key: _plain(value) for key, value in vars(one).items()} for one in self.contrasts],
        }

    def table_columns(self) -> Columns:
        """One row per measure and ranker."""
        columns: dict[str, list[object]] = {}
        for one in self.contrasts:
            for name, value in vars(one).items():
                parts = {f"{name}_from": value[0], f"{name}_to": value[1]} if "interval" in name else {name: value}
                for key, part in parts.items():
                    columns.setdefault(key, []).append(part)
        return columns

    def summary(self) -> str:
        return f"{counted(self.evaluations[self.baseline].query_ids.size, 'queries')}, baseline {self.baseline}"

    def __repr__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        return _written(self, Style(), table)

    def to_markdown(self) -> str:
        return _written(self, MARKDOWN, markdown_table)

    def to_latex(self) -> str:
        """LaTeX tables for the booktabs package."""
        remarks = "\n".join(f"% {line}" for line in f"{_title(self)}\n{_legend(self)}".splitlines())
        return "\n\n".join([remarks, *(latex_table(*make(self, LATEX)) for make in (_means, _differences))])


def _written(comparison: Comparison, style: Style, layout: Callable[[Rows, list[str]], str]) -> str:
    tables = [layout(*make(comparison, style)) for make in (_means, _differences)]
    return "\n\n".join([_title(comparison), *tables, _legend(comparison)])


def _means(comparison: Comparison, style: Style) -> tuple[Rows, list[str]]:
    """One row per ranker, one column per measure."""
    by_place = {(one.ranker, one.measure): one for one in comparison.contrasts}
    tops = {m: max(by_place[name, m].mean for name in comparison.rankers) for m in comparison.measures}

    def cell(one: Contrast) -> str:
        mean = f"{one.mean:.4f}"
        return (style.best(mean) if one.mean == tops[one.measure] else mean) + style.mark(one.mark)

    rows = [[style.text(name), *(cell(by_place[name, m]) for m in comparison.measures)] for name in comparison.rankers]
    return rows, ["ranker", *(style.text(measure) + style.mark("") for measure in comparison.measures)]


def _differences(comparison: Comparison, style: Style) -> tuple[Rows, list[str]]:
    """One row per measure and ranker, without the baseline."""
    percent = style.text(f"{100 * comparison.procedure.confidence:g} %")
    header = [style.text(f"against {comparison.baseline}"), "measure", "difference", f"{percent} from", "to"]
    header += ["p", "p (Holm)", "win/tie/loss"]
    rows = []
    for one in comparison.contrasts:
        if one.win_tie_loss is not None:
            numbers = [_signed(x) for x in (one.difference, *one.difference_interval)]
            numbers += [_chance(one.p_value), _chance(one.p_adjusted)]
            counts = "/".join(map(str, one.win_tie_loss))
            rows.append([style.text(one.ranker), style.text(one.measure), *map(style.number, numbers), counts])
    return rows, header


def _title(comparison: Comparison) -> str:
    return visible(comparison.summary())


def _legend(comparison: Comparison) -> str:
    procedure = comparison.procedure
    test = "the paired randomisation test" if procedure.test == "randomization" else "the paired t test"
    others = len(comparison.rankers) - 1
    holm = f", corrected by Holm for {others} comparisons" if others > 1 else ""
    return (
        f"+ better, - worse than {visible(comparison.baseline)}: p < {procedure.alpha:g} by {test}{holm}.\n"
        f"Intervals by the bootstrap over queries, {procedure.resamples:,} resamples."
    )


def _signed(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:+.4f}"


def _chance(p: float) -> str:
    if math.isnan(p):
        return "-"
    return f"{p:.4f}" if p >= LEAST_SHOWN else f"<{LEAST_SHOWN:.4f}"


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and math.isnan(value) else value
