"""Work shared by threads: the kernels release the GIL, so Python threads use every core.

Results never depend on the number of threads: the caller divides the work into pieces, one thread does each piece, and
results are returned in the order of the pieces. Threads end with the call, so that os.fork is safe between calls.
"""

import os
from _thread import LockType, allocate_lock, start_new_thread
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import LibController

Piece = TypeVar("Piece")
Outcome = TypeVar("Outcome")

ALONE = 64, 1500  # least and greatest width of the matrices that are factorised by one thread


def thread_count(n_jobs: int | None = None) -> int:
    """The number of threads for scikit-learn's `n_jobs`; None or -1 mean every core that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return cores
    if n_jobs == 0:
        raise ValueError("n_jobs is 0: give a number of threads, or -1 for all cores")
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


class _Blas:
    """The state of `one_blas_thread`: the number of open contexts, and what to restore after the last."""

    lock = allocate_lock()
    inside = 0
    before: list[int]  # the number of threads of each library


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which BLAS uses one thread: inside our own threads, or for small matrices.

    The limit holds for the whole process: the first context to be entered sets it, the last to be left lifts it.
    """
    with _Blas.lock:
        if _Blas.inside == 0:
            _Blas.before = [library.get_num_threads() for library in _libraries()]
            for library in _libraries():
                library.set_num_threads(1)
        _Blas.inside += 1
    try:
        yield
    finally:
        with _Blas.lock:
            _Blas.inside -= 1
            if _Blas.inside == 0:
                for library, number in zip(_libraries(), _Blas.before, strict=True):
                    library.set_num_threads(number)


def enough_blas_threads(width: int) -> AbstractContextManager[None]:
    """A context for factorising a matrix of this width, limited to one thread where several are slower.

    On busy cores they can be a hundred times slower. For the narrowest matrices BLAS itself uses one thread.
    """
    return one_blas_thread() if ALONE[0] <= width <= ALONE[1] else nullcontext()


@cache
def _libraries() -> "list[LibController]":
    import scipy.linalg  # noqa: F401  # has a BLAS of its own, which is found only once it is loaded
    from threadpoolctl import ThreadpoolController

    found = ThreadpoolController().lib_controllers  # takes a millisecond or two
    return [library for library in found if library.user_api == "blas"]


def share(work: Callable[[Piece], Outcome], pieces: Iterable[Piece], n_threads: int) -> list[Outcome]:
    """[work(piece) for piece in pieces], computed by up to `n_threads` threads, including the calling one."""
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

    # Low-level threads: threading.Thread takes longer than some of the work, and can lose a KeyboardInterrupt.
    at_work: list[LockType] = []
    finished: list[LockType] = []

    def help_out(done: LockType) -> None:
        try:
            labour()
        finally:
            finished.append(done)
            done.release()

    try:
        for _ in range(min(n_threads, len(todo)) - 1):
            done = allocate_lock()
            done.acquire()
            start_new_thread(help_out, (done,))
            at_work.append(done)
    except RuntimeError:  # no thread can be started, perhaps for lack of memory: the others do the work
        pass
    except BaseException as error:  # Ctrl-C: those that are at work are waited for
        errors.append(error)
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
