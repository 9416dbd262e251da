"""Work shared by threads: the kernels release the GIL, so plain threads use every core.

What is computed never depends on the number of threads: the caller cuts the work, each piece is done whole by one
thread, and results come back in the order of the pieces. Threads live for one call, so a fork meets none of them.
"""

import os
from _thread import LockType, allocate_lock, start_new_thread
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Piece = TypeVar("Piece")
Outcome = TypeVar("Outcome")

ALONE = 64, 1500  # widths of matrices that one thread factorises


def thread_count(n_jobs: int | None = None) -> int:
    """How many threads scikit-learn's `n_jobs` asks for: None or -1 for every core this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return cores
    if n_jobs == 0:
        raise ValueError("n_jobs is 0: give a number of threads, or -1 for all cores")
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


class _Blas:
    """Who keeps BLAS to one thread: how many contexts are open, and what lifts the limit."""

    lock = allocate_lock()
    inside = 0
    limit: "ThreadpoolController"


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which matrix products keep to one thread: where the threads are ours, or the work is small.

    The limit holds for the whole process: the first to enter sets it, the last to leave lifts it.
    """
    with _Blas.lock:
        if _Blas.inside == 0:
            _Blas.limit = _libraries().limit(limits=1, user_api="blas")
        _Blas.inside += 1
    try:
        yield
    finally:
        with _Blas.lock:
            _Blas.inside -= 1
            if _Blas.inside == 0:
                _Blas.limit.restore_original_limits()


def enough_blas_threads(width: int) -> AbstractContextManager[None]:
    """A context for factorising one matrix of this width: by one thread, where several cost more than they save.

    On busy cores they cost a hundred times as much. The narrowest matrices are given to one thread by BLAS itself.
    """
    return one_blas_thread() if ALONE[0] <= width <= ALONE[1] else nullcontext()


@cache
def _libraries() -> "ThreadpoolController":
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()  # finding the libraries takes a millisecond or two


def share(work: Callable[[Piece], Outcome], pieces: Iterable[Piece], n_threads: int) -> list[Outcome]:
    """[work(piece) for piece in pieces], by up to `n_threads` threads, this one among them."""
    todo = list(pieces)
    if min(n_threads, len(todo)) <= 1:
        return list(map(work, todo))
    outcomes: list[Outcome | None] = [None] * len(todo)
    errors: list[BaseException] = []
    remaining = deque(range(len(todo)))  # popleft() is atomic, with and without a GIL

    def labour() -> None:
        try:
            while not errors:
                try:
                    i = remaining.popleft()
                except IndexError:
                    return
                outcomes[i] = work(todo[i])
        except BaseException as error:
            errors.append(error)

    # Bare threads: threading.Thread costs more than some of the work, and its bookkeeping can swallow a Ctrl-C.
    at_work: list[LockType] = []
    finished: list[LockType] = []

    def help_out(done: LockType) -> None:
        try:
            labour()
        finally:
            finished.append(done)
            done.release()

    with suppress(RuntimeError):  # no thread can be had, for want of memory say: those there are do the work
        for _ in range(min(n_threads, len(todo)) - 1):
            done = allocate_lock()
            done.acquire()
            start_new_thread(help_out, (done,))
            at_work.append(done)
    labour()
    for done in at_work:
        while done not in finished:
            try:
                done.acquire()
            except BaseException as error:  # Ctrl-C: the pieces in hand are waited for
                errors.append(error)
    if errors:
        raise errors[0]
    return outcomes  # type: ignore[return-value]
