"""Two processes write the same target at the same time, while a third reads it: everything that rankwise writes.

python at_once.py FOLDER ROUNDS        one line of JSON per kind
"""

import json
import os
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from rankwise import RankSVM, make_ranking, open_chunks, save_model, write_chunks, write_data, write_letor
from rankwise.cli.app import app
from rankwise.data.streams import open_bytes
from rankwise.data.trec import write_run
from rankwise.report import WeightsDisplay

DATA = [make_ranking(20 + 9 * seed, 8, 4, random_state=seed) for seed in (0, 1)]
RANKERS = [RankSVM().fit(one.X, one.y, one.qid) for one in DATA]
REFUSED = 3
REASONS = ("is being written by another process", "is in use by another process", "is the journal of another job")


def content(path: Path) -> Any:
    if not path.exists():
        return None
    with open_bytes(path, "rb") as file:
        return file.read()


def chunked(path: Path) -> Any:
    if not path.exists():
        return None
    return open_chunks(path, verify=True).read().X.tobytes()


def command(*args: Any) -> None:
    done = CliRunner().invoke(app, [str(one) for one in args])
    if done.exit_code:
        assert done.exit_code == 1, done.stderr
        assert done.stderr.count("\n") == 1, done.stderr
        raise ValueError(done.stderr)


def tune(path: Path, i: int) -> None:
    options = ["--folds", 2, "--C", 0.1, "--C", 10.0**i, "--jobs", 1]
    command("tune", path.parent.parent / f"{i}.txt", "-o", path, *options)


KINDS: dict[str, tuple[str, Callable[[Path, int], Any], Callable[[Path], Any]]] = {
    "model": ("m.json.gz", lambda path, i: save_model(RANKERS[i], path), content),
    "text": ("d.txt", lambda path, i: write_letor(path, DATA[i]), content),
    "csv": ("d.csv", lambda path, i: write_data(path, DATA[i]), content),
    "npz": ("d.npz", lambda path, i: write_data(path, DATA[i]), content),
    "parquet": ("d.parquet", lambda path, i: write_data(path, DATA[i]), content),
    "run": ("r.txt", lambda path, i: write_run(path, DATA[i].y, DATA[i].qid, range(len(DATA[i]))), content),
    "table": ("w.csv", lambda path, i: WeightsDisplay.from_estimator(RANKERS[i]).to_csv(path), content),
    "picture": ("w.png", lambda path, i: WeightsDisplay.from_estimator(RANKERS[i]).save(path, dpi=20), content),
    "chunks": ("c", lambda path, i: write_chunks(path, DATA[i], chunk_bytes=900), chunked),
    "convert": (
        "c",
        lambda path, i: command("convert", path.parent.parent / f"{i}.txt", path, "--to", "chunks"),
        chunked,
    ),
    "tune": ("m.json", tune, content),
}


def in_child(work: Callable[[], Any], start: int) -> int:
    """Begin when the other end of `start` is closed; the process id."""
    child = os.fork()
    if not child:
        code = 99
        try:
            os.close(START[1])
            os.read(start, 1)
            with warnings.catch_warnings(action="ignore"):
                work()
            code = 0
        except ValueError as error:
            code = REFUSED if any(reason in str(error) for reason in REASONS) else 98
            if code == 98:
                print(repr(error), file=sys.stderr)
        finally:
            os._exit(code)
    return child


def read_on(read: Callable[[Path], Any], path: Path, whole: list[Any]) -> None:
    for _ in range(30):
        try:
            found = read(path)
        except (ValueError, FileNotFoundError):  # a folder of chunks may be replaced between its manifest and its files
            assert read is chunked
            continue
        assert found is None or found in whole


def one_round(name: str, folder: Path, whole: list[Any]) -> int:
    """How many of two writers succeeded."""
    global START
    file, write, read = KINDS[name]
    path = folder / file
    START = os.pipe()
    children = [in_child(lambda i=i: write(path, i), START[0]) for i in (0, 1)]
    reader = in_child(lambda: read_on(read, path, whole), START[0])
    os.close(START[1])
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    os.close(START[0])
    assert os.waitstatus_to_exitcode(os.waitpid(reader, 0)[1]) == 0, f"{name}: a reader met something else"
    assert set(codes) <= {0, REFUSED}, f"{name}: exit codes {codes}"
    assert read(path) in [whole[i] for i in (0, 1) if codes[i] == 0], f"{name}: not what a successful one wrote"
    assert os.listdir(folder) == [file], f"{name}: {os.listdir(folder)}"
    return codes.count(0)


def rounds_of(name: str, folder: Path, rounds: int) -> dict[str, Any]:
    file, write, read = KINDS[name]
    whole = []
    for i in (0, 1):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        write(folder / file, i)
        whole.append(read(folder / file))
    counts = []
    for turn in range(rounds):
        if turn % 2:  # every other time there is an old one to be replaced
            shutil.rmtree(folder)
            folder.mkdir()
        counts.append(one_round(name, folder, whole))
    return {"kind": name, "both": counts.count(2), "one": counts.count(1)}


START = (0, 0)

if __name__ == "__main__":
    place = Path(os.path.realpath(sys.argv[1]))
    for i in (0, 1):
        write_letor(place / f"{i}.txt", DATA[i])
    for name in sys.argv[3:] or KINDS:
        print(json.dumps(rounds_of(name, place / "shared", int(sys.argv[2]))), flush=True)
