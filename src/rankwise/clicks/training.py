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
from rankwise.clicks.propensities import Propensities
from rankwise.data.records import RankingData, check_finite
from rankwise.data.repeated import SharedData
from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.pairs.queries import one_type


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
    if not 0 < clip <= 1:
        raise ValueError(f"clip must be above 0 and at most 1; got {clip!r}")
    clicked = np.flatnonzero(log.click & (log.sizes > 1)[log.list_of_row])
    if not clicked.size:
        raise ValueError("the log has no click in a list of several documents: there is nothing to learn from")
    chance = np.ones(clicked.size) if propensities is None else propensities.at(log.position[clicked])
    clicks, weight = _different(log, clicked, 1 / np.maximum(chance, clip))
    rows, problem = _rows_of_lists(log, log.list_of_row[clicks])
    is_clicked = rows == clicks[problem]
    known = _rows_of_features(log, rows, features)
    used, place = np.unique(known, return_inverse=True)
    shown = features.select(used)
    check_finite(shown)
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


def _rows_of_lists(log: ClickLog, lists: Ints) -> tuple[Ints, Ints]:
    """The rows of these lists one after the other, and for each its place in `lists`."""
    sizes = log.sizes[lists]
    place = np.repeat(np.arange(lists.size), sizes)
    offset = np.arange(place.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return log.starts[lists][place] + offset, place


def _rows_of_features(log: ClickLog, rows: Ints, features: RankingData) -> Ints:
    """The row of `features` for each of these rows of the log."""
    if features.docid is None:
        raise ValueError("features must have docid, by which the documents of the log are found")
    query = _numbers(log.queries, features.qid)
    doc = _numbers(log.docs, features.docid)
    keys = query * len(log.docs) + doc
    known = np.flatnonzero((query >= 0) & (doc >= 0))
    known = known[np.argsort(keys[known], kind="stable")]
    twice = np.flatnonzero(np.diff(keys[known]) == 0)
    if twice.size:
        row, other = sorted(known[twice[0] : twice[0] + 2].tolist())
        which = f"document {str(features.docid[row])!r} of query {str(features.qid[row])!r}"
        raise ValueError(f"features has the {which} twice, in the rows {row} and {other}")
    wanted = log.query_of_row[rows] * len(log.docs) + log.doc[rows]
    place = np.searchsorted(keys[known], wanted)
    found = np.append(keys[known], -1)[place] == wanted
    if not found.all():
        row = rows[int((~found).argmax())]
        missing = np.unique(wanted[~found]).size
        which = f"document {str(log.docs[log.doc[row]])!r} of query {str(log.queries[log.query_of_row[row]])!r}"
        raise ValueError(
            f"features lacks {missing} of {np.unique(wanted).size} documents of lists with clicks, first the {which}: "
            "log their features too, or leave out those lists"
        )
    return known[place]


def _numbers(ids: Array, wanted: Array) -> Ints:
    """For each wanted id its place in `ids`, or -1; 7 and "7" are the same id."""
    one, two = one_type([ids, wanted])
    place: dict[object, int] = {name: i for i, name in enumerate(one.tolist())}
    distinct, code = np.unique(two, return_inverse=True)
    return np.array([place.get(name, -1) for name in distinct.tolist()], dtype=np.int64)[code]
