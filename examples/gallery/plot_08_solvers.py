"""
Which solver is fastest?
========================

All solvers find the same optimum; they differ in how they get there. Newton's method forms the Hessian and needs a
handful of steps; the trust region method only multiplies by it; cutting planes know the gradient only.
"""

import warnings

from rankwise import RankSVM, make_ranking
from rankwise.report import ConvergenceDisplay

data = make_ranking(n_queries=300, docs_per_query=20, n_features=30, random_state=0)
rankers = {}
for solver in ("newton", "trust-region", "bundle", "sgd"):
    ranker = RankSVM(C=0.01, solver=solver, tol=1e-8, max_iter=200, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # stochastic gradients do not get that far
        rankers[solver] = ranker.fit(data)
    print(f"{solver:13} {ranker.result_.value:.6f} after {ranker.n_iter_} iterations")

# %%
# The gap is the distance to the best value that any of them found.

ConvergenceDisplay.from_estimators(rankers).plot()
