"""A sample of the rows, drawn by the client, which knows the length of every query: the same as in memory.

The sampled rows stay on the workers, next to the partitions that they are from.
"""

from dataclasses import replace

import numpy as np

from rankwise.distributed.holding import Partition
from rankwise.distributed.spread import Spread
from rankwise.foundation.arrays import Floats, Ints
from rankwise.objective.executors import Threads
from rankwise.objective.risks import ListedRisk
from rankwise.pairs.queries import draw

Drawn = tuple[Ints, Ints, Ints, Floats]  # queries, rows, rows of each query, scales of the rows: see `queries.draw`


def sampled(data: Spread, n_rows: int, seed: int) -> Spread:
    """About `n_rows` of the rows; the partitions have the same kind of content as those of `data`."""
    shares = _shares(data, n_rows, seed)
    chosen = [i for i, share in enumerate(shares) if share[0].size]
    partitions = data.partitions.derived(sample, {i: shares[i] for i in chosen})
    places, sizes = [data.places[i][shares[i][0]] for i in chosen], np.zeros_like(data.sizes)
    for i, codes in zip(chosen, places, strict=True):
        sizes[codes] = shares[i][2]
    return data.reduced(partitions, chosen, places, sizes)


def _shares(data: Spread, n_rows: int, seed: int) -> list[Drawn]:
    """What is drawn from each partition, numbered as in the partition."""
    starts = np.concatenate(([0], np.cumsum(data.sizes)))
    queries, rows, kept, scales = draw(starts, n_rows, np.random.default_rng(seed))
    owner, place, begins = (np.empty(data.sizes.size, np.int64) for _ in range(3))
    for i, codes in enumerate(data.places):
        owner[codes], place[codes] = i, np.arange(codes.size)
        begins[codes] = np.cumsum(data.sizes[codes]) - data.sizes[codes]
    local_rows = rows - np.repeat(starts[queries] - begins[queries], kept)
    shares = []
    for i in range(len(data.places)):
        own = owner[queries] == i
        own_rows = np.repeat(own, kept)
        shares.append((place[queries[own]], local_rows[own_rows], kept[own], scales[own_rows]))
    return shares


def sample(partition: Partition, queries: Ints, rows: Ints, sizes: Ints, scales: Floats) -> Partition:
    """The rows drawn from a partition."""
    whole: Threads = partition.content.threads
    n_threads = whole.rows.n_threads
    if isinstance(whole.risk, ListedRisk):  # not sampled
        return partition
    chosen = whole.rows.select(rows, n_threads)
    drawn = Threads(chosen, whole.risk.drawn(queries, rows, sizes, scales, n_threads))
    content = replace(partition.content, threads=drawn, rows=None)
    return Partition(content, chosen.nbytes + 40 * rows.size)
