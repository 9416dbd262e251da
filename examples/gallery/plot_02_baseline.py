"""
Is it better than the order I have now?
=======================================

A mean says little by itself. Compare query by query, with a test that says whether the difference could be chance, and
look at the queries that got worse.
"""

from rankwise import RankSVM, compare, load_sample
from rankwise.report import QueryDifferenceDisplay

train, test = load_sample("train"), load_sample("test")
scores = RankSVM().fit(train).predict(test)
found = compare({"RankSVM": scores}, test, measures="ndcg@10", baseline="text_match", n_worst=3)
print(found)

# %%
# One bar per query of the test data, from the largest gain to the largest loss.

baseline = test.X[:, test.names.index("text_match")]
names = ("RankSVM", "text_match")
QueryDifferenceDisplay.from_predictions(test.y, scores, baseline, test.qid, names=names).plot()
