"""Executors compute sums over chunks: threads of this process here, a Dask cluster in `rankwise.distributed`.

An executor computes a *state* from every chunk and keeps it where the chunk is stored. A question is a function of a
state; the answers of all chunks are added in a fixed order, so that no bit of a result depends on which thread or
worker computes what.
"""

import operator
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import reduce
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.devices import AnyFloats
from rankwise.foundation.threads import one_blas_thread, share
from rankwise.objective.chunks import SCALARS, Chunk, PlainChunk
from rankwise.objective.losses import Loss
from rankwise.objective.risks import PairwiseRisk, Risk
from rankwise.objective.rows import Rows, in_order, lanes
from rankwise.pairs.queries import cut

T = TypeVar("T")

LARGE = 2  # a chunk larger than this many blocks is worked on by all threads together


class State(Protocol):
    """An object computed from every chunk, such as its expansion at a point."""

    def total(self, question: Callable[..., AnyFloats], *given: object, size: int) -> AnyFloats:
        """The sum of question(state, *given), an array of that size, over the chunks."""
        ...

    def merged(self, question: Callable[..., T], merge: Callable[[T, T], T], *given: object, size: int) -> T:
        """The answers question(state, *given), of about that size, combined by merge(one, next) from first to last.

        For results that are not sums; `merge` may write into its first argument.
        """
        ...

    def with_loss(self, loss: Loss) -> Self:
        """Of every chunk the same with another loss, made when a question is first asked."""
        ...


class Executor(Protocol):
    @property
    def loss(self) -> Loss: ...
    @property
    def zero(self) -> AnyFloats:
        """The origin of weight space, on the device of the rows."""
        ...

    @property
    def any(self) -> bool:
        """Whether there is any pair of positive weight."""
        ...

    @property
    def totals(self) -> Floats:
        """For each query, the number of its pairs, or their total weight."""
        ...

    def with_loss(self, loss: Loss) -> Self:
        """The same chunks with another loss."""
        ...

    def state(self, make: Callable[..., object], *given: object) -> State:
        """make(chunk, *given) of every chunk, computed when it is first needed."""
        ...

    def select(self, queries: Ints) -> Self:
        """The chunks of these queries only."""
        ...

    def sampled(self, n_rows: int, seed: int) -> Self:
        """An estimate from a random sample of about `n_rows` rows."""
        ...


class Threads:
    """Rows that this process can read, stored query by query, and the risk of their scores."""

    def __init__(self, rows: Rows, risk: Risk, chunks: list[Chunk] | None = None) -> None:
        self.rows = rows
        self.risk = risk
        self.chunks = list(_cut(rows, risk)) if chunks is None else chunks

    @property
    def loss(self) -> Loss:
        return self.risk.loss

    @property
    def zero(self) -> AnyFloats:
        return self.rows.zero

    @property
    def any(self) -> bool:
        return self.risk.any

    @property
    def totals(self) -> Floats:
        return self.risk.totals

    def with_loss(self, loss: Loss) -> "Threads":
        return Threads(self.rows, self.risk.with_loss(loss), [chunk.with_loss(loss) for chunk in self.chunks])

    def state(self, make: Callable[..., object], *given: object) -> "ThreadState":
        return ThreadState(self, lambda i: make(self.chunks[i], *given))

    def select(self, queries: Ints) -> "Threads":
        starts, threads = self.risk.starts, self.rows.n_threads
        sizes = np.diff(starts)[queries]
        ends = np.cumsum(sizes)
        rows = np.arange(int(sizes.sum())) + np.repeat(starts[queries] - (ends - sizes), sizes)
        chosen = self.risk.select(queries, rows, threads)
        return Threads(self.rows.subset(rows, threads).centred(chosen.starts), chosen)

    def sampled(self, n_rows: int, seed: int) -> "Threads":
        threads = self.rows.n_threads
        risk, rows = self.risk.sampled(n_rows, seed, threads)
        return Threads(self.rows.select(rows, threads).centred(risk.starts), risk)


class ThreadState:
    """`make` makes the state of the chunk of that number."""

    def __init__(self, executor: Threads, make: Callable[[int], Any]) -> None:
        self._executor, self._chunks, self._n_threads = executor, executor.chunks, executor.rows.n_threads
        self._n_features = executor.rows.n_features
        self._make = make
        self._made: list[Any] = [None] * len(self._chunks)  # filled by whichever thread has the chunk

    def with_loss(self, loss: Loss) -> "ThreadState":
        return ThreadState(self._executor, lambda i: self._of(i).with_loss(loss))

    def _of(self, i: int) -> Any:
        if self._made[i] is None:
            self._made[i] = self._make(i)
        return self._made[i]

    def total(self, question: Callable[..., AnyFloats], *given: object, size: int) -> AnyFloats:
        small, large = self._lanes(size)
        work = self._work(question, given, operator.add, operator.iadd)  # the first answer may belong to the state
        matrices = size > self._n_features + SCALARS  # matrix products, each by the thread that calls BLAS
        with one_blas_thread() if matrices else nullcontext():
            return in_order(share(work, small, self._n_threads) + [work(lane) for lane in large])

    def merged(self, question: Callable[..., T], merge: Callable[[T, T], T], *given: object, size: int) -> T:
        small, large = self._lanes(size)
        work = self._work(question, given, merge, merge)
        with one_blas_thread():
            return reduce(merge, share(work, small, self._n_threads) + [work(lane) for lane in large])

    def _lanes(self, size: int) -> tuple[list[list[int]], list[list[int]]]:
        """Lists of chunks for one thread each, and the chunks that all threads work on together."""
        small = [i for i, chunk in enumerate(self._chunks) if not chunk.large]
        large = [[i] for i, chunk in enumerate(self._chunks) if chunk.large]
        return lanes(small, sum(self._chunks[i].rows.nbytes for i in small), size), large

    def _work(
        self,
        question: Callable[..., T],
        given: tuple[object, ...],
        first: Callable[[T, T], T],
        then: Callable[[T, T], T],
    ) -> Callable[[list[int]], T]:
        """From the chunks of a lane to their answers, put together one by one: `first` the first two."""

        def work(lane: list[int]) -> T:
            result = question(self._of(lane[0]), *given)
            for place, i in enumerate(lane[1:]):
                result = (then if place else first)(result, question(self._of(i), *given))
            return result

        return work


def _cut(rows: Rows, risk: Risk) -> Iterator[Chunk]:
    starts = risk.starts
    for first, last in cut(starts, rows.block_rows):
        low, high = int(starts[first]), int(starts[last])
        large = high - low > LARGE * rows.block_rows
        threads = rows.n_threads if large else 1
        place = slice(low, high)
        rows_of, risk_of = rows.select(place, threads), risk.select(slice(first, last), place, threads)
        if not large and isinstance(risk_of, PairwiseRisk) and risk_of.preferences.plain:
            from rankwise.objective.fused import FusedChunk

            yield FusedChunk(rows_of, risk_of)
        else:
            yield PlainChunk(rows_of, risk_of, large)
