"""What starting costs: the import, the command's help, and the first fit (MQ2008 fold 1), each over a bare Python.

"Compiling" is the first fit ever, with an empty cache of kernels; "cached" a new process that finds them there. Both
are whole processes, from the start of Python to the end of the fit: of the command, less a Python that does nothing; of
the estimator, which imports scikit-learn, less a Python that does nothing but load the data.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.datasets import load
from benchmarks.measures import OURS, row
from benchmarks.measures.commands import COMMAND, whole

REPEATS = 7
LOAD = "import numpy as np; X, y, qid = (np.load({folder!r} + f'/{{name}}.npy') for name in ('X', 'y', 'qid'))"
FIT = "; from rankwise import RankSVM; RankSVM(C=1.0).fit(X, y, qid)"


def start(folder: str, quick: bool) -> Iterator[dict[str, Any]]:
    repeats = 3 if quick else REPEATS
    bare = whole(_python("pass"), repeats)
    yield _over("import rankwise", whole(_python("import rankwise"), repeats), bare)
    yield _over("rankwise --help", whole([*COMMAND, "--help"], repeats), bare)
    load_only = LOAD.format(folder=folder)
    loaded = whole(_python(load_only), repeats)
    yield from _first("with scikit-learn", _python(load_only + FIT), loaded, repeats)
    text = Path(folder) / "text.txt"
    _write(folder, text)
    train = [*COMMAND, "train", str(text), "-o", f"{folder}/model.json", "--C", "1"]
    yield from _first("by the command", train, bare, repeats)


def _first(how: str, command: list[str], base: dict[str, Any], repeats: int) -> Iterator[dict[str, Any]]:
    """The first fit ever, and whether it says that it compiles; then those of new processes."""
    from rankwise.foundation.compiling import NOTICE

    said: list[bytes] = []
    with TemporaryDirectory() as cache:
        cold = whole(command, 1, said, NUMBA_CACHE_DIR=cache)
        warm = whole(command, repeats, NUMBA_CACHE_DIR=cache)
    told = f"it says: {NOTICE}" if NOTICE.encode() in said[0] else "in silence"
    yield _over(f"first fit {how}, compiling", cold, base) | {"note": told}
    yield _over(f"first fit {how}, kernels cached", warm, base)


def _over(what: str, timed: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    """Never below 0, whatever the noise."""
    return row(what, OURS, timed | {name: max(timed[name] - base["value"], 0.0) for name in ("value", "best")})


def _python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def _write(folder: str, text: Path) -> None:
    from rankwise import write_letor

    data = load(Path(folder))
    write_letor(text, data.X, data.y, data.qid)
