"""RankRLS under torture: whatever solver says that it converged has the optimum, in extended precision."""

import warnings
from typing import Any

import numpy as np

from rankwise.estimators.rankrls import RankRLS

from .law import LARGE, SECONDS, SENTENCES, TINY, limited
from .problems import Problem
from .referee import EPS, Long, solve

SOLVERS = "primal", "dual", "cg", "auto"
SCORES = 1e-7  # what scores may be off by, relative to their size: RankRLS promises a hundredth of it


def pairs_of(problem: Problem) -> tuple[Any, Any, Any]:
    """Differences of rows and of labels, and the weight, of every pair of documents of one query."""
    X, y = problem.dense.astype(Long), problem.y.astype(Long)
    n = len(y)
    qid = np.zeros(n) if problem.qid is None else problem.qid
    weights = np.ones(n, Long) if problem.weights is None else problem.weights.astype(Long)
    one, other = np.triu_indices(n, 1)
    kept = (qid[one] == qid[other]) & (weights[one] * weights[other] > 0)
    one, other = one[kept], other[kept]
    return X[one] - X[other], y[one] - y[other], weights[one] * weights[other]


def faults(problem: Problem, solvers: tuple[str, ...] = SOLVERS) -> list[str]:
    """The sentences of all that is against the law; alpha is the problem's C."""
    D, asked, weights = pairs_of(problem)
    alpha, wrong, found = Long(problem.C), [], {}
    for solver in solvers:
        ranker = RankRLS(alpha=problem.C, solver=solver)
        try:
            with warnings.catch_warnings(), limited(SECONDS):
                warnings.simplefilter("ignore")
                ranker.fit(problem.X, problem.y, problem.qid, problem.weights)
        except Exception as error:
            if not (_extreme(D) and any(sentence in str(error) for sentence in SENTENCES)):
                wrong.append(f"RankRLS {solver}: {type(error).__name__}: {error}")
            continue
        if not np.isfinite(ranker.coef_).all():
            wrong.append(f"RankRLS {solver}: not finite: {ranker.coef_}")
        elif ranker.result_.converged:
            found[solver] = ranker.coef_.astype(Long)
    with np.errstate(all="ignore"):
        gram = D.T @ (weights[:, None] * D)
        gram[np.diag_indices_from(gram)] += alpha
        found["the referee"] = solve(gram, D.T @ (weights * asked))
    values = {name: weights @ (asked - D @ w) ** 2 + alpha * (w @ w) for name, w in found.items()}
    values = {name: value for name, value in values.items() if np.isfinite(value)}
    best = min(values.values(), default=None)  # none: beyond extended precision, and refused by every solver
    for name, value in values.items():
        moved = weights @ (D @ found[name]) ** 2
        unsure = 64 * EPS * np.sqrt(len(weights)) * (weights @ (np.abs(asked) + np.abs(D) @ np.abs(found[name])) ** 2)
        if name != "the referee" and value - best > SCORES**2 * moved + unsure:
            wrong.append(f"RankRLS {name}: converged at {float(value):.12g}, best {float(best):.12g}")
    return wrong


def _extreme(D: Any) -> bool:
    sizes = np.abs(D)
    return bool(sizes.size and (sizes.max() > LARGE or sizes.max() < TINY))
