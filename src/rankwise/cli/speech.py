"""How the commands speak: results on stdout, everything else on stderr, one sentence for what went wrong."""

import functools
import json
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import typer

from rankwise.tables import table as table
from rankwise.tables import visible

Command = TypeVar("Command", bound=Callable[..., Any])
Value = TypeVar("Value")

BAD_DATA, INTERRUPTED = 1, 130


def say(text: str) -> None:
    """A single line on stderr, whatever the text holds."""
    print(visible(text), file=sys.stderr, flush=True)


def answer(text: str, *, aside: bool = False) -> None:
    """A result, of one line or several, on stdout, or on stderr where stdout is taken."""
    print("\n".join(map(visible, text.split("\n"))), file=sys.stderr if aside else sys.stdout, flush=True)


def counted(n: int, what: str) -> str:
    """1 query, 2 queries."""
    one = what[:-3] + "y" if what.endswith("ies") else what[:-1]
    return f"{n:,} {one if n == 1 else what}"


def answer_json(result: Any) -> None:
    answer(json.dumps(result, indent=1))


def command(function: Command) -> Command:
    """A command whose failures are a sentence and an exit code, never a traceback."""

    @functools.wraps(function)
    def run(*args: Any, **options: Any) -> None:
        try:
            with warnings.catch_warnings(), interruptible():
                warnings.showwarning = lambda message, *_, **__: say(f"rankwise: warning: {message}")
                warnings.filterwarnings("ignore", message="X does not have valid feature names")
                function(*args, **options)
        except KeyboardInterrupt:
            say("rankwise: interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # the reader of our output has left, as `head` does
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except (ValueError, OSError, ImportError, MemoryError) as error:
            say(f"rankwise: {_sentence(error)}")
            raise typer.Exit(BAD_DATA) from None

    return run  # type: ignore[return-value]


_asked_to_stop: list[int] = []


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, as always. Where that is swallowed, in a callback of the compiler say,
    `stop_here` raises it again; a second Ctrl-C ends the process at once.
    """

    def interrupt(signum: int, frame: Any) -> None:
        if _asked_to_stop:
            os._exit(INTERRUPTED)
        _asked_to_stop.append(signum)
        raise KeyboardInterrupt

    _asked_to_stop.clear()
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def stop_here() -> None:
    """Called between steps: a Ctrl-C that got lost on its way is raised."""
    if _asked_to_stop:
        raise KeyboardInterrupt


def _sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"the data do not fit into memory: {error}"
    return str(error)


@contextmanager
def shown_plainly() -> Iterator[None]:
    """A context in which complaints about arguments show what they quote as every other text is shown."""
    try:
        yield
    except Exception as error:
        if hasattr(error, "format_message"):  # a ClickException, click's or one of typer's own
            vars(error)["message"] = visible(vars(error)["message"])
        raise


def checked(option: str, read: Callable[[Any], Value], given: Any) -> Value:
    """`read(given)`; what it refuses is wrong usage of `option`."""
    try:
        return read(given)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


@contextmanager
def doing(what: str) -> Iterator[Callable[[str], None]]:
    """A line on stderr that says what is being done, renewed by the function given; only at a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.text import Text  # a str would be read as markup

    began = time.perf_counter()
    with Console(stderr=True).status(Text(visible(what))) as status:
        yield lambda text: status.update(Text(visible(f"{what}: {text} ({time.perf_counter() - began:.1f} s)")))
