"""A journal of a long job, from which an interrupted job is resumed: JSON lines, the first of which describes the job.

If the process is killed while it writes a line, that line is dropped when the file is read again. The journal of
another job is an error, and so is one that another process is writing.
"""

import base64
import json
import os
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import BinaryIO, Self

import numpy as np

from rankwise.foundation.arrays import Floats
from rankwise.foundation.outputs import append, locked_file, naming, resolved
from rankwise.foundation.strict_json import Json, is_number, parse_json
from rankwise.model_selection.search import Cell, Judged, Known

FORMAT = "rankwise-journal-1"
_BEGINNING = json.dumps({"journal": FORMAT}).encode().removesuffix(b"}")


class Journal:
    """What has been done so far: `entries`, in the order in which they were written."""

    def __init__(self, path: str, job: dict[str, Json]) -> None:
        """Continue the journal at `path` if it exists, else start it."""
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

    def _begin(self, head: dict[str, Json]) -> list[dict[str, Json]]:
        lines, size = _whole_lines(self.file, self.path)
        if lines and lines[0] != head:
            different = [key for key in head if lines[0].get(key) != head[key]]
            raise ValueError(
                f"{self.path} is the journal of another job (other {' and '.join(different) or 'options'}): "
                "give the same data and options to resume it, remove it, or name another with --journal"
            )
        self.file.truncate(size)
        if not lines:
            append(self.file, json.dumps(head).encode() + b"\n")
        return lines[1:]

    def add(self, entry: dict[str, Json]) -> None:
        """Append an entry; safe to call from several threads."""
        with self.lock:
            append(self.file, json.dumps(entry).encode() + b"\n")
            self.entries.append(entry)

    def remove(self) -> None:
        os.unlink(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.close()


def entry_of(family: int, cell: Cell) -> dict[str, Json]:
    """A cell of a search as an entry of the journal; the weights are encoded exactly, in few characters."""
    score, error, coef = cell.judged
    return {
        "family": family,
        "fold": cell.fold,
        "strength": cell.strength,
        "score": None if np.isnan(score) else score,
        "error": 0.0 if np.isnan(error) else error,
        "seconds": cell.seconds,
        "coef": None if coef is None else base64.b64encode(coef.astype("<f8").tobytes()).decode(),
    }


def known_cells(journal: Journal, family: int, strengths: Floats, n_folds: int) -> Known:
    """The cells of one family that are recorded in the journal; an error if an entry is damaged."""
    places = {strength: place for place, strength in enumerate(strengths.tolist())}
    known = {}
    for entry in journal.entries:
        sound = all(is_number(entry.get(key)) for key in ("family", "fold", "strength", "error", "seconds"))
        sound = sound and (entry.get("score", "") is None or is_number(entry["score"]))
        sound = sound and entry["fold"] in range(n_folds)
        try:
            text = entry.get("coef")
            coef = None if text is None else np.frombuffer(base64.b64decode(text, validate=True), "<f8")
        except (TypeError, ValueError):
            sound = False
        if not sound:
            raise ValueError(f"{journal.path} is damaged: remove it, or give another --journal")
        if entry["family"] == family and entry["strength"] in places:
            score = np.nan if entry["score"] is None else entry["score"]
            judged = Judged(score, entry["error"], None if coef is None else coef.astype(np.float64))
            known[int(entry["fold"]), places[entry["strength"]]] = judged, float(entry["seconds"])
    return known


def check_journal(path: str | Path) -> None:
    """Raise an error if there is a file that does not begin as a journal does."""
    if Path(path).exists():
        with open(path, "rb") as file:
            if file.read(len(_BEGINNING)) not in (_BEGINNING, b""):
                raise _no_journal(path)


def _no_journal(path: str | Path) -> ValueError:
    return ValueError(f"{path} is not a journal of rankwise, or is damaged: remove it, or give another --journal")


def _whole_lines(file: BinaryIO, path: Path) -> tuple[list[dict[str, Json]], int]:
    """The complete lines, and how many bytes they take."""
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
