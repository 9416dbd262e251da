"""The rows of one partition as a worker reads them, and the facts that the client needs before they are used."""

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

import numpy as np
from scipy import sparse

from rankwise.data.columns import Known, matched
from rankwise.data.records import RankingData, joined
from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.devices import HostMatrix, is_sparse
from rankwise.pairs.queries import Queries, group_of_each

T = TypeVar("T")
Reduced: TypeAlias = tuple[Callable[..., object], tuple[object, ...]]  # what pickle calls, and with what


def owned(array: Array) -> Array:
    """The same as an array with NumPy's own alignment in memory, copied if necessary.

    Arrays from the network may start at any address, where matrix products round differently.
    """
    return np.require(array, requirements=["C", "A", "W"])


def in_band(make: Callable[..., object], *arguments: object) -> Reduced:
    """What `__reduce__` returns for make(*arguments), so that its arrays are `owned` after they are sent."""
    return _revived, (make, pickle.dumps(arguments, protocol=4))  # protocol 5 would leave them in the message's buffer


def _revived(make: Callable[..., T], arguments: bytes) -> T:
    return make(*pickle.loads(arguments))


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a partition; `where` names it in messages, `zeros_left_out`: its last columns may be missing."""

    data: RankingData
    weight: Floats | None
    where: str
    zeros_left_out: bool = False

    def __len__(self) -> int:
        return len(self.data)

    def __reduce__(self) -> Reduced:
        return in_band(Rows, self.data, self.weight, self.where, self.zeros_left_out)

    def __sizeof__(self) -> int:
        return nbytes(self.data.X) + self.data.y.nbytes + self.data.qid.nbytes

    def select(self, rows: Array) -> "Rows":
        return replace(self, data=self.data.select(rows), weight=None if self.weight is None else self.weight[rows])

    def gathered(self) -> "Rows":
        """The same with the rows of each query adjacent."""
        rows = Queries(self.data.qid, len(self)).rows
        return self if rows is None else self.select(rows)


@dataclass(frozen=True, eq=False)
class Facts:
    """What the client knows about a partition.

    labels   the lowest and the highest
    queries  a number for each query, in the order in which they first occur: equal for equal ids in any partition
    sizes    the number of documents of each
    groups   a number for the group of each, likewise; None if there are no groups
    """

    where: str
    n_features: int
    n_stored: int
    first_index: int
    names: tuple[str, ...] | None
    labels: tuple[float, float]
    queries: Array
    sizes: Ints
    groups: Array | None = None
    zeros_left_out: bool = False

    @property
    def n_rows(self) -> int:
        return int(self.sizes.sum())


def facts_of(rows: Rows) -> Facts:
    """What the client is sent; a number that is not finite is an error here, on the worker."""
    data = rows.data
    _check(rows)
    queries = Queries(data.qid, len(rows))
    names = None if data.names is None else tuple(map(str, data.names))
    return Facts(
        where=rows.where,
        n_features=data.n_features,
        n_stored=int(data.X.size),
        first_index=data.first_index,
        names=names,
        labels=(float(data.y.min(initial=np.inf)), float(data.y.max(initial=-np.inf))),
        queries=query_numbers(queries.ids),
        sizes=queries.sizes,
        groups=None if data.groups is None else query_numbers(group_of_each(queries, data.groups)),
        zeros_left_out=rows.zeros_left_out,
    )


def query_numbers(ids: Array) -> Array:
    """Each id as a number that is the same wherever it occurs: 7, 7.0 and "7" are one query, as in one file."""
    from pandas.util import hash_array

    if ids.dtype.kind == "f" and (ids == np.floor(ids)).all():
        ids = ids.astype(np.int64)
    numbers: Array = hash_array(np.array([str(one) for one in ids.tolist()], object), categorize=False)
    return numbers


def fitted(rows: Rows, columns: Known) -> Rows:
    """The same rows with the columns that all partitions together have, in their order."""
    return replace(rows, data=matched(rows.data, columns, rows.where, zeros_left_out=rows.zeros_left_out))


def parted(rows: Rows, split: Array, n_buckets: int) -> list[Rows]:
    """The rows of queries that are in this partition only, then, by bucket, those of the queries in `split`."""
    queries = Queries(rows.data.qid, len(rows))
    numbers = query_numbers(queries.ids)
    bucket = np.where(np.isin(numbers, split), 1 + (numbers % np.uint64(n_buckets)).astype(np.int64), 0)[queries.codes]
    return [rows.select(bucket == b) for b in range(n_buckets + 1)]


def together(pieces: Sequence[Rows], where: str) -> Rows:
    """The pieces as one, the rows of each query adjacent."""
    some = [piece for piece in pieces if len(piece)]
    if any(sparse.issparse(piece.data.X) for piece in some):
        some = [replace(one, data=replace(one.data, X=sparse.csr_array(one.data.X))) for one in some]
    data = joined([piece.data for piece in some])
    weight = None if some[0].weight is None else np.concatenate([piece.weight for piece in some])
    return Rows(data, weight, where).gathered()


def nbytes(X: HostMatrix) -> int:
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) if is_sparse(X) else int(X.nbytes)


def _check(rows: Rows) -> None:
    X = rows.data.X
    values: Array = X.data if is_sparse(X) else X
    weight = np.zeros(1) if rows.weight is None else rows.weight
    for what, given in (("a feature", values), ("a label", rows.data.y), ("a weight", weight)):
        with np.errstate(over="ignore", invalid="ignore"):
            plain = np.isfinite(given.sum())  # an overflow of the sum proves nothing yet
        if not plain and not np.isfinite(given).all():
            raise ValueError(f"{rows.where} holds {what} that is not a finite number: every one must be")


def threads(n_jobs: int | None) -> int:
    """The given number of threads, or that of the worker."""
    from distributed import get_worker

    return get_worker().state.nthreads if n_jobs is None else n_jobs
