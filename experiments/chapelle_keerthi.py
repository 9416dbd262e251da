"""What the experiments of Chapelle and Keerthi share: their two methods beside ours, and the two data sets.

TD2004 is not available: `td2004` is synthetic, with its 75 queries, 989 documents per query, 64 features and 1.5 % of
relevant documents.
"""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from experiments import datasets
from experiments.processor import timed
from rankwise import RankingData, RankSVM, evaluate, make_ranking
from rankwise.preprocessing import QueryScaler

PAPERS = {"solver": "newton-minres", "stopping": "gradient"}
METHODS: dict[str, dict[str, Any]] = {
    "PRSVM": {"scheme": "explicit", **PAPERS},  # every pair listed; MINRES, as the paper says
    "PRSVM+": {"scheme": "by-level", **PAPERS},
    "rankwise": {},
}
HINGE = {"loss": "hinge"}  # what SVMLight minimises
MEASURE = "ndcg@10:letor"
RELEVANT = 0.015
TD2004 = "TD2004's shape (synthetic)"
TOL = 1e-4


def folds(data: Path, name: str) -> list[tuple[RankingData, RankingData]]:
    """Training and test data of the five folds."""
    if name == "ohsumed":
        parted = (datasets.fold(data, name, number) for number in range(1, 6))
        return [(train, test) for train, _, test in parted]
    whole = td2004()
    part = np.unique(whole.qid, return_inverse=True)[1] % 5
    return [(whole.select((part - k) % 5 < 3), whole.select((part - k) % 5 == 4)) for k in range(5)]


@cache
def td2004() -> RankingData:
    made = make_ranking(75, 989, 64, n_levels=None, random_state=2004)
    X = QueryScaler("minmax").fit_transform(made.X, qid=made.qid)
    return RankingData(X, made.y > np.quantile(made.y, 1 - RELEVANT), made.qid)


def trained(data: Path, name: str, options: dict[str, Any], C: list[float]) -> dict[str, float]:
    """Seconds to train on all five folds, one C each, and the mean NDCG@10 of their test parts."""
    found, seconds = [], 0.0
    for value, (train, test) in zip(C, folds(data, name), strict=True):
        spent, ranker = timed_fit(RankSVM(value, tol=TOL, n_jobs=1, **options), train)
        seconds += spent
        found.append(evaluate(test.y, ranker.predict(test.X), test.qid, MEASURE)[MEASURE])
    return {"seconds": seconds, "ndcg": float(np.mean(found))}


def timed_fit(ranker: RankSVM, train: RankingData, few: int = 600) -> tuple[float, RankSVM]:
    """Seconds and the ranker, after a small fit that compiles the kernels."""
    first = train.select(slice(few))
    clone(ranker).fit(first.X, first.y, first.qid)
    return timed(lambda: ranker.fit(train.X, train.y, train.qid))
