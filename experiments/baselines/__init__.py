"""What the papers compare with and neither scikit-learn nor LightGBM has, in plain NumPy.

fit(X, y, qid) and predict(X), as every ranker here; small enough to be read in one go, and no faster than that.
"""

from experiments.baselines.linear import ListNet, RankNet
from experiments.baselines.rankboost import RankBoost

__all__ = ["ListNet", "RankBoost", "RankNet"]
