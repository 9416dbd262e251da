"""Compressed files: the suffix of a name selects the compression."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

if TYPE_CHECKING:
    from zstandard import ZstdDecompressionObj, ZstdDecompressor

DAMAGED = (EOFError, zlib.error, lzma.LZMAError, OSError)  # what decompressors raise; OSError the system too


def open_bytes(path: Path, mode: str) -> BinaryIO:
    """Open a file in mode "rb" or "wb"; its suffix selects the compression."""
    return cast(BinaryIO, _OPENERS.get(path.suffix, open)(path, mode))


@contextmanager
def decompressed(path: str | Path, name: str = "it") -> Iterator[BinaryIO]:
    """A file open for reading, decompressed by its suffix; a ValueError, which calls it `name`, if it is damaged."""
    try:
        with open_bytes(Path(path), "rb") as file:
            yield file
    except DAMAGED as error:
        if getattr(error, "errno", None) is not None:  # from the system; decompressors raise OSError without a number
            raise
        raise ValueError(f"{name} cannot be decompressed: {error}") from None


def plain_suffix(path: Path) -> str:
    """The suffix in lower case, without that of a compression: .csv of train.CSV.gz."""
    return (path.with_suffix("") if path.suffix in COMPRESSED else path).suffix.lower()


class _ZstandardReader(io.RawIOBase):
    """Decompress a file; raise EOFError if it is truncated, which zstandard's own reader does not notice."""

    def __init__(self, file: BinaryIO, decompressor: "ZstdDecompressor") -> None:
        self.file, self.decompressor = file, decompressor
        self.frame: ZstdDecompressionObj | None = None
        self.compressed, self.plain = b"", b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # a writable buffer
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
            except Exception as error:  # the package has its own exceptions; the other formats raise OSError
                raise OSError(f"not Zstandard data, or damaged: {error}") from None
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
        raise ImportError(".zst files need a package: pip install zstandard") from None
    if mode == "wb":
        compressor = zstandard.ZstdCompressor(write_checksum=True)
        return zstandard.open(path, "wb", cctx=compressor)  # type: ignore[no-any-return]
    return io.BufferedReader(_ZstandardReader(open(path, "rb"), zstandard.ZstdDecompressor()))


_OPENERS: dict[str, Callable[[Path, str], object]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _open_zstandard,
}
COMPRESSED = tuple(_OPENERS)
