"""Kernels are compiled once, which takes seconds: a notice when it begins, and a clock that leaves it out."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

NOTICE = "compiling kernels (once, about 10 s)"

Tell = Callable[[str], object]


class _Compiling:
    """Of this process; Numba compiles under a lock, so that there is one compilation at a time."""

    tell: Tell | None = None
    nested = 0  # a kernel is compiled while one that calls it is
    began = 0.0
    seconds = 0.0


@contextmanager
def told_of_compiling(tell: Tell | None) -> Iterator[None]:
    """A context in which `tell` is called with NOTICE when the first kernel is compiled.

    It is not called for kernels that are loaded from the cache. With None, that of the surrounding context is called.
    """
    before = _Compiling.tell
    _Compiling.tell = before if tell is None else tell
    try:
        yield
    finally:
        _Compiling.tell = before


def clock() -> float:
    """Seconds as of `time.perf_counter`, but it stands still while kernels are compiled."""
    return time.perf_counter() - _Compiling.seconds


def begin() -> None:
    if _Compiling.nested == 0:
        _Compiling.began = time.perf_counter()
        if _Compiling.tell is not None:
            _Compiling.tell(NOTICE)
            _Compiling.tell = None
    _Compiling.nested += 1


def end() -> None:
    _Compiling.nested -= 1
    if _Compiling.nested == 0:
        _Compiling.seconds += time.perf_counter() - _Compiling.began
