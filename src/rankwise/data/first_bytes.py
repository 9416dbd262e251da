"""The first bytes of a pipe show its format. This module is imported for help texts: it must not import NumPy."""

from codecs import BOM_UTF8
from io import BufferedReader
from typing import IO

_HEAD = 1 << 10  # bytes looked at


def first_bytes(file: IO[bytes]) -> bytes:
    """Some bytes, at least one unless the file is empty, which are not taken from it."""
    try:
        if isinstance(file, BufferedReader):
            return file.peek(1)
        place = file.tell()
        head = file.read(_HEAD)
        file.seek(place)
        return head
    except OSError:  # told when the data are read
        return b""


def begun_as(head: bytes) -> str | None:
    """The format of a text: JSON lines begin with an object, a table with a name; None for all others."""
    sign = head.removeprefix(BOM_UTF8).lstrip()[:1]
    if sign in (b"{", b"["):
        return "jsonl"
    return "csv" if sign.isalpha() or sign in (b'"', b"'", b"_") or sign > b"\x7f" else None
