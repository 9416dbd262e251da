"""Whole processes of the command `rankwise`: from text to model beside LIBLINEAR's `train`, and from text to scores.

Files were written a moment before and kernels are compiled, as for someone who uses the command every day.
"""

import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets.text import Text
from benchmarks.measures import OURS, figure, row
from benchmarks.process import ROOT, repeated

CODE = "from rankwise.cli import main; main()"
COMMAND = [sys.executable, "-c", CODE]
PEAK = f"""
import sys
from benchmarks.process import memory
try:
    {CODE}
finally:
    print(memory()[1], file=sys.stderr)
"""
LIBLINEAR = "LIBLINEAR ranking extension"
TRAINED = {
    "102 MB": (500, 1e-7),
    "400 MB": (1_967, 8.0),
}  # queries of 120 documents, and C: reading decides on the first
PIPED_QUERIES = 1_800  # about 366 MB
WARM = 1_000  # calls of predict


def whole(command: list[str], repeats: int, said: list[bytes] | None = None, **environment: str) -> dict[str, Any]:
    """Seconds of a process from its start to its end; what it says on standard error is added to `said`."""
    errors = [] if said is None else said

    def process() -> None:
        done = subprocess.run(command, capture_output=True, env=os.environ | environment)
        if done.returncode:
            told = done.stderr.decode(errors="replace").strip()
            raise RuntimeError(f"exit code {done.returncode} of {shlex.join(command)}: {told}")
        errors.append(done.stderr)

    return repeated(process, repeats, 60.0)


def train_text(folder: str, quick: bool, liblinear: str | None) -> Iterator[dict[str, Any]]:
    text, model = Path(folder) / "text.txt", Path(folder) / "model.json"
    Text(2).write(text)
    train = [*COMMAND, "train", str(text), "-o", str(model)]
    whole(train, 1)  # so that no kernel is compiled
    for size, (n_queries, C) in TRAINED.items():
        megabytes = Text(n_queries // 50 if quick else n_queries).write(text)
        what = f"from text to model, {size}"
        ours = whole([*train, "--C", repr(C)], 1 if quick else 3)
        value = _objective(text, C, model)
        yield row(what, OURS, ours, note=f"{megabytes:.0f} MB, C = {C:g}; objective {value:.6g}")
        if liblinear:
            weights = Path(folder) / "weights"
            theirs = whole([liblinear, "-s", "8", "-c", repr(C), str(text), str(weights)], 1 if quick else 3)
            value = _objective(text, C, weights)
            yield row(what, LIBLINEAR, theirs, note=f"its default tolerance; objective {value:.6g}")
            yield figure(f"times faster than LIBLINEAR, {size}", theirs["value"] / ours["value"], "x")


def _objective(text: Path, C: float, model: Path) -> float:
    from benchmarks.objective import Objective
    from benchmarks.solvers.liblinear import read_weights
    from rankwise import load_model, read_letor

    data = read_letor(text, dense=True)
    w = load_model(model).coef_ if model.suffix == ".json" else read_weights(model, data.n_features)
    return float(Objective(data.X, data.y, data.qid, "squared_hinge", C).evaluate_result(w)["objective"])


def predict(folder: str, quick: bool) -> Iterator[dict[str, Any]]:
    from rankwise import RankSVM, make_ranking, save_model, write_letor

    data = make_ranking(20, 20, 136, random_state=0)
    ranker = RankSVM().fit(data.X, data.y, data.qid)
    model, few, text = (Path(folder) / name for name in ("model.json", "few.txt", "text.txt"))
    save_model(ranker, model)
    write_letor(few, data.X[:100], data.y[:100], data.qid[:100])
    command = [*COMMAND, "predict", str(model)]
    whole([*command, str(few)], 1)
    yield row("rankwise predict, 100 documents", OURS, whole([*command, str(few)], 3 if quick else 9))
    yield figure("RankSVM.predict of 100 x 136, warm", 1e6 * _call(partial(ranker.predict, data.X[:100])), "µs")
    megabytes = Text(PIPED_QUERIES // 50 if quick else PIPED_QUERIES).write(text)
    piped = [sys.executable, "-c", PEAK, "predict", str(model), "-"]
    least = _piped(piped, few)[-1]
    first, total, peak = _piped(piped, text)
    note = f"{megabytes:.0f} MB of text; {least:.0f} MB with 100 documents"
    yield figure("rankwise predict - in a pipe: peak memory", peak, "MB", note=note)
    yield figure("rankwise predict - in a pipe: until the first score", first, "s", note=note)
    yield figure("rankwise predict - in a pipe: until the last score", total, "s", note=note)


def _call(work: Any) -> float:
    """The median seconds of one call."""
    work()
    seconds = []
    for _ in range(WARM):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return float(np.median(seconds))


def _piped(command: list[str], text: Path) -> tuple[float, float, float]:
    """Seconds until the first line of output and until its end, and the MB that the process held at most."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    begin = time.perf_counter()
    with subprocess.Popen(command, **pipes, env=os.environ | {"PYTHONPATH": _path()}) as process:
        feeder = threading.Thread(target=_feed, args=(text, process.stdin))
        feeder.start()
        process.stdout.readline()
        first = time.perf_counter() - begin
        for _ in process.stdout:
            pass
        feeder.join()
        total = time.perf_counter() - begin
        return first, total, float(process.stderr.read().split()[-1])


def _feed(text: Path, pipe: Any) -> None:
    with pipe, open(text, "rb") as file:
        while block := file.read(1 << 20):
            pipe.write(block)


def _path() -> str:
    return os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
