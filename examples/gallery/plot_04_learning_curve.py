"""
How many judged queries are enough?
===================================

Judgements cost money. A learning curve shows what more of them would bring: train on more and more queries and evaluate
on queries that were held out.
"""

import matplotlib.pyplot as plt

from rankwise import RankSVM, load_sample
from rankwise.model_selection import learning_curve

data = load_sample()
curve = learning_curve(RankSVM(), data.X, data.y, data.qid, sizes=[2, 5, 10, 20, 40, 80], cv=6)
print(curve.to_frame())

# %%
# The two curves approach each other. Where they have met, more queries of the same kind do not help; better features
# might.

figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
for name, values in (("training queries", curve.train), ("held-out queries", curve.valid)):
    ax.plot(curve.n_queries, values.mean(axis=1), "o-", label=name)
    ax.fill_between(curve.n_queries, values.min(axis=1), values.max(axis=1), alpha=0.15)
ax.set(xscale="log", xlabel="training queries", ylabel="NDCG@10", xticks=curve.n_queries, xticklabels=curve.n_queries)
ax.minorticks_off()
ax.legend()
