"""
Do features need scaling?
=========================

A ranker compares documents of one query only. If a feature has another scale in every query, as BM25 has for long and
short queries, scaling within the query makes its values comparable across queries.
"""

import matplotlib.pyplot as plt
import numpy as np

from rankwise import RankingData, RankSVM, ScaledRanker, make_ranking
from rankwise.model_selection import cross_validate

data = make_ranking(n_queries=150, docs_per_query=15, n_features=8, noise=0.2, random_state=3)
_, query = np.unique(data.qid, return_inverse=True)
scale = np.random.default_rng(0).lognormal(sigma=1.5, size=(150, 8))
data = RankingData(data.X * scale[query], data.y, data.qid)

values = {}
for name in (None, "zscore", "query-minmax", "query-zscore"):
    ranker = RankSVM() if name is None else ScaledRanker(RankSVM(), name)
    values[name or "not scaled"] = cross_validate(ranker, data.X, data.y, data.qid, cv=5).by_fold("ndcg@10")

# %%
# Each dot is a fold of held-out queries, the bar is their mean.

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for i, folds in enumerate(values.values()):
    ax.barh(i, folds.mean(), color=f"C{i}", alpha=0.5)
    ax.plot(folds, np.full(len(folds), i), "o", color=f"C{i}", markersize=4)
ax.set(yticks=range(len(values)), yticklabels=list(values), xlabel="NDCG@10 on held-out queries", xlim=(0.7, 1))
ax.invert_yaxis()
