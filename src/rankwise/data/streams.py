"""Files as texts of whole lines, cut into chunks for the threads.

A `Text` is a run of whole lines with its place in a file, so that a position in it can be given as line and column. A
plain file is read chunk by chunk by the thread that works on it. It is never mapped: a mapped file that another program
truncates ends the process, and one that is rewritten changes under a kernel.
"""

import codecs
import os
import stat
import sys
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, TypeAlias, cast

import numpy as np

from rankwise.foundation.arrays import Array
from rankwise.foundation.compression import COMPRESSED, DAMAGED, open_bytes

Source: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]  # a path, "-" or an open file
Target: TypeAlias = Source

CHUNK = 1 << 20  # bytes that one thread takes at a time
FIRST_PIECE = 1 << 16  # bytes read from a stream at first: a slow pipe is not waited for
PIECE = 1 << 23  # bytes read from a stream at a time, after pieces of twice the size of the one before
_LOOK = 1 << 13  # bytes looked through at a time for a line end
_BOM = b"\xef\xbb\xbf"
_NEWLINE = ord("\n")
_NO_TEXT = {  # first bytes of what is often taken for text
    codecs.BOM_UTF16_LE: "text in UTF-16",
    codecs.BOM_UTF16_BE: "text in UTF-16",
    b"\x1f\x8b": "compressed by gzip",
    b"\x28\xb5\x2f\xfd": "compressed by zstd",
    b"\xfd7zXZ\x00": "compressed by xz",
    b"PAR1\x15": "a Parquet file",
    b"PK\x03\x04": "a ZIP archive, as NPZ and Excel files are",
}
_SIGN_BYTES = max(map(len, _NO_TEXT))


class LetorError(ValueError):
    """Ranking text that cannot be read.

    `line` and `column` (in bytes) count from 1; both are None if the error concerns the whole file.
    """

    def __init__(self, message: str, path: str, line: int | None = None, column: int | None = None) -> None:
        where = path if line is None else f"{path}, line {line}, column {column}"
        super().__init__(f"{where}: {message}")
        self.path, self.line, self.column = path, line, column

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (self.args, self.path, self.line, self.column)


def _restored(args: tuple[object, ...], path: str, line: int | None, column: int | None) -> LetorError:
    error = LetorError("", path, line, column)
    error.args = args
    return error


class StoredBytes:
    """The bytes of a plain file, read from disk on demand."""

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
        """The bytes from `begin` to `end`, followed by `room` bytes of arbitrary value."""
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
        """Raise an error if the file was written to since it was opened."""
        if status_of(self.handle) != self.status:
            raise changed(self.name)


def status_of(file: int | Path) -> tuple[int, int]:
    """The size and the modification time of an open or named file: they change with its content."""
    status = os.stat(file)
    return status.st_size, status.st_mtime_ns


@contextmanager
def unchanged(path: Path) -> Iterator[None]:
    """Raise an error if the file changes within the block; pipes and devices are not checked."""
    before = status_of(path) if path.is_file() else None
    yield
    if before is not None and status_of(path) != before:
        raise changed(str(path))


def changed(name: str) -> LetorError:
    return LetorError("the file changed while it was read: read it again when no process writes to it", name)


@dataclass(frozen=True)
class Chunk:
    """Some whole lines of a text: `size` bytes of its data, starting at `offset`."""

    text: "Text"
    offset: int
    size: int

    def load(self) -> Array:
        """A copy of the bytes, which no other process can change; the last one is a line end."""
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
    """Whole lines of the file `name`: `data` from byte `start` to its end; the first line has number `first_line`."""

    name: str
    data: bytes | StoredBytes
    start: int = 0
    first_line: int = 1

    def chunks(self) -> Iterator[Chunk]:
        """Runs of whole lines; a run ends with the first line that reaches CHUNK bytes."""
        start, size = self.start, len(self.data)
        while start < size:
            stop = self.data.find(b"\n", min(start + CHUNK, size) - 1) + 1 or size
            yield Chunk(self, start, stop - start)
            start = stop

    def cut(self, n_lines: int) -> "Iterator[Text]":
        """The same lines in texts of at most `n_lines` each."""
        letters = self.data[self.start :]
        ends = np.flatnonzero(np.frombuffer(letters, np.uint8) == _NEWLINE)[n_lines - 1 :: n_lines] + 1
        for i, (begin, end) in enumerate(pairwise([0, *ends.tolist(), len(letters)])):
            if begin < end:
                yield Text(self.name, letters[begin:end], 0, self.first_line + i * n_lines)

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
    """A plain file as one text that is read on demand; None if the file can only be read from its start."""
    if path.suffix in COMPRESSED:
        return None
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) or status.st_size == 0:
        return None
    data = StoredBytes(path)
    _check_text(data[:_SIGN_BYTES], str(path))
    return Text(str(path), data, start=len(_BOM) if data[:3] == _BOM else 0)


def is_path(source: Source) -> bool:
    """Whether a source or target is a path; if not, it is "-" or an open file."""
    return isinstance(source, str | os.PathLike) and source != "-"


def name_of(source: Source) -> str:
    """What messages call a source."""
    if is_path(source):
        return str(source)
    return "standard input" if isinstance(source, str) else str(getattr(source, "name", "the file given"))


def opened(source: Source, closing: ExitStack) -> IO[bytes] | IO[str]:
    """The bytes of a source; a file is decompressed and closed by `closing`, and must not change until then."""
    if is_path(source):
        path = Path(cast(str, source))
        closing.enter_context(unchanged(path))
        return closing.enter_context(open_bytes(path, "rb"))
    return sys.stdin.buffer if isinstance(source, str) else cast(IO[bytes], source)


def streamed(file: IO[bytes] | IO[str], name: str) -> Iterator[Text]:
    """The content of an open file, of bytes or of text, in pieces of whole lines."""
    line, size = 1, min(FIRST_PIECE, PIECE)
    while piece := _whole_lines(file, name, size):
        data = piece.encode() if isinstance(piece, str) else piece
        if line == 1:
            _check_text(data, name)
        yield Text(name, data, len(_BOM) if line == 1 and data.startswith(_BOM) else 0, line)
        line += data.count(b"\n")
        size = min(2 * size, PIECE)


def _whole_lines(file: IO[bytes] | IO[str], name: str, size: int) -> bytes | str:
    try:
        piece: bytes | str = cast(IO[bytes], file).read(size) + cast(IO[bytes], file).readline()
        return piece
    except DAMAGED as error:
        raise LetorError(f"the file cannot be read to its end: {error}", name) from error


def _check_text(data: bytes, name: str) -> None:
    if what := next((what for sign, what in _NO_TEXT.items() if data.startswith(sign)), None):
        cure = "convert it first, or give a file whose suffix says what it is"
        raise LetorError(f"it is {what}, expected text in UTF-8: {cure}", name)
