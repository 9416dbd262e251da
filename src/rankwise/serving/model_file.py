"""The model that a service uses. If its file is replaced, the new model takes its place between two requests."""

import logging
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias

from rankwise.serving.ranking import ServedModel

Signature: TypeAlias = tuple[int, int, int, int] | None  # of a file's state; None if there is no file

log = logging.getLogger("rankwise.serving")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class ModelInMemory:
    """A model that was not read from a file, and stays."""

    current: ServedModel
    name: None = None
    sha256: None = None
    error: None = None
    loaded: str = field(default_factory=_now)


class ModelFile:
    """`current` is the model in use, which the last readable file gave; `error` what was wrong with a later one."""

    def __init__(self, path: str | Path, missing: float | None = None, ignore_unknown: bool = False) -> None:
        self.path = path
        self._reading = missing, ignore_unknown
        self.error: str | None = None
        self._load()

    @property
    def name(self) -> str:
        return Path(self.path).name

    def _load(self) -> None:
        self._asked = False
        self._seen = self._signature()  # before it is read: a file replaced meanwhile is read again
        checksum = sha256(Path(self.path).read_bytes()).hexdigest()
        model = ServedModel.of(self.path, *self._reading)
        self.current, self.sha256, self.loaded = model, checksum, _now()

    def _signature(self) -> Signature:
        try:
            state = os.stat(self.path)
        except OSError:
            return None
        return state.st_mtime_ns, state.st_size, state.st_ino, state.st_dev

    @property
    def changed(self) -> bool:
        return self._asked or self._signature() != self._seen

    def ask_to_reload(self) -> None:
        """Read the file again soon, even if it looks unchanged."""
        self._asked = True

    def reload(self) -> bool:
        """Read the file again; whether that succeeded. If not, the model in use stays."""
        try:
            self._load()
        except (ValueError, OSError, MemoryError) as error:
            self.error = str(error)
            log.error("the model in use stays, because the new one cannot be loaded: %s", error)
            return False
        self.error = None
        log.warning("%s was loaded again: sha256 %s", self.path, self.sha256)
        return True
