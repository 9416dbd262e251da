"""A progress bar with the time left, on stderr, only at a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rankwise.foundation.terminal import is_terminal, shown


@contextmanager
def progress_bar(what: str, total: int, done: int = 0) -> Iterator[Callable[[], None]]:
    """A bar of `total` steps, `done` of them before; the function given moves it by one."""
    if not is_terminal():
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
    bar = Progress(*columns, TextColumn("left:"), TimeRemainingColumn(), console=console, transient=True)
    task = bar.add_task(what, total=total, completed=done)
    with shown(bar):
        yield lambda: bar.advance(task)
