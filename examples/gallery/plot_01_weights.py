"""
What has a ranker learnt?
=========================

The weights of a linear ranker say how much each feature counts. Features should be on one scale before weights are
compared, so the ranker standardises them within each query first.
"""

from rankwise import RankSVM, ScaledRanker, load_sample
from rankwise.report import WeightsDisplay

train, test = load_sample("train"), load_sample("test")
ranker = ScaledRanker(RankSVM(), "query-zscore").fit(train)
print(f"NDCG@10 on new queries: {ranker.score(test):.3f}")

# %%
# Positive weights move documents up, negative ones down.

WeightsDisplay.from_estimator(ranker, names=train.names).plot()
