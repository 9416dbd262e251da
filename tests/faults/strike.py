"""Everything that writes, struck at its N-th system call; run by test_every_call.py under LD_PRELOAD=faults.so.

    python strike.py FOLDER STEP OPERATION...      one line of JSON per operation; STEP 3 takes every third N
    python strike.py FOLDER census OPERATION       only count the calls

Each strike happens in a forked child. Before and after are whole: what the folder holds then is what it held before the
operation or what it holds after a whole one, a failure is an error that names the file, and the same operation works
once more and leaves nothing behind.
"""

import ctypes
import errno
import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from children import exit_code, forked
from scipy.sparse import csr_array
from typer.testing import CliRunner

from rankwise import RankSVM, export, make_ranking, open_chunks, save_model, write_chunks, write_data, write_letor
from rankwise.cli.app import app
from rankwise.data.trec import write_run
from rankwise.foundation.compression import open_bytes
from rankwise.foundation.outputs import TEMPORARY
from rankwise.report import WeightsDisplay, html

COUNT, KILL, TEAR, FAIL, FULL = range(1, 6)
MODES = {"kill": (KILL, 0), "tear": (TEAR, 0), "fail": (FAIL, errno.EIO), "full": (FULL, errno.ENOSPC)}
FAILED, UNNAMED = 3, 4
FAULTS = ctypes.CDLL(os.environ["LD_PRELOAD"])
FAULTS.fault_seen.restype = ctypes.c_long

OLD, NEW = (make_ranking(6, 8, 4, random_state=seed) for seed in (0, 1))
SCATTERED = NEW.select(np.random.default_rng(0).permutation(len(NEW)))
RANKERS = {name: RankSVM().fit(one.X, one.y, one.qid) for name, one in (("old", OLD), ("new", NEW))}
PAGES = {name: html(ranker, NEW) for name, ranker in RANKERS.items()}


@dataclass(frozen=True)
class Operation:
    run: Callable[[Path], None]
    before: Callable[[Path], None] = lambda folder: None
    state: Callable[[Path], Any] = lambda folder: visible(folder)


def visible(folder: Path) -> dict[str, bytes]:
    return {path.name: content(path) for path in sorted(folder.iterdir()) if not path.name.startswith(TEMPORARY)}


def content(path: Path) -> bytes:
    with open_bytes(path, "rb") as file:
        return file.read()


def chunked(folder: Path) -> Any:
    if not (folder / "c").exists():
        return None
    data = open_chunks(folder / "c", verify=True).read()
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    return X.tobytes(), data.y.tobytes(), data.qid.tolist()


def model(folder: Path) -> Any:
    return content(folder / "m.json") if (folder / "m.json").exists() else None


def command(*args: Any) -> None:
    done = CliRunner().invoke(app, [str(one) for one in args])
    if done.exit_code:
        named = any(str(one) in done.stderr for one in args if isinstance(one, Path))
        raise OSError(errno.EIO, done.stderr, "named" if named and done.stderr.count("\n") == 1 else None)


def tune(folder: Path) -> None:
    write_letor(folder / "t.txt", NEW) if not (folder / "t.txt").exists() else None
    options = ["--folds", 2, "--C", 0.1, "--C", 1, "--C", 10, "--jobs", 1]
    command("tune", folder / "t.txt", "-o", folder / "m.json", *options)


