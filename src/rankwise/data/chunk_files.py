"""Chunks on disk: uncompressed NPZ files, so that single rows can be read, and the manifest that lists them.

    DIR/manifest.json            written last: a folder without it is no data set
    DIR/chunk-00000-TOKEN.npz    some whole queries each: y, qid and X, or data, indices and indptr; and
                                 docid, weight, groups if there are any

TOKEN is random: no two chunks ever have the same name. Rows are read into memory, never mapped: a truncated mapped file
ends the process, and what kernels rely on (the columns of sparse rows) is checked first, which needs a copy that no
other process can change. Reading ahead is left to the system: posix_fadvise made a cold pass slower, never faster.
"""

import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import partial
from math import prod
from pathlib import Path

import numpy as np

from rankwise.data.npz import npz_arrays
from rankwise.data.records import RankingData, check_finite
from rankwise.data.streams import status_of
from rankwise.foundation.arrays import Array
from rankwise.foundation.outputs import new_file, written_beside
from rankwise.foundation.strict_json import Rule, check_object, is_count, is_list_of, is_text, read_json

MANIFEST = "manifest.json"
_FORMAT, _VERSION = "rankwise chunks", 1
_BLOCK = 1 << 20  # bytes of a file looked at together
_PAGE = 4096
_HEADER = 256  # bytes of an array's header without its spaces, and of what the archive writes before it, at most
_MOST_BYTES = 1 << 28  # of a manifest: some 400,000 chunks
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_PLAIN_TYPE = re.compile(r"[<|][biufUSmM]\d{1,9}(\[\w+\])?")  # no objects, and nothing that NumPy evaluates
_OPTIONAL = ("shape", "names", "comments", "docid", "weight", "groups")  # arrays that a chunk may lack
_INDEX = {"indices": np.int32, "indptr": np.int64}


@dataclass(frozen=True)
class Common:
    """What the chunks of one data set have in common, as the manifest says it."""

    n_features: int
    first_index: int
    names: list[str] | None
    sparse: bool
    dtype: str


@dataclass(frozen=True)
class Place:
    """Where an array is stored in a file: its first byte, the type of its entries, its rows and columns."""

    offset: int
    dtype: str
    rows: int
    columns: int = 1

    @property
    def row_bytes(self) -> int:
        return np.dtype(self.dtype).itemsize * self.columns


@dataclass(frozen=True)
class ChunkFile:
    """The manifest's entry for a chunk: size and checksum of the file, and the places of its arrays."""

    file: str
    rows: int
    bytes: int
    crc32: int
    arrays: dict[str, Place]

    def opened(self, folder: Path, thoroughly: bool = False) -> "OpenChunk":
        """The file in its present state, checked by `OpenChunk.check`."""
        path = folder / self.file
        try:
            chunk = OpenChunk(path, self, status_of(path))
        except FileNotFoundError:
            raise ValueError(f"{path} is missing: convert the data again") from None
        chunk.check(thoroughly)
        return chunk


@dataclass(frozen=True)
class OpenChunk:
    """A chunk in the state in which it was opened. If its file has changed or is gone, reading it is an error."""

    path: Path
    entry: ChunkFile  # of the manifest
    status: tuple[int, int]

    def read(self, name: str, first: int, out: Array) -> None:
        """Fill `out` with the rows of an array, starting with row `first`."""
        place = self.entry.arrays[name]
        view = out.reshape(-1).view(np.uint8).data
        at = place.offset + first * place.row_bytes
        with self._handle() as handle:
            while view and (n := os.preadv(handle, [view], at)):
                view, at = view[n:], at + n
            if view or status_of(handle) != self.status:
                raise self._changed()

    def array(self, name: str) -> Array:
        """All of an array."""
        place = self.entry.arrays[name]
        out = np.empty(place.rows * place.columns, place.dtype)
        self.read(name, 0, out)
        return out

    def check(self, thoroughly: bool) -> None:
        """Raise an error if the file has another size than the manifest says, does not hold its arrays, or (thoroughly)
        has another checksum.
        """
        size = self.status[0]
        if size != self.entry.bytes:
            raise ValueError(
                f"{self.path} is damaged: it has {size:,} bytes, expected {self.entry.bytes:,}: convert the data again"
            )
        with self._handle() as handle:
            is_stored = all(_is_stored(handle, name, place) for name, place in self.entry.arrays.items())
            crc32 = checksum(handle) if thoroughly else self.entry.crc32
            if status_of(handle) != self.status:
                raise self._changed()
        if not is_stored:
            raise ValueError(f"{self.path} does not hold what {MANIFEST} says of it: convert the data again")
        if crc32 != self.entry.crc32:
            raise ValueError(
                f"{self.path} is damaged: its checksum is {crc32:08x}, expected {self.entry.crc32:08x}: "
                "convert the data again"
            )

    @contextmanager
    def _handle(self) -> Iterator[int]:
        try:
            handle = os.open(self.path, os.O_RDONLY)
        except FileNotFoundError:
            raise self._changed() from None
        try:
            yield handle
        finally:
            os.close(handle)

    def _changed(self) -> ValueError:
        return ValueError(
            f"{self.path} has changed or was removed since it was opened: open the folder again when no one writes it"
        )


