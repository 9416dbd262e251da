"""Measures of 2.27 million documents in 18,919 queries, and scikit-learn's ndcg_score at the same work."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.datasets.synthetic import MSLR_QUERIES
from benchmarks.measures import OURS, row
from benchmarks.process import repeated

MEASURES = ("ndcg@10", "map", "pairwise-accuracy")
PEER_QUERIES = 1_000


def evaluation(folder: str, quick: bool) -> Iterator[dict[str, Any]]:
    from rankwise.metrics import evaluate

    y, scores, qid = _data(MSLR_QUERIES // 10 if quick else MSLR_QUERIES)
    total = f"{', '.join(MEASURES)} of {len(y):,} documents"
    evaluate(y[:100], scores[:100], qid[:100], MEASURES)
    yield row(total, OURS, repeated(lambda: evaluate(y, scores, qid, MEASURES), 5))
    part = qid < PEER_QUERIES
    few = y[part], scores[part], qid[part]
    what = f"ndcg@10 of {part.sum():,} documents in {PEER_QUERIES:,} queries"
    yield row(what, OURS, repeated(lambda: evaluate(*few, "ndcg@10:sklearn"), 5))
    yield row(what, "scikit-learn ndcg_score, query by query", repeated(lambda: _peer(*few), 2))
    ours, theirs = evaluate(*few, "ndcg@10:sklearn")["ndcg@10:sklearn"], _peer(*few)
    if abs(ours - theirs) > 1e-12:
        raise AssertionError(f"the two disagree: {ours} and {theirs}")


def _data(n_queries: int) -> tuple[Any, Any, Any]:
    """Queries of 1 to some 1,200 documents, 120 on average; labels 0 to 4; scores that know something of them."""
    rng = np.random.default_rng(0)
    n = 120 * n_queries
    ends = np.sort(rng.choice(np.arange(1, n), n_queries - 1, replace=False))
    qid = np.repeat(np.arange(n_queries), np.diff(ends, prepend=0, append=n))
    y = rng.choice(5, n, p=(0.52, 0.32, 0.13, 0.02, 0.01)).astype(np.float64)
    return y, rng.normal(size=n) + y, qid


def _peer(y: Any, scores: Any, qid: Any) -> float:
    from sklearn.metrics import ndcg_score

    cuts = np.flatnonzero(np.diff(qid)) + 1
    lists = zip(np.split(y, cuts), np.split(scores, cuts), strict=True)
    # scikit-learn refuses a list of one document, whose NDCG is 1 or 0
    return float(np.mean([ndcg_score([a], [b], k=10) if a.size > 1 else float(a[0] > 0) for a, b in lists]))
