"""Who works on the chunks of a sum: threads of this process here, a Dask cluster in `rankwise.distributed`.

An executor keeps something made of every chunk, a *state*, where the chunk is stored, and adds up the answers to
questions about it: always in the same order, so that no result depends on who works on what, to the last bit.
"""

import operator
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import reduce
from typing import Protocol, Self, TypeVar

from rankwise.foundation.arrays import Floats
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
    """Something made of every chunk."""

    def total(self, question: Callable[..., AnyFloats], *given: object, size: int) -> AnyFloats:
        """The sum of question(state, *given), an array of that size, over the chunks."""
        ...

    def merged(self, question: Callable[..., T], merge: Callable[[T, T], T], *given: object, size: int) -> T:
        """The answers question(state, *given), of about that size, put together by merge(one, next), first to last.

        For what is more than a sum; `merge` may write into its first argument.
        """
        ...


class Executor(Protocol):
    @property
    def loss(self) -> Loss: ...
    @property
    def zero(self) -> AnyFloats:
        """The origin of weight space, on the device where the rows are."""
        ...

    @property
    def any(self) -> bool:
        """Whether there is a pair at all."""
        ...

    @property
    def totals(self) -> Floats:
        """For each query, how many pairs there are, or their total weight."""
        ...

    def with_loss(self, loss: Loss) -> Self:
        """The same chunks with another loss."""
        ...

    def state(self, make: Callable[..., object], *given: object) -> State:
        """make(chunk, *given) of every chunk, made when a question is first asked."""
        ...

    def sampled(self, n_rows: int, seed: int) -> Self:
        """An estimate from about `n_rows` of the rows, drawn at random."""
        ...


class Threads:
    """Rows that this process can read, query by query, and the risk of their scores."""

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
        return ThreadState(self, make, given)

    def sampled(self, n_rows: int, seed: int) -> "Threads":
        threads = self.rows.n_threads
        risk, rows = self.risk.sampled(n_rows, seed, threads)
        return Threads(self.rows.select(rows, threads).centred(risk.starts), risk)


class ThreadState:
    def __init__(self, executor: Threads, make: Callable[..., object], given: tuple[object, ...]) -> None:
        self._chunks, self._n_threads = executor.chunks, executor.rows.n_threads
        self._n_features = executor.rows.n_features
        self._make, self._given = make, given
        self._made: list[object] = [None] * len(self._chunks)  # filled by whichever thread has the chunk

    def total(self, question: Callable[..., AnyFloats], *given: object, size: int) -> AnyFloats:
        small, large = self._lanes(size)
        work = self._work(question, given, operator.add)
        matrices = size > self._n_features + SCALARS  # whose products keep to the thread that calls for them
        with one_blas_thread() if matrices else nullcontext():
            return in_order(share(work, small, self._n_threads) + [work(lane) for lane in large])

    def merged(self, question: Callable[..., T], merge: Callable[[T, T], T], *given: object, size: int) -> T:
        small, large = self._lanes(size)
        work = self._work(question, given, merge)
        with one_blas_thread():
            return reduce(merge, share(work, small, self._n_threads) + [work(lane) for lane in large])

    def _lanes(self, size: int) -> tuple[list[list[int]], list[list[int]]]:
        """Chunks for one thread, and those that all threads work on together."""
        small = [i for i, chunk in enumerate(self._chunks) if not chunk.large]
        large = [[i] for i, chunk in enumerate(self._chunks) if chunk.large]
        return lanes(small, sum(self._chunks[i].rows.nbytes for i in small), size), large

    def _work(
        self, question: Callable[..., T], given: tuple[object, ...], merge: Callable[[T, T], T]
    ) -> Callable[[list[int]], T]:
        """From the chunks of a lane to their answers, put together one by one."""
        chunks, made = self._chunks, self._made

        def work(lane: list[int]) -> T:
            result: T | None = None
            for i in lane:
                if made[i] is None:
                    made[i] = self._make(chunks[i], *self._given)
                answer = question(made[i], *given)
                result = answer if result is None else merge(result, answer)
            assert result is not None  # no lane is empty
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
