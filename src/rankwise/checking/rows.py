"""Findings about equal rows of a query: duplicates, and labels that contradict each other."""

import numpy as np

from rankwise.checking.findings import LISTED, Finding, listed
from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.texts import counted
from rankwise.pairs.queries import Queries

MUCH = 0.01  # share of the pairs that contradict each other


def check_rows(queries: Queries, y: Floats, hashes: Array, documents: Array | None, pairs: int) -> list[Finding]:
    """Rows with equal features, and rows with one document id, within queries."""
    found = [] if documents is None else _repeated_documents(queries, y, documents)
    return found + _equal_rows(queries, y, hashes, pairs)


def groups(codes: Ints, keys: Array) -> tuple[Ints, Ints]:
    """The rows sorted by code and key, and where groups of equal ones begin, with the end."""
    order = np.lexsort((keys, codes))
    new = np.ones(order.size, bool)
    new[1:] = (keys[order][1:] != keys[order][:-1]) | (codes[order][1:] != codes[order][:-1])
    return order, np.append(np.flatnonzero(new), order.size)


def _repeated_documents(queries: Queries, y: Floats, documents: Array) -> list[Finding]:
    _, keys = np.unique(documents, return_inverse=True)
    order, starts = groups(queries.codes, keys)
    repeated = np.flatnonzero(np.diff(starts) > 1)
    if not repeated.size:
        return []
    labels = y[order]
    low, high = np.minimum.reduceat(labels, starts[:-1]), np.maximum.reduceat(labels, starts[:-1])
    differing = int((low < high)[repeated].sum())
    first = order[starts[repeated]]
    shown = [f"{documents[row]} of query {queries.ids[queries.codes[row]]}" for row in first[:LISTED].tolist()]
    message = (
        f"{counted(repeated.size, 'documents')} occur{'s' if repeated.size == 1 else ''} several times in a query, "
        f"{differing:,} with different labels: {listed(shown)}."
    )
    advice = "Keep one row per document and query: the last judgement, or the mean of them."
    numbers = {"documents": int(repeated.size), "different_labels": differing}
    return [Finding("duplicate-documents", message, advice, rows=first.tolist(), numbers=numbers)]


def _equal_rows(queries: Queries, y: Floats, hashes: Array, pairs: int) -> list[Finding]:
    order, starts = groups(queries.codes, hashes)
    sizes = np.diff(starts)
    labels = y[order]
    low, high = np.minimum.reduceat(labels, starts[:-1]), np.maximum.reduceat(labels, starts[:-1])
    found = []
    contradicting = low < high
    if contradicting.any():
        tied = _pairs_between(labels, starts)
        share = tied / pairs
        n = int(sizes[contradicting].sum())
        where = np.unique(queries.codes[order[starts[:-1][contradicting]]])
        message = (
            f"{counted(n, 'documents')} have the same features as another one of their query and another label, in "
            f"{counted(where.size, 'queries')}: {listed(queries.ids[where[:LISTED]].tolist())}. No ranker can order "
            f"{counted(tied, 'pairs')} ({100 * share:.2g} %)."
        )
        advice = "Their features do not tell them apart: add one that does, or judge them again."
        rows = order[starts[:-1][contradicting]]
        numbers = {"documents": n, "pairs": tied, "share": share}
        ids = queries.ids[where].tolist()
        found.append(
            Finding("contradicting-labels", message, advice, (), ids, rows.tolist(), numbers, is_minor=share < MUCH)
        )
    copies = int((sizes - 1)[~contradicting].sum())
    if copies:
        rows = order[starts[:-1][~contradicting & (sizes > 1)]]
        message = f"{counted(copies, 'documents')} repeat another one of their query, with equal features and labels."
        advice = "If they are the same document, keep one: it counts as often as it occurs."
        found.append(Finding("duplicate-rows", message, advice, rows=rows.tolist(), numbers={"documents": copies}))
    return found


def _pairs_between(labels: Floats, starts: Ints) -> int:
    """The number of pairs of equal rows with different labels: all pairs of a group, less those of one label."""
    sizes = np.diff(starts)
    _, label_starts = groups(np.repeat(np.arange(sizes.size), sizes), labels)
    return _chosen_pairs(sizes) - _chosen_pairs(np.diff(label_starts))


def _chosen_pairs(sizes: Ints) -> int:
    return int((sizes * (sizes - 1) // 2).sum())
