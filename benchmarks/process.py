"""Work in a fresh process, and what is measured inside one: seconds, busy cores, memory.

`fresh("module:function", {...})` runs function(**{...}) in a new Python and returns the dicts it yields. They travel as
lines of JSON as soon as they are known, so that a process stopped at its time limit leaves what it had.
"""

import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MARK = "row "  # of our lines among what a library prints
MB = 1e6
Less = Callable[[], float]


class StoppedError(RuntimeError):
    """A process that did not end well: `str()` says why, `rows` is what it had yielded."""

    def __init__(self, why: str, rows: list[dict[str, Any]]) -> None:
        super().__init__(why)
        self.rows = rows


def fresh(
    target: str, arguments: dict[str, Any], limit: float | None = None, **environment: str
) -> list[dict[str, Any]]:
    """The rows that target(**arguments) yields in a process of its own.

    With a limit, the process leads a group: the programs it started are ended with it. Without one, it belongs to the
    group of its caller.
    """
    command = [sys.executable, "-m", "benchmarks.process", target, json.dumps(arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    group = None if limit is None else 0
    process = subprocess.Popen(command, **pipes, cwd=ROOT, env=os.environ | environment, process_group=group)
    try:
        output, errors = process.communicate(timeout=limit)
    except BaseException as stop:  # a keyboard's interrupt too: the terminal sends it to its own group only
        if group is None:
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        if isinstance(stop, subprocess.TimeoutExpired):
            raise StoppedError(f"over the time limit of {limit:g} s", _rows(output)) from None
        raise
    rows = _rows(output)
    if process.returncode:
        lines = errors.strip().splitlines() or [f"exit code {process.returncode}"]
        raise StoppedError(lines[-1], rows)
    return rows


def _rows(output: str) -> list[dict[str, Any]]:
    return [json.loads(line.removeprefix(MARK)) for line in output.splitlines() if line.startswith(MARK)]


def serve(target: str, arguments: str) -> None:
    module, name = target.split(":")
    for row in getattr(import_module(module), name)(**json.loads(arguments)) or ():
        print(MARK + json.dumps(row), flush=True)


def repeated(work: Callable[[], Any], repeats: int, enough: float = 20.0, less: Less = lambda: 0.0) -> dict[str, Any]:
    """Median and best seconds of up to `repeats` runs, fewer once they took `enough` seconds; `less()`, called after
    each, is taken off.

    `threads` is processor time over time: how many cores were busy on average.
    """
    seconds: list[float] = []
    busy = -cpu_seconds()
    began = time.perf_counter()
    while len(seconds) < repeats and sum(seconds) < enough:
        begin = time.perf_counter()
        work()
        took = time.perf_counter() - begin
        seconds.append(max(took - less(), 1e-9))
    spent = time.perf_counter() - began
    busy += cpu_seconds()
    middle, best = statistics.median(seconds), min(seconds)
    return {"value": middle, "best": best, "unit": "s", "repeats": len(seconds), "threads": round(busy / spent, 2)}


def cpu_seconds() -> float:
    """Processor seconds of this process and of the children it waited for."""
    return sum(os.times()[:4])


def memory() -> tuple[float, float]:
    """(now, at most so far) in MB that this process holds.

    ru_maxrss begins at the size of the parent; the kernel's own mark for this program does not, where there is one.
    """
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        now, peak = (int(lines[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))
    except (OSError, KeyError):
        now = peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return now / MB, peak / MB


if __name__ == "__main__":
    serve(*sys.argv[1:])
