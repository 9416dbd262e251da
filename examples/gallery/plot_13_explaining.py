"""
Why is this document above that one?
====================================

The score of a linear ranker is a sum over features, so the difference of two scores is one too: every feature has an
exact share in it.
"""

from rankwise import RankSVM, load_sample

train, test = load_sample("train"), load_sample("test")
ranker = RankSVM().fit(train)
pair = ranker.explain_pair("book-122", "book-464", data=test)
print(pair.summary())

# %%
# What pushes the first document up is blue; what speaks for the other one is red.

pair.plot()
