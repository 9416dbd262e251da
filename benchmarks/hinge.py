"""The hinge: RankSVM(loss="hinge") by smoothing, beside dlib's svm_rank_trainer and LinearSVC on explicit pairs.

dlib takes two levels a query, so both are given MQ2008 with labels 1 and 2 merged. Our tolerance is set so that the
peer's objective is no better than ours; what it is beyond ours stands in the row.
"""

from typing import Any

import numpy as np

from benchmarks.measure import best_of, letor, listed_pairs, row
from rankwise import RankingData, RankSVM, losses
from rankwise.problems import build


def main() -> list[dict[str, Any]]:
    whole = letor("mq2008", 1, 2, 3)
    C = 1.0
    two_levels = RankingData(whole.X, np.minimum(whole.y, 1.0), whole.qid)
    larger = letor("mq2007", 1, 2, 3)
    rows = [
        *against(whole, C, 1e-6, "LinearSVC on all pairs", linear_svc),
        *against(larger, C, 1e-6, "LinearSVC on all pairs", linear_svc),
        *against(two_levels, C, 3e-4, "dlib", dlib_rank),
    ]
    for solver in ("smoothing", "bundle", "bmrm", "dual"):
        seconds, ranker = best_of(1, lambda solver=solver: hinge(whole, C, 1e-4, solver))
        gap = ranker.result_.gap / ranker.result_.value
        rows.append(
            row(f"hinge, mq2008, C = 1, {solver}, certified gap {gap:.1e}, {ranker.n_iter_} steps", seconds, "s")
        )
    return rows


def against(data: RankingData, C: float, tol: float, name: str, peer: Any) -> list[dict[str, Any]]:
    ours, ranker = best_of(3, lambda: hinge(data, C, tol))
    result = ranker.result_
    rows = [
        row(
            f"hinge, {len(data):,} x {data.n_features}, C = 1, certified gap {result.gap / result.value:.1e}", ours, "s"
        )
    ]
    try:
        theirs, w = best_of(1, lambda: peer(data, C))
    except ImportError as error:
        print(f"  {name} is missing: {error}")
        return rows
    value = build(data.X, data.y, data.qid, loss=losses.hinge(), C=C).at(w).value
    print(f"  objective {result.value:.8g}, {name} {value:.8g} in {theirs:.2f} s")
    rows[0] |= {"peer": f"{name} (its objective {value / result.value - 1:+.1e})", "ratio": theirs / ours}
    return rows


def hinge(data: RankingData, C: float, tol: float, solver: str = "auto") -> RankSVM:
    return RankSVM(C=C, loss="hinge", tol=tol, solver=solver, max_iter=20_000).fit(data.X, data.y, data.qid)


def linear_svc(data: RankingData, C: float) -> np.ndarray:
    from sklearn.svm import LinearSVC

    differences, signs = listed_pairs(data)
    peer = LinearSVC(C=C, loss="hinge", fit_intercept=False, tol=1e-4, max_iter=1000, random_state=0)
    return peer.fit(differences, signs).coef_.ravel()


def dlib_rank(data: RankingData, C: float) -> np.ndarray:
    import dlib

    queries = dlib.ranking_pairs()
    n_pairs = 0
    for query in np.unique(data.qid):
        rows = data.qid == query
        relevant, others = data.X[rows & (data.y > 0)], data.X[rows & (data.y == 0)]
        if len(relevant) and len(others):
            pair = dlib.ranking_pair()
            for x in relevant:
                pair.relevant.append(dlib.vector(x.tolist()))
            for x in others:
                pair.nonrelevant.append(dlib.vector(x.tolist()))
            queries.append(pair)
            n_pairs += len(relevant) * len(others)
    trainer = dlib.svm_rank_trainer()
    trainer.c = C * n_pairs
    trainer.epsilon = 1e-3
    return np.array(trainer.train(queries).weights)


if __name__ == "__main__":
    for one in main():
        print(one)
