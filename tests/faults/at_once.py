"""Two processes write the same target at the same time, while a third reads it: everything that rankwise writes.

python at_once.py FOLDER ROUNDS        one line of JSON per kind
"""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from children import exit_code, forked
from typer.testing import CliRunner

from rankwise import RankSVM, export, make_ranking, open_chunks, save_model, write_chunks, write_data, write_letor
from rankwise.cli.app import app
from rankwise.data.trec import write_run
from rankwise.foundation.compression import open_bytes
from rankwise.report import WeightsDisplay, html

DATA = [make_ranking(20 + 9 * seed, 8, 4, random_state=seed) for seed in (0, 1)]
RANKERS = [RankSVM().fit(one.X, one.y, one.qid) for one in DATA]
PAGES = [html(ranker, one) for ranker, one in zip(RANKERS, DATA, strict=True)]
REFUSED = 3
REPLACED = "has changed or was removed since it was opened"
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
    "report": ("p.html", lambda path, i: PAGES[i].save(path), content),
    "export": ("e.txt", lambda path, i: export(RANKERS[i], "svmrank", path), content),
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


def begin(work: Callable[[], Any], start: tuple[int, int]) -> int:
    """Do `work` in a forked process when the writing end of the pipe `start` is closed; the process id."""

    def waiting() -> int:
        os.close(start[1])
        os.read(start[0], 1)
        try:
            work()
        except ValueError as error:
            if any(reason in str(error) for reason in REASONS):
                return REFUSED
            raise
        return 0

    return forked(waiting)


def read_on(read: Callable[[Path], Any], path: Path, whole: list[Any]) -> None:
    """Whatever is read is whole. A folder of chunks may be replaced between its manifest and its files, by each of the
    two writers once, which is said.
    """
    replaced = 0
    for _ in range(30):
        try:
            found = read(path)
        except ValueError as error:
            if read is not chunked or REPLACED not in str(error):
                raise
            replaced += 1
            continue
        assert found is None or found in whole
    assert replaced <= 2


def one_round(name: str, folder: Path, whole: list[Any]) -> int:
    """How many of two writers succeeded."""
    file, write, read = KINDS[name]
    path = folder / file
    start = os.pipe()
    children = [begin(lambda i=i: write(path, i), start) for i in (0, 1)]
    reader = begin(lambda: read_on(read, path, whole), start)
    os.close(start[1])
    codes = [exit_code(child) for child in children]
    os.close(start[0])
    assert exit_code(reader) == 0, f"{name}: a reader met something else"
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


if __name__ == "__main__":
    place = Path(os.path.realpath(sys.argv[1]))
    for i in (0, 1):
        write_letor(place / f"{i}.txt", DATA[i])
    for name in sys.argv[3:] or KINDS:
        print(json.dumps(rounds_of(name, place / "shared", int(sys.argv[2]))), flush=True)
