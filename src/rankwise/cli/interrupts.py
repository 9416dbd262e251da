"""Ctrl-C while no command runs. It is imported before all else of the command line, and imports nothing of it."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

INTERRUPTED = 130  # exit code


@contextmanager
def interrupts_end_process() -> Iterator[None]:
    """Ctrl-C ends the process with a sentence, not with a traceback through modules that are being imported.

    A command replaces this, as it has files to clean up (`speech.interruptible`). If SIGINT is ignored, as in the
    background jobs of a script, it stays ignored.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _end_process)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end_process(signum: int, frame: FrameType | None) -> None:
    if sys.stderr is not None:
        with suppress(OSError):
            os.write(2, b"rankwise: interrupted\n")
    os._exit(INTERRUPTED)