def _is_stored(handle: int, name: str, place: Place) -> bool:
    """Whether the header of this array, as `write_chunk` writes it, ends where the array begins."""
    begin = max(place.offset - _PAGE - _HEADER, 0)
    before = os.pread(handle, place.offset - begin, begin)
    magic = before.rfind(np.lib.format.magic(1, 0))
    shape = (place.rows, place.columns) if name == "X" else (place.rows,)
    is_named = f"{name}.npy".encode() in before[max(magic - _HEADER, 0) : max(magic, 0)]
    ends = magic + 10 + int.from_bytes(before[magic + 8 : magic + 10], "little") == len(before)
    return is_named and ends and before[magic + 10 :].startswith(_description(place.dtype, shape))


def _description(dtype: str, shape: tuple[int, ...]) -> bytes:
    return repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode()


def write_chunk(folder: Path, name: str, data: RankingData) -> ChunkFile:
    """Write some whole queries as one file."""
    check_finite(data)
    path = folder / name
    places = {}
    with new_file(path) as file, zipfile.ZipFile(file, "w") as archive:
        for key, plain in npz_arrays(data).items():
            array = plain.astype(_INDEX.get(key, plain.dtype), copy=False)
            with archive.open(zipfile.ZipInfo(f"{key}.npy"), "w", force_zip64=True) as member:
                header = _header(array, file.tell())
                if array.ndim:
                    places[key] = Place(file.tell() + len(header), array.dtype.str, len(array), prod(array.shape[1:]))
                member.write(header)
                member.write(array.reshape(-1).view(np.uint8).data)
    return ChunkFile(name, len(data), path.stat().st_size, checksum(path), places)


def _header(array: Array, at: int) -> bytes:
    """The header of a .npy file at offset `at`, padded with spaces so that the array starts at the start of a page."""
    magic, text = np.lib.format.magic(1, 0), _description(array.dtype.str, array.shape)
    spaces = -(at + len(magic) + 2 + len(text) + 1) % _PAGE
    text += b" " * spaces + b"\n"
    return magic + len(text).to_bytes(2, "little") + text


def checksum(path_or_handle: Path | int) -> int:
    """The CRC-32 of a file; a handle stays open."""
    crc = 0
    with open(path_or_handle, "rb", closefd=isinstance(path_or_handle, Path)) as file:
        while block := file.read(_BLOCK):
            crc = zlib.crc32(block, crc)
    return crc


def write_manifest(folder: Path, common: Common, chunks: list[ChunkFile]) -> None:
    manifest = {"format": _FORMAT, "version": _VERSION, **asdict(common), "chunks": [asdict(one) for one in chunks]}
    with written_beside(folder / MANIFEST) as file:
        file.write(json.dumps(manifest, indent=1).encode())


def is_manifest(path: Path) -> bool:
    """Whether a file begins as a manifest does."""
    try:
        with open(path, "rb") as file:
            return json.dumps(_FORMAT).encode() in file.read(256)
    except OSError:
        return False


