"""
When is a straight line not enough?
===================================

A linear ranker orders documents along a line. If the best documents are in the middle, for example those of a moderate
price and a moderate length, no line is right, and a kernel is.
"""

import matplotlib.pyplot as plt
import numpy as np

from rankwise import KernelRankSVM, RankSVM

random = np.random.default_rng(1)
X = random.uniform(-1, 1, size=(300, 2))
y = -np.round(3 * np.hypot(*X.T))  # grades 0, -1, ... from the middle outwards
qid = random.integers(0, 20, size=300)
rankers = {"linear": RankSVM(), "RBF kernel": KernelRankSVM(kernel="rbf", gamma=2.0)}

# %%
# Colours show the score, dots the documents; light dots are the better ones.

grid = np.stack(np.meshgrid(*2 * [np.linspace(-1, 1, 80)]), axis=-1)
figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained", sharey=True)
for (name, ranker), ax in zip(rankers.items(), axes, strict=True):
    accuracy = ranker.fit(X, y, qid).score(X, y, qid)
    ax.contourf(*np.moveaxis(grid, -1, 0), ranker.predict(grid.reshape(-1, 2)).reshape(80, 80), levels=20)
    ax.scatter(*X.T, c=y, s=14, edgecolors="black", linewidths=0.4)
    ax.set(title=f"{name}: {accuracy:.0%} of pairs in order", aspect="equal")
