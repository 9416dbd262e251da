"""Ranking data of any size into chunks of whole queries, in the memory of a few chunks.

Blocks of rows come one after another; what has gathered is cut where a query ends. A query whose rows are scattered is
only found when all is written: the chunks are then dealt out once more (`chunk_gather`).

The chunks are written to a temporary folder, which one process at a time can have, and which is renamed at the end. To
replace an older folder, the new chunks are moved into it; the data set is the new one from the moment its manifest is
renamed, and the old chunks are removed after that. No file system needs to be able to exchange two folders for this.

Each chunk has a random token in its name, so that a name is never used twice: a process that has opened a folder which
is replaced then misses the old files, and does not take the new ones for them.
"""

import os
import re
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.data.chunk_files import MANIFEST, ChunkFile, is_manifest, write_chunk, write_manifest
from rankwise.data.chunks import runs
from rankwise.data.columns import joined
from rankwise.data.outputs import naming, rename, resolved, sync_folder, temporary_folder
from rankwise.data.records import RankingData
from rankwise.foundation.arrays import Array
from rankwise.pairs.queries import cut, one_type

CHUNK_BYTES = 1 << 26
_CHUNK = re.compile(r"chunk-[0-9a-f-]+\.npz")


def write_chunks(folder: Any, blocks: RankingData | Iterable[RankingData], *, chunk_bytes: int = CHUNK_BYTES) -> None:
    """Write ranking data, or an iterable of blocks of them that are alike, to a folder that `open_chunks` opens.

    A chunk takes `chunk_bytes` and the rest of a query. A query keeps the order of its rows, and queries come in the
    order of their first rows, wherever the others are. Comments are left out. An older folder of chunks is replaced.
    """
    path = resolved(folder)
    check_replaceable(folder)
    with naming(folder), temporary_folder(path) as partial:
        known, files = _fill(partial, [blocks] if isinstance(blocks, RankingData) else blocks, chunk_bytes)
        if (path / MANIFEST).exists():
            _replace(path, partial, known, files)
        else:
            write_manifest(partial, known, files)
            rename(partial, path)


def check_replaceable(folder: Any) -> None:
    """One sentence where something else than a folder of chunks, or an empty one, is at this place."""
    path = Path(folder)
    if path.is_dir() and not any(path.iterdir()):
        return
    if path.exists() and not is_manifest(path / MANIFEST):
        raise ValueError(f"{path} exists and is not a folder of chunks: give another name, or remove it")


def _replace(path: Path, partial: Path, known: dict[str, Any], files: list[ChunkFile]) -> None:
    for one in files:
        os.rename(partial / one.file, path / one.file)
    sync_folder(path)
    write_manifest(path, known, files)
    wanted = {one.file for one in files}
    for name in os.listdir(path):
        if _CHUNK.fullmatch(name) and name not in wanted:
            (path / name).unlink()


def _fill(folder: Path, blocks: Iterable[RankingData], chunk_bytes: int) -> tuple[dict[str, Any], list[ChunkFile]]:
    writer = _Writer(folder, chunk_bytes)
    for block in blocks:
        writer.add(block)
    files = writer.finish()
    ids = np.concatenate(one_type(writer.ids))
    if np.unique(ids).size < ids.size:
        from rankwise.data.chunk_gather import gather

        files = gather(folder, files, ids, np.concatenate(writer.sizes), writer.known, chunk_bytes)
    return writer.known, files


class _Writer:
    """Rows gathered until they make a chunk."""

    def __init__(self, folder: Path, chunk_bytes: int) -> None:
        self.folder, self.chunk_bytes = folder, chunk_bytes
        self.waiting: list[RankingData] = []
        self.waiting_bytes, self.wanted, self.rows = 0, chunk_bytes, 0
        self.files: list[ChunkFile] = []
        self.known: dict[str, Any] = {}
        self.ids: list[Array] = []  # of the runs of rows with one id, chunk after chunk
        self.sizes: list[Array] = []

    def add(self, block: RankingData) -> None:
        known = _known(block)
        if self.known and known != self.known:
            differing = next(key for key in known if known[key] != self.known[key])
            raise ValueError(
                f"blocks must be alike: {differing} is {known[differing]}, and was {self.known[differing]}"
            )
        self.known = known
        self.waiting.append(block)
        self.waiting_bytes += x_bytes(block)
        self.rows += len(block)
        if self.waiting_bytes >= self.wanted:
            rest = self._write(all_of_it=False)
            self.waiting, self.waiting_bytes = [rest], x_bytes(rest)
            # a query larger than a chunk is not joined anew for every block
            self.wanted = max(self.chunk_bytes, self.waiting_bytes * 3 // 2)

    def finish(self) -> list[ChunkFile]:
        if not self.rows:
            raise ValueError("there are no rows to write")
        self._write(all_of_it=True)
        return self.files

    def _write(self, all_of_it: bool) -> RankingData:
        """Write the waiting rows as chunks. The rows of the last one are returned, and unless this is all, not written:
        more of its last query may follow.
        """
        data = joined(self.waiting)
        ids, sizes = runs(data.qid)
        starts = np.concatenate(([0], np.cumsum(sizes)))
        cuts = cut(starts, max(1, self.chunk_bytes * len(data) // max(x_bytes(data), 1)))
        for first, last in cuts if all_of_it else cuts[:-1]:
            self.ids.append(ids[first:last])
            self.sizes.append(sizes[first:last])
            rows = slice(int(starts[first]), int(starts[last]))
            self.files.append(write_chunk(self.folder, chunk_name(len(self.files)), data.select(rows)))
        return data.select(slice(int(starts[cuts[-1][0]]), None))


def chunk_name(i: int) -> str:
    """A name that no other chunk has or had."""
    return f"chunk-{i:05}-{secrets.token_hex(8)}.npz"


def x_bytes(data: RankingData) -> int:
    """Bytes that X takes."""
    X = data.X
    return int(X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes)


def _known(block: RankingData) -> dict[str, Any]:
    """What the blocks of one data set have in common."""
    return {
        "n_features": block.n_features,
        "first_index": block.first_index,
        "names": None if block.names is None else list(block.names),
        "sparse": not isinstance(block.X, np.ndarray),
        "dtype": str(block.X.dtype),
    }
