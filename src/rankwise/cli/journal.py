"""A journal of a long job: JSON lines, the first saying what the job is. A job that was interrupted goes on from it.

A line is written whole or, where the process was killed in the middle of one, dropped when the file is read again. A
journal of another job is refused.
"""

import json
import os
from pathlib import Path
from threading import Lock
from typing import Any, Self

from rankwise.data.outputs import check_folder

FORMAT = "rankwise-journal-1"


class Journal:
    """What has been done so far: `entries`, in the order in which they were written."""

    def __init__(self, path: str, job: dict[str, Any]) -> None:
        """Go on with the journal at `path` if there is one, else begin it."""
        check_folder(path)
        self.path = Path(path)
        self.lock = Lock()
        self.entries: list[dict[str, Any]] = []
        head = {"journal": FORMAT} | json.loads(json.dumps(job))
        lines, size = _whole_lines(self.path)
        if lines and lines[0] != head:
            different = [key for key in head if lines[0].get(key) != head[key]]
            raise ValueError(
                f"{path} is the journal of another job ({', '.join(different) or 'more'} differ): "
                "give the same data and options to go on, or remove it, or name another with --journal"
            )
        self.entries = lines[1:]
        self.file = open(self.path, "ab")  # noqa: SIM115  closed by __exit__
        self.file.truncate(size)
        if not lines:
            self._write(head)

    def add(self, entry: dict[str, Any]) -> None:
        """Write down what was done; threads may."""
        with self.lock:
            self._write(entry)
            self.entries.append(entry)

    def _write(self, line: dict[str, Any]) -> None:
        self.file.write(json.dumps(line).encode() + b"\n")
        self.file.flush()

    def remove(self) -> None:
        os.unlink(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


def _whole_lines(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The lines that were written to their end, and how many bytes they take."""
    whole = path.read_bytes() if path.exists() else b""
    whole = whole[: whole.rfind(b"\n") + 1]
    try:
        lines = [json.loads(line) for line in whole.splitlines()]
    except ValueError:
        lines = [None]
    if not all(isinstance(line, dict) for line in lines) or (lines and lines[0].get("journal") != FORMAT):
        raise ValueError(f"{path} is not a journal of rankwise, or is damaged: remove it, or give another --journal")
    return lines, len(whole)
