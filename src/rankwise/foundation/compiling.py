"""Kernels are compiled once, which takes seconds: stderr says so, and a clock leaves it out.

At a terminal a bar shows how far it is, elsewhere there is one line. How many kernels will be compiled depends on what
is done with them and is not known before, so the bar says *about*.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from rankwise.foundation.terminal import hide, is_terminal, show

if TYPE_CHECKING:
    from rich.progress import Progress

NOTICE = "compiling kernels that were not used before (10 to 20 s)"
EXPECTED = 40  # kernels that a first training compiles, with those that they call


class _Notice:
    """What stderr shows while a kernel and those that it calls are compiled."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.done = 0
        self.is_said = False
        self.bar: Progress | None = None

    def begin(self) -> None:
        if is_terminal():
            self.bar = self._bar()
            show(self.bar)
        elif not self.is_said:
            self.is_said = True
            with suppress(OSError):
                print(self.text, file=sys.stderr, flush=True)

    def advance(self) -> None:
        self.done += 1
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], completed=self.done, total=max(EXPECTED, self.done))

    def end(self) -> None:
        if self.bar is not None:
            hide(self.bar)
            self.bar = None

    def _bar(self) -> "Progress":
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(" of about "))
        bar = Progress(*columns, console=Console(stderr=True), transient=True)
        bar.add_task(self.text, total=max(EXPECTED, self.done), completed=self.done)
        return bar


class _Compiling:
    """Of this process; Numba compiles under a lock, so that there is one compilation at a time."""

    notice: _Notice | None = None
    nested = 0  # a kernel is compiled while one that calls it is
    spent: tuple[float, float | None] = (0.0, None)  # seconds before, and since when; other threads read both at once


@contextmanager
def told_of_compiling(prefix: str | None) -> Iterator[None]:
    """A context in which stderr shows that kernels are compiled, once, as `prefix` and NOTICE.

    Kernels that are loaded from the cache do not count. With None, the surrounding context applies.
    """
    before = _Compiling.notice
    if prefix is not None:
        _Compiling.notice = _Notice(prefix + NOTICE)
    try:
        yield
    finally:
        _Compiling.notice = before


def clock() -> float:
    """Seconds as of `time.perf_counter`, but it stands still while kernels are compiled."""
    seconds, began = _Compiling.spent
    return (time.perf_counter() if began is None else began) - seconds


def begin() -> None:
    _Compiling.nested += 1
    if _Compiling.nested == 1:
        _Compiling.spent = (_Compiling.spent[0], time.perf_counter())
        if _Compiling.notice is not None:
            _Compiling.notice.begin()


def end() -> None:
    _Compiling.nested -= 1
    if _Compiling.notice is not None:
        _Compiling.notice.advance()
    if _Compiling.nested != 0:
        return
    if _Compiling.notice is not None:
        _Compiling.notice.end()
    seconds, began = _Compiling.spent
    assert began is not None
    _Compiling.spent = (seconds + time.perf_counter() - began, None)
