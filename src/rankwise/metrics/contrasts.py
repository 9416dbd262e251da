"""compare: several rankers on the same queries, each against a baseline, with tests, intervals and tables.

The p values of one measure are corrected by Holm for the number of rankers held against the baseline; measures are
separate questions and are not corrected for each other.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from rankwise.foundation.arrays import Array
from rankwise.metrics.comparison import Comparison, Contrast, Procedure
from rankwise.metrics.defaults import default_measure
from rankwise.metrics.evaluation import Evaluation, Measures, evaluate
from rankwise.metrics.measures import parse_all
from rankwise.metrics.significance import holm, win_tie_loss


def compare(
    rankers: Mapping[str, object],
    y: object = None,
    qid: object = None,
    measures: Measures | None = None,
    *,
    baseline: str | None = None,
    procedure: Procedure | None = None,
) -> Comparison:
    """Hold rankers against a baseline, the first one unless another is named.

    rankers  name -> scores of the documents with labels `y` and query ids `qid`; or, without y, name -> Evaluation,
             all of the same measures and queries
    measures  with y: what to compare by; None: the `default_measure` of y
    """
    if len(rankers) < 2:
        raise ValueError(f"rankers holds {len(rankers)}: a comparison takes two or more")
    first = next(iter(rankers)) if baseline is None else baseline
    if first not in rankers:
        raise ValueError(f"baseline is {baseline!r}, which is none of the rankers {', '.join(map(repr, rankers))}")
    if y is not None:
        chosen_measures = parse_all(default_measure(y) if measures is None else measures)
        found = {name: evaluate(y, scores, qid, chosen_measures) for name, scores in rankers.items()}
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


def _aligned(rankers: Mapping[str, object], baseline: str) -> dict[str, Evaluation]:
    """The evaluations, their queries in the baseline's order."""
    evaluations = {name: one for name, one in rankers.items() if isinstance(one, Evaluation)}
    if others := [name for name in rankers if name not in evaluations]:
        raise ValueError(f"{others[0]!r} is no Evaluation: give the labels y and query ids qid with scores")
    reference = evaluations[baseline]
    for name, one in evaluations.items():
        if set(one) != set(reference):
            raise ValueError(f"{name!r} was evaluated by {', '.join(one)}, {baseline!r} by {', '.join(reference)}")
    return {name: _in_order(one, reference.query_ids, name, baseline) for name, one in evaluations.items()}


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
