"""How the commands speak: results on stdout, everything else on stderr, one sentence for what went wrong."""

import errno
import functools
import json
import os
import re
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import Any, TypeVar

import typer

from rankwise.foundation.texts import counted as counted
from rankwise.foundation.texts import table as table
from rankwise.foundation.texts import visible

Command = TypeVar("Command", bound=Callable[..., Any])
Value = TypeVar("Value")

BAD_DATA, INTERRUPTED = 1, 130


def say(text: str) -> None:
    """A single line on stderr, whatever the text holds; dropped where stderr is closed."""
    with suppress(OSError):
        print(visible(text), file=sys.stderr, flush=True)


def answer(text: str, *, aside: bool = False) -> None:
    """A result, of one line or several, on stdout, or on stderr where stdout is taken."""
    try:
        print("\n".join(map(visible, text.split("\n"))), file=sys.stderr if aside else sys.stdout, flush=True)
    except OSError as error:
        error.filename = "standard error" if aside else "standard output"
        raise


def answer_json(result: Any) -> None:
    answer(json.dumps(result, indent=1))


def command(function: Command) -> Command:
    """A command whose failures are a sentence and an exit code, never a traceback."""

    @functools.wraps(function)
    def run(*args: Any, **options: Any) -> None:
        with one_sentence(), warnings.catch_warnings(), interruptible():
            warnings.showwarning = lambda message, *_, **__: say(f"rankwise: warning: {message}")
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            function(*args, **options)

    return run  # type: ignore[return-value]


@contextmanager
def one_sentence() -> Iterator[None]:
    """What goes wrong inside is a sentence on stderr and an exit code."""
    try:
        yield
    except KeyboardInterrupt:
        say("rankwise: interrupted")
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:  # the reader of our output has left, as `head` does
        _give_up_stdout()
        raise SystemExit(0) from None
    except (ValueError, OSError, ImportError, MemoryError) as error:
        say(f"rankwise: {_sentence(error)}")
        _give_up_stdout()
        raise SystemExit(BAD_DATA) from None


def _give_up_stdout() -> None:
    """What stdout does not take is dropped here: Python would try again at its end, and complain of it."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def hold_closed_streams() -> None:
    """Where a standard stream is closed (`>&-`), occupy its number: the next file that is opened would get it, and with
    it what is written to the stream. Reading from a closed stdin and writing to a closed stdout stay errors.
    """
    for number, name, mode, access in (
        (0, "stdin", "r", os.O_WRONLY),
        (1, "stdout", "w", os.O_RDONLY),
        (2, "stderr", "w", os.O_WRONLY),
    ):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, access), number)
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115  it is there to the end


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
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return f"there is not enough memory: {error}".removesuffix(": ")
    if not isinstance(error, OSError) or error.errno is None:
        return str(error)
    what = "it is closed" if error.errno == errno.EBADF else error.strerror
    where = error.filename or ("standard output" if error.errno in (errno.EBADF, errno.ENOSPC) else None)
    return f"{where}: {what}" if where else str(what)


@contextmanager
def shown_plainly(words: Sequence[str] = ()) -> Iterator[None]:
    """A context in which complaints about arguments show what they quote as every other text is shown.

    `words` of the command line, where known, tell whether several values were given in one word: `--C 0.1,1`.
    """
    try:
        yield
    except Exception as error:
        is_help = type(error).__name__ == "NoArgsIsHelpError"  # its message is the help, of many lines
        if hasattr(error, "format_message") and not is_help:  # a ClickException, click's or one of typer's own
            cure = _several_in_one(getattr(error, "param", None), words)
            vars(error)["message"] = visible(vars(error)["message"] + cure)
        raise


def _several_in_one(param: Any, words: Sequence[str]) -> str:
    options = getattr(param, "opts", [])
    given = [value for option, value in pairwise(words) if option in options]
    given += [value for option, _, value in (word.partition("=") for word in words) if option in options]
    value = next((one for one in given if re.fullmatch(r"[-+.\de]+(,[-+.\de]+)+", one)), None)
    if value is None:
        return ""
    if not param.multiple:
        return " (it takes one value; `rankwise tune` chooses among several)"
    return f" (repeat the option: {' '.join(f'{options[0]} {one}' for one in value.split(','))})"


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