def read_manifest(folder: Path) -> tuple[Common, list[ChunkFile]]:
    """Read and check the manifest: (what the chunks have in common, one entry per chunk).

    A manifest from a stranger can only name files of its folder, and arrays that are within them.
    """
    path = folder / MANIFEST
    try:
        manifest = read_json(path, _MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(f"{folder} holds no chunks: there is no {MANIFEST} in it (it is written last)") from None
    except ValueError as error:
        raise ValueError(
            f"{path} is not a manifest of chunks, or is damaged: {error}: convert the data again"
        ) from None
    if isinstance(manifest, dict) and manifest.get("format") == _FORMAT and manifest.get("version") != _VERSION:
        raise ValueError(
            f"{path} is of version {manifest.get('version')!r}, this rankwise reads {_VERSION}: convert the data again"
        )
    try:
        check_object(manifest, _MANIFEST_RULES)
        common = Common(**{one.name: manifest[one.name] for one in fields(Common)})
        if common.names is not None and len(common.names) != common.n_features:
            raise ValueError("names and n_features differ")
        chunks = [_chunk_file(one, f"chunks[{i}]", common) for i, one in enumerate(manifest["chunks"])]
    except ValueError as error:
        raise ValueError(
            f"{path} is not a manifest of chunks, or is damaged: {error}: convert the data again"
        ) from None
    return common, chunks


def _are_names(value: object) -> bool:
    return value is None or is_list_of(is_text, value)


def _is_plain_type(value: object) -> bool:
    if not isinstance(value, str) or not _PLAIN_TYPE.fullmatch(value):
        return False
    try:
        np.dtype(value)
    except (TypeError, ValueError):  # <f80: NumPy knows no such type
        return False
    return True


_COUNT: Rule = is_count, "a whole number, 0 or more"
_PLACE: Rule = (lambda value: isinstance(value, dict)), "an object"
_MANIFEST_RULES: dict[str, Rule] = {
    "format": (lambda value: isinstance(value, str) and value == _FORMAT, f"{_FORMAT!r}"),
    "version": _COUNT,
    "n_features": (partial(is_count, most=2**31), "a whole number from 0 to 2147483648"),
    "first_index": (partial(is_count, most=1), "0 or 1"),
    "names": (_are_names, "a list of texts, or null"),
    "sparse": (lambda value: isinstance(value, bool), "true or false"),
    "dtype": (lambda value: isinstance(value, str) and value in ("float32", "float64"), "float32 or float64"),
    "chunks": (lambda value: isinstance(value, list) and bool(value), "a list of chunks"),
}
_CHUNK_RULES: dict[str, Rule] = {
    "file": (lambda value: isinstance(value, str) and bool(_PLAIN_NAME.fullmatch(value)), "a file in this folder"),
    "rows": (lambda value: is_count(value) and value != 0, "a whole number, 1 or more"),
    "bytes": _COUNT,
    "crc32": _COUNT,
    "arrays": (lambda value: isinstance(value, dict), "an object"),
}
_PLACE_RULES: dict[str, Rule] = {
    "offset": _COUNT,
    "dtype": (_is_plain_type, "a plain type"),
    "rows": _COUNT,
    "columns": _COUNT,
}


def _chunk_file(value: object, where: str, common: Common) -> ChunkFile:
    """One chunk, its arrays checked: they are of the right types and sizes, and within the file."""
    entry = check_object(value, _CHUNK_RULES, where)
    needed = ("y", "qid", *(("data", "indices", "indptr") if common.sparse else ("X",)))
    rules = dict.fromkeys((*needed, *_OPTIONAL), _PLACE)
    arrays = {
        name: Place(**check_object(place, _PLACE_RULES, f"{where}.arrays.{name}"))
        for name, place in check_object(entry["arrays"], rules, f"{where}.arrays", _OPTIONAL).items()
    }
    one = ChunkFile(**{**entry, "arrays": arrays})
    for name, place in arrays.items():
        if place.offset + place.rows * place.row_bytes > one.bytes:
            raise ValueError(f"{one.file}: {name} is not within the file")
    number = np.dtype(common.dtype)
    expected: dict[str, tuple[np.dtype | None, int, int]] = {
        "y": (np.dtype(np.float64), one.rows, 1),
        "qid": (None, one.rows, 1),
    }
    for name, dtype in (("docid", None), ("weight", np.dtype(np.float64)), ("groups", None)):
        if name in arrays:
            expected[name] = dtype, one.rows, 1
    if common.sparse:
        stored = arrays["data"].rows
        expected |= {"data": (number, stored, 1), "indices": (np.dtype(np.int32), stored, 1)}
        expected |= {"indptr": (np.dtype(np.int64), one.rows + 1, 1)}
    else:
        expected["X"] = (number, one.rows, common.n_features)
    for name, (dtype, rows, columns) in expected.items():
        place = arrays[name]
        right_type = dtype is None or np.dtype(place.dtype) == dtype
        if not right_type or (place.rows, place.columns) != (rows, columns):
            raise ValueError(f"{one.file}: {name} is of another type or size than the data")
    return one
