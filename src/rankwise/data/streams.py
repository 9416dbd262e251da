"""Files as bytes: compressed by their suffix, mapped where they are plain.

A `Text` is a run of whole lines with its place in a file, so that a position in it can be told as line and column.
"""

import bz2
import gzip
import io
import lzma
import mmap
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rankwise.arrays import Array
from rankwise.data.letor_error import LetorError

CHUNK = 1 << 20  # bytes that one thread takes at a time
PIECE = 1 << 23  # bytes read from a stream at a time
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Chunk:
    """Some whole lines of a text, from `offset` in its data on; the last byte is a line end."""

    text: "Text"
    offset: int
    data: Array

    def release(self) -> None:
        """Let the pages go that were read: a mapped file counts as memory only where it is looked at."""
        mapping = self.text.data
        if isinstance(mapping, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            first = self.offset - self.offset % mmap.PAGESIZE
            mapping.madvise(mmap.MADV_DONTNEED, first, min(self.offset + self.data.size, len(mapping)) - first)


@dataclass(frozen=True)
class Text:
    """Whole lines of `name`, from byte `start` of `data` on; the first of them is line `first_line`."""

    name: str
    data: Any  # bytes, or a memory map
    start: int = 0
    first_line: int = 1

    def chunks(self) -> Iterator[Chunk]:
        """Runs of whole lines, of CHUNK bytes and the rest of the line."""
        everything = np.frombuffer(self.data, np.uint8)
        start, size = self.start, len(self.data)
        while start < size:
            stop = self.data.find(b"\n", min(start + CHUNK, size) - 1) + 1
            if stop:
                yield Chunk(self, start, everything[start:stop])
            else:  # the last line may lack its end
                stop = size
                yield Chunk(self, start, np.frombuffer(self.data[start:stop] + b"\n", np.uint8))
            start = stop

    def line_at(self, place: int) -> tuple[int, int, bytes]:
        """(line number, where that line begins in `data`, its bytes)."""
        begin = max(self.data.rfind(b"\n", self.start, place) + 1, self.start)
        end = self.data.find(b"\n", place)
        number = self.first_line + sum(
            self.data[i : min(i + CHUNK, begin)].count(b"\n") for i in range(self.start, begin, CHUNK)
        )
        return number, begin, self.data[begin : end if end >= 0 else len(self.data)]


def mapped(path: Path) -> Text | None:
    """A plain file as one text, without reading it; None where it cannot be mapped."""
    if path.suffix in _OPENERS:
        return None
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size == 0:
            return None
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return Text(str(path), data, start=len(_BOM) if data[:3] == _BOM else 0)


def streamed(file: Any, name: str) -> Iterator[Text]:
    """The pieces of a file object, of bytes or of text."""
    line = 1
    while piece := _whole_lines(file, name):
        data = piece.encode() if isinstance(piece, str) else piece
        yield Text(name, data, len(_BOM) if line == 1 and data.startswith(_BOM) else 0, line)
        line += data.count(b"\n")


def _whole_lines(file: Any, name: str) -> Any:
    try:
        return file.read(PIECE) + file.readline()
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        raise LetorError(f"the file cannot be read to its end: {error}", name) from error


def open_bytes(path: Path, mode: str) -> BinaryIO:
    """Open for "rb" or "wb", through the (de)compressor that the suffix asks for."""
    opened: BinaryIO = _OPENERS.get(path.suffix, open)(path, mode)
    return opened


class _ZstandardReader(io.RawIOBase):
    """The package's own reader takes a file cut short for a whole one; this one complains."""

    def __init__(self, file: BinaryIO, decompressor: Any) -> None:
        self.file, self.decompressor = file, decompressor
        self.frame: Any = None
        self.compressed, self.plain = b"", b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.plain:
            self.compressed = self.compressed or self.file.read(1 << 14)
            if not self.compressed:
                if self.frame is not None and not self.frame.eof:
                    raise EOFError("the compressed data end in the middle of a frame")
                return 0
            if self.frame is None or self.frame.eof:
                self.frame = self.decompressor.decompressobj()
            try:
                self.plain = self.frame.decompress(self.compressed)
            except Exception as error:  # of the package's own kind; others raise OSError
                raise OSError(f"no Zstandard data, or damaged: {error}") from None
            self.compressed = self.frame.unused_data
        size = min(len(buffer), len(self.plain))
        buffer[:size], self.plain = self.plain[:size], self.plain[size:]
        return size

    def close(self) -> None:
        self.file.close()
        super().close()


def _open_zstandard(path: Path, mode: str) -> BinaryIO:
    try:
        import zstandard
    except ImportError:
        raise ImportError(".zst files need a package: pip install 'rankwise[zstd]'") from None
    if mode == "wb":
        return zstandard.open(path, "wb")  # type: ignore[no-any-return]
    return io.BufferedReader(_ZstandardReader(open(path, "rb"), zstandard.ZstdDecompressor()))


_OPENERS: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _open_zstandard,
}
COMPRESSED = tuple(_OPENERS)
