"""compare: several rankers on the same queries, each against a baseline, with tests, intervals and tables.

The p values of one measure are corrected by Holm for the number of rankers compared with the baseline. There is no
correction for several measures, which are separate questions.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rankwise.data.column_scores import column_scores
from rankwise.data.records import RankingData
from rankwise.foundation.arrays import Array, Floats
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
    elif hasattr(y, "columns"):
        raise TypeError("y must hold labels or be a RankingData: rankwise.from_frame makes one of a DataFrame")
    if len(rankers) < 2:
        raise ValueError(f"rankers must hold two or more rankers to compare; got {len(rankers)}")
    first = next(iter(rankers)) if baseline is None else baseline
    if first not in rankers:
        raise ValueError(f"baseline must be one of the rankers {', '.join(map(repr, rankers))}; got {baseline!r}")
    evaluations = _aligned(rankers, first) if y is None else _evaluated(rankers, y, qid, measures, unjudged)
    return contrasted(evaluations, first, Procedure() if procedure is None else procedure, n_worst)


def contrasted(evaluations: dict[str, Evaluation], baseline: str, procedure: Procedure, n_worst: int = 5) -> Comparison:
    """The comparison of evaluations with the same queries in the same order; of one alone, means and intervals."""
    measures = list(evaluations[baseline])
    values = [np.column_stack([one.per_query[measure] for one in evaluations.values()]) for measure in measures]
    given = [evaluations[baseline].weights.get(measure) for measure in measures]
    loads = [np.broadcast_to(1.0 if w is None else w[:, None], v.shape) for v, w in zip(values, given, strict=True)]
    # all means at once: drawing the queries takes most of the time
    ends = np.transpose(procedure.intervals(np.hstack(values), np.hstack(loads)))
    contrasts = [
        one
        for i, measure in enumerate(measures)
        for one in _contrasts(measure, evaluations, baseline, procedure, ends[i * len(evaluations) :].tolist())
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


def _contrasts(
    measure: str,
    evaluations: dict[str, Evaluation],
    baseline: str,
    procedure: Procedure,
    intervals: Sequence[tuple[float, float]],
) -> list[Contrast]:
    """Of one measure; `intervals`: of the means of the rankers."""
    reference, weights = evaluations[baseline].per_query[measure], evaluations[baseline].weights.get(measure)
    contrasts = []
    for (name, evaluation), (low, high) in zip(evaluations.items(), intervals, strict=False):
        counted = int(np.count_nonzero(~np.isnan(evaluation.per_query[measure])))
        one = Contrast(name, measure, evaluation.means[measure], (low, high), counted)
        if name != baseline:
            one = _tested(one, evaluation.per_query[measure] - reference, weights, procedure)
        contrasts.append(one)
    adjusted = holm([one.p_value for one in contrasts])  # that of the baseline is NaN
    return [_marked(one, p, procedure.alpha) for one, p in zip(contrasts, adjusted.tolist(), strict=True)]


def _tested(one: Contrast, d: Floats, weights: Floats | None, procedure: Procedure) -> Contrast:
    """The contrast with its differences d from the baseline."""
    shared = ~np.isnan(d)
    mean = math.nan
    if shared.any():
        mean = float(np.average(d[shared], weights=None if weights is None else weights[shared]))
    p, ends = procedure.p_value(d, weights), procedure.interval(d, weights)
    return replace(one, difference=mean, difference_interval=ends, p_value=p, win_tie_loss=win_tie_loss(d))


def _marked(one: Contrast, p_adjusted: float, alpha: float) -> Contrast:
    mark = ("+" if one.difference > 0 else "-") if p_adjusted < alpha and one.excludes_zero else ""
    return replace(one, p_adjusted=p_adjusted, mark=mark)


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
