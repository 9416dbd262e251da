"""
How do I rank by time if some times are censored?
=================================================

Some observations end before the event: of those we only know that they lasted *at least* that long. A pair can be
compared if its shorter time is that of an event. These pairs are what a concordance index counts, and ``fit`` takes
them as a list.
"""

import matplotlib.pyplot as plt
import numpy as np

from rankwise import RankSVM

WEIGHTS = [0.8, -0.5, 0.3, 0.3, 0, 0, 0, 0]


def observed(n, random):
    """Features, times, and whether a time is that of an event; what lasts long is censored more often."""
    X = random.normal(size=(n, len(WEIGHTS)))
    lifetime = np.exp(X @ WEIGHTS + 0.7 * random.normal(size=n))
    end = random.exponential(0.6, size=n)
    return X, np.minimum(lifetime, end), lifetime <= end


def comparable(time, is_event):
    """Pairs (longer, shorter) whose order is known."""
    return np.argwhere((time[:, None] > time) & is_event)


def concordance(scores, pairs):
    return np.mean(scores[pairs[:, 0]] > scores[pairs[:, 1]])


random = np.random.default_rng(0)
values = {"events only": [], "all comparable pairs": []}
for _ in range(20):
    X, time, is_event = observed(120, random)
    new, new_time, new_is_event = observed(500, random)
    rankers = {
        "events only": RankSVM().fit(X[is_event], time[is_event]),
        "all comparable pairs": RankSVM().fit(X, pairs=comparable(time, is_event)),
    }
    for name, ranker in rankers.items():
        values[name].append(concordance(ranker.predict(new), comparable(new_time, new_is_event)))
print(f"{np.mean(~is_event):.0%} of the times are censored")

# %%
# Leaving the censored rows out loses what they tell. Each dot is one of 20 repetitions, the bar is their mean.

figure, ax = plt.subplots(figsize=(6, 2.2), layout="constrained")
for i, (name, found) in enumerate(values.items()):
    ax.barh(i, np.mean(found), color=f"C{i}", alpha=0.5)
    ax.plot(found, np.full(len(found), i), "o", color=f"C{i}", markersize=4)
    print(f"{name}: {np.mean(found):.3f}")
ax.set(yticks=range(len(values)), yticklabels=list(values), xlim=(0.7, 0.95), xlabel="concordance index on new rows")
