"""Scattered rows of a query, gathered on disk.

Queries in the order of their first rows are cut into buckets of about a chunk each. One pass over the chunks appends
each row to the file of its bucket; then bucket after bucket is read, put in order and written as a chunk.
"""

from pathlib import Path
from typing import Any

import numpy as np

from rankwise.data.chunk_files import ChunkFile, write_chunk
from rankwise.data.chunk_writer import chunk_name
from rankwise.data.chunks import ChunkedData
from rankwise.data.records import RankingData
from rankwise.foundation.arrays import Array, Ints
from rankwise.pairs.queries import Queries, cut


def gather(
    folder: Path, files: list[ChunkFile], ids: Array, sizes: Ints, known: dict[str, Any], chunk_bytes: int
) -> list[ChunkFile]:
    """Chunks of whole queries in place of the given ones, whose runs of equal ids are `ids`, of these sizes."""
    queries = Queries(ids, ids.size)
    per_query = np.bincount(queries.codes, weights=sizes).astype(np.int64)
    scattered = ChunkedData(folder, known, [one.opened(folder) for one in files])
    step = max(1, chunk_bytes * scattered.n_rows // max(scattered.nbytes, 1))
    cuts = cut(np.concatenate(([0], np.cumsum(per_query))), step)
    bucket = np.repeat(np.arange(len(cuts)), [last - first for first, last in cuts])  # of a query
    codes = np.repeat(queries.codes, sizes)
    for i, file in enumerate(files):
        rows = slice(*scattered.row_starts[i : i + 2])
        _deal(folder, scattered.chunk(i), codes[rows], bucket)
        (folder / file.file).unlink()
    return [_finish(folder, i, queries.ids, known) for i in range(len(cuts))]


def _deal(folder: Path, data: RankingData, codes: Ints, bucket: Ints) -> None:
    """Append each row to the files of its bucket."""
    where = bucket[codes]
    order = np.argsort(where, kind="stable")
    bounds = np.flatnonzero(np.concatenate(([True], np.diff(where[order]) != 0, [True])))
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        rows = order[begin:end]
        arrays = {"code": codes[rows], "y": data.y[rows]}
        X = data.X[rows]
        if isinstance(X, np.ndarray):
            arrays["X"] = X
        else:
            arrays |= {
                "length": np.diff(X.indptr).astype(np.int64),
                "indices": X.indices.astype(np.int32),
                "data": X.data,
            }
        for name, array in arrays.items():
            with open(_path(folder, int(where[rows[0]]), name), "ab") as file:
                file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def _finish(folder: Path, i: int, ids: Array, known: dict[str, Any]) -> ChunkFile:
    """The bucket as a chunk."""
    dtype, n_features = np.dtype(known["dtype"]), known["n_features"]
    types = {"code": np.int32, "y": np.float64}
    types |= {"length": np.int64, "indices": np.int32, "data": dtype} if known["sparse"] else {"X": dtype}
    arrays = {}
    for name, kind in types.items():
        path = _path(folder, i, name)
        arrays[name] = np.fromfile(path, kind)
        path.unlink()
    X: Any
    if known["sparse"]:
        from scipy.sparse import csr_array

        starts = np.concatenate(([0], np.cumsum(arrays["length"])))
        X = csr_array((arrays["data"], arrays["indices"], starts), shape=(arrays["y"].size, n_features))
    else:
        X = arrays["X"].reshape(-1, n_features)
    order = np.argsort(arrays["code"], kind="stable")
    data = RankingData(
        X[order], arrays["y"][order], ids[arrays["code"][order]], None, known["first_index"], known["names"]
    )
    return write_chunk(folder, chunk_name(i), data)


def _path(folder: Path, bucket: int, name: str) -> Path:
    return folder / f"bucket-{bucket:05}.{name}"
