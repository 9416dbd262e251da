"""The query and the documents that a user names: ids of any type, or numbers of rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from rankwise.foundation.arrays import Array, Ints
from rankwise.foundation.devices import HostMatrix
from rankwise.pairs.queries import Queries, QueryIds

SHOWN = 3  # ids in a message
LONGEST = 60  # characters of an id in a message


@dataclass(frozen=True, eq=False)
class QueryRows:
    """The documents of one query.

    X          their features, raw
    qid        the query id of each, None if the data have none
    query      the query id, None if the data have none
    documents  their ids, or the numbers of their rows
    rows       the numbers of their rows in the data, from 0
    """

    X: HostMatrix
    qid: Array | None
    query: object
    documents: Array
    rows: Ints

    def place(self, document: object) -> int:
        """The place of a document among these; ValueError if there is not exactly one."""
        return place_of(document, self.documents, self.rows, self.query)


@dataclass(frozen=True, eq=False)
class Candidates:
    """The rows of some queries to choose from.

    X          features as the ranker takes them, raw
    qid        query ids, None if all rows are one query
    documents  the documents' ids, None to call them by the numbers of their rows
    """

    X: HostMatrix
    qid: QueryIds | None = None
    documents: Sequence[object] | Array | None = None

    def __post_init__(self) -> None:
        n = int(self.X.shape[0])
        if self.documents is not None and len(self.documents) != n:
            raise ValueError(f"documents must hold one id for each of the {n} rows; got {len(self.documents)}")
        if not n:
            raise ValueError("the data have no rows: there is nothing to explain")

    def of_query(self, query: object = None) -> QueryRows:
        """The documents of the query with this id; None if there is only one query."""
        queries = Queries(self.qid, self.X.shape[0])
        known = [as_text(one) for one in queries.ids]
        if query is None and len(queries) > 1:
            raise ValueError(f"the data have {len(queries):,} queries: say which one, such as {_listed(known)}")
        if query is not None and self.qid is None:
            raise ValueError(f"query is {_quoted(query)}, and the data have no query ids: give qid, or leave out query")
        if query is not None and as_text(query) not in known:
            raise ValueError(f"query {_quoted(query)} is not in the data: {_nearest(query, known)}")
        return self._chosen(queries, 0 if query is None else known.index(as_text(query)))

    def of_pair(self, a: object, b: object, query: object = None) -> tuple[QueryRows, int, int]:
        """The query of two documents, and their places in it; without `query`, the one query that has both."""
        for name, one in (("a", a), ("b", b)):
            if np.ndim(one):  # type: ignore[arg-type]
                raise ValueError(f"{name} is a row of features: leave out data, or give the id of a document in it")
            if self.documents is None and isinstance(one, str) and not one.isdecimal():
                raise ValueError(
                    f"{name} is the document {_quoted(one)}, and the data have no document ids: give them as "
                    "documents, or give the number of a row"
                )
        queries = Queries(self.qid, self.X.shape[0])
        if query is None and len(queries) > 1:
            first, other = (set(queries.codes[self._rows(one)].tolist()) for one in (a, b))
            both = sorted(first & other)
            if len(both) != 1:
                count = f"{len(both):,} queries have" if both else "no query has"
                raise ValueError(f"{count} both documents, {_quoted(a)} and {_quoted(b)}: say which query is meant")
            chosen = self._chosen(queries, both[0])
        else:
            chosen = self.of_query(query)
        return chosen, chosen.place(a), chosen.place(b)

    def _rows(self, document: object) -> Ints:
        everything = np.arange(self.X.shape[0])
        documents = everything if self.documents is None else as_array(self.documents)
        return matches(documents, everything, document, "the data")

    def _chosen(self, queries: Queries, code: int) -> QueryRows:
        rows = np.flatnonzero(queries.codes == code)
        documents = rows if self.documents is None else as_array(self.documents)[rows]
        qid, query = (None, None) if self.qid is None else (np.zeros(rows.size, np.int64), queries.ids[code])
        return QueryRows(self.X[rows], qid, query, documents, rows)


def place_of(document: object, documents: Array, rows: Ints, query: object) -> int:
    """The place of a document among those of a query; ValueError if there is not exactly one."""
    where = "the data" if query is None else f"query {_quoted(query)}"
    places = matches(documents, rows, document, where)
    if places.size > 1:
        cure = "give each document an id of its own"
        raise ValueError(f"document {_quoted(document)} occurs {places.size} times in {where}: {cure}")
    return int(places[0])


def matches(documents: Array, rows: Ints, document: object, where: str) -> Ints:
    """The places of a document: by its id or, given as an int that is no id, by the number of its row.

    ValueError if there are none; `where` names the documents in its message.
    """
    wanted, known = as_text(document), [as_text(one) for one in documents]
    places = np.flatnonzero([one == wanted for one in known])
    if not places.size and isinstance(document, int | np.integer) and not isinstance(document, bool):
        places = np.flatnonzero(rows == document)
    if not places.size:
        raise ValueError(f"document {_quoted(document)} is not in {where}: {_nearest(document, known)}")
    return places


def as_text(one: object) -> str:
    """An id as a text; 7, 7.0 and "7" are the same, as in a file."""
    return str(int(one)) if isinstance(one, float | np.floating) and one.is_integer() else str(one)


def as_array(ids: Sequence[object] | Array) -> Array:
    """Ids one by one, as they are: NumPy would make texts of numbers among texts."""
    if isinstance(ids, np.ndarray):
        return ids
    out = np.empty(len(ids), dtype=object)
    out[:] = list(ids)
    return out


def _quoted(one: object) -> str:
    text = as_text(one)
    return repr(text if len(text) <= LONGEST else text[: LONGEST - 3] + "...")


def _nearest(wanted: object, known: Sequence[str]) -> str:
    near = get_close_matches(as_text(wanted)[:LONGEST], known, SHOWN)
    return f"did you mean {' or '.join(map(_quoted, near))}?" if near else f"there are {_listed(known)}"


def _listed(known: Sequence[str]) -> str:
    more = f", ... ({len(known):,} in all)" if len(known) > SHOWN else ""
    return ", ".join(map(_quoted, known[:SHOWN])) + more
