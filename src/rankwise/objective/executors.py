"""Executors compute sums over chunks: threads of this process here, a Dask cluster in `rankwise.distributed`.

An executor computes a *state* from every chunk and keeps it where the chunk is stored. A question is a function of a
state; the answers of all chunks are added in a fixed order, so that no bit of a result depends on which thread or
worker computes what.
"""

import operator
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import reduce
from typing import Protocol, Self, TypeVar

from rankwise.foundation.arrays import Floats
from rankwise.foundation.devices import AnyFloats
from rankwise.foundation.threads import one_blas_thread, share
from rankwise.objective import rows as stored_rows
from rankwise.objective.chunks import SCALARS, Chunk, PlainChunk
from rankwise.objective.losses import Loss
from rankwise.objective.risks import PairwiseRisk, Risk
from rankwise.objective.rows import MemoryRows, Rows, in_order, lanes
from rankwise.pairs.queries import cut

T = TypeVar("T")

LARGE = 2  # a chunk of more bytes than this many of the largest blocks is worked on by all threads together


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
        """The same of every chunk with another loss, computed when it is first needed."""
        ...


class Executor(Protocol):
    @property
    def loss(self) -> Loss: ...
    @property
    def n_features(self) -> int: ...
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
    def n_features(self) -> int:
        return self.rows.n_features

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
        return ThreadState(self, self.chunks, make, given)

    def sampled(self, n_rows: int, seed: int) -> "Threads":
        threads = self.rows.n_threads
        risk, rows = self.risk.sampled(n_rows, seed, threads)
        return Threads(self.rows.select(rows, threads).centred(risk.starts), risk)


class ThreadState:
    """made[i] = make(sources[i], *given) of each chunk; `sources` are the chunks, or another state."""

    def __init__(
        self,
        executor: Threads,
        sources: "list[Chunk] | ThreadState",
        make: Callable[..., object],
        given: tuple[object, ...] = (),
    ) -> None:
        self._executor, self._chunks, self._n_threads = executor, executor.chunks, executor.rows.n_threads
        self._n_features = executor.rows.n_features
        self._sources, self._make, self._given = sources, make, given
        self._made: list[object] = [None] * len(self._chunks)  # filled by the thread that works on the chunk

    def __getitem__(self, i: int) -> object:
        if self._made[i] is None:
            self._made[i] = self._make(self._sources[i], *self._given)
        return self._made[i]

    def with_loss(self, loss: Loss) -> "ThreadState":
        return ThreadState(self._executor, self, operator.methodcaller("with_loss", loss))

    def total(self, question: Callable[..., AnyFloats], *given: object, size: int) -> AnyFloats:
        small, large = self._lanes(size)
        work = self._work(question, given, operator.add)
        # More than a diagonal needs: matrix products, each by the thread that calls BLAS.
        matrices = size > 2 * self._n_features + SCALARS
        with one_blas_thread() if matrices else nullcontext():
            return in_order(share(work, small, self._n_threads) + [work(lane) for lane in large])

    def merged(self, question: Callable[..., T], merge: Callable[[T, T], T], *given: object, size: int) -> T:
        small, large = self._lanes(size)
        work = self._work(question, given, merge)
        with one_blas_thread():
            return reduce(merge, share(work, small, self._n_threads) + [work(lane) for lane in large])

    def _lanes(self, size: int) -> tuple[list[list[int]], list[list[int]]]:
        """Lists of chunks for one thread each, and the chunks that all threads work on together."""
        small = [i for i, chunk in enumerate(self._chunks) if not chunk.large]
        large = [[i] for i, chunk in enumerate(self._chunks) if chunk.large]
        return lanes(small, sum(self._chunks[i].rows.nbytes for i in small), size), large

    def _work(
        self, question: Callable[..., T], given: tuple[object, ...], merge: Callable[[T, T], T]
    ) -> Callable[[list[int]], T]:
        """A function that combines the answers of a lane's chunks, one after the other."""

        def work(lane: list[int]) -> T:
            result: T | None = None
            for i in lane:
                answer = question(self[i], *given)
                result = answer if result is None else merge(result, answer)
            assert result is not None  # no lane is empty
            return result

        return work


def _cut(rows: Rows, risk: Risk) -> Iterator[Chunk]:
    starts = risk.starts
    for first, last in cut(starts, rows.block_rows):
        low, high = int(starts[first]), int(starts[last])
        large = high - low > max(rows.block_rows, LARGE * stored_rows.BLOCK_BYTES * rows.n_rows // max(rows.nbytes, 1))
        threads = rows.n_threads if large else 1
        place = slice(low, high)
        rows_of, risk_of = rows.select(place, threads), risk.select(slice(first, last), place, threads)
        fused = not large and isinstance(risk_of, PairwiseRisk) and risk_of.preferences.plain
        yield _fused(rows_of, risk_of) if fused else PlainChunk(rows_of, risk_of, large)


def _fused(rows: Rows, risk: Risk) -> Chunk:
    from rankwise.objective.fused import FusedChunk  # imports Numba, so not before it is needed

    assert isinstance(rows, MemoryRows)
    assert isinstance(risk, PairwiseRisk)
    return FusedChunk(rows, risk)
