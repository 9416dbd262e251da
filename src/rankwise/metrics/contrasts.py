"""compare: several rankers on the same queries, each against a baseline, with tests, intervals and tables.

The p values of one measure are corrected by Holm for the number of rankers compared with the baseline. There is no
correction for several measures, which are separate questions.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from rankwise.data.column_scores import column_scores
from rankwise.data.records import RankingData
from rankwise.foundation.arrays import Array
from rankwise.metrics.comparison import Comparison, Contrast, Procedure
from rankwise.metrics.defaults import default_measure
from rankwise.metrics.evaluation import Evaluation, Measures, evaluate, with_unjudged
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
    unjudged: float | None = None,
    n_worst: int = 5,
) -> Comparison:
    """Compare rankers with a baseline.

    rankers   name -> scores of the documents with labels `y` and query ids `qid`; or, without y, name -> Evaluation,
              all with the same measures and queries
    y         labels, or RankingData, whose labels, query ids and columns are used. A ranker may then be the name of a
              column: "bm25" ranks the largest value first, "-price" or "price:ascending" the smallest
    measures  with y: the measures to compare by; None: the `default_measure` of y
    baseline  the name of a ranker, or of a column of RankingData; None: the first ranker
    unjudged  the label of documents whose label is NaN, as in `evaluate`
    n_worst   how many of each ranker's worst queries are shown

    Examples
    --------
    >>> from rankwise import RankSVM, compare, load_sample
    >>> train, test = load_sample("train"), load_sample("test")
    >>> scores = RankSVM().fit(train).predict(test)
    >>> found = compare({"RankSVM": scores}, test, measures="ndcg@10", baseline="clicks")
    >>> found.contrasts[1].win_tie_loss
    (31, 0, 9)
    >>> found.contrasts[1].mark
    '+'
    """
    if isinstance(y, RankingData):
        rankers = _with_columns(rankers, y, qid, baseline)
        qid, y = y.qid, y.y
    if len(rankers) < 2:
        raise ValueError(f"rankers must hold two or more rankers to compare; got {len(rankers)}")
    first = next(iter(rankers)) if baseline is None else baseline
    if first not in rankers:
        raise ValueError(f"baseline must be one of the rankers {', '.join(map(repr, rankers))}; got {baseline!r}")
    evaluations = _aligned(rankers, first) if y is None else _evaluated(rankers, y, qid, measures, unjudged)
    return contrasted(evaluations, first, Procedure() if procedure is None else procedure, n_worst)


def contrasted(evaluations: dict[str, Evaluation], baseline: str, procedure: Procedure, n_worst: int = 5) -> Comparison:
    """The comparison of evaluations with the same queries in the same order; of one alone, means and intervals."""
    contrasts = [
        one for measure in evaluations[baseline] for one in _contrasts(measure, evaluations, baseline, procedure)
    ]
    return Comparison(baseline, contrasts, evaluations, procedure, n_worst)


def _with_columns(
    rankers: Mapping[str, object], data: RankingData, qid: object, baseline: str | None
) -> dict[str, object]:
    """The rankers with the scores of those that are columns, and with the baseline, if it is a column."""
    if qid is not None:
        raise ValueError("y is RankingData, which has query ids of its own: leave out qid")
    added = {} if baseline is None or baseline in rankers else {baseline: baseline}
    return {
        name: column_scores(data, one, "the data") if isinstance(one, str) else one
        for name, one in {**added, **rankers}.items()
    }


def _evaluated(
    rankers: Mapping[str, object], y: object, qid: object, measures: Measures | None, unjudged: float | None
) -> dict[str, Evaluation]:
    if named := [name for name, scores in rankers.items() if isinstance(scores, str)]:
        raise ValueError(f"{named[0]!r} is the column {rankers[named[0]]!r}: pass RankingData, which has columns, as y")
    labels, _ = with_unjudged(y, unjudged)
    chosen = parse_all(default_measure(labels) if measures is None else measures)
    return {name: evaluate(y, scores, qid, chosen, unjudged=unjudged) for name, scores in rankers.items()}


def _contrasts(measure: str, evaluations: dict[str, Evaluation], baseline: str, procedure: Procedure) -> list[Contrast]:
    names = list(evaluations)
    values = np.column_stack([one.per_query[measure] for one in evaluations.values()])
    reference = names.index(baseline)
    weights = evaluations[baseline].weights.get(measure)
    differences = values - values[:, [reference]]
    loads = np.ones(values.shape) if weights is None else np.repeat(weights[:, None], values.shape[1], axis=1)
    low, high = procedure.intervals(values, loads)
    others = [i for i in range(len(names)) if i != reference]
    p_values = {i: procedure.p_value(differences[:, i], weights) for i in others}
    adjusted = dict(zip(others, holm(list(p_values.values())), strict=True))
    contrasts = []
    for i, name in enumerate(names):
        counted = int(np.count_nonzero(~np.isnan(values[:, i])))
        one = Contrast(name, measure, evaluations[name].means[measure], (float(low[i]), float(high[i])), counted)
        if i != reference:
            d = differences[:, i]
            shared = ~np.isnan(d)
            mean = float(np.average(d[shared], weights=loads[shared, i])) if shared.any() else math.nan
            one = replace(one, difference=mean, difference_interval=procedure.interval(d, weights))
            one = replace(one, p_value=p_values[i], p_adjusted=float(adjusted[i]), win_tie_loss=win_tie_loss(d))
            if one.p_adjusted < procedure.alpha and one.excludes_zero:
                one = replace(one, mark="+" if mean > 0 else "-")
        contrasts.append(one)
    return contrasts


def _aligned(rankers: Mapping[str, object], baseline: str) -> dict[str, Evaluation]:
    """The evaluations, with queries in the order of the baseline."""
    evaluations = {name: one for name, one in rankers.items() if isinstance(one, Evaluation)}
    if others := [name for name in rankers if name not in evaluations]:
        raise ValueError(f"{others[0]!r} is not an Evaluation: pass the labels y and query ids qid with scores")
    reference = evaluations[baseline]
    for name, one in evaluations.items():
        if set(one) != set(reference):
            raise ValueError(f"{name!r} was evaluated by {', '.join(one)}, {baseline!r} by {', '.join(reference)}")
    return {name: _in_order(one, reference.query_ids, name, baseline) for name, one in evaluations.items()}


def _in_order(evaluation: Evaluation, query_ids: Array, name: str, baseline: str) -> Evaluation:
    place = {query: i for i, query in enumerate(evaluation.query_ids.tolist())}
    wanted = query_ids.tolist()
    odd = set(place) ^ set(wanted)
    if odd:
        where, other = (name, baseline) if min(odd, key=str) in place else (baseline, name)
        raise ValueError(f"query {min(odd, key=str)!r} was evaluated for {where!r}, but not for {other!r}")
    order = np.array([place[query] for query in wanted])
    per_query = {measure: values[order] for measure, values in evaluation.per_query.items()}
    weights = {measure: values[order] for measure, values in evaluation.weights.items()}
    return Evaluation(evaluation.means, per_query, query_ids, evaluation.n_documents, weights)
