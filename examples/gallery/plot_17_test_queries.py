"""
How many test queries do I need?
================================

A difference of means is significant if it is large compared with how much it varies between queries. With few test
queries only large differences can be seen.
"""

import matplotlib.pyplot as plt
import numpy as np

from rankwise import RankSVM, evaluate, load_sample
from rankwise.metrics import bootstrap_interval

data = load_sample()
test = data.select(data.qid > 60)
first, other = (
    evaluate(test.y, RankSVM().fit(data.select(data.qid <= last)).predict(test), test.qid, "ndcg@10")
    for last in (60, 3)  # trained on 60 queries, and on 3
)
differences = first.per_query["ndcg@10"] - other.per_query["ndcg@10"]
print(f"mean gain of the larger training set, over 60 test queries: {differences.mean():.3f}")

# %%
# 95 % intervals of the mean gain, for test sets of several sizes (each the average of 20 random test sets). Where the
# interval includes 0, the two rankers cannot be told apart.

sizes = [5, 10, 20, 40, 60]
random = np.random.default_rng(0)
intervals = [
    np.mean([bootstrap_interval(random.choice(differences, n, replace=False)) for _ in range(20)], axis=0)
    for n in sizes
]
figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.vlines(range(len(sizes)), *np.transpose(intervals), linewidth=8, alpha=0.6)
ax.axhline(0, color="black", linewidth=0.8)
ax.set(xticks=range(len(sizes)), xticklabels=sizes, xlabel="test queries", ylabel="gain in NDCG@10")
