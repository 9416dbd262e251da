"""Findings about labels, queries and their pairs."""

import numpy as np

from rankwise.checking.findings import NAMES_SHOWN, Finding, listed
from rankwise.foundation.arrays import Floats
from rankwise.foundation.texts import counted
from rankwise.metrics.defaults import HIGHEST_GRADE
from rankwise.pairs.queries import Queries

FEW_PAIRS = 100
SEVERAL = 5  # queries with pairs, of which one should not have most
NO_NDCG = "NDCG has no meaning for them: the commands show pairwise accuracy instead."


def check_labels(y: Floats) -> list[Finding]:
    found = []
    fractional, negative = y != np.round(y), y < 0
    for code, rows, what in (
        ("fractional-labels", fractional, "not whole numbers"),
        ("negative-labels", negative, "negative"),
    ):
        if rows.any():
            n = int(rows.sum())
            values = listed([f"{label:g}" for label in np.unique(y[rows])[:NAMES_SHOWN]])
            message = f"{counted(n, 'labels')} of {y.size:,} {'is' if n == 1 else 'are'} {what}, such as {values}."
            found.append(Finding(code, message, NO_NDCG, rows=np.flatnonzero(rows).tolist(), numbers={"labels": n}))
    if not found and y.max() > HIGHEST_GRADE:
        message = f"Labels go up to {y.max():g}: they are no grades."
        found.append(Finding("large-labels", message, NO_NDCG, numbers={"highest": float(y.max())}))
    return found


def check_queries(queries: Queries, pairs_per_query: Floats) -> list[Finding]:
    pairs = int(pairs_per_query.sum())
    if not pairs:
        message = f"None of {counted(len(queries), 'queries')} has two documents with different labels."
        advice = "There is nothing to learn: check the column of query ids and that of labels."
        return [Finding("no-pairs", message, advice)]
    return [*_without_pairs(queries, pairs_per_query), *_few(queries, pairs_per_query, pairs)]


def _without_pairs(queries: Queries, pairs_per_query: Floats) -> list[Finding]:
    lacking = pairs_per_query == 0
    if not lacking.any():
        return []
    single = int((lacking & (queries.sizes == 1)).sum())
    n = int(lacking.sum())
    message = (
        f"{counted(n, 'queries')} of {len(queries):,} {'has' if n == 1 else 'have'} no pair, {single:,} with a single "
        f"document, {n - single:,} with one label for all: {listed(queries.ids[lacking].tolist())}."
    )
    advice = "Nothing is learnt from them, and most measures leave them out."
    ids, numbers = queries.ids[lacking].tolist(), {"queries": n, "single_document": single, "one_label": n - single}
    return [Finding("queries-without-pairs", message, advice, queries=ids, numbers=numbers)]


def _few(queries: Queries, pairs_per_query: Floats, pairs: int) -> list[Finding]:
    found = []
    if pairs < FEW_PAIRS:
        message = f"There {'is' if pairs == 1 else 'are'} only {counted(pairs, 'pairs')} to learn from."
        found.append(Finding("few-pairs", message, "Judge more documents or queries.", numbers={"pairs": pairs}))
    largest = int(pairs_per_query.argmax())
    share, n_documents = float(pairs_per_query[largest] / pairs), int(queries.sizes[largest])
    if len(queries) == 1:
        message = f"All {counted(n_documents, 'documents')} belong to one query: each is compared with every other."
        advice = "If there are several queries, name the column of their ids by qid (--qid)."
        found.append(Finding("one-query", message, advice))
    elif share > 0.5 and np.count_nonzero(pairs_per_query) >= SEVERAL:
        ids = queries.ids[[largest]].tolist()
        message = (
            f"Query {listed(ids)} has {100 * share:.3g} % of all pairs, with {counted(n_documents, 'documents')} of "
            f"{int(queries.sizes.sum()):,}."
        )
        advice = "It decides what is learnt: let queries count alike by normalize_pairs (--normalize-pairs query)."
        found.append(Finding("dominant-query", message, advice, queries=ids, numbers={"share": share}))
    return found
