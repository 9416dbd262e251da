"""JSON that a stranger may have written: bounded in size and depth, names once, finite numbers only.

What is wrong is a ValueError that says it without naming the file, which the caller does.
"""

import json
import lzma
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from rankwise.data.streams import open_bytes

Rule = tuple[Callable[[Any], bool], str]  # whether a value may stand in a field, and what is expected there

_SHOWN = 40  # characters of a value that a message shows
_LARGEST = sys.float_info.max
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


def check_object(value: Any, rules: Mapping[str, Rule], where: str = "", optional: Iterable[str] = ()) -> None:
    """One sentence where a value is no object, lacks a field, has another one, or holds in one what it cannot."""
    if not isinstance(value, dict):
        raise ValueError(f"{where or 'it'} is {_shown(value)}, expected an object")
    before = f"{where}." if where else ""
    if unknown := sorted(set(value) - set(rules)):
        raise ValueError(f"{before}{_shown(unknown[0])} is unknown")
    for field, (is_right, expected) in rules.items():
        if field in value and not is_right(value[field]):
            raise ValueError(f"{before}{field} is {_shown(value[field])}, expected {expected}")
        if field not in value and field not in optional:
            raise ValueError(f"{before}{field} is missing")


def _shown(value: Any) -> str:
    text = json.dumps(value)  # which writes what no terminal should see as escapes
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def is_number(value: Any) -> bool:
    """A finite number that a float can hold, not a truth; 1e400 reads as infinity."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -_LARGEST <= value <= _LARGEST


def is_count(value: Any, most: int = 2**62) -> bool:
    """A whole number from 0 to `most`."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def is_text(value: Any) -> bool:
    """A text that can be written in UTF-8: no half of a surrogate pair."""
    return isinstance(value, str) and (value.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in value))


def is_list_of(is_right: Callable[[Any], bool], value: Any) -> bool:
    return isinstance(value, list) and all(map(is_right, value))
