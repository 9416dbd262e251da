"""The documents of each query from best to worst, as `ranker.rank` and `ranker.top_k` return them."""

from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.tabular import Columns, Tabular, cell_text
from rankwise.foundation.texts import counted, table
from rankwise.pairs.queries import Queries, QueryIds

SHOWN = 10  # rows of a repr


@dataclass(frozen=True, eq=False, repr=False)
class RankedDocuments(Tabular):
    """One row per document, query after query and best first; queries in the order in which they first occur.

    query     the query id
    rank      1, 2, ... within the query; documents of equal score keep their order
    document  its id, or the number of its row
    score     what the ranker predicts
    row       the number of its row in the data that were ranked, from 0
    """

    query: Array
    rank: Ints
    document: Array
    score: Floats
    row: Ints

    @classmethod
    def of(cls, scores: Floats, qid: QueryIds | None, documents: QueryIds | None) -> Self:
        """Rank documents by these scores; `documents` are their ids, None for row numbers."""
        queries = Queries(qid, scores.size)
        row = np.lexsort((-scores, queries.codes))
        codes = queries.codes[row]
        rank = np.arange(scores.size) - queries.starts[codes] + 1
        names = np.arange(scores.size) if documents is None else np.asarray(documents)
        if names.shape != scores.shape:
            raise ValueError(f"documents must hold one id for each of the {scores.size} rows; got shape {names.shape}")
        return cls(queries.ids[codes], rank, names[row], scores[row], row)

    def top_k(self, k: int) -> Self:
        """The first k documents of each query."""
        if not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(f"k must be a positive whole number; got {k!r}")
        return self._where(self.rank <= k)

    def for_query(self, query: object) -> Self:
        """The documents of one query."""
        chosen = self.query == query
        if not np.any(chosen):
            raise KeyError(f"no document of query {query!r} was ranked")
        return self._where(chosen)

    def _where(self, chosen: Array) -> Self:
        return type(self)(*(getattr(self, column.name)[chosen] for column in fields(self)))

    def __len__(self) -> int:
        return int(self.rank.size)

    def table_columns(self) -> Columns:
        return {column.name: getattr(self, column.name) for column in fields(self)}

    def summary(self) -> str:
        return f"{counted(len(self), 'documents')} in {counted(int(np.count_nonzero(self.rank == 1)), 'queries')}"

    def __repr__(self) -> str:
        columns = self.table_columns()
        rows = [
            [cell_text(value) for value in row] for row in zip(*(one[:SHOWN] for one in columns.values()), strict=True)
        ]
        more = [f"... {len(self) - SHOWN:,} more"] if len(self) > SHOWN else []
        return "\n".join([self.summary(), table(rows, list(columns)), *more])
