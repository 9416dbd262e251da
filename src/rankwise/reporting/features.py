"""What a feature adds: how much a measure falls if the feature's values are shuffled within each query."""

from dataclasses import dataclass

import numpy as np

from rankwise.explaining.functions import Formula, LinearFunction, packed, relative_parts
from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.devices import HostMatrix, is_sparse
from rankwise.metrics import evaluate
from rankwise.reporting.studies import Study
from rankwise.reporting.subjects import Subject

SHOWN = 20  # features: those that move scores most
SHUFFLES = 3
CELLS = 20_000_000  # rows times features; of larger data, a sample of the queries is taken
PROBED = 2_000  # documents, at least, that decide which features are shown


@dataclass(frozen=True, eq=False)
class Effects:
    """Of each feature, the mean fall of the first measure and its interval; the largest first.

    moves    the mean absolute contribution of the feature to a score
    queries  how many were taken
    others   features that are not shown
    """

    names: Array
    falls: Floats
    low: Floats
    high: Floats
    moves: Floats
    queries: int
    others: int


def effects_of(study: Study, subject: Subject) -> Effects | None:
    """None if only the scores of the ranker are known, or no feature moves them."""
    formula, rows = subject.formula, subject.rows
    if formula is None or rows is None:
        return None
    random = np.random.default_rng(study.procedure.random_state)
    taken = _sample(study, random, max(1, CELLS // rows.n_features))
    chosen = np.concatenate([study.rows_of_query[q] for q in taken])
    sizes = [study.rows_of_query[q].size for q in taken]
    qid = np.repeat(np.arange(len(taken)), sizes)
    X = formula.scaled(rows.X[chosen], qid)
    moves = _moves(formula, X, sizes)
    order = np.argsort(-moves, kind="stable")[:SHOWN]
    order = order[moves[order] > 0]
    if not order.size:
        return None
    y = study.labels[chosen]
    before = evaluate(y, formula.function.at(X), qid, study.chosen[0]).per_query[study.measure]
    weights = study.comparison.evaluations[subject.name].weights.get(study.measure)
    loads = np.ones(len(taken)) if weights is None else weights[taken]
    shuffles = [np.lexsort((random.random(qid.size), qid)) for _ in range(SHUFFLES)]
    falls = np.empty((len(taken), order.size))
    for place, column in enumerate(order.tolist()):
        after = [
            evaluate(y, scores, qid, study.chosen[0]).per_query[study.measure]
            for scores in _shuffled_scores(formula, X, column, shuffles)
        ]
        falls[:, place] = before - np.mean(after, axis=0)
    means, low, high = study.means(falls, loads)
    largest = np.argsort(-means, kind="stable")
    names = formula.names(order)[largest]
    kept = int(np.count_nonzero(moves)) - order.size
    return Effects(names, means[largest], low[largest], high[largest], moves[order][largest], len(taken), kept)


def _sample(study: Study, random: np.random.Generator, most: int) -> Ints:
    """All queries, or random ones with at most so many documents; at least one."""
    sizes = study.sizes
    if sizes.sum() <= most:
        return np.arange(sizes.size)
    order = random.permutation(sizes.size)
    n = max(1, int(np.searchsorted(np.cumsum(sizes[order]), most, side="right")))
    return np.sort(order[:n])


def _moves(formula: Formula, X: HostMatrix, sizes: list[int]) -> Floats:
    """The mean absolute contribution of each feature to a score, in the first queries."""
    ends = np.cumsum(sizes)
    n = int(np.searchsorted(ends, min(PROBED, int(ends[-1])))) + 1
    total = np.zeros(X.shape[1])
    for end, size in zip(ends[:n].tolist(), sizes, strict=False):
        columns, parts = relative_parts(formula.function, X[end - size : end])
        total[columns] += np.abs(parts).sum(axis=0)
    moves: Floats = total / ends[n - 1]
    return moves


def _shuffled_scores(formula: Formula, X: HostMatrix, column: int, shuffles: list[Ints]) -> list[Floats]:
    """The scores after the values of one column are reordered, once per shuffle."""
    values = packed(X, np.array([column]))[:, 0]
    if isinstance(formula.function, LinearFunction):
        scores, weight = formula.function.at(X), float(formula.function.coef[column])
        return [scores + weight * (values[rows] - values) for rows in shuffles]
    changed = X.toarray() if is_sparse(X) else X.copy()
    found = []
    for rows in shuffles:
        changed[:, column] = values[rows]
        found.append(formula.function.at(changed))
    return found
