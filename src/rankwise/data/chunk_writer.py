"""Ranking data of any size into chunks of whole queries, in the memory of a few chunks.

Blocks of rows come one after another; the rows that wait are cut at the end of a query. Whether the rows of a query are
scattered is known only when all is written. Then they are gathered on disk: queries, in the order of their first rows,
are cut into buckets of about a chunk each; one pass over the chunks appends each row to the file of its bucket; each
bucket is then read, sorted by query and written as a chunk.

The chunks are written to a temporary folder, which only one process at a time can have, and which is renamed at the
end. To replace an older folder, the new chunks are moved into it; the data set is the new one from the moment its
manifest is renamed, and the old chunks are removed after that. So the file system need not be able to exchange folders.

Each chunk has a random token in its name, so that a name is never used twice: a process that has opened a folder which
is then replaced misses the old files, and does not mistake the new ones for them.
"""

import os
import re
import secrets
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import scipy
from numpy.typing import DTypeLike

from rankwise.data.chunk_files import MANIFEST, ChunkFile, Common, is_manifest, write_chunk, write_manifest
from rankwise.data.chunks import ChunkedData, runs
from rankwise.data.records import RankingData, check_copied, joined
from rankwise.foundation.arrays import Array, Ints
from rankwise.foundation.outputs import FileName, naming, rename, resolved, sync_folder, temporary_folder
from rankwise.pairs.queries import Queries, cut, one_type

CHUNK_BYTES = 1 << 26
_CHUNK = re.compile(r"chunk-[0-9a-f-]+\.npz")


def write_chunks(
    folder: FileName, blocks: RankingData | Iterable[RankingData], *, chunk_bytes: int = CHUNK_BYTES
) -> None:
    """Write ranking data, or an iterable of blocks with the same columns, to a folder that `open_chunks` opens.

    A chunk ends with the query that reaches `chunk_bytes`. A query keeps the order of its rows, and queries come in the
    order of their first rows, wherever their other rows are. Comments are not stored. An older folder of chunks is
    replaced.

    Examples
    --------
    >>> from rankwise import load_sample, open_chunks, write_chunks
    >>> write_chunks("books.chunks", load_sample())
    >>> len(open_chunks("books.chunks"))
    1951
    """
    if hasattr(blocks, "y"):  # data, not an iterable of them
        check_copied(blocks)
    path = resolved(folder)
    check_replaceable(folder)
    with naming(folder), temporary_folder(path) as partial:
        common, files = _fill(partial, [blocks] if isinstance(blocks, RankingData) else blocks, chunk_bytes)
        check_replaceable(folder)  # it may have appeared meanwhile
        if (path / MANIFEST).exists():
            _replace(path, partial, common, files)
        else:
            write_manifest(partial, common, files)
            rename(partial, path)


def check_replaceable(folder: FileName) -> None:
    """Raise an error if `folder` exists and is neither a folder of chunks nor empty."""
    path = Path(folder)
    if path.is_dir() and not any(path.iterdir()):
        return
    if path.exists() and not is_manifest(path / MANIFEST):
        raise ValueError(f"{path} exists and is not a folder of chunks: give another name, or remove it")


def _replace(path: Path, partial: Path, common: Common, files: list[ChunkFile]) -> None:
    for one in files:
        os.rename(partial / one.file, path / one.file)
    sync_folder(path)
    write_manifest(path, common, files)
    kept = {one.file for one in files}
    for name in os.listdir(path):
        if _CHUNK.fullmatch(name) and name not in kept:
            (path / name).unlink()


def _fill(folder: Path, blocks: Iterable[RankingData], chunk_bytes: int) -> tuple[Common, list[ChunkFile]]:
    writer = _Writer(folder, chunk_bytes)
    for block in blocks:
        writer.add(block)
    common, files = writer.finish()
    ids = np.concatenate(one_type(writer.ids))
    if np.unique(ids).size < ids.size:
        files = _gather(folder, files, ids, np.concatenate(writer.sizes), common, chunk_bytes)
    return common, files


