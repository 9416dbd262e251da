"""Chunks on disk: NPZ files, stored plain, of which single rows are read where they lie, and the manifest about them.

    DIR/manifest.json            written last: a folder without it is no data set
    DIR/chunk-00000.npz, ...     some whole queries each: y, qid and X, or data, indices and indptr

Rows are copied out by plain reads into buffers of the caller, never mapped, so that memory stays what the buffers are.
"""

import json
import os
import zipfile
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.arrays import Array
from rankwise.data.npz import npz_arrays
from rankwise.data.records import RankingData
from rankwise.data.streams import written_beside

MANIFEST = "manifest.json"
_FORMAT, _VERSION = "rankwise chunks", 1
_BLOCK = 1 << 20  # bytes of a file looked at together


@dataclass(frozen=True)
class Place:
    """Where an array lies in a file: its first byte, the type of its entries, its rows and columns."""

    offset: int
    dtype: str
    rows: int
    columns: int = 1

    @property
    def row_bytes(self) -> int:
        return np.dtype(self.dtype).itemsize * self.columns


@dataclass(frozen=True)
class ChunkFile:
    """One chunk: its size and checksum, and where its arrays lie."""

    file: str
    rows: int
    bytes: int
    crc32: int
    arrays: dict[str, Place]

    def read(self, folder: Path, name: str, first: int, out: Array) -> None:
        """Fill `out` with the rows of an array from `first` on."""
        place = self.arrays[name]
        view = out.reshape(-1).view(np.uint8).data
        at = place.offset + first * place.row_bytes
        handle = os.open(folder / self.file, os.O_RDONLY)
        try:
            while view:
                n = os.preadv(handle, [view], at)
                if not n:
                    raise ValueError(f"{folder / self.file} has become shorter since it was opened")
                view, at = view[n:], at + n
        finally:
            os.close(handle)

    def array(self, folder: Path, name: str) -> Array:
        """All of an array."""
        place = self.arrays[name]
        out = np.empty(place.rows * place.columns, place.dtype)
        self.read(folder, name, 0, out)
        return out

    def announce(self, folder: Path, name: str, first: int, last: int) -> None:
        """Let the system fetch these rows, without waiting for them."""
        place = self.arrays[name]
        if hasattr(os, "posix_fadvise"):
            handle = os.open(folder / self.file, os.O_RDONLY)
            at, size = place.offset + first * place.row_bytes, (last - first) * place.row_bytes
            os.posix_fadvise(handle, at, size, os.POSIX_FADV_WILLNEED)
            os.close(handle)

    def check(self, folder: Path, thoroughly: bool) -> None:
        """One sentence where the file is missing, of another size, or (thoroughly) of another checksum."""
        path = folder / self.file
        try:
            found = path.stat().st_size
        except FileNotFoundError:
            raise ValueError(f"{path} is missing: convert the data again") from None
        if found != self.bytes:
            raise ValueError(
                f"{path} is damaged: it has {found:,} bytes, expected {self.bytes:,}: convert the data again"
            )
        if thoroughly and (now := checksum(path)) != self.crc32:
            raise ValueError(
                f"{path} is damaged: its checksum is {now:08x}, expected {self.crc32:08x}: convert the data again"
            )


def write_chunk(folder: Path, name: str, data: RankingData) -> ChunkFile:
    """Write some whole queries as one file."""
    path = folder / name
    np.savez(path, allow_pickle=False, **npz_arrays(data))
    return ChunkFile(name, len(data), path.stat().st_size, checksum(path), _places(path))


def _places(path: Path) -> dict[str, Place]:
    """Where the arrays of an NPZ file lie."""
    places = {}
    with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
        for member in archive.infolist():
            file.seek(member.header_offset + 26)  # the lengths of the name and of the extra field
            name_bytes, extra_bytes = np.frombuffer(file.read(4), "<u2").tolist()
            file.seek(name_bytes + extra_bytes, os.SEEK_CUR)
            version = np.lib.format.read_magic(file)
            read_header = (
                np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            )
            shape, _, dtype = read_header(file)
            if shape:
                columns = int(np.prod(shape[1:]))
                places[member.filename.removesuffix(".npy")] = Place(file.tell(), dtype.str, shape[0], columns)
    return places


def checksum(path: Path) -> int:
    """The CRC-32 of a file."""
    crc = 0
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            crc = zlib.crc32(block, crc)
    return crc


def write_manifest(folder: Path, known: dict[str, Any], chunks: list[ChunkFile]) -> None:
    told = {"format": _FORMAT, "version": _VERSION, **known, "chunks": [asdict(one) for one in chunks]}
    with written_beside(folder / MANIFEST) as file:
        file.write(json.dumps(told, indent=1).encode())


def read_manifest(folder: Path) -> tuple[dict[str, Any], list[ChunkFile]]:
    """(what is known of all the data, the chunks)."""
    path = folder / MANIFEST
    try:
        told = json.loads(path.read_text())
        if told["format"] != _FORMAT:
            raise KeyError("format")
        if told["version"] != _VERSION:
            raise ValueError(
                f"{path} is of version {told['version']}, this rankwise reads {_VERSION}: convert the data again"
            )
        chunks = [
            ChunkFile(**{**one, "arrays": {name: Place(**place) for name, place in one["arrays"].items()}})
            for one in told.pop("chunks")
        ]
    except FileNotFoundError:
        raise ValueError(f"{folder} holds no chunks: there is no {MANIFEST} in it (it is written last)") from None
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is no manifest of chunks, or is damaged: {error!r}") from None
    return told, chunks
