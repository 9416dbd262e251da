"""compare: several rankers on the same queries, each against a baseline, with tests, intervals and tables.

The p values of one measure are corrected by Holm for the number of rankers held against the baseline; measures are
separate questions and are not corrected for each other.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rankwise.foundation.arrays import Array, Floats
from rankwise.metrics.evaluation import Evaluation, Measures, evaluate
from rankwise.metrics.measures import parse_all
from rankwise.metrics.significance import bootstrap_interval, holm, paired_t_test, randomization_test, win_tie_loss

TESTS = ("randomization", "t")


@dataclass(frozen=True)
class Procedure:
    """How to judge: the test, the level below which p is significant, and what is drawn at random."""

    test: str = "randomization"
    alpha: float = 0.05
    confidence: float = 0.95
    sign_flips: int = 100_000
    resamples: int = 10_000
    random_state: int = 0

    def __post_init__(self) -> None:
        if self.test not in TESTS:
            raise ValueError(f"test is {self.test!r}: there are {', '.join(map(repr, TESTS))}")
        for name in ("alpha", "confidence"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} must lie between 0 and 1, got {getattr(self, name)!r}")
        for name in ("sign_flips", "resamples"):
            if getattr(self, name) < 100:
                raise ValueError(f"{name} must be at least 100, got {getattr(self, name)!r}")

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
    """A ranker on one measure: its mean, and what sets it apart from the baseline (NaN for the baseline itself)."""

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
class Comparison:
    """What `compare` found; prints as a table.

    baseline     the ranker that the others are held against
    contrasts    one `Contrast` for each measure and ranker, measure after measure
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
        """Columns of equal length: query, and `RANKER MEASURE` for each; NaN where a query does not count."""
        columns = {"query": self.evaluations[self.baseline].query_ids}
        for measure in self.measures:
            columns |= {f"{name} {measure}": one.per_query[measure] for name, one in self.evaluations.items()}
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and texts, as JSON has them: NaN becomes None."""
        return {
            "baseline": self.baseline,
            "queries": int(self.evaluations[self.baseline].query_ids.size),
            "procedure": dict(vars(self.procedure)),
            "contrasts": [{key: _plain(value) for key, value in vars(one).items()} for one in self.contrasts],
        }

    def __repr__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        from rankwise.metrics.comparison_tables import plain

        return plain(self)

    def to_markdown(self) -> str:
        from rankwise.metrics.comparison_tables import markdown

        return markdown(self)

    def to_latex(self) -> str:
        """For the booktabs package."""
        from rankwise.metrics.comparison_tables import latex

        return latex(self)


def compare(
    rankers: Mapping[str, Any],
    y: Any = None,
    qid: Any = None,
    measures: Measures = ("ndcg@10",),
    *,
    baseline: str | None = None,
    procedure: Procedure | None = None,
) -> Comparison:
    """Hold rankers against a baseline, the first one unless another is named.

    rankers  name -> scores of the documents with labels `y` and query ids `qid`; or, without y, name -> Evaluation,
             all of the same measures and queries
    """
    if len(rankers) < 2:
        raise ValueError(f"rankers holds {len(rankers)}: a comparison takes two or more")
    first = next(iter(rankers)) if baseline is None else baseline
    if first not in rankers:
        raise ValueError(f"baseline is {baseline!r}, which is none of the rankers {', '.join(map(repr, rankers))}")
    if y is not None:
        asked = parse_all(measures)
        found = {name: evaluate(y, scores, qid, asked) for name, scores in rankers.items()}
    else:
        found = _aligned(rankers, first)
    chosen = Procedure() if procedure is None else procedure
    contrasts = [one for measure in found[first] for one in _contrasts(measure, found, first, chosen)]
    return Comparison(first, contrasts, found, chosen)


def _contrasts(measure: str, found: dict[str, Evaluation], baseline: str, procedure: Procedure) -> list[Contrast]:
    names = list(found)
    values = np.column_stack([one.per_query[measure] for one in found.values()])
    reference = names.index(baseline)
    weights = found[baseline].weights.get(measure)
    differences = values - values[:, [reference]]
    both = np.hstack((values, differences))
    loads = np.ones(both.shape) if weights is None else np.repeat(weights[:, None], both.shape[1], axis=1)
    low, high = procedure.intervals(both, loads)
    others = [i for i in range(len(names)) if i != reference]
    p_values = {i: procedure.p_value(differences[:, i], weights) for i in others}
    adjusted = dict(zip(others, holm(list(p_values.values())), strict=True))
    contrasts = []
    for i, name in enumerate(names):
        counted = int(np.count_nonzero(~np.isnan(values[:, i])))
        one = Contrast(name, measure, found[name].means[measure], (float(low[i]), float(high[i])), counted)
        if i != reference:
            d, ends = differences[:, i], (float(low[len(names) + i]), float(high[len(names) + i]))
            shared = ~np.isnan(d)
            mean = float(np.average(d[shared], weights=loads[shared, i])) if shared.any() else math.nan
            mark = ("+" if mean > 0 else "-") if adjusted[i] < procedure.alpha else ""
            one = replace(one, difference=mean, difference_interval=ends, mark=mark, win_tie_loss=win_tie_loss(d))
            one = replace(one, p_value=p_values[i], p_adjusted=float(adjusted[i]))
        contrasts.append(one)
    return contrasts


def _aligned(rankers: Mapping[str, Any], baseline: str) -> dict[str, Evaluation]:
    """The evaluations, their queries in the baseline's order."""
    reference = rankers[baseline]
    for name, one in rankers.items():
        if not isinstance(one, Evaluation):
            raise ValueError(f"{name!r} is no Evaluation: give the labels y and query ids qid with scores")
        if set(one) != set(reference):
            raise ValueError(f"{name!r} was evaluated by {', '.join(one)}, {baseline!r} by {', '.join(reference)}")
    return {name: _in_order(one, reference.query_ids, name, baseline) for name, one in rankers.items()}


def _in_order(found: Evaluation, query_ids: Array, name: str, baseline: str) -> Evaluation:
    place = {query: i for i, query in enumerate(found.query_ids.tolist())}
    wanted = query_ids.tolist()
    odd = set(place) ^ set(wanted)
    if odd:
        where, other = (name, baseline) if min(odd, key=str) in place else (baseline, name)
        raise ValueError(f"query {min(odd, key=str)!r} was evaluated for {where!r}, but not for {other!r}")
    order = np.array([place[query] for query in wanted])
    per_query = {measure: values[order] for measure, values in found.per_query.items()}
    weights = {measure: values[order] for measure, values in found.weights.items()}
    return Evaluation(found.means, per_query, query_ids, found.n_documents, weights)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and math.isnan(value) else value
