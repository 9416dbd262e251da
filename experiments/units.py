"""Pieces of work: each in bounded time, in another process, and kept in the cache once it is done."""

import hashlib
import json
import multiprocessing
import os
import traceback
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self


@dataclass(frozen=True)
class Unit:
    """`work(data, **options)`, for at most `limit` seconds; the options are part of the key in the cache.

    `timed`: it reports times that are compared, so nothing else may run beside it.
    """

    name: str
    work: Callable[..., Any]
    options: dict[str, Any] = field(default_factory=dict)
    limit: float = 60.0
    timed: bool = True


class UnitError(RuntimeError):
    """A unit raised an exception, or its process died."""


class Cache:
    """One JSON file per finished unit: FOLDER/MODULE OF ITS WORK/FUNCTION-KEY OF THE OPTIONS.json.

    Experiments that ask the same function for the same thing share what it found.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, unit: Unit) -> Path:
        key = hashlib.sha256(json.dumps([unit.options, unit.limit], sort_keys=True).encode()).hexdigest()[:16]
        return self.folder / unit.work.__module__.rpartition(".")[2] / f"{unit.work.__name__}-{key}.json"

    def __contains__(self, unit: Unit) -> bool:
        return self.path(unit).exists()

    def load(self, unit: Unit) -> Any:
        return json.loads(self.path(unit).read_text())

    def forget(self, unit: Unit) -> None:
        self.path(unit).unlink(missing_ok=True)

    def keep(self, unit: Unit, found: Any) -> None:
        path = self.path(unit)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(found).encode())


def write_whole(path: Path, content: bytes) -> None:
    """Write to another file and rename it, so that no reader sees half a file."""
    beside = path.with_name(f"{path.name}.{os.getpid()}.new")
    beside.write_bytes(content)
    beside.replace(path)


class Worker:
    """A process that works off units one by one; its data stay loaded between them, its memory goes with it."""

    def __init__(self, data: Path, patience: float = 1.0) -> None:
        self.data, self.patience = data, patience
        self._process: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def run(self, unit: Unit) -> Any:
        """What the unit returns; TimeoutError when its time was up, its own exception as a UnitError."""
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs, self.data))
            self._process.start()
            theirs.close()
        self._pipe.send((unit.work, unit.options))
        if not self._pipe.poll(unit.limit * self.patience):
            self._end()
            raise TimeoutError(f"{unit.name} took longer than {unit.limit * self.patience:g} s")
        try:
            outcome, failure = self._pipe.recv()
        except EOFError:
            self._end()
            raise UnitError(f"{unit.name}: its process died, perhaps because memory ran out") from None
        if failure is not None:
            raise UnitError(f"{unit.name} failed:\n{failure}")
        return outcome

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def in_lanes(units: Iterable[Unit], n: int, data: Path, patience: float, work: Callable[[Unit, Worker], None]) -> None:
    """Calls `work` with every unit, n at a time, each with a worker that no other has; an exception ends them all."""
    waiting = deque(units)

    def lane(worker: Worker) -> None:
        while True:
            try:
                unit = waiting.popleft()
            except IndexError:
                return
            work(unit, worker)

    with ThreadPoolExecutor(n) as pool, ExitStack() as workers:
        lanes = [pool.submit(lane, workers.enter_context(Worker(data, patience))) for _ in range(n)]
        try:
            for one in as_completed(lanes):
                one.result()
        finally:
            waiting.clear()


def _serve(pipe: Connection, data: Path) -> None:
    while True:
        try:
            work, options = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            pipe.send((work(data, **options), None))
        except KeyboardInterrupt:
            return
        except Exception:
            pipe.send((None, traceback.format_exc()))
