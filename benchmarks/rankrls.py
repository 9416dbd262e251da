"""RankRLS on 42,000 documents of 46 features: one fit, 26 alphas with every query left out, and the same by hand.

`python -m benchmarks.rankrls` prints the rows. The data are LETOR's MQ2007 (fold 1, training part) where they lie at
../shared/data, else made up in the same shape. RLScore, the one other program that leaves queries out in closed form,
does not build on a current Python; where it can be imported its row is added.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import seconds, timed
from rankwise import RankingData, make_ranking, read_letor
from rankwise.estimators.rankrls import RankRLS
from rankwise.estimators.rankrls_cv import ALPHAS, RankRLSCV
from rankwise.least_squares.leave_query_out import leave_query_out
from rankwise.least_squares.regression import regression
from rankwise.solvers.spectral import decompose

LETOR = Path(__file__).resolve().parents[2] / "shared" / "data" / "mq2007"
FEW_QUERIES = 40  # an n × n Laplacian of more would take minutes


def main() -> list[dict[str, Any]]:
    data = _data()
    few = data.select(np.isin(data.qid, np.unique(data.qid)[:FEW_QUERIES]))
    fit = seconds(lambda: RankRLS().fit(data.X, data.y, data.qid))
    path = seconds(lambda: _path(data))
    whole = seconds(lambda: RankRLSCV().fit(data.X, data.y, data.qid))
    by_hand = fit * len(ALPHAS) * data.n_queries
    rows = [
        timed(f"RankRLS on {len(data):,} documents", fit),
        timed(f"{len(ALPHAS)} alphas, every query left out: scores", path, "one fit", fit),
        timed(f"{len(ALPHAS)} alphas, every query left out: scores and their pairwise accuracy", whole, "one fit", fit),
        timed("the same", whole, "fitting anew, at the time of one fit each", by_hand),
        timed(
            f"RankRLS on {len(few):,} documents",
            seconds(lambda: RankRLS().fit(few.X, few.y, few.qid)),
            "numpy.linalg with the Laplacian written out",
            seconds(lambda: _written_out(few), 3),
        ),
    ]
    ours, theirs = RankRLS().fit(few.X, few.y, few.qid).coef_, _written_out(few)
    if np.abs(ours - theirs).max() > 1e-8 * np.abs(theirs).max():
        raise AssertionError(f"the two disagree: {ours} and {theirs}")
    if find_spec("rlscore"):
        peer = seconds(lambda: _rlscore(data), 3)
        rows.append(timed("RankRLS(scaling='query')", fit, "RLScore's QueryRankRLS", peer))
    for row in rows:
        print(f"{1e3 * row['value']:9.1f} ms  {row['name']}{_compared(row)}")
    return rows


def _compared(row: dict[str, Any]) -> str:
    if row["ratio"] is None:
        return ""
    if row["ratio"] < 1:
        return f": {1 / row['ratio']:.1f} times the time of {row['peer']}"
    return f": {row['ratio']:.3g} times faster than {row['peer']}"


def _data() -> RankingData:
    if LETOR.is_dir():
        return read_letor([LETOR / f"S{part}.txt.xz" for part in (1, 2, 3)], dense=True)
    return make_ranking(n_queries=1017, docs_per_query=41, n_features=46, n_levels=3, random_state=0)


def _path(data: RankingData) -> np.ndarray:
    """All that RankRLSCV does but for judging the scores."""
    problem = regression(data.X, data.y, data.qid, None, ties="include", scaling="pairs", n_jobs=None)
    normal = problem.normal_matrix()
    spectrum = decompose(normal[:-1, :-1], normal[:-1, -1])
    spectrum.solutions(np.array(ALPHAS))
    return leave_query_out(problem, normal, spectrum, np.array(ALPHAS))


def _written_out(data: RankingData) -> np.ndarray:
    W = (data.qid[:, None] == data.qid).astype(np.float64)
    L = np.diag(W.sum(axis=1)) - W
    return np.linalg.solve(data.X.T @ L @ data.X + np.eye(data.n_features), data.X.T @ L @ data.y)


def _rlscore(data: RankingData) -> Any:
    from rlscore.learner import QueryRankRLS

    return QueryRankRLS(data.X, data.y, data.qid, regparam=1.0)


if __name__ == "__main__":
    main()
