"""Running under a limit on address space (`ulimit -v`), where compiled libraries do not raise MemoryError: LLVM and
Arrow abort, and OpenBLAS retries for ever.

A limit that is too low is an error at once, OpenBLAS allocates its memory before the data are read, and the command
runs in a child process, so that an abort can be reported in a sentence.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from rankwise.cli.speech import BAD_DATA, say

LEAST = 1 << 30  # bytes: for the libraries and the compiler
ABORTS = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL)
FORWARDED = (signal.SIGTERM, signal.SIGHUP)


def address_limit() -> int | None:
    """The limit on the address space of this process, in bytes; None if there is none."""
    try:
        import resource
    except ImportError:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


@contextmanager
def within_limits() -> Iterator[None]:
    """Run the block so that a lack of memory ends it with a sentence and an exit code."""
    limit = address_limit()
    if limit is None:
        yield
        return
    if limit < LEAST:
        raise MemoryError(f"a limit of {limit >> 20:,} MiB is set (ulimit -v), and {LEAST >> 20:,} MiB are needed")
    child = os.fork()
    if child:
        raise SystemExit(_outcome(child, limit))
    _take_memory_of_blas()
    yield


def _outcome(child: int, limit: int) -> int:
    """The exit code of the child process; an error message if it was aborted."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the child too
    for number in FORWARDED:
        signal.signal(number, lambda given, _: os.kill(child, given))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if -code in ABORTS:
        say(f"rankwise: there is not enough memory: a limit of {limit >> 20:,} MiB is set (ulimit -v)")
        return BAD_DATA
    return code if code >= 0 else 128 - code


def _take_memory_of_blas() -> None:
    import numpy as np
    from scipy.linalg import cho_factor

    np.linalg.cholesky(np.eye(2))
    cho_factor(np.eye(2))
