"""Training data from clicks: Propensity SVM-Rank (Joachims, Swaminathan and Schnabel 2017), for every ranker.

Each click is a ranking problem of its own, in which the clicked document should be above all others of its list, also
above others that were clicked. Its pairs weigh 1 / propensity of the position of the clicked document, so that clicks
where users rarely look count for those that were not made. As ranking data this is a query with label 1 for the clicked
document and 0 for the others, and weights 1 / propensity and 1: a pair weighs the product of its two. Rankers need not
know of clicks, and pairs are never enumerated.

Clicks on the same document among the same documents are the same problem wherever they were made, so they become one,
with the sum of their weights. This is exact, and data grow with the number of different problems, not of clicks.

What remains is that a list with m documents clicked is copied m times. To share its rows, the sums over pairs would
need a graph in which every two documents of a list are a pair in both directions and (i, j) weighs ω_i, 0 for documents
that were not clicked. Labels cannot express it, because both directions occur; but in score order the partners of a
document are a run of the whole list, so that counts and sums of scores in it suffice, and the two sweeps of `pairs`
would do with one level.
"""

from itertools import pairwise

import numpy as np

from rankwise.clicks.cells import sums
from rankwise.clicks.log import ClickLog
from rankwise.clicks.matching import rows_of_features, rows_of_lists
from rankwise.clicks.propensities import Propensities, check_clip
from rankwise.data.records import RankingData
from rankwise.foundation.arrays import Floats, Ints


def click_data(
    log: ClickLog, features: RankingData, propensities: Propensities | None, *, clip: float = 0.01
) -> RankingData:
    """One query per different click problem, to be given to a ranker: `RankSVM().fit(click_data(...))`.

    features      the features of every document that was shown in a list with a click, by qid and docid; its labels are
                  not used, and further documents are left out
    propensities  of the positions, None: 1 at all of them, which is training without correction
    clip          propensities below this count as this, so that no click weighs more than 1 / clip

    Lists without clicks, and lists of one document, tell nothing. The queries of the result are numbered and not those
    of the log: do not cross-validate over them, because one query of the log occurs in several.
    """
    check_clip(clip)
    clicked = np.flatnonzero(log.click & (log.sizes > 1)[log.list_of_row])
    if not clicked.size:
        raise ValueError("the log has no click in a list of several documents: there is nothing to learn from")
    chance = np.ones(clicked.size) if propensities is None else propensities.at(log.position[clicked])
    clicks, weight = _different(log, clicked, 1 / np.maximum(chance, clip))
    rows, problem = rows_of_lists(log, log.list_of_row[clicks])
    is_clicked = rows == clicks[problem]
    data = features.select(rows_of_features(log, rows, features))
    return RankingData(
        X=data.X,
        y=is_clicked.astype(np.float64),
        qid=problem,
        first_index=data.first_index,
        names=data.names,
        docid=data.docid,
        weight=np.where(is_clicked, weight[problem], 1.0),
    )


def _different(log: ClickLog, clicked: Ints, weights: Floats) -> tuple[Ints, Floats]:
    """One click for each different problem, and the sum of the weights of all that are the same."""
    of_row = log.list_of_row
    sorted_docs = log.doc[np.lexsort((log.doc, of_row))]
    numbers: dict[tuple[int, bytes], int] = {}  # by query and documents
    problem = np.array(
        [
            numbers.setdefault((query, sorted_docs[start:end].tobytes()), len(numbers))
            for query, (start, end) in zip(log.query.tolist(), pairwise(log.starts.tolist()), strict=True)
        ]
    )
    key = problem[of_row[clicked]] * len(log.docs) + log.doc[clicked]
    _, first, code = np.unique(key, return_index=True, return_inverse=True)
    return clicked[first], sums(code, weights, first.size)
