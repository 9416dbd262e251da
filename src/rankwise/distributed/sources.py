"""From Dask collections or files to futures of `Rows`, one per partition."""

import glob
import os
from collections.abc import Hashable, Sequence
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from rankwise.data.formats import format_of, get_format, read_data
from rankwise.data.records import RankingData
from rankwise.distributed.client import Collection, Column, Delayed, Errand, Future, Path, Table
from rankwise.distributed.rows import Rows, owned, threads
from rankwise.foundation.arrays import Array, exact
from rankwise.foundation.devices import HostMatrix
from rankwise.pairs.queries import one_column

if TYPE_CHECKING:
    from pandas import DataFrame, Series
else:
    DataFrame = Series = Any

Besides: TypeAlias = dict[str, Array | Series | None]  # labels, query ids and weights of a partition
QUERY = "qid"  # a column of this name contains the query ids, as in XGBoost


def load(errand: Errand, X: Table, y: Column, qid: Column, weight: Column) -> list[Future]:
    """Futures of the `Rows` of each partition; a worker reads what it will store.

    X        a Dask DataFrame or array; or a path, a pattern or a list of paths of ranking files or Parquet folders
    y, qid   a Dask Series or array in the same partitions, or the name of a column of X or of the files
    """
    if _is_files(X):
        return _load_files(errand, X, y, qid, weight)
    kind = type(X).__module__.split(".")[:2]
    if kind[0] == "dask" and hasattr(X, "to_delayed"):
        parts = _of_frame(X, y, qid, weight) if hasattr(X, "columns") else _of_array(X, y, qid, weight)
        return errand.compute(parts)
    raise TypeError(
        f"X is a {type(X).__name__}: give a Dask DataFrame or array, or files; for data in memory use RankSVM itself"
    )


def _is_files(X: object) -> TypeGuard[Path | Sequence[Path]]:
    if isinstance(X, str | os.PathLike):
        return True
    return isinstance(X, Sequence) and bool(X) and all(isinstance(one, str | os.PathLike) for one in X)


def _load_files(errand: Errand, X: Path | Sequence[Path], y: Column, qid: Column, weight: Column) -> list[Future]:
    columns = {key: name for key, name in (("label", y), ("qid", qid), ("weight", weight)) if name is not None}
    if not all(isinstance(name, str) for name in columns.values()):
        raise ValueError("with files, y, qid and sample_weight must be names of their columns")
    given = [os.path.abspath(one) for one in ([X] if isinstance(X, str | os.PathLike) else X)]
    files = errand.submit(list_files, given).result()
    # Neighbours go to one worker, which then has few nodes of the tree of sums to send.
    n_threads = errand.client.nthreads()
    if not n_threads:
        raise ConnectionError(f"the Dask scheduler {errand.client.scheduler.address} has no workers: start some")
    workers = np.repeat(sorted(n_threads), [n_threads[one] for one in sorted(n_threads)])
    places = np.arange(len(files)) * workers.size // len(files)
    return [
        errand.submit(read_file, *file, columns, workers=str(workers[k]), allow_other_workers=True)
        for file, k in zip(files, places, strict=True)
    ]


def list_files(given: list[str]) -> list[tuple[object, str]]:
    """(what to read, its format) for each file, or part of a folder, that the patterns and folders match.

    A worker looks them up, because it reads them.
    """
    parts: list[tuple[object, str]] = []
    for one in given:
        paths = [one] if os.path.exists(one) else sorted(glob.glob(one))
        if not paths:
            raise FileNotFoundError(f"{one}: the workers find no such file")
        for path in map(FilePath, paths):
            format = format_of(path)
            parts += [(part, format.name) for part in (format.split(path) if format.split else [path])]
    return parts


def read_file(source: Any, format: str, columns: dict[str, str]) -> Rows:
    """A file, or a part of a folder."""
    data = read_data(source, format=format, n_jobs=threads(None), **columns)
    zeros_left_out = get_format(format).is_indexed or sparse.issparse(data.X)
    return Rows(data, data.weight, str(source), zeros_left_out=zeros_left_out)


