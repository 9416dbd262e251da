"""The result of `compare`: the contrasts of several rankers with a baseline, and their tables."""

import json
import math
from dataclasses import dataclass, field

import numpy as np

from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.names import one_of
from rankwise.foundation.strict_json import Json
from rankwise.foundation.tabular import Columns, Table, Tabular, plain_list
from rankwise.foundation.texts import LATEX, MARKDOWN, PLAIN, Markup, Rows, counted, decimals
from rankwise.metrics.evaluation import Evaluation
from rankwise.metrics.measures import Measure, OfQuery
from rankwise.metrics.significance import (
    ROUNDING,
    bootstrap_interval,
    paired_t_test,
    randomization_interval,
    randomization_test,
    t_interval,
)

TESTS = ("randomization", "t")
LEAST_SHOWN = 0.0001  # p values below this are shown as <0.0001
SIGNS = 200_000_000  # drawn per test at most, unless that were fewer than LEAST_FLIPS choices of signs
LEAST_FLIPS = 10_000


@dataclass(frozen=True)
class Procedure:
    """How differences are tested: the test, the significance level, and the random numbers.

    The interval of a difference is what the test does not reject at the level alpha, so that the two agree. Means have
    intervals by the bootstrap. `sign_flips` choices of signs are drawn; with more than 2,000 queries fewer, so that the
    time does not grow (20,000 for 10,000 queries), but not fewer than 10,000.

    Examples
    --------
    >>> from rankwise import compare
    >>> from rankwise.metrics import Procedure
    >>> y, qid = [1, 0, 1, 0], ["tea", "tea", "mug", "mug"]
    >>> found = compare({"old": [0, 1, 1, 0], "new": [1, 0, 1, 0]}, y, qid, "map", procedure=Procedure(test="t"))
    >>> found.procedure.test
    't'
    """

    test: str = "randomization"
    alpha: float = 0.05
    sign_flips: int = 100_000
    resamples: int = 10_000
    random_state: int = 0

    def __post_init__(self) -> None:
        one_of("test", self.test, TESTS)
        if not 0 < self.alpha < 1:
            raise ValueError(f"alpha must be between 0 and 1; got {self.alpha!r}")
        for name in ("sign_flips", "resamples"):
            if getattr(self, name) < 100:
                raise ValueError(f"{name} must be at least 100; got {getattr(self, name)!r}")

    @property
    def confidence(self) -> float:
        """Of all intervals: 1 - alpha."""
        return 1.0 - self.alpha

    def p_value(self, differences: Floats, weights: Floats | None) -> float:
        if self.test == "t":
            return paired_t_test(differences, weights)
        return randomization_test(differences, weights, self._draws(differences), self.random_state).p_value

    def interval(self, differences: Floats, weights: Floats | None) -> tuple[float, float]:
        """Of the mean difference: what the test does not reject."""
        if self.test == "t":
            return t_interval(differences, weights, self.confidence)
        draws = self._draws(differences)
        return randomization_interval(differences, weights, self.confidence, draws, self.random_state)

    def _draws(self, differences: Floats) -> int:
        return min(self.sign_flips, max(LEAST_FLIPS, SIGNS // max(differences.size, 1)))

    def least_p(self, queries: int) -> float:
        """The smallest p that the test can find with so many queries."""
        if self.test == "t":
            return 1.0 if queries < 2 else 0.0
        return 0.5 ** max(queries - 1, 0)

    def intervals(self, values: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Of the mean of each column, by the bootstrap over queries."""
        ends: tuple[Floats, Floats] = bootstrap_interval(
            values, weights, self.confidence, self.resamples, self.random_state
        )
        return ends


@dataclass(frozen=True)
class Contrast:
    """One ranker and one measure: its mean, and its difference from the baseline (NaN for the baseline itself).

    Examples
    --------
    >>> from rankwise import compare
    >>> y, qid = [1, 0, 1, 0], ["tea", "tea", "mug", "mug"]
    >>> found = compare({"old": [0, 1, 1, 0], "new": [1, 0, 1, 0]}, y, qid, "map")
    >>> contrast = found.contrasts[1]
    >>> contrast.ranker, contrast.difference, contrast.wins
    ('new', 0.25, 1)
    """

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
    mark: str = ""  # + significantly better than the baseline, - significantly worse: by p_adjusted and the interval

    @property
    def excludes_zero(self) -> bool:
        """Whether 0 is outside the interval of the difference, which is not corrected for several rankers."""
        low, high = self.difference_interval
        return low > 0 or high < 0

    @property
    def wins(self) -> int:
        """The number of queries in which the ranker is better than the baseline."""
        return (self.win_tie_loss or (0, 0, 0))[0]

    @property
    def ties(self) -> int:
        return (self.win_tie_loss or (0, 0, 0))[1]

    @property
    def losses(self) -> int:
        return (self.win_tie_loss or (0, 0, 0))[2]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Tabular):
    """The result of `compare`; prints as tables.

    baseline     the ranker that the others are compared with
    contrasts    one `Contrast` per measure and ranker, measure after measure
    evaluations  ranker -> its Evaluation, the queries in the same order in all of them
    procedure    how the differences are tested
    n_worst      how many of each ranker's worst queries are shown

    Examples
    --------
    >>> from rankwise import RankSVM, compare, load_sample
    >>> train, test = load_sample("train"), load_sample("test")
    >>> found = compare({"RankSVM": RankSVM().fit(train).predict(test)}, test, measures="ndcg@10", baseline="clicks")
    >>> found.rankers, found.measures
    (['clicks', 'RankSVM'], ['ndcg@10'])
    >>> found.worst(1, "ndcg@10")["query"]
    array([96])
    """

    baseline: str
    contrasts: list[Contrast]
    evaluations: dict[str, Evaluation] = field(repr=False)
    procedure: Procedure
    n_worst: int = 5

    @property
    def rankers(self) -> list[str]:
        return list(self.evaluations)

    @property
    def others(self) -> list[str]:
        """The rankers without the baseline."""
        return [name for name in self.evaluations if name != self.baseline]

    @property
    def measures(self) -> list[str]:
        return list(self.evaluations[self.baseline])

    @property
    def query_ids(self) -> Array:
        return self.evaluations[self.baseline].query_ids

    def differences(self, ranker: str, measure: str | Measure | OfQuery | None = None) -> Floats:
        """The ranker's value minus the baseline's for each query; `measure`: by default the first one."""
        key = self._key(measure)
        return self.evaluations[ranker].per_query[key] - self.evaluations[self.baseline].per_query[key]

    def per_query(self) -> Table:
        """Columns: query, and for each measure `RANKER MEASURE` and `RANKER MEASURE difference` from the baseline.

        NaN if a query does not count. The first query is the one in which a ranker loses most by the first measure.
        """
        columns = {"query": self.query_ids}
        for measure in self.measures:
            for name, one in self.evaluations.items():
                columns[f"{name} {measure}"] = one.per_query[measure]
                if name != self.baseline:
                    columns[f"{name} {measure} difference"] = self.differences(name, measure)
        lost = [self.differences(name) for name in self.others] or [np.zeros(self.query_ids.size)]
        order = np.argsort(np.fmin.reduce(lost), kind="stable")
        return Table({name: column[order] for name, column in columns.items()})

    def worst(self, n: int | None = None, measure: str | Measure | OfQuery | None = None) -> Table:
        """For each ranker the n queries that lose most against the baseline, the worst first.

        Columns: ranker, query, before (the baseline's value), after (the ranker's) and difference. Queries that lose
        nothing are left out. `n`: by default n_worst; `measure`: by default the first one.
        """
        most = self.n_worst if n is None else n
        if most < 0:
            raise ValueError(f"n must be 0 or more; got {n!r}")
        key = self._key(measure)
        parts: list[tuple[Array, ...]] = [(np.zeros(0, object), self.query_ids[:0], *3 * [np.zeros(0)])]
        for name in self.others:
            d = self.differences(name, key)
            rows = np.argsort(d, kind="stable")[: min(most, np.count_nonzero(d < -ROUNDING))]
            before, after = (self.evaluations[one].per_query[key] for one in (self.baseline, name))
            ranker = np.full(rows.size, name, object)
            parts.append((ranker, self.query_ids[rows], before[rows], after[rows], d[rows]))
        titles = ("ranker", "query", "before", "after", "difference")
        return Table(dict(zip(titles, map(np.concatenate, zip(*parts, strict=True)), strict=True)))

    def _key(self, measure: str | Measure | OfQuery | None) -> str:
        return self.measures[0] if measure is None else self.evaluations[self.baseline].key(measure)

    def to_dict(self) -> dict[str, Json]:
        """Numbers, lists and strings, ready for JSON; NaN becomes None."""
        worst = {name: plain_list(column) for name, column in self.worst().items()}
        return {
            "baseline": self.baseline,
            "queries": int(self.query_ids.size),
            "procedure": {**vars(self.procedure), "confidence": self.procedure.confidence},
            "contrasts": [{key: _plain(value) for key, value in vars(one).items()} for one in self.contrasts],
            "worst": {
                "measure": self.measures[0],
                "queries": [dict(zip(worst, row, strict=True)) for row in zip(*worst.values(), strict=True)],
            },
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1)

    def table_columns(self) -> Columns:
        """One row per measure and ranker."""
        columns: dict[str, list[object]] = {}
        for one in self.contrasts:
            counts = dict.fromkeys(("wins", "ties", "losses"))
            for name, value in vars(one).items():
                parts = {name: value}
                if "interval" in name:
                    parts = {f"{name}_from": value[0], f"{name}_to": value[1]}
                elif name == "win_tie_loss":
                    parts = counts if value is None else dict(zip(counts, value, strict=True))
                for key, part in parts.items():
                    columns.setdefault(key, []).append(part)
        return columns

    def summary(self) -> str:
        return f"{counted(self.query_ids.size, 'queries')}, baseline {self.baseline}"

    def __repr__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        return _written(self, PLAIN)

    def to_markdown(self) -> str:
        return _written(self, MARKDOWN)

    def to_latex(self) -> str:
        """LaTeX tables for the booktabs package."""
        return _written(self, LATEX)


def _written(comparison: Comparison, markup: Markup) -> str:
    makers = (_means, _differences, _losses) if comparison.n_worst else (_means, _differences)
    tables = [markup.table(*made) for make in makers if (made := make(comparison, markup))[0]]
    legend = "\n".join(map(markup.remark, _legend(comparison)))
    return "\n\n".join(part for part in (markup.remark(comparison.summary()), *tables, legend) if part)


def _means(comparison: Comparison, markup: Markup) -> tuple[Rows, list[str]]:
    """One row per ranker, one column per measure."""
    by_place = {(one.ranker, one.measure): one for one in comparison.contrasts}
    tops = {m: max(by_place[name, m].mean for name in comparison.rankers) for m in comparison.measures}

    def cell(one: Contrast) -> str:
        mean = decimals(one.mean)
        return (markup.best(mean) if one.mean == tops[one.measure] else mean) + markup.mark(one.mark)

    rows = [[markup.text(name), *(cell(by_place[name, m]) for m in comparison.measures)] for name in comparison.rankers]
    return rows, ["ranker", *(markup.text(measure) + markup.mark("") for measure in comparison.measures)]


def _differences(comparison: Comparison, markup: Markup) -> tuple[Rows, list[str]]:
    """One row per measure and ranker, without the baseline."""
    percent = markup.text(f"{100 * comparison.procedure.confidence:g} %")
    header = [markup.text(f"against {comparison.baseline}"), "measure", "difference", f"{percent} from", "to"]
    header += ["p", "p (Holm)", "win/tie/loss"]
    rows = []
    for one in comparison.contrasts:
        if one.win_tie_loss is not None:
            numbers = [decimals(x, "+") for x in (one.difference, *one.difference_interval)]
            numbers += [_chance(one.p_value), _chance(one.p_adjusted)]
            counts = "/".join(map(str, one.win_tie_loss))
            rows.append([markup.text(one.ranker), markup.text(one.measure), *map(markup.number, numbers), counts])
    return rows, header


def _losses(comparison: Comparison, markup: Markup) -> tuple[Rows, list[str]]:
    """The worst queries of each ranker."""
    rows = [
        [
            markup.text(ranker),
            markup.text(str(query)),
            *map(markup.number, (decimals(before), decimals(after), decimals(difference, "+"))),
        ]
        for ranker, query, before, after, difference in zip(*map(plain_list, comparison.worst().values()), strict=True)
    ]
    return rows, [markup.text(f"worst by {comparison.measures[0]}"), "query", "before", "after", "difference"]


def _legend(comparison: Comparison) -> list[str]:
    procedure = comparison.procedure
    test = "the paired randomisation test" if procedure.test == "randomization" else "the paired t test"
    others = len(comparison.others)
    holm = f", corrected by Holm for {others} comparisons" if others > 1 else ""
    alone = ", without the correction," if others > 1 else ""
    tested = [
        f"+ better, - worse than {comparison.baseline}: p < {procedure.alpha:g} by {test}{holm}.",
        f"{100 * procedure.confidence:g} % intervals: the differences that this test{alone} does not reject; "
        "with a mark, 0 is outside.",
    ]
    lines = tested if others else []
    for one in (one for one in comparison.measures if one.startswith("judged@")):
        shares = (f"{name} {100 - 100 * it.means[one]:.1f} %" for name, it in comparison.evaluations.items())
        lines.append(f"Not judged among the first {one.removeprefix('judged@')}: {', '.join(shares)}.")
    if others and comparison.n_worst and not comparison.worst()["ranker"].size:
        lines.append(f"By {comparison.measures[0]} no query is worse than with {comparison.baseline}.")
    return lines


def _chance(p: float) -> str:
    if math.isnan(p):
        return "-"
    return f"{p:.4f}" if p >= LEAST_SHOWN else f"<{LEAST_SHOWN:.4f}"


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and math.isnan(value) else value
