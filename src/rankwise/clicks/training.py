"""Training data from clicks: Propensity SVM-Rank (Joachims, Swaminathan and Schnabel 2017), for every ranker.

Each click is a ranking problem of its own, in which the clicked document should be above all others of its list, also
above others that were clicked. Its pairs weigh 1 / propensity of the position of the clicked document, so that clicks
where users rarely look count for those that were not made. As ranking data this is a query with label 1 for the clicked
document and 0 for the others, and weights 1 / propensity and 1: a pair weighs the product of its two. Rankers need not
know of clicks, and pairs are never enumerated.

Clicks on the same document among the same documents are the same problem wherever they were made, so they become one,
with the sum of their weights. This is exact, and data grow with the number of different problems, not of clicks.

What remains is that a document occurs in several problems, and a list with m documents clicked m times.
`shared_click_data` stores its features once.
"""

import numpy as np

from rankwise.clicks.cells import sums
from rankwise.clicks.log import ClickLog
from rankwise.clicks.matching import rows_of_features, rows_of_lists
from rankwise.clicks.propensities import Propensities, check_clip
from rankwise.data.records import RankingData
from rankwise.data.repeated import SharedData
from rankwise.foundation.arrays import Floats, Ints


def click_data(
    log: ClickLog, features: RankingData, propensities: Propensities | None, *, clip: float = 0.01
) -> RankingData:
    """One query per different click problem, to be given to a ranker: `RankSVM().fit(click_data(...))`.

    features      the features of every document that was shown in a list with a click, by qid and docid; its labels are
                  not used, and further documents are left out
    propensities  of the positions, None: 1 at all of them, which is training without correction
    clip          propensities below this count as this, so that no click weighs more than 1 / clip

    Lists without clicks, and lists of one document, tell nothing. The queries of the result are numbered; its `groups`
    are the queries of the log, so that cross-validation holds out whole queries of the log. Measures of held-out
    queries are means over clicks with the same weights (self-normalised inverse propensity scoring).
    """
    return shared_click_data(log, features, propensities, clip=clip).read()


def shared_click_data(
    log: ClickLog, features: RankingData, propensities: Propensities | None, *, clip: float = 0.01
) -> SharedData:
    """The same, with the features of a document stored once for all problems in which it occurs.

    RankSVM, RankSVMCV, RankRLS and `cross_validate` take such data, and compute with each document's features once.
    """
    check_clip(clip)
    clicked = np.flatnonzero(log.click & (log.sizes > 1)[log.list_of_row])
    if not clicked.size:
        raise ValueError("the log has no click in a list of several documents: there is nothing to learn from")
    chance = np.ones(clicked.size) if propensities is None else propensities.at(log.position[clicked])
    clicks, weight = _different(log, clicked, 1 / np.maximum(chance, clip))
    rows, problem = rows_of_lists(log, log.list_of_row[clicks])
    is_clicked = rows == clicks[problem]
    known = rows_of_features(log, rows, features)
    used, place = np.unique(known, return_inverse=True)
    shown = features.select(used)
    return SharedData(
        X=shown.X,
        rows=place,
        y=is_clicked.astype(np.float64),
        qid=problem,
        first_index=features.first_index,
        names=features.names,
        docid=None if shown.docid is None else shown.docid[place],
        weight=np.where(is_clicked, weight[problem], 1.0),
        groups=log.queries[log.query_of_row[rows]],
    )


def _different(log: ClickLog, clicked: Ints, weights: Floats) -> tuple[Ints, Floats]:
    """One click for each different problem, by query, and the sum of the weights of all that are the same.

    Sets of documents are compared by sums of random numbers of 128 bits, one per document: sets that differ have equal
    sums with a probability of 2^-128, and nothing is sorted within lists.
    """
    lists = log.list_of_row[clicked]
    marks = np.random.default_rng(0).integers(0, 2**64, (2, len(log.docs)), dtype=np.uint64)
    running = np.zeros((2, len(log) + 1), np.uint64)
    np.cumsum(marks[:, log.doc], axis=1, out=running[:, 1:])  # modulo 2^64
    sums_of_lists = running[:, log.starts[lists + 1]] - running[:, log.starts[lists]]
    keys = np.stack([*sums_of_lists, log.query[lists].astype(np.uint64), log.doc[clicked].astype(np.uint64)])
    order = np.lexsort(keys)
    is_new = np.append(True, (np.diff(keys[:, order]) != 0).any(axis=0))
    first = order[is_new]  # the sort is stable
    by_query = np.lexsort((first, log.query[lists[first]]))
    place = np.empty(first.size, np.int64)
    place[by_query] = np.arange(first.size)
    problem = np.empty(clicked.size, np.int64)
    problem[order] = place[np.cumsum(is_new) - 1]
    return clicked[first[by_query]], sums(problem, weights, first.size)