OPERATIONS = {
    "model": Operation(lambda f: save_model(RANKERS["new"], f / "m.json")),
    "model again": Operation(
        lambda f: save_model(RANKERS["new"], f / "m.json.gz"), lambda f: save_model(RANKERS["old"], f / "m.json.gz")
    ),
    "export": Operation(
        lambda f: export(RANKERS["new"], "svmrank", f / "e.txt"),
        lambda f: export(RANKERS["old"], "svmrank", f / "e.txt"),
    ),
    "report": Operation(lambda f: PAGES["new"].save(f / "p.html"), lambda f: PAGES["old"].save(f / "p.html")),
    "text": Operation(lambda f: write_letor(f / "d.txt", NEW), lambda f: write_letor(f / "d.txt", OLD)),
    "csv": Operation(lambda f: write_data(f / "d.csv.xz", NEW), lambda f: write_data(f / "d.csv.xz", OLD)),
    "npz": Operation(lambda f: write_data(f / "d.npz", NEW), lambda f: write_data(f / "d.npz", OLD)),
    "parquet": Operation(lambda f: write_data(f / "d.parquet", NEW), lambda f: write_data(f / "d.parquet", OLD)),
    "run": Operation(lambda f: write_run(f / "r.txt", NEW.y, NEW.qid, [f"d{i}" for i in range(len(NEW))])),
    "table": Operation(lambda f: WeightsDisplay.from_estimator(RANKERS["new"]).to_csv(f / "w.csv")),
    "picture": Operation(lambda f: WeightsDisplay.from_estimator(RANKERS["new"]).save(f / "w.png", dpi=30)),
    "chunks": Operation(lambda f: write_chunks(f / "c", NEW, chunk_bytes=600), state=chunked),
    "chunks again": Operation(
        lambda f: write_chunks(f / "c", NEW, chunk_bytes=600), lambda f: write_chunks(f / "c", OLD), chunked
    ),
    "chunks gathered": Operation(
        lambda f: write_chunks(f / "c", SCATTERED, chunk_bytes=600), lambda f: write_chunks(f / "c", OLD), chunked
    ),
    "sparse chunks gathered": Operation(
        lambda f: write_chunks(f / "c", replace(SCATTERED, X=csr_array(SCATTERED.X)), chunk_bytes=400),
        lambda f: write_chunks(f / "c", OLD),
        chunked,
    ),
    "convert": Operation(
        lambda f: command("convert", f / "d.txt", f / "c", "--to", "chunks"),
        lambda f: (write_letor(f / "d.txt", NEW), write_chunks(f / "c", OLD)),
        chunked,
    ),
    "train": Operation(
        lambda f: command("train", f / "d.txt", "-o", f / "m.json"), lambda f: write_letor(f / "d.txt", NEW), model
    ),
    "predict": Operation(
        lambda f: command("predict", f / "m.json", f / "d.txt", "-o", f / "s.txt", "--force"),
        lambda f: (write_letor(f / "d.txt", NEW), save_model(RANKERS["new"], f / "m.json")),
        lambda f: content(f / "s.txt") if (f / "s.txt").exists() else None,
    ),
    "tune": Operation(tune, lambda f: write_letor(f / "t.txt", NEW), model),
}


def struck(operation: Operation, folder: Path, mode: int, n: int, number: int) -> int:
    def work() -> int:
        FAULTS.fault_arm(str(folder).encode(), mode, ctypes.c_long(n), number)
        try:
            operation.run(folder)
        except OSError as error:
            is_named = error.filename is not None and TEMPORARY not in str(error.filename)
            return FAILED if is_named else UNNAMED
        finally:
            FAULTS.fault_arm(b"", 0, ctypes.c_long(0), 0)
        return 0

    return exit_code(forked(work))


def census(operation: Operation, folder: Path) -> int:
    """How many calls a whole operation makes."""
    fresh(operation, folder)

    def work() -> int:
        FAULTS.fault_arm(str(folder).encode(), COUNT, ctypes.c_long(0), 0)
        operation.run(folder)
        (folder.parent / "seen").write_text(str(FAULTS.fault_seen()))
        return 0

    assert exit_code(forked(work)) == 0
    return int((folder.parent / "seen").read_text())


def fresh(operation: Operation, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    operation.before(folder)


def left_over(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.name.startswith(TEMPORARY)]


def every_strike(name: str, folder: Path, step: int) -> dict[str, Any]:
    operation = OPERATIONS[name]
    calls = census(operation, folder)
    fresh(operation, folder)
    before = operation.state(folder)
    operation.run(folder)
    after = operation.state(folder)
    assert before != after
    counts = dict.fromkeys(MODES, 0)

    def again() -> int:
        operation.run(folder)
        return 0

    for n in range(1, calls + 1, step):
        for word, (mode, number) in MODES.items():
            where = f"{name}: {word} at call {n} of {calls}"
            fresh(operation, folder)
            code = struck(operation, folder, mode, n, number)
            assert code in ((-9,) if mode in (KILL, TEAR) else (0, FAILED)), f"{where}: exit code {code}"
            found = operation.state(folder)
            assert found in (before, after), f"{where}: neither before nor after"
            assert code or found == after, f"{where}: success without a result"
            assert mode != FULL or not left_over(folder), f"{where}: {left_over(folder)} is left"
            assert exit_code(forked(again)) == 0, f"{where}: does not work again"
            assert operation.state(folder) == after, f"{where}: another outcome the second time"
            assert not left_over(folder), f"{where}: {left_over(folder)} is left for good"
            counts[word] += 1
    return {"operation": name, "calls": calls, **counts}


if __name__ == "__main__":
    place, step, *names = sys.argv[1:]
    target = Path(os.path.realpath(place)) / "struck"
    for name in names or OPERATIONS:
        if step == "census":
            print(census(OPERATIONS[name], target))
        else:
            print(json.dumps(every_strike(name, target, int(step))), flush=True)