class _Writer:
    """Collects rows until they make a chunk."""

    def __init__(self, folder: Path, chunk_bytes: int) -> None:
        self.folder, self.chunk_bytes = folder, chunk_bytes
        self.waiting: list[RankingData] = []
        self.waiting_bytes, self.enough, self.rows = 0, chunk_bytes, 0
        self.files: list[ChunkFile] = []
        self.common: Common | None = None
        self.ids: list[Array] = []  # one per run of rows with equal ids, chunk after chunk
        self.sizes: list[Array] = []

    def add(self, block: RankingData) -> None:
        common = _common(block)
        if self.common is not None and common != self.common:
            own, before = vars(common), vars(self.common)
            name = next(name for name in own if own[name] != before[name])
            raise ValueError(f"blocks must be alike: {name} is {own[name]}, and was {before[name]}")
        self.common = common
        self.waiting.append(block)
        self.waiting_bytes += _x_bytes(block)
        self.rows += len(block)
        if self.waiting_bytes >= self.enough:
            rest = self._write(all_of_it=False)
            self.waiting, self.waiting_bytes = [rest], _x_bytes(rest)
            # so that a query larger than a chunk is not joined again for every block
            self.enough = max(self.chunk_bytes, self.waiting_bytes * 3 // 2)

    def finish(self) -> tuple[Common, list[ChunkFile]]:
        if not self.rows or self.common is None:
            raise ValueError("there are no rows to write")
        self._write(all_of_it=True)
        return self.common, self.files

    def _write(self, all_of_it: bool) -> RankingData:
        """Write the waiting rows as chunks. The rows of the last chunk are returned; they are written only with
        `all_of_it`, because more rows of the last query may follow.
        """
        data = joined(self.waiting)
        ids, sizes = runs(data.qid)
        starts = np.concatenate(([0], np.cumsum(sizes)))
        cuts = cut(starts, max(1, self.chunk_bytes * len(data) // max(_x_bytes(data), 1)))
        for first, last in cuts if all_of_it else cuts[:-1]:
            self.ids.append(ids[first:last])
            self.sizes.append(sizes[first:last])
            rows = slice(int(starts[first]), int(starts[last]))
            self.files.append(write_chunk(self.folder, _chunk_name(len(self.files)), data.select(rows)))
        return data.select(slice(int(starts[cuts[-1][0]]), None))


def _chunk_name(i: int) -> str:
    """A name that no other chunk has or ever had."""
    return f"chunk-{i:05}-{secrets.token_hex(8)}.npz"


def _x_bytes(data: RankingData) -> int:
    """The bytes of X."""
    X = data.X
    return int(X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes)


def _common(block: RankingData) -> Common:
    names = None if block.names is None else list(block.names)
    is_sparse = not isinstance(block.X, np.ndarray)
    return Common(block.n_features, block.first_index, names, is_sparse, str(block.X.dtype))


def _gather(
    folder: Path, files: list[ChunkFile], ids: Array, sizes: Ints, common: Common, chunk_bytes: int
) -> list[ChunkFile]:
    """Chunks of whole queries in place of the given ones, whose runs of equal ids have these ids and sizes."""
    queries = Queries(ids, ids.size)
    per_query = np.bincount(queries.codes, weights=sizes).astype(np.int64)
    scattered = ChunkedData(folder, common, [one.opened(folder) for one in files])
    step = max(1, chunk_bytes * scattered.n_rows // max(scattered.nbytes, 1))
    cuts = cut(np.concatenate(([0], np.cumsum(per_query))), step)
    bucket = np.repeat(np.arange(len(cuts)), [last - first for first, last in cuts])  # of a query
    codes = np.repeat(queries.codes, sizes)
    kinds = _kinds_besides(files)
    for i, file in enumerate(files):
        rows = slice(*scattered.row_starts[i : i + 2])
        _deal(folder, scattered.chunk(i), codes[rows], bucket, kinds)
        (folder / file.file).unlink()
    return [_finish(folder, i, queries.ids, common, kinds) for i in range(len(cuts))]


def _kinds_besides(files: list[ChunkFile]) -> dict[str, np.dtype]:
    """The types of weights, document ids and groups, if every chunk has them; the widest one of texts."""
    names = [name for name in ("weight", "docid", "groups") if all(name in one.arrays for one in files)]
    return {name: np.result_type(*(one.arrays[name].dtype for one in files)) for name in names}


def _deal(folder: Path, data: RankingData, codes: Ints, bucket: Ints, besides: dict[str, np.dtype]) -> None:
    """Append each row to the files of its query's bucket; `besides` has the types of weights, document ids, groups."""
    where = bucket[codes]
    order = np.argsort(where, kind="stable")
    bounds = np.flatnonzero(np.concatenate(([True], np.diff(where[order]) != 0, [True])))
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        rows = order[begin:end]
        arrays = {"code": codes[rows], "y": data.y[rows]}
        arrays |= {name: getattr(data, name)[rows].astype(kind) for name, kind in besides.items()}
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


def _finish(folder: Path, i: int, ids: Array, common: Common, besides: dict[str, np.dtype]) -> ChunkFile:
    """Write a bucket as a chunk; `besides` as in `_deal`."""
    dtype = np.dtype(common.dtype)
    types: dict[str, DTypeLike] = {"code": np.int32, "y": np.float64, **besides}
    types |= {"length": np.int64, "indices": np.int32, "data": dtype} if common.sparse else {"X": dtype}
    arrays = {}
    for name, kind in types.items():
        path = _path(folder, i, name)
        arrays[name] = np.fromfile(path, kind)
        path.unlink()
    X: Array | scipy.sparse.csr_array
    if common.sparse:
        starts = np.concatenate(([0], np.cumsum(arrays["length"])))
        X = scipy.sparse.csr_array(
            (arrays["data"], arrays["indices"], starts), shape=(arrays["y"].size, common.n_features)
        )
    else:
        X = arrays["X"].reshape(-1, common.n_features)
    order = np.argsort(arrays["code"], kind="stable")
    qid = ids[arrays["code"][order]]
    columns = (arrays[name][order] if name in besides else None for name in ("docid", "weight", "groups"))
    data = RankingData(X[order], arrays["y"][order], qid, None, common.first_index, common.names, *columns)
    return write_chunk(folder, _chunk_name(i), data)


def _path(folder: Path, bucket: int, name: str) -> Path:
    return folder / f"bucket-{bucket:05}.{name}"
