"""
Which pairs does a fit still work on?
=====================================

Only pairs with a margin below 1 are active: they have a loss, and they form the graph that all computations sum over.
The histogram shows the margins of every preference pair of the training data, without enumerating them.
"""

from rankwise import Preferences, RankSVM, load_sample
from rankwise.report import MarginDisplay

train = load_sample("train")
preferences = Preferences(train.y, train.qid)


def show(C):
    scores = RankSVM(C=C).fit(train).predict(train)
    active, pairs = preferences.active(scores, 1.0).n_pairs, preferences.active(scores).n_pairs
    print(f"C = {C:g}: {active:,} of {pairs:,} pairs are active")
    MarginDisplay.from_predictions(train.y, scores, train.qid).plot()


# %%
# With a small C the weights are small, so no pair reaches a margin of 1:

show(C=1e-4)

# %%
# With a larger C many pairs are done, and the fit works on the others:

show(C=1.0)