def _of_frame(X: Collection, y: Column, qid: Column, weight: Column) -> list[Delayed]:
    from dask import delayed

    header = [str(name) for name in X.columns]
    if qid is None and QUERY in header:
        qid = QUERY
    if qid is None and X.npartitions > 1:
        raise ValueError(_ONE_QUERY.format(X.npartitions))
    given = {"y": y, "qid": qid, "sample_weight": weight}
    if y is None:
        raise ValueError("y is missing: give a Series, or the name of a column of X")
    for name, one in given.items():
        if isinstance(one, str) and one not in header:
            raise ValueError(f"{name} is {one!r}, and X has no such column: it has {', '.join(header[:8])}, ...")
    named = {one for one in given.values() if isinstance(one, str)}
    features = [name for name in X.columns if str(name) not in named]
    besides = {name: _delayed(one, X.npartitions, name) for name, one in given.items() if not isinstance(one, str)}
    columns = {name: one for name, one in given.items() if isinstance(one, str)}
    frames = X.to_delayed()
    return [
        delayed(rows_of_frame)(frame, features, columns, {name: one[i] for name, one in besides.items()}, i)
        for i, frame in enumerate(frames)
    ]


def rows_of_frame(
    frame: DataFrame, features: list[Hashable], columns: dict[str, str], besides: Besides, i: int
) -> Rows:
    """Of a pandas DataFrame, with the other columns in it or separate."""
    beside_rows = {name: frame[column] for name, column in columns.items()} | besides
    X = owned(_floats(frame[features].to_numpy()))
    names = [str(name) for name in features]
    return _rows(X, beside_rows, names, f"partition {i}")


def _of_array(X: Collection, y: Column, qid: Column, weight: Column) -> list[Delayed]:
    from dask import delayed

    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns, it has {X.ndim} dimensions")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    n = X.numblocks[0]
    if qid is None and n > 1:
        raise ValueError(_ONE_QUERY.format(n))
    if y is None:
        raise ValueError("y is missing: give a Dask array of labels")
    given: dict[str, Collection | None] = {"y": y, "qid": qid, "sample_weight": weight}
    for name, one in given.items():
        if (
            one is not None
            and hasattr(one, "rechunk")
            and not np.isnan(X.chunks[0] + one.chunks[0]).any()
            and one.chunks[0] != X.chunks[0]
        ):
            given[name] = one.rechunk({0: X.chunks[0]})
    besides = {name: _delayed(one, n, name) for name, one in given.items()}
    blocks = X.to_delayed().ravel()
    return [
        delayed(rows_of_block)(block, {name: one[i] for name, one in besides.items()}, i)
        for i, block in enumerate(blocks)
    ]


def rows_of_block(block: HostMatrix, besides: Besides, i: int) -> Rows:
    """Of an array or CSR matrix."""
    if sparse.issparse(block):
        X = sparse.csr_array(block)
        X = sparse.csr_array(tuple(map(owned, (_floats(X.data), X.indices, X.indptr))), shape=X.shape)
    else:
        X = owned(_floats(block))
    return _rows(X, besides, None, f"block {i}")


def _rows(X: HostMatrix, besides: Besides, names: list[str] | None, where: str) -> Rows:
    for name, one in besides.items():
        if one is not None and len(one) != X.shape[0]:
            raise ValueError(f"{where} of {name} has {len(one)} rows, that of X {X.shape[0]}: partitions must match")
    y, weight = (
        None if besides[name] is None else owned(np.asarray(exact(besides[name], name), np.float64))
        for name in ("y", "sample_weight")
    )
    qid = np.zeros(X.shape[0], np.int64) if besides["qid"] is None else _ids(besides["qid"])
    assert y is not None
    return Rows(RankingData(X, y, qid, None, 1, names), weight, where)


_ONE_QUERY = "qid is missing: without it all rows are one query, and they are in {} partitions: give the query ids"


def _ids(given: ArrayLike) -> Array:
    ids = np.asarray(given)
    return one_column(ids, ids.size) if ids.dtype == object else ids


def _floats(X: Array) -> Array:
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def _delayed(given: Collection | None, n: int, name: str) -> list[Delayed | None]:
    """One part per partition of X."""
    if given is None:
        return [None] * n
    if not hasattr(given, "to_delayed"):
        raise TypeError(f"{name} is a {type(given).__name__}: give a Dask Series or array, or the name of a column")
    parts = list(np.ravel(given.to_delayed()))
    if len(parts) != n:
        raise ValueError(f"{name} has {len(parts)} partitions, X has {n}: they must have the same partitions")
    return parts
