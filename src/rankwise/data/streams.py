"""Files as bytes, compressed by their suffix.

A `Text` is a run of whole lines with its place in a file, so that a position in it can be given as line and column. A
plain file is read chunk by chunk by the thread that works on it. It is never mapped: a mapped file that another program
cuts short ends the process, and one that is rewritten changes under a kernel.
"""

import bz2
import gzip
import io
import lzma
import os
import stat
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rankwise.data.letor_error import LetorError
from rankwise.foundation.arrays import Array

CHUNK = 1 << 20  # bytes that one thread takes at a time
PIECE = 1 << 23  # bytes read from a stream at a time
_LOOK = 1 << 13  # bytes looked through at a time for a line end
_BOM = b"\xef\xbb\xbf"
_NEWLINE = ord("\n")


class StoredBytes:
    """The bytes of a plain file, read where they are wanted."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self.handle = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self.handle)
        self.status = status_of(self.handle)

    def __len__(self) -> int:
        return self.status[0]

    def __getitem__(self, span: slice) -> bytes:
        begin, end, _ = span.indices(len(self))
        return self.array(begin, end).tobytes()

    def array(self, begin: int, end: int, room: int = 0) -> Array:
        """The bytes from `begin` to `end`, and behind them so many of any value."""
        out = np.empty(max(end - begin, 0) + room, np.uint8)
        view = out.data[: max(end - begin, 0)]
        while view:
            n = os.preadv(self.handle, [view], begin)
            if not n:
                raise changed(self.name)
            view, begin = view[n:], begin + n
        return out

    def find(self, byte: bytes, start: int) -> int:
        for begin in range(start, len(self), _LOOK):
            place = self[begin : begin + _LOOK].find(byte)
            if place >= 0:
                return begin + place
        return -1

    def rfind(self, byte: bytes, start: int, stop: int) -> int:
        for end in range(stop, start, -_LOOK):
            begin = max(end - _LOOK, start)
            place = self[begin:end].rfind(byte)
            if place >= 0:
                return begin + place
        return -1

    def check_unchanged(self) -> None:
        """One sentence where the file is no longer what was opened."""
        if status_of(self.handle) != self.status:
            raise changed(self.name)


def status_of(file: int | Path) -> tuple[int, int]:
    """What changes with the content of an open or named file: its size, and when it was last written to."""
    status = os.stat(file)
    return status.st_size, status.st_mtime_ns


@contextmanager
def unchanged(path: Path) -> Iterator[None]:
    """An error where the file changes within the block; pipes and devices may."""
    before = status_of(path) if path.is_file() else None
    yield
    if before is not None and status_of(path) != before:
        raise changed(str(path))


def changed(name: str) -> LetorError:
    return LetorError("the file changed while it was read: read it again when nobody writes to it", name)


@dataclass(frozen=True)
class Chunk:
    """Some whole lines of a text: `size` bytes from `offset` in its data on."""

    text: "Text"
    offset: int
    size: int

    def load(self) -> Array:
        """The bytes, the last a line end, in memory of this process: nobody else can change them."""
        data, end = self.text.data, self.offset + self.size
        if isinstance(data, StoredBytes):
            letters = data.array(self.offset, end, room=1)
            letters[-1] = _NEWLINE
            if letters[-2] == _NEWLINE:  # the last line of a file may lack its end
                letters = letters[:-1]
            elif end < len(data):
                raise changed(data.name)
            letters.flags.writeable = False  # as of bytes: kernels are compiled once
            return letters
        if data[end - 1] != _NEWLINE:
            return np.frombuffer(data[self.offset : end] + b"\n", np.uint8)
        return np.frombuffer(data, np.uint8, self.size, self.offset)


@dataclass(frozen=True)
class Text:
    """Whole lines of `name`, from byte `start` of `data` on; the first of them is line `first_line`."""

    name: str
    data: Any  # bytes or StoredBytes
    start: int = 0
    first_line: int = 1

    def chunks(self) -> Iterator[Chunk]:
        """Runs of whole lines, of CHUNK bytes and the rest of the line."""
        start, size = self.start, len(self.data)
        while start < size:
            stop = self.data.find(b"\n", min(start + CHUNK, size) - 1) + 1 or size
            yield Chunk(self, start, stop - start)
            start = stop

    def line_at(self, place: int) -> tuple[int, int, bytes]:
        """(line number, where that line begins in `data`, its bytes)."""
        begin = max(self.data.rfind(b"\n", self.start, place) + 1, self.start)
        end = self.data.find(b"\n", place)
        number = self.first_line + sum(
            self.data[i : min(i + CHUNK, begin)].count(b"\n") for i in range(self.start, begin, CHUNK)
        )
        return number, begin, self.data[begin : end if end >= 0 else len(self.data)]

    def check_unchanged(self) -> None:
        if isinstance(self.data, StoredBytes):
            self.data.check_unchanged()


def stored(path: Path) -> Text | None:
    """A plain file as one text, of which nothing is read yet; None where it can only be read from its start on."""
    if path.suffix in _OPENERS:
        return None
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) or status.st_size == 0:
        return None
    data = StoredBytes(path)
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
