"""
How do I maximise the AUC?
==========================

The AUC is the share of pairs of a positive and a negative example that are in the right order: pairwise accuracy with
two labels and one query. ``RankSVM`` without query ids is trained on exactly these pairs.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score, roc_curve

from rankwise import RankSVM

random = np.random.default_rng(0)
n, rare = 4000, 0.03
y = (random.random(n) < rare).astype(int)
X = random.normal(size=(n, 8)) + 0.45 * y[:, None] * random.exponential(size=(n, 8))
train, test = np.arange(n) < 2000, np.arange(n) >= 2000

scores = {
    "RankSVM": RankSVM().fit(X[train], y[train]).predict(X[test]),
    "logistic regression": LogisticRegression().fit(X[train], y[train]).decision_function(X[test]),
}

# %%
# Here the two find nearly the same order. The ranker needs no class weights for rare positives, because each positive
# is compared with every negative; and it takes more than two labels in the same way.

figure, ax = plt.subplots(figsize=(5, 4.5), layout="constrained")
for name, one in scores.items():
    ax.plot(*roc_curve(y[test], one)[:2], label=f"{name}: AUC {roc_auc_score(y[test], one):.3f}")
ax.plot([0, 1], [0, 1], "k:", linewidth=0.8)
ax.set(xlabel="false positive rate", ylabel="true positive rate", aspect="equal")
ax.legend(loc="lower right")
