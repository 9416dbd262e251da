"""What starting costs: the import, the command's help, and the first fit (MQ2008 fold 1), each over a bare Python.

"Compiling" is the first fit ever, with an empty cache of kernels; "cached" a new process that finds them there. Both
are whole processes, from the start of Python to the end of the fit, less a Python that does nothing but load the data.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measures import OURS

REPEATS = 7
LOAD = "import numpy as np; X, y, qid = (np.load({folder!r} + f'/{{name}}.npy') for name in ('X', 'y', 'qid'))"
FIT = "; from rankwise import RankSVM; RankSVM(C=1.0).fit(X, y, qid)"
HELP = "import sys; sys.argv[1:] = ['--help']; from rankwise.cli import main; main()"


def start(folder: str, quick: bool) -> Iterator[dict[str, Any]]:
    repeats = 3 if quick else REPEATS
    bare = seconds("pass", repeats)
    yield _over("import rankwise", seconds("import rankwise", repeats), bare)
    yield _over("rankwise --help", seconds(HELP, repeats), bare)
    load = LOAD.format(folder=folder)
    loaded = seconds(load, repeats)
    with TemporaryDirectory() as cache:
        cold = seconds(load + FIT, 1, NUMBA_CACHE_DIR=cache)
        warm = seconds(load + FIT, repeats, NUMBA_CACHE_DIR=cache)
    yield _over("first fit in a new process, compiling", cold, loaded)
    yield _over("first fit in a new process, kernels cached", warm, loaded)


def _over(what: str, found: list[float], base: list[float]) -> dict[str, Any]:
    """A command that is not to be had on this machine is no slower for it: never below 0."""
    usual = statistics.median(base)
    values = {"value": max(statistics.median(found) - usual, 0.0), "best": max(min(found) - usual, 0.0)}
    return {"what": what, "solver": OURS, **values, "unit": "s", "repeats": len(found)}


def seconds(code: str, repeats: int, **environment: str) -> list[float]:
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            env=os.environ | environment,
            cwd=Path(__file__).parent,
        )
        times.append(time.perf_counter() - begin)
    return times
