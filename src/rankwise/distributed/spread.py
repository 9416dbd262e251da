"""From a user's data to partitions of whole queries on the workers, before anything is built.

Columns: all partitions get the columns of all together. Queries: one that is in several partitions is moved to one; if
there are few of them, as when a file ends in the middle of a query, to one partition after the others.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from rankwise.data.columns import places
from rankwise.distributed.client import Client, Errand, Future, Given, telling
from rankwise.distributed.holding import Partition
from rankwise.distributed.partitions import Partitions
from rankwise.distributed.rows import Facts, Rows, facts_of, fitted, nbytes, parted, together
from rankwise.distributed.sources import load
from rankwise.foundation.arrays import Array, Ints
from rankwise.pairs.queries import Queries, group_of_each

MOST_PIECES = 1 << 16  # of a shuffle: more would keep the scheduler busy for minutes


@dataclass(frozen=True)
class Columns:
    """What all partitions have in common."""

    n_features: int
    first_index: int
    names: tuple[str, ...] | None
    labels: tuple[float, float] = (0.0, 0.0)  # lowest and highest


@dataclass(frozen=True, eq=False)
class Spread:
    """Data on the workers.

    size    stored values of X
    sizes   the number of documents of each query, in the order in which queries first occur
    places  for each partition, the places of its queries in `sizes`
    folds   for each partition, the fold of its queries
    """

    partitions: Partitions
    columns: Columns
    size: int
    sizes: Ints
    places: list[Ints]
    folds: list[int]

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.sizes.sum()), self.columns.n_features

    @property
    def n_features(self) -> int:
        return self.columns.n_features

    def chosen(self, fold: int, without: bool) -> "Spread":
        """The data of one fold, or without it."""
        kept = [i for i, one in enumerate(self.folds) if (one == fold) != without]
        return self.reduced(self.partitions.chosen(kept), kept, [self.places[i] for i in kept], self.sizes)

    def reduced(self, partitions: Partitions, kept: list[int], places: list[Ints], sizes: Ints) -> "Spread":
        """Partitions made of those `kept`, with the queries at `places` alone, whose sizes are now `sizes[places]`."""
        inside = np.zeros(self.sizes.size, bool)
        for codes in places:
            inside[codes] = True
        renumbered = np.cumsum(inside) - 1
        size = round(self.size * float(sizes[inside].sum()) / float(self.sizes.sum()))
        folds = [self.folds[i] for i in kept]
        return Spread(partitions, self.columns, size, sizes[inside], [renumbered[codes] for codes in places], folds)


def spread(
    client: Client,
    given: Given,
    build: Callable[..., object],
    *options: object,
    like: Columns | None = None,
    fold_of: Callable[[Array], Ints] | None = None,
) -> Spread:
    """The data given (X, y, qid, weight) in partitions; the content of each is build(rows, columns, *options).

    like     the columns of the model that the data are for
    fold_of  from a number for the group of each query, or for the query itself if there are no groups, to the fold of
             each: no partition then contains queries of two folds
    """
    with telling(client), Errand(client) as errand:
        read = load(errand, *given)
        facts: list[Facts] = client.gather([errand.submit(facts_of, one) for one in read])
        columns = _columns(facts, like)
        census = Census(facts)
        rows, places = _whole_queries(errand, read, census, columns)
        folds = np.zeros(census.ids.size, np.int64) if fold_of is None else fold_of(census.groups)
        cut = [(i, int(k)) for i, codes in enumerate(places) for k in np.unique(folds[codes])]
        partitions = Partitions(client, [])
        try:
            for i, k in cut:
                given_to = rows[i], folds[places[i]] == k, columns, build, options
                partitions.futures.append(client.submit(make, *given_to, pure=False))
            errand.release()  # the workers free the rows as soon as the partitions are built
            partitions.wait()
        except BaseException:
            partitions.release()
            raise
    size = sum(one.n_stored for one in facts)
    places = [places[i][folds[places[i]] == k] for i, k in cut]
    return Spread(partitions, columns, size, census.sizes, places, [k for _, k in cut])


def make(
    rows: Rows, queries: Array, columns: Columns, build: Callable[..., object], options: tuple[object, ...]
) -> Partition:
    """A partition of whole queries: those for which `queries` is true."""
    if not queries.all():
        rows = rows.select(queries[Queries(rows.data.qid, len(rows)).codes])
    rows = fitted(rows, columns).gathered()
    return Partition(build(rows, columns, *options), nbytes(rows.data.X) + 40 * len(rows))  # labels, orders, ...


class Census:
    """The queries of all partitions together.

    ids    a number for each, in the order in which they first occur
    sizes  the number of documents of each
    codes  for each partition as it was read, the places of its queries in `ids`
    split  for each query, whether it is in several partitions
    groups  a number for the group of each; `ids` if there are no groups
    """

    def __init__(self, facts: list[Facts]) -> None:
        numbers = np.concatenate([one.queries for one in facts])
        queries = Queries(numbers, numbers.size)
        counts = np.concatenate([one.sizes for one in facts])
        self.ids = queries.ids
        self.sizes: Ints = np.bincount(queries.codes, counts, len(queries)).astype(np.int64)
        self.codes = np.split(queries.codes, np.cumsum([one.queries.size for one in facts])[:-1])
        self.split: Array = queries.sizes > 1
        groups = [one.groups for one in facts if one.groups is not None]
        if groups and len(groups) < len(facts):
            raise ValueError("some of the partitions have groups, and others have none: give groups to all or to none")
        self.groups = group_of_each(queries, np.concatenate(groups)) if groups else queries.ids


def _columns(facts: list[Facts], like: Columns | None) -> Columns:
    facts = [one for one in facts if one.queries.size]
    if not facts:
        raise ValueError("X has no rows")
    names = facts[0].names if like is None else like.names
    for one in facts:
        if like is None and (one.names is None) != (names is None):
            raise ValueError(f"{one.where} has other columns than {facts[0].where}: all partitions need the same")
    first_index = min(one.first_index for one in facts) if like is None else like.first_index
    for one in facts:
        if one.first_index < first_index:
            raise ValueError(f"{one.where} counts its features from {one.first_index}, the model from {first_index}")
    widths = [one.n_features + one.first_index - first_index for one in facts]
    n_features = max(widths) if like is None else like.n_features
    columns = Columns(n_features, first_index, names)
    for one in facts:
        places(one, columns, one.where, one.zeros_left_out)  # raises if the columns do not fit
    if like is not None and max(widths) < n_features:
        last = first_index + max(widths) - 1
        warnings.warn(f"no feature above {last} has a value, and the model has some: they are 0", stacklevel=4)
    labels = min(one.labels[0] for one in facts), max(one.labels[1] for one in facts)
    return replace(columns, labels=labels)


def _whole_queries(
    errand: Errand, read: list[Future], census: Census, columns: Columns
) -> tuple[list[Future], list[Ints]]:
    """Futures of rows of whole queries, and which queries; nothing moves if every query is in one partition."""
    if not census.split.any():
        filled = [i for i, codes in enumerate(census.codes) if codes.size]
        return [read[i] for i in filled], [census.codes[i] for i in filled]
    n_split, moved = int(census.split.sum()), int(census.sizes[census.split].sum())
    n_buckets = min(n_split, -(-moved * len(read) // int(census.sizes.sum())))
    if n_buckets * len(read) > MOST_PIECES:
        raise ValueError(
            f"{n_split:,} queries are in several of {len(read):,} partitions: too many to shuffle; sort the data by qid"
        )
    text = f"{n_split:,} of {census.ids.size:,} queries are in several partitions: {moved:,} documents are moved"
    warnings.warn(text, stacklevel=4)
    rows, places, pieces = [], [], []
    for one, codes in zip(read, census.codes, strict=True):
        whole = codes[~census.split[codes]]
        if whole.size < codes.size:
            wide = errand.submit(fitted, one, columns)
            pieces.append(errand.submit(parted, wide, census.ids[census.split], n_buckets))
            one = errand.submit(_piece, pieces[-1], 0)
        if whole.size:
            rows.append(one)
            places.append(whole)
    bucket = census.ids % np.uint64(n_buckets)
    for b in range(n_buckets):
        gathered = np.flatnonzero(census.split & (bucket == b))
        if gathered.size:
            parts = [errand.submit(_piece, one, b + 1) for one in pieces]
            rows.append(errand.submit(together, parts, f"gathered queries {b}"))
            places.append(gathered)
    return rows, places


def _piece(pieces: list[Rows], i: int) -> Rows:
    return pieces[i]
