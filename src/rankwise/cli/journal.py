"""A journal of a long job: JSON lines, the first saying what the job is. A job that was interrupted goes on from it.

A line is written whole or, where the process was killed in the middle of one, dropped when the file is read again. A
journal of another job is refused, and so is one that another process is writing.
"""

import json
import os
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, Self

from rankwise.foundation.outputs import append, locked_file, naming, resolved
from rankwise.foundation.strict_json import parse_json

FORMAT = "rankwise-journal-1"
_BEGINNING = json.dumps({"journal": FORMAT}).encode().removesuffix(b"}")


class Journal:
    """What has been done so far: `entries`, in the order in which they were written."""

    def __init__(self, path: str, job: dict[str, Any]) -> None:
        """Go on with the journal at `path` if there is one, else begin it."""
        self.path = resolved(path)
        self.lock = Lock()
        self.closing = ExitStack()
        self.file = self.closing.enter_context(locked_file(self.path))
        try:
            with naming(path):
                self.entries = self._begin({"journal": FORMAT} | json.loads(json.dumps(job)))
        except BaseException:
            if not os.path.getsize(self.path):
                self.remove()
            self.closing.close()
            raise

    def _begin(self, head: dict[str, Any]) -> list[dict[str, Any]]:
        lines, size = _whole_lines(self.file, self.path)
        if lines and lines[0] != head:
            different = [key for key in head if lines[0].get(key) != head[key]]
            raise ValueError(
                f"{self.path} is the journal of another job ({', '.join(different) or 'more'} differ): "
                "give the same data and options to go on, or remove it, or name another with --journal"
            )
        self.file.truncate(size)
        if not lines:
            append(self.file, json.dumps(head).encode() + b"\n")
        return lines[1:]

    def add(self, entry: dict[str, Any]) -> None:
        """Write down what was done; threads may."""
        with self.lock:
            append(self.file, json.dumps(entry).encode() + b"\n")
            self.entries.append(entry)

    def remove(self) -> None:
        os.unlink(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.close()


def check_journal(path: str | Path) -> None:
    """One sentence where there is a file that does not begin as a journal does."""
    if Path(path).exists():
        with open(path, "rb") as file:
            if file.read(len(_BEGINNING)) not in (_BEGINNING, b""):
                raise _no_journal(path)


def _no_journal(path: str | Path) -> ValueError:
    return ValueError(f"{path} is not a journal of rankwise, or is damaged: remove it, or give another --journal")


def _whole_lines(file: BinaryIO, path: Path) -> tuple[list[dict[str, Any]], int]:
    """The lines that were written to their end, and how many bytes they take."""
    file.seek(0)
    content = file.read()
    whole = content[: content.rfind(b"\n") + 1]
    try:
        lines = [parse_json(line) for line in whole.splitlines()]
    except ValueError:
        lines = [None]
    if not all(isinstance(line, dict) for line in lines) or (content and not content.startswith(_BEGINNING)):
        raise _no_journal(path)
    return lines, len(whole)
