"""What the commands print: results on stdout, everything else on stderr, one sentence per error."""

import errno
import functools
import json
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice, pairwise
from types import FrameType
from typing import ParamSpec, TypeVar

import typer

from rankwise.cli.interrupts import INTERRUPTED
from rankwise.foundation.compiling import clock
from rankwise.foundation.names import nearest, spelled
from rankwise.foundation.outputs import checks_ended
from rankwise.foundation.strict_json import Json
from rankwise.foundation.terminal import is_terminal, shown
from rankwise.foundation.texts import counted as counted
from rankwise.foundation.texts import table as table
from rankwise.foundation.texts import visible

Options = ParamSpec("Options")
Given = TypeVar("Given")
Value = TypeVar("Value")
Report = Callable[[str], None]  # replaces the text of a line of progress

BAD_DATA = 1
MANY = 1000  # files of a folder among which one with a similar name is looked for


def say(text: str) -> None:
    """Print a single line on stderr, with line breaks in the text escaped; nothing if stderr is closed."""
    with suppress(OSError):
        print(visible(text), file=sys.stderr, flush=True)


def answer(text: str, *, aside: bool = False) -> None:
    """Print a result, of one or more lines, on stdout; with `aside` on stderr, because stdout has other content."""
    try:
        print("\n".join(map(visible, text.split("\n"))), file=sys.stderr if aside else sys.stdout, flush=True)
    except OSError as error:
        error.filename = "standard error" if aside else "standard output"
        raise


def answer_json(result: Json, *, aside: bool = False) -> None:
    answer(json.dumps(result, indent=1), aside=aside)


def command(function: Callable[Options, None], bad_data: int = BAD_DATA) -> Callable[Options, None]:
    """A command whose errors are one sentence and the exit code `bad_data`, never a traceback."""

    @functools.wraps(function)
    def run(*args: Options.args, **options: Options.kwargs) -> None:
        with one_sentence(bad_data), warnings.catch_warnings(), interruptible(), checks_ended():
            say_once = functools.cache(say)  # Python forgets what it has shown whenever filters change
            warnings.showwarning = lambda message, *_, **__: say_once(f"rankwise: warning: {message}")
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            function(*args, **options)

    return run


@contextmanager
def one_sentence(bad_data: int = BAD_DATA) -> Iterator[None]:
    """Errors raised inside become a sentence on stderr and an exit code."""
    try:
        yield
    except KeyboardInterrupt:
        say("rankwise: interrupted")
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:  # the reader of the output has exited, as `head` does
        _give_up_stdout()
        raise SystemExit(0) from None
    except (ValueError, OSError, ImportError, MemoryError) as error:
        say(f"rankwise: {_sentence(error)}")
        _give_up_stdout()
        raise SystemExit(bad_data) from None


def _give_up_stdout() -> None:
    """Drop output that stdout does not accept: Python would try to write it again at exit, and report an error."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def hold_closed_streams() -> None:
    """Reserve the file number of each standard stream that is closed (`>&-`). Otherwise the next file to be opened
    would get that number, and receive what is written to the stream. Using a closed stdin or stdout remains an error.
    """
    for number, name, mode, access in (
        (0, "stdin", "r", os.O_WRONLY),
        (1, "stdout", "w", os.O_RDONLY),
        (2, "stderr", "w", os.O_WRONLY),
    ):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, access), number)
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115  it stays open until exit


_interrupts: list[int] = []


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, as usual. If other code suppresses it, such as a callback of the compiler,
    `stop_here` raises it again; a second Ctrl-C ends the process at once.
    """

    def interrupt(signum: int, frame: FrameType | None) -> None:
        if _interrupts:
            os._exit(INTERRUPTED)
        _interrupts.append(signum)
        raise KeyboardInterrupt

    _interrupts.clear()
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def without_complaints() -> None:
    """After Ctrl-C, show no errors of destructors: their objects may be incomplete, the compiler's for example."""
    shown = sys.unraisablehook
    sys.unraisablehook = lambda error: None if _interrupts else shown(error)


