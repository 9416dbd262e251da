"""Evaluation of 2.27 million documents in 18,919 queries, and scikit-learn's ndcg_score at the same work.

`python -m benchmarks.evaluation` prints the rows; the first figure is a fresh process's, compiled code cached.
"""

from typing import Any

import numpy as np

from benchmarks.measure import seconds, timed
from rankwise.metrics import evaluate

N_QUERIES, N_DOCUMENTS = 18_919, 2_270_296  # as MSLR-WEB30K's first training fold
MEASURES = ("ndcg@10", "map", "pairwise-accuracy")
PEER_QUERIES = 1_000
REPEATS = 5


def main() -> list[dict[str, Any]]:
    y, scores, qid = _data()
    part = qid < PEER_QUERIES
    y_part, scores_part, qid_part = y[part], scores[part], qid[part]
    total = f"{', '.join(MEASURES)} of {N_DOCUMENTS:,} documents"
    rows = [
        timed(f"{total}, first call", seconds(lambda: evaluate(y, scores, qid, MEASURES), 1)),
        timed(total, seconds(lambda: evaluate(y, scores, qid, MEASURES), REPEATS)),
        timed(
            f"ndcg@10:sklearn of {part.sum():,} documents in {PEER_QUERIES:,} queries",
            seconds(lambda: evaluate(y_part, scores_part, qid_part, "ndcg@10:sklearn"), REPEATS),
            "scikit-learn's ndcg_score, query by query",
            seconds(lambda: _peer(y_part, scores_part, qid_part), 2),
        ),
    ]
    ours = evaluate(y_part, scores_part, qid_part, "ndcg@10:sklearn")["ndcg@10:sklearn"]
    theirs = _peer(y_part, scores_part, qid_part)
    if abs(ours - theirs) > 1e-12:
        raise AssertionError(f"the two disagree: {ours} and {theirs}")
    for row in rows:
        ratio = "" if row["ratio"] is None else f"  {row['ratio']:.1f} times faster than {row['peer']}"
        print(f"{row['value']:8.3f} {row['unit']}  {row['name']}{ratio}")
    return rows


def _data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Queries of 1 to some 1,200 documents, 120 on average; labels 0 to 4; scores that know something of them."""
    random = np.random.default_rng(0)
    ends = np.sort(random.choice(np.arange(1, N_DOCUMENTS), N_QUERIES - 1, replace=False))
    qid = np.repeat(np.arange(N_QUERIES), np.diff(ends, prepend=0, append=N_DOCUMENTS))
    y = random.choice(5, N_DOCUMENTS, p=(0.52, 0.32, 0.13, 0.02, 0.01)).astype(np.float64)
    return y, random.normal(size=N_DOCUMENTS) + y, qid


def _peer(y: np.ndarray, scores: np.ndarray, qid: np.ndarray) -> float:
    from sklearn.metrics import ndcg_score

    cuts = np.flatnonzero(np.diff(qid)) + 1
    lists = zip(np.split(y, cuts), np.split(scores, cuts), strict=True)
    # scikit-learn refuses a list of one document, whose NDCG is 1 or 0
    values = [ndcg_score([a], [b], k=10) if a.size > 1 else float(a[0] > 0) for a, b in lists]
    return float(np.mean(values))


if __name__ == "__main__":
    main()
