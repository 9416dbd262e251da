"""evaluate for data on a cluster: every partition evaluates its own queries, the client joins the tables."""

import math
from dataclasses import replace

import numpy as np

from rankwise.distributed.client import Client, Collection, Column, Given, current_client
from rankwise.distributed.rows import Rows, threads
from rankwise.distributed.spread import Columns, spread
from rankwise.foundation.arrays import Floats
from rankwise.metrics import Evaluation, Measure, parse_all
from rankwise.metrics.evaluation import Measures, measured, warn_of_void
from rankwise.objective.rows import MemoryRows
from rankwise.pairs.queries import one_type


def evaluate(
    y: Column,
    scores: Collection,
    qid: Column = None,
    measures: Measures = ("ndcg@10",),
    client: Client | None = None,
) -> Evaluation:
    """`rankwise.evaluate` of Dask Series or arrays with equal partitions; queries may be in several of them.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client, LocalCluster
    >>> from rankwise import load_sample
    >>> from rankwise.distributed import evaluate
    >>> data = load_sample()
    >>> X, y, qid = (da.from_array(part, chunks=(650, *part.shape[1:])) for part in (data.X, data.y, data.qid))
    >>> with LocalCluster(n_workers=2, processes=False, dashboard_address=":0") as cluster, Client(cluster):
    ...     found = evaluate(y, X[:, 4], qid, ["ndcg@10"])
    >>> round(found["ndcg@10"], 2)
    0.77
    """
    column = scores.to_frame("score") if hasattr(scores, "to_frame") else scores[:, None]
    return judged(current_client(client), (column, y, qid, None), np.ones(1), measures)


def judged(client: Client, given: Given, coef: Floats, measures: Measures, like: Columns | None = None) -> Evaluation:
    """The scores X coef evaluated on the data given (X, y, qid, weight); `like`: the columns that coef is for."""
    asked = parse_all(measures)
    data = spread(client, given, judge, coef, asked, like=like)
    with data.partitions:
        found: list[Evaluation] = data.partitions.contents()
    order = np.argsort(np.concatenate(data.places), kind="stable")  # in which queries first occur
    names = [str(one) for one in asked]
    values = {name: np.concatenate([one.per_query[name] for one in found])[order] for name in names}
    loads = {
        name: np.concatenate([one.weights[name] for one in found])[order] for name in names if name in found[0].weights
    }
    means = {name: _mean(values[name], loads.get(name)) for name in names}
    ids = np.concatenate(one_type([one.query_ids for one in found]))[order]
    evaluation = Evaluation(means, values, ids, sum(one.n_documents for one in found), loads)
    lowest, highest = data.columns.labels
    warn_of_void(asked, np.array([lowest]), np.array([highest]))
    return evaluation


def judge(rows: Rows, columns: Columns, coef: Floats, asked: list[Measure]) -> Evaluation:
    """The content of a partition."""
    data, (lowest, highest) = rows.data, columns.labels
    scores = MemoryRows(data.X).scores(coef)
    exact = [settled(one, highest) for one in asked]
    if any(one.name == "auc" for one in asked) and not np.isin(data.y, (lowest, highest)).all():
        raise ValueError("auc needs two labels, and there are more: take pairwise-accuracy:ties=half for graded labels")
    found, *_ = measured(data.y, scores, data.qid, exact, threads(None))
    names = dict(zip(map(str, exact), map(str, asked), strict=True))
    values, weights = ({names[key]: one for key, one in each.items()} for each in (found.per_query, found.weights))
    for measure in asked:
        if measure.name == "pairwise-accuracy" and measure.settings["mean"] == "pairs":
            weights.setdefault(str(measure), np.zeros(values[str(measure)].size))  # a partition without pairs
    return Evaluation({}, values, found.query_ids, found.n_documents, weights)


def settled(measure: Measure, highest: float) -> Measure:
    """ERR needs the highest label of all partitions, not of one."""
    if measure.settings.get("max") != "data":
        return measure
    options = dict(measure.options) | {"max": f"{highest:.17g}"}
    return replace(measure, options=tuple(options.items()))


def _mean(values: Floats, weights: Floats | None) -> float:
    counted = ~np.isnan(values)
    if not counted.any():
        return math.nan
    if weights is None:
        return math.fsum(values[counted]) / int(counted.sum())
    return math.fsum(values[counted] * weights[counted]) / math.fsum(weights[counted])
