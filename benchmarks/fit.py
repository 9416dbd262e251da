"""Training time of RankSVM with the squared hinge, beside peers that solve the same problem, at equal objective.

Peers run once, with their tolerance tightened until their objective is no worse than ours by more than 1e-3.
"""

from typing import Any

import numpy as np

from benchmarks.measure import best_of, letor, listed_pairs, row
from rankwise import RankSVM, losses, make_ranking
from rankwise.problems import build


def main() -> list[dict[str, Any]]:
    return [*explicit_pairs("mq2008", 1.0), *explicit_pairs("mq2007", 1.0), *survival(20_000), *web_scale()]


def explicit_pairs(name: str, C: float) -> list[dict[str, Any]]:
    """LinearSVC on the differences of all pairs."""
    from sklearn.svm import LinearSVC

    data = letor(name, 1, 2, 3)
    RankSVM(C=C).fit(data.X, data.y, data.qid)
    ours, ranker = best_of(5, lambda: RankSVM(C=C, tol=1e-4).fit(data.X, data.y, data.qid))
    differences, signs = listed_pairs(data)
    peer = LinearSVC(C=C, fit_intercept=False, dual=False, tol=1e-3)
    theirs, _ = best_of(1, lambda: peer.fit(differences, signs))
    value = objective(data, C).at(peer.coef_.ravel()).value
    print(f"  {name}: objective {ranker.result_.value:.8g}, LinearSVC {value:.8g}")
    what = f"fit {name} fold 1 ({len(data):,} x {data.n_features}), C = {C:g}"
    return [row(what, ours, "s", "LinearSVC on all pairs", theirs / ours)]


def survival(n: int) -> list[dict[str, Any]]:
    """scikit-survival's FastSurvivalSVM: one query, distinct labels; its alpha is 2 C."""
    data = make_ranking(1, (n, n), 8, n_levels=None, random_state=0)
    C = 1e-5
    RankSVM(C=C).fit(data.X, data.y)
    ours, ranker = best_of(5, lambda: RankSVM(C=C, tol=1e-4).fit(data.X, data.y))
    rows = [row(f"fit one query of {n:,} x 8, distinct labels", ours, "s")]
    try:
        from sksurv.svm import FastSurvivalSVM
        from sksurv.util import Surv
    except ImportError as error:
        print(f"  scikit-survival is missing: {error}")
        return rows
    peer = FastSurvivalSVM(alpha=2 * C, rank_ratio=1.0, optimizer="rbtree", tol=1e-4, max_iter=100)
    # It puts the shortest survival first: the longest time is our least label.
    times = Surv.from_arrays(np.ones(n, bool), data.y.max() + 1.0 - data.y)
    theirs, _ = best_of(1, lambda: peer.fit(data.X, times))
    value = min(objective(data, C).at(sign * peer.coef_).value for sign in (1, -1))
    print(f"  one query: objective {ranker.result_.value:.8g}, FastSurvivalSVM {value:.8g}")
    rows[0] |= {"peer": "FastSurvivalSVM", "ratio": theirs / ours}
    return rows


def web_scale() -> list[dict[str, Any]]:
    """The shape of MSLR-WEB30K, a tenth of its rows."""
    data = make_ranking(1_892, 120, 136, dtype=np.float32, random_state=0)
    seconds, _ = best_of(3, lambda: RankSVM(C=8.0, tol=1e-4).fit(data.X, data.y, data.qid))
    return [row(f"fit {len(data):,} x 136 float32, 5 levels, C = 8", seconds, "s")]


def objective(data: Any, C: float) -> Any:
    qid = None if data.n_queries == 1 else data.qid
    return build(data.X, data.y, qid, loss=losses.squared_hinge(), C=C)


if __name__ == "__main__":
    for one in main():
        print(one)
