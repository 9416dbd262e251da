"""The rows of lists, and the rows of ranking data that have the same query and document."""

import numpy as np

from rankwise.clicks.log import ClickLog
from rankwise.data.records import RankingData
from rankwise.foundation.arrays import Array, Ints
from rankwise.pairs.queries import one_type


def rows_of_lists(log: ClickLog, lists: Ints) -> tuple[Ints, Ints]:
    """The rows of these lists one after the other, and for each its place in `lists`."""
    sizes = log.sizes[lists]
    place = np.repeat(np.arange(lists.size), sizes)
    offset = np.arange(place.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return log.starts[lists][place] + offset, place


def rows_of_features(log: ClickLog, rows: Ints, features: RankingData) -> Ints:
    """The row of `features` for each of these rows of the log."""
    if not isinstance(features, RankingData):
        cure = (
            "read_data(file, label=None, docid=...) reads one, and from_frame(frame, label=None, docid=...) makes one"
        )
        raise TypeError(f"features must be a RankingData; got a {type(features).__name__}: {cure}")
    if features.docid is None:
        cure = "name its column by docid=NAME (--doc NAME)"
        raise ValueError(f"features must have docid, by which the documents of the log are found: {cure}")
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
        cure = "log their features too, or leave out those lists"
        if not found.any():
            cure = "are qid and docid of the features the queries and documents of the log?"
        raise ValueError(
            f"features lacks {missing} of {np.unique(wanted).size} documents of lists with clicks, first the {which}: "
            f"{cure}"
        )
    return known[place]


def _numbers(ids: Array, wanted: Array) -> Ints:
    """For each wanted id its place in `ids`, or -1; 7 and "7" are the same id."""
    one, two = one_type([ids, wanted])
    place: dict[object, int] = {name: i for i, name in enumerate(one.tolist())}
    distinct, code = np.unique(two, return_inverse=True)
    return np.array([place.get(name, -1) for name in distinct.tolist()], dtype=np.int64)[code]