def stop_here() -> None:
    """Called between steps: raise a Ctrl-C that other code has suppressed."""
    if _interrupts:
        raise KeyboardInterrupt


def _sentence(error: BaseException) -> str:
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return f"there is not enough memory: {error}".removesuffix(": ")
    if not isinstance(error, OSError) or error.errno is None:
        return str(error)
    what = "it is closed" if error.errno == errno.EBADF else error.strerror
    what = f"{what}{_did_you_mean(error)}"
    where = error.filename or ("standard output" if error.errno in (errno.EBADF, errno.ENOSPC) else None)
    return f"{where}: {what}" if where else str(what)


def _did_you_mean(error: OSError) -> str:
    """The file that was probably meant, if one is missing."""
    if error.errno != errno.ENOENT or not isinstance(error.filename, str):
        return ""
    folder, name = os.path.split(error.filename)
    with suppress(OSError), os.scandir(folder or ".") as entries:
        names = [entry.name for entry in islice(entries, MANY)]
        near = nearest(name, [one for one in names if nearest(_stem(name), [_stem(one)])])  # not by suffix alone
        return "" if near is None else f"; did you mean {os.path.join(folder, near)!r}?"
    return ""


def _stem(name: str) -> str:
    return os.path.splitext(name)[0]


@contextmanager
def shown_plainly(words: Sequence[str] = ()) -> Iterator[None]:
    """Escape control characters in the arguments that error messages of typer quote.

    words  of the command line, if known: they show whether several values were given in one word, `--C 0.1,1`
    """
    try:
        yield
    except Exception as error:
        is_help = type(error).__name__ == "NoArgsIsHelpError"  # its message is the help, of many lines
        if hasattr(error, "format_message") and not is_help:  # a ClickException, click's or one of typer's own
            cure = _several_in_one(getattr(error, "param", None), words) or _not_typed(error, words)
            vars(error)["message"] = visible(vars(error)["message"] + cure)
        raise


def _several_in_one(param: object, words: Sequence[str]) -> str:
    """What to do if several values, separated by commas, were given for one option."""
    options = getattr(param, "opts", [])
    given = [value for option, value in pairwise(words) if option in options]
    given += [value for option, _, value in (word.partition("=") for word in words) if option in options]
    value = next((one for one in given if re.fullmatch(r"[-+.\de]+(,[-+.\de]+)+", one)), None)
    if value is None:
        return ""
    if not getattr(param, "multiple", False):
        return " (it takes one value; `rankwise tune` chooses among several)"
    return f" (repeat the option: {' '.join(f'{options[0]} {one}' for one in value.split(','))})"


def _not_typed(error: Exception, words: Sequence[str]) -> str:
    """Where a wrong value comes from, if not from the command line."""
    param, context = getattr(error, "param", None), getattr(error, "ctx", None)
    is_typed = any(word.partition("=")[0] in getattr(param, "opts", []) for word in words)
    is_set = getattr(param, "name", None) in (getattr(context, "default_map", None) or {})
    return " (set by --config or --like)" if is_set and not is_typed else ""


def checked(option: str, read: Callable[[Given], Value], given: Given) -> Value:
    """`read(given)`; its ValueError is reported as wrong usage of `option`."""
    try:
        return read(given)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


def chosen(name: str, given: str | None, known: Iterable[str]) -> str | None:
    """The known name that the option of this name gives, in any spelling; None if it is not given."""
    option = f"--{name.replace('_', '-')}"
    return None if given is None else checked(option, lambda one: spelled(name, one, known), given)


@contextmanager
def doing(what: str) -> Iterator[Report]:
    """Show what is being done in a line on stderr, which the yielded function updates; only at a terminal."""
    if not is_terminal():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.text import Text  # a str would be read as markup

    began = clock()
    status = Console(stderr=True).status(Text(visible(what)))
    with shown(status):
        yield lambda text: status.update(Text(visible(f"{what}: {text} ({clock() - began:.1f} s)")))
