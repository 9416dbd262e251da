"""Data sets: frozen dataclasses with a `name` and `get_data(folder)`, which gives X, y and qid (None: one query), and
`test`, other queries of the same kind with the same three, where there are any.

Data are made once a run, in a process of its own, kept as plain arrays, and loaded by every process that measures: what
loading takes is then the size of the arrays, whatever making them took.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np


class MissingError(RuntimeError):
    """Why a data set cannot be had."""


class Dataset(Protocol):
    @property
    def name(self) -> str: ...
    def get_data(self, folder: Path | None) -> Any: ...


TEST = "test"  # the folder, beside the arrays of the training part


def store(data: Any, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    parts = {"X": data.X} if isinstance(data.X, np.ndarray) else _parts(data.X)
    for name, array in (parts | {"y": data.y, "qid": data.qid}).items():
        if array is not None:
            np.save(folder / f"{name}.npy", array)
    if getattr(data, "test", None) is not None:
        store(data.test, folder / TEST)


def load(folder: Path) -> Any:
    """X, y and qid as they were stored; `megabytes` is the size of X."""
    found = {path.stem: np.load(path) for path in folder.glob("*.npy")}
    size = sum(array.nbytes for name, array in found.items() if name not in ("y", "qid")) / 1e6
    if "X" not in found:
        from scipy.sparse import csr_array

        found["X"] = csr_array((found["data"], found["indices"], found["indptr"]), shape=tuple(found["shape"]))
    return SimpleNamespace(X=found["X"], y=found["y"], qid=found.get("qid"), megabytes=size)


def load_test(folder: Path) -> Any:
    """The test part, or None."""
    return load(folder / TEST) if (folder / TEST).exists() else None


def with_test(n_queries: int) -> int:
    """How many queries to draw, so that a tenth as many as those of the training part are left for a test."""
    return n_queries + max(10, n_queries // 10)


def held_out(X: Any, y: Any, qid: Any, n_queries: int) -> Any:
    """The first `n_queries` of rows in order of query, and the others as `test`."""
    cut = int(np.flatnonzero(np.diff(qid))[n_queries - 1]) + 1
    parts = [SimpleNamespace(X=X[rows], y=y[rows], qid=qid[rows]) for rows in (slice(cut), slice(cut, None))]
    parts[0].test = parts[1]
    return parts[0]


def _parts(X: Any) -> dict[str, Any]:
    return {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
