"""
What do tied scores do to NDCG?
===============================

Documents with equal scores have no order. Tools that take the order of the file give a constant score a good value if
the file happens to be sorted by label. rankwise averages over all orders of tied documents unless asked otherwise.
"""

import matplotlib.pyplot as plt
import numpy as np

from rankwise import evaluate, load_sample

data = load_sample()
order = np.lexsort([-data.y, data.qid])  # each query sorted by label, the best first, as many files are
y, qid, clicks = data.y[order], data.qid[order], data.X[order, data.names.index("clicks")]
rules = ["stable", "best", "average", "worst"]
measures = [f"ndcg@10:ties={rule}" for rule in rules]
rounded = {"no ranker at all": np.zeros(len(y)), "clicks, 1 digit": np.round(clicks, 1), "clicks": clicks}

# %%
# Only ``average`` and ``worst`` do not reward a ranker for having ties.

figure, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
places = np.arange(len(rules))
for i, (name, scores) in enumerate(rounded.items()):
    found = evaluate(y, scores, qid, measures)
    ax.bar(places + 0.27 * (i - 1), list(found.values()), width=0.25, label=name)
ax.set(ylabel="NDCG@10", xlabel="rule for ties", xticks=places, xticklabels=rules, ylim=(0, 1.25))
ax.legend(ncols=3)
