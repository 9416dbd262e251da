"""JSON that a stranger may have written: bounded in size and depth, names once, finite numbers only.

What is wrong is a ValueError that says it without naming the file, which the caller does.
"""

import json
import lzma
import zlib
from pathlib import Path
from typing import Any, NoReturn

from rankwise.data.streams import open_bytes

DEEPEST = 12  # levels of lists and objects; our own files have half of that


def read_json(path: str | Path, most_bytes: int) -> Any:
    """The content of a file, decompressed by its suffix, if that has `most_bytes` at most."""
    try:
        with open_bytes(Path(path), "rb") as file:
            text = file.read(most_bytes + 1)
    except OSError as error:
        if error.errno is not None:  # of the system; decompressors raise it without a number
            raise
        raise ValueError(f"it cannot be decompressed: {error}") from None
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"it cannot be decompressed: {error}") from None
    if len(text) > most_bytes:
        raise ValueError(f"it has more than {most_bytes:,} bytes")
    return parse_json(text)


def parse_json(text: bytes | str) -> Any:
    try:
        value = json.loads(text, parse_constant=_not_finite, object_pairs_hook=_named_once)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    _check_depth(value, DEEPEST)
    return value


def _not_finite(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number in JSON")


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has two values of one name")
    return found


def _check_depth(value: Any, levels: int) -> None:
    if not isinstance(value, list | dict):
        return
    if not levels:
        raise ValueError("it is nested too deeply")
    for one in value if isinstance(value, list) else value.values():
        if isinstance(one, list | dict):
            _check_depth(one, levels - 1)


def is_plain(value: Any, levels: int = 2) -> bool:
    """Whether a value is nothing, a truth, a number that a float can hold, a text, or few levels of such."""
    if isinstance(value, list | dict):
        inside = value if isinstance(value, list) else value.values()
        return levels > 0 and all(is_plain(one, levels - 1) for one in inside)
    return value is None or isinstance(value, str) or is_number(value)


def is_number(value: Any) -> bool:
    """A number, or a truth, within the range of a float; 1e400 reads as infinity."""
    return isinstance(value, int | float) and -1e308 <= value <= 1e308


def is_count(value: Any, most: int = 2**62) -> bool:
    """A whole number from 0 to `most`."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most
