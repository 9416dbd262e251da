"""explain and explain_pair: each feature's part of a score, relative to the query's mean or to another document.

In a query, the part of feature j in document i is its part in the difference between i and the mean document, less the
mean of that over the documents. So the parts of a document add up to its score minus the query's mean score, also for
kernels, where the mean document does not have the mean score; and those of a feature add up to 0.
"""

import numpy as np

from rankwise.explaining.choosing import Candidates
from rankwise.explaining.explanations import Explanation, PairExplanation
from rankwise.explaining.functions import Formula, packed, used_columns
from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.devices import HostMatrix


def explain(formula: Formula, candidates: Candidates, query: object = None) -> Explanation:
    """The part of each feature in each score of one query, best document first."""
    chosen = candidates.of_query(query)
    with np.errstate(all="ignore"):
        rows = formula.scaled(chosen.X, chosen.qid)
        columns = used_columns(rows)
        scores, values = formula.function.at(rows), packed(rows, columns)
        parts = formula.function.split(columns, np.broadcast_to(values.mean(axis=0), values.shape), values)
        parts = parts - parts.mean(axis=0)
    _check_finite(formula, columns, parts, scores)
    ranking = np.argsort(-scores, kind="stable")
    error = np.abs(parts.sum(axis=1) - (scores - scores.mean())).max()
    return Explanation(
        query=chosen.query,
        documents=chosen.documents[ranking],
        names=formula.names(columns),
        values=packed(chosen.X, columns)[ranking],
        contributions=parts[ranking],
        scores=scores[ranking],
        rows=chosen.rows[ranking],
        method=formula.function.method,
        error=float(error),
    )


def explain_pair(
    formula: Formula, candidates: Candidates, a: object, b: object, query: object = None
) -> PairExplanation:
    """The part of each feature in the difference of the scores of two documents of one query, a minus b."""
    chosen, first, other = candidates.of_pair(a, b, query)
    scaled = formula.scaled(chosen.X, chosen.qid)
    labels = chosen.documents[first], chosen.documents[other]
    places = np.array([first, other])
    return _of_pair(formula, chosen.X[places], scaled[places], labels, chosen.query)


def explain_rows(formula: Formula, rows: HostMatrix) -> PairExplanation:
    """The same for two rows of features, called A and B."""
    if formula.scaling is not None and formula.scaling.scale is None:
        raise ValueError(
            "the ranker scales features within each query, so two rows alone have no scores: "
            "give data=, and the documents by their ids"
        )
    return _of_pair(formula, rows, formula.scaled(rows, None), ("A", "B"), None)


def _of_pair(
    formula: Formula, raw: HostMatrix, scaled: HostMatrix, labels: tuple[object, object], query: object
) -> PairExplanation:
    columns = used_columns(scaled)
    with np.errstate(all="ignore"):
        scores, ends = formula.function.at(scaled), packed(scaled, columns)
        parts = formula.function.split(columns, ends[1:], ends[:1])
    _check_finite(formula, columns, parts, scores)
    return PairExplanation(
        query=query,
        documents=labels,
        names=formula.names(columns),
        values=packed(raw, columns),
        contributions=parts[0],
        scores=scores,
        method=formula.function.method,
        error=float(abs(parts[0].sum() - (scores[0] - scores[1]))),
    )


def _check_finite(formula: Formula, columns: Ints, parts: Floats, scores: Floats) -> None:
    if not np.isfinite(scores).all():
        raise ValueError("a score is not finite: the weights, or the features, are too large")
    if not np.isfinite(parts).all():
        place = int(np.flatnonzero(~np.isfinite(parts).all(axis=0))[0])
        name = formula.names(columns[[place]])[0]
        raise ValueError(f"the contribution of {name!r} is not finite: its weight, or its values, are too large")
