"""JSON that a stranger may have written: bounded in size and depth, no name twice in an object, finite numbers only.

Errors are ValueErrors that do not name the file; the caller does.
"""

import json
import lzma
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from rankwise.foundation.compression import open_bytes

Json: TypeAlias = Any  # what json.loads returns
Rule: TypeAlias = tuple[Callable[[Json], bool], str]  # whether a field may have a value, and what it should have

_SHOWN = 40  # characters of a value that a message shows
_LARGEST = sys.float_info.max
DEEPEST = 12  # levels of lists and objects; our own files have half of that


def read_json(path: str | Path, most_bytes: int) -> Json:
    """The content of a file, decompressed by its suffix; an error if it has more than `most_bytes`."""
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


def parse_json(text: bytes | str) -> Json:
    try:
        value = json.loads(text, parse_constant=_not_finite, object_pairs_hook=_named_once)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    _check_depth(value, DEEPEST)
    return value


def _not_finite(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number in JSON")


def _named_once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    named = dict(pairs)
    if len(named) < len(pairs):
        raise ValueError("an object has two values of one name")
    return named


def _check_depth(value: object, levels: int) -> None:
    if not isinstance(value, list | dict):
        return
    if not levels:
        raise ValueError("it is nested too deeply")
    for one in value if isinstance(value, list) else value.values():
        if isinstance(one, list | dict):
            _check_depth(one, levels - 1)


def check_object(
    value: object, rules: Mapping[str, Rule], where: str = "", optional: Iterable[str] = ()
) -> dict[str, Json]:
    """The value, if it is an object whose fields are those of the rules, with values that they allow; else an error."""
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
    return value


def _shown(value: object) -> str:
    text = json.dumps(value)  # escapes what no terminal should see
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def is_number(value: object) -> bool:
    """A finite number that a float can hold, not true or false; 1e400 reads as infinity."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -_LARGEST <= value <= _LARGEST


def is_count(value: object, most: int = 2**62) -> bool:
    """A whole number from 0 to `most`."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def is_text(value: object) -> bool:
    """A text that can be written in UTF-8: no half of a surrogate pair."""
    return isinstance(value, str) and (value.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in value))


def is_list_of(is_right: Callable[[object], bool], value: object) -> bool:
    return isinstance(value, list) and all(map(is_right, value))
