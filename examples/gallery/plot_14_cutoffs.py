"""
Where in the list is the improvement?
=====================================

NDCG at 10 hides whether the first place or the tenth got better. Draw the measure against the cutoff.
"""

from rankwise import RankRLS, RankSVM, load_sample
from rankwise.report import CutoffDisplay

train, test = load_sample("train"), load_sample("test")
scores = {
    "RankSVM": RankSVM().fit(train).predict(test),
    "RankRLS": RankRLS().fit(train).predict(test),
    "clicks": test.X[:, test.names.index("clicks")],
    "text_match": test.X[:, test.names.index("text_match")],
}
CutoffDisplay.from_predictions(test.y, scores, test.qid).plot()
