"""Reading and writing ranking text, beside scikit-learn, and the command from 3.9 GB of text to a model, end to end.

The files were written a moment before, so they are read from the system's cache: what is measured is the parser.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets.synthetic import MSLR_QUERIES
from benchmarks.datasets.text import Text
from benchmarks.measures import OURS, figure, row
from benchmarks.measures.commands import COMMAND, whole
from benchmarks.process import MB, fresh, memory, repeated

SKLEARN = "scikit-learn load_svmlight_file"
SKLEARN_DUMP = "scikit-learn dump_svmlight_file"


def loaders(folder: str, quick: bool) -> Iterator[dict[str, Any]]:
    path = Path(folder) / "text.txt"
    size = Text(100 if quick else 1_000).write(path)
    for name in (OURS, SKLEARN):
        (found,) = fresh("benchmarks.measures.text:loading", {"loader": name, "path": str(path)})
        yield row(f"read {size:.0f} MB of text", name, found)
        yield figure("text", size / found["value"], "MB/s", name)
        yield figure("peak memory of reading, over the arrays", found["extra_mb"] / found["data_mb"], "x", name)
    (same,) = fresh("benchmarks.measures.text:same", {"path": str(path)})
    if not same["same"]:
        raise AssertionError(f"read_letor and {SKLEARN} disagree")
    for name in (OURS, SKLEARN_DUMP):
        (found,) = fresh("benchmarks.measures.text:writing", {"writer": name, "path": str(path)})
        yield figure("writing text", found["written_mb"] / found["value"], "MB/s", name)


def command_line(folder: str, quick: bool) -> Iterator[dict[str, Any]]:
    """`rankwise train` on the text of 2.27 million documents, and the reading of it alone."""
    path = Path(folder) / "text.txt"
    size = Text(100 if quick else MSLR_QUERIES).write(path)
    arguments = {"loader": OURS, "path": str(path), "float32": True}
    (found,) = fresh("benchmarks.measures.text:loading", arguments)
    yield figure("parsing", size / found["value"], "MB/s", text_mb=size)
    model = Path(folder) / "model.json"
    train = [*COMMAND, "train", str(path), "-o", str(model), "--C", "8", "--float32"]
    warm_up = Path(folder) / "small.txt"
    Text(2).write(warm_up)  # so that no kernel is compiled
    whole([str(warm_up) if word == str(path) else word for word in train], 1)
    yield row("from text to model", OURS, whole(train, 2), note=f"{size:,.0f} MB, rankwise train FILE --C 8 --float32")


def loading(loader: str, path: str, float32: bool = False) -> Iterator[dict[str, Any]]:
    """The first load gives the peak of memory; before it the loader is called once on a line, to have all imported."""
    dtype = np.float32 if float32 else np.float64
    line = Path(path).with_name("line.txt")
    with open(path, "rb") as file:
        line.write_bytes(file.readline())
    load(loader, str(line), dtype)
    before = memory()[0]
    X, y, qid = load(loader, path, dtype)
    peak = memory()[1]
    parts = (X,) if isinstance(X, np.ndarray) else (X.data, X.indices, X.indptr)
    arrays = sum(one.nbytes for one in (*parts, y, qid)) / MB
    del X, y, qid, parts
    timed = repeated(lambda: load(loader, path, dtype), 3, 20.0)
    yield timed | {"peak_mb": peak, "extra_mb": peak - before, "data_mb": arrays}


def writing(writer: str, path: str) -> Iterator[dict[str, Any]]:
    """The rows of the file written as text again, in the fewest digits that read back to the same numbers."""
    X, y, qid = load(OURS, path, np.float64)
    copy = Path(path).with_name("copy.txt")
    if writer == SKLEARN_DUMP:
        from sklearn.datasets import dump_svmlight_file

        write = partial(dump_svmlight_file, X, y, str(copy), zero_based=False, query_id=qid)
    else:
        from rankwise import write_letor

        write = partial(write_letor, copy, X, y, qid)
        write()  # the kernels are loaded
    timed = repeated(write, 3, 20.0)
    yield timed | {"written_mb": copy.stat().st_size / MB}


def load(loader: str, path: str, dtype: Any) -> Any:
    """(X, y, qid) by either loader."""
    if loader == SKLEARN:
        from sklearn.datasets import load_svmlight_file

        return load_svmlight_file(path, query_id=True, dtype=dtype)
    from rankwise import read_letor

    data = read_letor(path, dtype=dtype)
    return data.X, data.y, data.qid


def same(path: str) -> Iterator[dict[str, Any]]:
    (X, y, qid), (peer_X, peer_y, peer_qid) = (load(one, path, np.float64) for one in (OURS, SKLEARN))
    equal = X.shape == peer_X.shape and (y == peer_y).all() and (qid == peer_qid).all()
    yield {"same": bool(equal and (peer_X != peer_X.__class__(X)).nnz == 0)}
