"""RankNet and ListNet with a linear score s = Xw: both losses are convex in s, so L-BFGS finds the one minimum.

    RankNet  the mean over all pairs (i, j) of log(1 + exp(s_j - s_i))
    ListNet  the mean over queries of -Σ P_i log Q_i,   P = softmax(y), Q = softmax(s): the chances to come first

plus alpha/2 |w|². The papers train networks by stochastic steps and stop early; `max_iter` stops this one early.
"""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator

from experiments.baselines.pairs import by_query, listed

Floats = NDArray[np.float64]
Loss = Callable[[Floats], tuple[float, Floats]]  # scores -> value, and its gradient with respect to them


class LinearRanker(BaseEstimator):
    """loss(Xw) + alpha/2 |w|², minimised from w = 0."""

    coef_: Floats

    def __init__(self, alpha: float = 1e-4, max_iter: int = 200) -> None:
        self.alpha = alpha
        self.max_iter = max_iter

    def loss(self, y: Floats, qid: Any) -> Loss:
        raise NotImplementedError

    def fit(self, X: Any, y: Any, qid: Any) -> Self:
        loss = self.loss(np.asarray(y, dtype=float), qid)

        def objective(w: Floats) -> tuple[float, Floats]:
            value, gradient = loss(X @ w)
            return value + self.alpha / 2 * (w @ w), X.T @ gradient + self.alpha * w

        options = {"maxiter": self.max_iter}
        self.coef_ = minimize(objective, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B", options=options).x
        return self

    def predict(self, X: Any) -> Floats:
        scores: Floats = X @ self.coef_
        return scores


class RankNet(LinearRanker):
    """Burges et al. (2005): the logistic loss of every pair."""

    def loss(self, y: Floats, qid: Any) -> Loss:
        better, worse = listed(y, qid)

        def at(scores: Floats) -> tuple[float, Floats]:
            behind = scores[worse] - scores[better]
            pull = expit(behind) / behind.size
            gradient = np.bincount(worse, pull, y.size) - np.bincount(better, pull, y.size)
            return float(np.logaddexp(0, behind).mean()), gradient

        return at


class ListNet(LinearRanker):
    """Cao et al. (2007): the cross entropy of the two distributions of who comes first."""

    def loss(self, y: Floats, qid: Any) -> Loss:
        queries = by_query(qid)
        order, sizes = np.concatenate(queries), [rows.size for rows in queries]
        starts = np.cumsum([0, *sizes[:-1]])

        def log_softmax(values: Floats) -> Floats:
            shifted = values - np.repeat(np.maximum.reduceat(values, starts), sizes)
            return shifted - np.repeat(np.log(np.add.reduceat(np.exp(shifted), starts)), sizes)

        wanted = np.exp(log_softmax(y[order]))

        def at(scores: Floats) -> tuple[float, Floats]:
            logs = log_softmax(scores[order])
            gradient = np.empty(y.size)
            gradient[order] = (np.exp(logs) - wanted) / len(queries)
            return -float(wanted @ logs) / len(queries), gradient

        return at
