"""
How much regularisation?
========================

C weighs the pairs against the length of w. ``RankSVMCV`` tries a grid of values on folds of whole queries. It
stops when larger values are clearly worse; here it tries all of them, for the picture.
"""

from rankwise import RankSVMCV, load_sample
from rankwise.report import RegularizationDisplay

data = load_sample()
ranker = RankSVMCV(measure="ndcg@10", early_stopping=False).fit(data)
print(f"C = {ranker.C_:g}, NDCG@10 on held-out queries {ranker.best_score_:.3f}")

# %%
# The curve is flat around its maximum: C need not be tuned finely.

RegularizationDisplay.from_estimator(ranker).plot()
