"""
How often do users look at each position?
=========================================

A click needs a user who looks. Three estimates of how often users do so, relative to the top position: from an
experiment that exchanged positions at random, and from documents that several rankers showed at different positions, by
harvesting and by expectation maximisation.
"""

import matplotlib.pyplot as plt
import numpy as np

from rankwise import load_sample
from rankwise.clicks import em_bias, harvested_bias, simulate_clicks, swap_bias
from rankwise.report import PropensityDisplay

data = load_sample()
rankers = np.stack([-data.X[:, 7], data.X[:, 5], data.X[:, 0]])  # cheap, well rated, title matches
simulated = simulate_clicks(data, rankers, n_lists=10_000, depth=6, swaps=True, random_state=0)
print(simulated.log)

# %%
# Bars are 95 % intervals by the bootstrap over queries. The experiment assumes the least; the other two need none. The
# truth, of these simulated users, is drawn as grey strokes.

options = {"n_resamples": 100, "random_state": 0}
estimates = {
    "swap experiment": swap_bias(simulated.log, simulated.swapped, **options),
    "harvested": harvested_bias(simulated.log, **options),
    "EM": em_bias(simulated.log, **options),
}
figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.plot(simulated.propensities.positions, simulated.propensities.values, "_", color="grey", markersize=36)
PropensityDisplay.from_propensities(estimates).plot(ax)
