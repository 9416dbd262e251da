"""
Can I learn from clicks?
========================

Users click on what they see, and they see the top of a list most. Clicks as they are therefore speak for the order that
was shown. Weighted by how often users look at each position, they come near to judgements.
"""

import matplotlib.pyplot as plt
import numpy as np

from rankwise import RankSVM, load_sample
from rankwise.clicks import click_data, harvested_bias, simulate_clicks

train, test = load_sample("train"), load_sample("test")
shown = np.stack([-train.X[:, train.names.index("price")], train.X[:, train.names.index("rating")]])

# %%
# The clicks are simulated: users look at position k with probability (1 / k)^eta. Two rankers made the lists, the
# cheapest or the best rated first, so the bias of positions can be estimated from documents that both have shown.

severities = [0.0, 0.5, 1.0, 1.5, 2.0]
values = {"clicks as they are": [], "weighted by 1 / propensity": []}
for eta in severities:
    log = simulate_clicks(train, shown, n_lists=30_000, eta=eta, random_state=0).log
    estimated = harvested_bias(log, n_resamples=1)
    for found, propensities in zip(values.values(), (None, estimated), strict=True):
        found.append(RankSVM().fit(click_data(log, train, propensities)).score(test))
judged = RankSVM().fit(train).score(test)

# %%
# The stronger the bias, the worse are clicks as they are.

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name, found in values.items():
    ax.plot(severities, found, "o-", label=name)
    print(f"{name}: {found[2]:.3f} with eta 1")
ax.axhline(judged, color="grey", linestyle="--", label="judgements")
print(f"judgements: {judged:.3f}")
ax.set(xlabel="eta, the severity of the bias", ylabel="NDCG@10 on test queries")
ax.legend(frameon=False)
