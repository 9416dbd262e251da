"""Findings about two sets of data, to train on and to test on: features, queries and documents that they share."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from rankwise.checking import kernels
from rankwise.checking.columns import Features
from rankwise.checking.findings import Finding, listed, these
from rankwise.data.document_ids import known_ids
from rankwise.data.records import RankingData
from rankwise.foundation.arrays import Array, Ints
from rankwise.foundation.texts import counted
from rankwise.pairs.queries import Queries, one_type

USUAL = 0.9  # share of the training rows with a value that test data may well have throughout


@dataclass(frozen=True)
class Side:
    """One of the two."""

    data: RankingData
    queries: Queries
    features: Features

    @classmethod
    def of(cls, data: RankingData, n_jobs: int | None) -> Self:
        queries = Queries(data.qid, len(data))
        return cls(data, queries, Features(data, queries, n_jobs))


def check_overlap(train: Side, test: Side) -> list[Finding]:
    place = {name: j for j, name in enumerate(train.features.names)}
    places = np.array([place.get(name, -1) for name in test.features.names], np.int64)
    found = _other_features(train, test, places)
    if (places >= 0).any():
        found += _vanished(train.features, test.features, places) + _shared(train, test, places)
    return found


def _other_features(train: Side, test: Side, places: Ints) -> list[Finding]:
    if train.data.names is None and test.data.names is None:
        return []  # LETOR text leaves zeros out, so the last features may be missing
    known = set(test.features.names)
    absent = [name for name in train.features.names if name not in known]
    extra = test.features.named(places < 0)
    if absent or extra:
        parts = [("test", absent), ("training", extra)]
        sides = [f"the {side} data lack {listed(lacking)}" for side, lacking in parts if lacking]
        message = f"The features differ: {', '.join(sides)}."
        advice = "A model needs all features that it was trained on, by the same names; it ignores others."
        numbers = {"missing_in_test": len(absent), "missing_in_training": len(extra)}
        names = [*absent, *extra]
        return [Finding("missing-features", message, advice, names, numbers=numbers, is_minor=not absent)]
    if (np.diff(places) < 0).any():
        moved = test.features.named(places != np.arange(places.size))
        message = f"The test data have the features in another order: {listed(moved)}."
        advice = "rankwise goes by their names; arrays without names, and other tools, go by their order."
        return [Finding("feature-order", message, advice, moved)]
    return []


def _vanished(train: Features, test: Features, places: Ints) -> list[Finding]:
    values = test.numbers[:, kernels.LOW]
    stopped = (places >= 0) & (values == test.numbers[:, kernels.HIGH]) & train.varies[places]
    for end, times in ((kernels.LOW, kernels.N_LOW), (kernels.HIGH, kernels.N_HIGH)):
        stopped &= (values != train.numbers[places, end]) | (train.counts[places, times] < USUAL * train.n_rows)
    lost = [j for j in np.flatnonzero(stopped).tolist() if (train.column(places[j]) == values[j]).mean() < USUAL]
    if not lost:
        return []
    names = test.named(np.array(lost))
    shown = [f"{test.names[j]} is always {values[j]:g}" for j in lost]
    vary = these(len(names), "features", "varies", "vary")
    message = f"{vary} in the training data but not in the test data: {listed(shown)}."
    advice = "Are they still computed and logged?"
    return [Finding("constant-in-test", message, advice, names)]


def _shared(train: Side, test: Side, places: Ints) -> list[Finding]:
    """Queries of the test data whose ids or documents are in the training data too."""
    ids, train_ids = one_type([test.queries.ids, train.queries.ids])
    same_id = np.isin(ids, train_ids) & (len(train_ids) > 1) & (len(ids) > 1)  # a single query may have no id at all
    hits = np.bincount(test.queries.codes, _same_rows(train, test, places), len(test.queries))
    named = np.bincount(test.queries.codes, _same_documents(train, test), len(test.queries))
    # under the same id one document, under another id half of the documents
    copied = (same_id & ((hits > 0) | (named > 0))) | ((hits >= 2) & (2 * hits >= test.queries.sizes))
    found = []
    for code, chosen, what, advice in (
        (
            "shared-documents",
            copied,
            "documents of the training data",
            "What is measured on them is too good: split the data by query.",
        ),
        (
            "shared-queries",
            same_id & ~copied,
            "an id of the training data and other documents",
            "If they are the same queries, split the data by query. If each file counts its own queries, ignore this.",
        ),
    ):
        if chosen.any():
            n, names = int(chosen.sum()), test.queries.ids[chosen].tolist()
            have = "has" if n == 1 else "have"
            message = (
                f"{counted(n, 'queries')} of {len(test.queries):,} in the test data {have} {what}: {listed(names)}."
            )
            numbers = {"queries": n, "documents": int(np.maximum(hits, named)[chosen].sum())}
            found.append(Finding(code, message, advice, queries=names, numbers=numbers))
    return found


def _same_rows(train: Side, test: Side, places: Ints) -> Array:
    """A mask of the test rows whose features are those of a training row."""
    common = np.full(train.features.n_features, -1)
    common[places[places >= 0]] = places[places >= 0]
    own = test.features.row_hashes(places)
    others = _of_one_query(train.features.row_hashes(common), train.queries.codes)
    return np.isin(own, np.intersect1d(_of_one_query(own, test.queries.codes), others))


def _same_documents(train: Side, test: Side) -> Array:
    """A mask of the test rows whose query id and document id are those of a training row."""
    sides = (train, test)
    documents = [known_ids(one.data) for one in sides]
    if documents[0] is None or documents[1] is None:
        return np.zeros(len(test.data), bool)
    both = [
        np.unique(np.concatenate(one_type(ids)), return_inverse=True)[1]
        for ids in ([one.data.qid for one in sides], [documents[0], documents[1]])
    ]
    keys = both[0] * (both[1].max() + 1) + both[1]
    return np.isin(keys[len(train.data) :], keys[: len(train.data)])


def _of_one_query(hashes: Array, codes: Ints) -> Array:
    """The hashes of rows that occur in a single query and are not all 0: others say too little."""
    order = np.lexsort((codes, hashes))
    hashes, codes = hashes[order], codes[order]
    starts = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1]))
    ends = np.append(starts[1:], hashes.size) - 1
    return np.asarray(hashes[starts][(codes[starts] == codes[ends]) & (hashes[starts] != 0)])
