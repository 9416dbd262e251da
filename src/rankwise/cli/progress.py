"""A progress bar with the time left, on stderr, only at a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(what: str, total: int, done: int = 0) -> Iterator[Callable[[], None]]:
    """A bar of `total` steps, `done` of them before; the function given moves it by one."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, TextColumn("left:"), TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(what, total=total, completed=done)
        yield lambda: bar.advance(task)
