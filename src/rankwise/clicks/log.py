"""ClickLog: which documents were shown at which positions of which lists, and which of them were clicked."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankwise.foundation.arrays import Array, Ints
from rankwise.foundation.tabular import Columns, Tabular
from rankwise.foundation.texts import counted
from rankwise.pairs.queries import Queries, QueryIds, one_column

LARGEST = 10**9  # position, as in files


class Coded(NamedTuple):
    """A column of ids: per row the number of its id in `ids`, which has each once, in the order of occurrence."""

    codes: Ints
    ids: Array

    @classmethod
    def of(cls, column: Array) -> "Coded":
        queries = Queries(column, len(column))
        return cls(queries.codes.astype(np.int64), queries.ids)


@dataclass(frozen=True, eq=False, repr=False)
class ClickLog(Tabular):
    """One row per impression, that is, per document shown in a list; `ClickLog.of` makes it from columns.

    The rows are sorted by list, and by position within a list. Ids are stored once; rows and lists have their numbers.

    lists     ids of the lists, in the order in which they first occur
    starts    list i has the rows starts[i] to starts[i + 1]
    query     per list, the number of its query in `queries`
    doc       per row, the number of its document in `docs`
    position  per row, counted from 1
    click     per row, whether the document was clicked
    queries   ids of the queries
    docs      ids of the documents
    """

    lists: Array
    starts: Ints
    query: Ints
    doc: Ints
    position: Ints
    click: Array
    queries: Array
    docs: Array

    @classmethod
    def of(
        cls,
        query: QueryIds,
        doc: QueryIds,
        position: ArrayLike,
        click: ArrayLike,
        impression: QueryIds | None = None,
        *,
        first_position: int,
        place: Callable[[int], str] = "row {}".format,
    ) -> "ClickLog":
        """A log from columns with one entry per impression, in any order.

        query, doc      ids of any type
        position        whole numbers from `first_position` on, which is 0 or 1: logs differ, so it must be said
        click           0 or 1, or booleans
        impression      ids of the lists; None: each query was shown once, so that its rows are one list
        place           what messages call a row, by its number

        A list has one query; no document and no position occurs in it twice. Rows that were not shown do not belong
        into a log. Positions may be missing, because some places of a page may show no documents.
        """
        n = np.size(position)
        ids = (("query", query), ("doc", doc), ("impression", query if impression is None else impression))
        coded = [Coded.of(one_column(given, n, name)) for name, given in ids]
        places, clicks = _whole(position, n, "position"), _whole(click, n, "click")
        return assembled(coded, places, clicks, first_position, place)

    def __len__(self) -> int:
        """The number of impressions."""
        return int(self.doc.size)

    @property
    def n_lists(self) -> int:
        return int(self.query.size)

    @property
    def sizes(self) -> Ints:
        """The number of documents per list."""
        return np.diff(self.starts)

    @property
    def list_of_row(self) -> Ints:
        """The number of the list of each row."""
        return np.repeat(np.arange(self.n_lists), self.sizes)

    @property
    def query_of_row(self) -> Ints:
        """The number of the query of each row."""
        return np.repeat(self.query, self.sizes)

    def top(self, depth: int) -> "ClickLog":
        """The log without positions after `depth`; its lists are the same, and some may be empty."""
        if not isinstance(depth, int | np.integer) or isinstance(depth, bool) or depth < 1:
            raise ValueError(f"depth must be a whole number of at least 1; got {depth!r}")
        kept = self.position <= depth
        starts = np.concatenate(([0], np.cumsum(kept)))[self.starts]
        return replace(self, starts=starts, doc=self.doc[kept], position=self.position[kept], click=self.click[kept])

    def table_columns(self) -> Columns:
        """As `read_clicks` reads them with first_position=1."""
        return {
            "query": self.queries[self.query_of_row],
            "doc": self.docs[self.doc],
            "position": self.position,
            "click": self.click.astype(np.int64),
            "impression": self.lists[self.list_of_row],
        }

    def summary(self) -> str:
        counts = (
            (self.n_lists, "lists"),
            (len(self), "impressions"),
            (int(self.click.sum()), "clicks"),
            (len(self.queries), "queries"),
        )
        return ", ".join(counted(n, what) for n, what in counts)

    def __repr__(self) -> str:
        return f"ClickLog({self.summary()})"


def assembled(
    ids: Iterable[Coded],
    position: Ints,
    click: Ints,
    first_position: int,
    place: Callable[[int], str],
) -> ClickLog:
    """The log of columns, with `ids` of queries, documents and lists; an error that names the first row in error."""
    query, doc, lists = ids
    check_first_position(first_position)
    cure = "if the top position of this log is 0, say so by first_position=0 (--first-position 0)"
    hint = f": {cure}" if first_position else ""
    _check_numbers(position < first_position, position, f"position must be {first_position} or more", place, hint)
    _check_numbers((click != 0) & (click != 1), click, "click must be 0 or 1", place)
    by_list = np.lexsort((position, lists.codes))
    starts = np.concatenate(([0], np.cumsum(np.bincount(lists.codes, minlength=len(lists.ids)))))
    log = ClickLog(
        lists=lists.ids,
        starts=starts,
        query=query.codes[by_list][starts[:-1]],
        doc=doc.codes[by_list],
        position=position[by_list] - first_position + 1,
        click=click[by_list] == 1,
        queries=query.ids,
        docs=doc.ids,
    )
    _check_queries(log, query.codes, lists.codes, place)
    _check_once(log, log.doc, lambda i: f"the document {str(log.docs[i])!r}", by_list, place)
    _check_once(log, log.position, lambda i: f"the position {i + first_position - 1}", by_list, place)
    return log


def check_first_position(first_position: int) -> None:
    if not isinstance(first_position, int) or isinstance(first_position, bool) or first_position not in (0, 1):
        raise ValueError(f"first_position must be 0 or 1, the number of the top position; got {first_position!r}")


def _whole(column: ArrayLike, n: int, name: str) -> Ints:
    given = np.asarray(column)
    if given.shape != (n,):
        raise ValueError(f"{name} must hold one number for each of the {n} impressions, got the shape {given.shape}")
    if given.dtype.kind not in "biuf" or not (np.isfinite(given) & (given == np.floor(given))).all():
        raise ValueError(f"{name} must hold whole numbers, one per impression; got an array of {given.dtype}")
    if (abs(given.astype(np.float64)) > LARGEST).any():
        raise ValueError(f"{name} must be at most {LARGEST:,}; got {given[abs(given.astype(np.float64)).argmax()]}")
    return given.astype(np.int64)


def _check_numbers(wrong: Array, values: Ints, rule: str, place: Callable[[int], str], hint: str = "") -> None:
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"{place(row)}: {rule}, found {values[row]}{hint}")


def _check_queries(log: ClickLog, query: Ints, lists: Ints, place: Callable[[int], str]) -> None:
    """Raise an error if a list has two queries; `query` and `lists` are in the order of the file."""
    other = query != log.query[lists]
    if other.any():
        row = int(other.argmax())
        first, second = (str(log.queries[i]) for i in (log.query[lists[row]], query[row]))
        name = log.lists[lists[row]]
        raise ValueError(f"{place(row)}: the list {str(name)!r} has two queries, {first!r} and {second!r}")


def _check_once(
    log: ClickLog, values: Ints, name: Callable[[int], str], rows: Ints, place: Callable[[int], str]
) -> None:
    """Raise an error if a value occurs twice in a list; `rows` has the number of each row in the file."""
    lists = log.list_of_row
    order = np.lexsort((rows, values, lists))
    again = order[1:][(np.diff(lists[order]) == 0) & (np.diff(values[order]) == 0)]
    if again.size:
        row = again[rows[again].argmin()]
        raise ValueError(
            f"{place(int(rows[row]))}: {name(int(values[row]))} occurs twice in the list "
            f"{str(log.lists[lists[row]])!r}; if the list was shown several times, give each showing an id of its own "
            "in the column impression"
        )
