"""What moves on a terminal: one display at a time on stderr, and none in a file, a pipe or a dumb terminal."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

DUMB = ("dumb", "unknown")  # values of TERM: the cursor cannot be moved


class Display(Protocol):
    """A status or a progress bar of rich."""

    def start(self) -> None: ...
    def stop(self) -> None: ...


_displays: list[Display] = []  # the last one is on the screen; the others wait for it to be hidden


def is_terminal() -> bool:
    """Whether stderr can show what moves."""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") not in DUMB


def show(display: Display) -> None:
    if _displays:
        _displays[-1].stop()
    _displays.append(display)
    display.start()


def hide(display: Display) -> None:
    display.stop()
    _displays.remove(display)
    if _displays:
        _displays[-1].start()


@contextmanager
def shown(display: Display) -> Iterator[None]:
    show(display)
    try:
        yield
    finally:
        hide(display)
