"""`check`: all findings about ranking data, and about test data beside them."""

from dataclasses import replace

import numpy as np

from rankwise.checking.features import check_features
from rankwise.checking.findings import Finding, Report, Size
from rankwise.checking.labels import check_labels, check_queries
from rankwise.checking.leaks import check_leaks
from rankwise.checking.overlap import Side, check_overlap
from rankwise.checking.rows import check_rows
from rankwise.checking.values import check_values
from rankwise.data.document_ids import known_ids
from rankwise.data.records import RankingData
from rankwise.foundation.arrays import Floats
from rankwise.foundation.texts import counted
from rankwise.pairs.preferences import Preferences
from rankwise.pairs.queries import Queries


def check(data: RankingData, against: RankingData | None = None, *, n_jobs: int | None = None) -> Report:
    """What is wrong with ranking data before a ranker is trained on them.

    data     the training data; features and labels that are NaN are missing: `read_data(path, keep_missing=True)` and
             `from_frame(frame, keep_missing=True)` read them so
    against  test data, which should share no query with the training data

    `print(report)` shows the findings, the worst first; `report.findings` are values (`Finding`).

    Examples
    --------
    >>> from rankwise import check, load_sample
    >>> report = check(load_sample("train"), load_sample("test"))
    >>> report.codes
    ['queries-without-pairs']
    >>> report.passes()
    True
    """
    for name, one in (("data", data), ("against", data if against is None else against)):
        if not isinstance(one, RankingData):
            raise TypeError(f"{name} must be RankingData, as read_data and from_frame return; got {type(one).__name__}")
        if not len(one):
            raise ValueError(f"{name} has no rows to check")
    found = _unlabelled(data)
    labelled = np.flatnonzero(np.isfinite(data.y))
    if labelled.size:
        train = Side.of(data.select(labelled) if found else data, n_jobs)
        found += [replace(one, rows=labelled[list(one.rows)].tolist()) for one in _inside(train)]
        if against is not None:
            found += check_overlap(train, Side.of(against, n_jobs))
    return Report(found, _size(data), None if against is None else _size(against))


def _size(data: RankingData) -> Size:
    known = np.isfinite(data.y)
    pairs = _pairs_per_query(data.y[known], Queries(data.qid[known], int(known.sum()))) if known.any() else np.zeros(1)
    return Size(len(data), data.n_queries, data.n_features, int(pairs.sum()))


def _unlabelled(data: RankingData) -> list[Finding]:
    found = []
    for code, rows, what in (
        ("missing-labels", np.isnan(data.y), "no label"),
        ("infinite-labels", np.isinf(data.y), "an infinite label"),
    ):
        if rows.any():
            n = int(rows.sum())
            message = f"{counted(n, 'rows')} of {len(data):,} {'has' if n == 1 else 'have'} {what}."
            advice = "Training refuses them: judge these documents, or leave them out."
            found.append(Finding(code, message, advice, rows=np.flatnonzero(rows).tolist(), numbers={"rows": n}))
    return found


def _inside(train: Side) -> list[Finding]:
    y, features = train.data.y, train.features
    pairs_per_query = _pairs_per_query(y, train.queries)
    pairs = int(pairs_per_query.sum())
    found = check_features(features) + check_values(features) + check_labels(y)
    found += check_queries(train.queries, pairs_per_query)
    found += check_rows(train.queries, y, features.row_hashes(), known_ids(train.data), pairs)
    return found + check_leaks(features, y, pairs)


def _pairs_per_query(y: Floats, queries: Queries) -> Floats:
    return Preferences(y, queries).pairs_per_query()
