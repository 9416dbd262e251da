"""RankBoost (Freund et al., 2003): s(x) = Σ a_t [x_f(t) > θ_t], one feature and one threshold a round.

A weight D a pair, 1 / number of pairs at first. A round takes the f and θ of the greatest |r|,

    r = Σ D_ij ([x_if > θ] - [x_jf > θ]),    a = ½ log((1 + r) / (1 - r)),

then D_ij ← D_ij exp(-a ([x_if > θ] - [x_jf > θ])) / Z. The share of pairs left in the wrong order is at most Π Z_t, and
Z_t at most sqrt(1 - r_t²). With π_i = Σ_j D_ij - Σ_j D_ji, r is the sum of π over the rows above the threshold: one
cumulative sum a feature, over rows sorted once.
"""

from collections.abc import Iterator
from itertools import accumulate
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from experiments.baselines.pairs import listed

Floats = NDArray[np.float64]
EDGE = 1 - 1e-9  # of |r|: a perfect split would weigh infinitely much


class RankBoost(BaseEstimator):
    """`rounds_`: (feature, threshold, weight) each; `factors_`: their Z."""

    rounds_: list[tuple[int, float, float]]
    factors_: list[float]

    def __init__(self, n_rounds: int = 300) -> None:
        self.n_rounds = n_rounds

    def fit(self, X: Any, y: Any, qid: Any) -> Self:
        better, worse = listed(y, qid)
        order = np.argsort(-X, axis=0, kind="stable")
        falling = np.take_along_axis(X, order, axis=0)
        splits = falling[:-1] > falling[1:]  # a threshold goes between two values only where they differ
        weights = np.full(better.size, 1 / better.size)
        self.rounds_, self.factors_ = [], []
        for _ in range(self.n_rounds):
            potential = np.bincount(better, weights, len(X)) - np.bincount(worse, weights, len(X))
            gains = np.where(splits, np.cumsum(potential[order], axis=0)[:-1], 0.0)
            row, feature = np.unravel_index(np.argmax(np.abs(gains)), gains.shape)
            r = np.clip(gains[row, feature], -EDGE, EDGE)
            if r == 0:
                break
            threshold = float(falling[row : row + 2, feature].mean())
            weight = 0.5 * float(np.log((1 + r) / (1 - r)))
            above = X[:, feature] > threshold
            weights *= np.exp(-weight * (above[better].astype(float) - above[worse]))
            self.factors_.append(float(weights.sum()))
            weights /= self.factors_[-1]
            self.rounds_.append((int(feature), threshold, weight))
        return self

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """The scores after one round, after two, …: how many to keep is for validation data to say."""
        return accumulate(self._votes(X))

    def predict(self, X: Any) -> Floats:
        return sum(self._votes(X), np.zeros(len(X)))

    def _votes(self, X: Any) -> Iterator[Floats]:
        return (weight * (X[:, feature] > threshold) for feature, threshold, weight in self.rounds_)
