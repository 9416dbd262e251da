"""RankRLS as a risk over pairs, for arrays of torch and CuPy:

    J(w) = Σ (y_i - y_j - (w·x_i - w·x_j))² + α|w|² = 2α (½|w|² + 1/(2α) risk(X w))

with the squared loss and the margins y_i - y_j. Where ties are included, all documents of a query are compared: then
any order of them does for preferences.
"""

from typing import Any

import numpy as np

from rankwise.foundation.devices import device_of, namespace, on_device_of, some_rows, to_host
from rankwise.least_squares.comparisons import check_options
from rankwise.objective import losses
from rankwise.objective.device_sparse import rows_on_device
from rankwise.objective.executors import Threads
from rankwise.objective.objective import Objective
from rankwise.objective.risks import PairwiseRisk
from rankwise.objective.sums import Sum
from rankwise.pairs.preferences import Preferences
from rankwise.pairs.queries import Queries


def pairwise(X: Any, y: Any, qid: Any, weights: Any, alpha: float, *, ties: str, scaling: str) -> Objective:
    """½|w|² + 1/(2α) risk(X w); its optimum is that of RankRLS."""
    check_options(ties, scaling)
    xp, groups = namespace(y), Queries(qid, X.shape[0])
    features: Any = rows_on_device(X)
    if groups.rows is not None:
        features, y = features.select(groups.rows), some_rows(y, groups.rows)
        weights = None if weights is None else some_rows(weights, groups.rows)
        groups = groups.gathered()
    if scaling == "query":
        omega = np.ones(y.shape[0]) if weights is None else to_host(weights)
        totals = np.bincount(groups.codes, omega)
        weights = on_device_of(y, omega / np.sqrt(np.where(totals > 0, totals, 1.0))[groups.codes])
    order = y if ties == "exclude" else xp.arange(y.shape[0], dtype=xp.float64, device=device_of(y))
    risk = PairwiseRisk(Preferences(order, groups, weights), losses.squared(), margins=y)
    return Objective(Sum(Threads(features, risk)), 1.0 / (2.0 * alpha))
