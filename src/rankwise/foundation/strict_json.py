"""JSON from untrusted files: limited in size and depth, no duplicate names in an object, finite numbers only.

Errors are ValueErrors whose subject is "it"; the caller puts the name of the file before them.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from rankwise.foundation.compression import decompressed
from rankwise.foundation.texts import visible

Json: TypeAlias = Any  # what json.loads returns
Rule: TypeAlias = tuple[Callable[[Json], bool], str]  # whether a value is valid for a field, and what is expected

_SHOWN = 40  # characters of a value that a message shows
_LARGEST = sys.float_info.max
_BLANKS = re.compile(r"[ \t\r\n]*")
DEEPEST = 12  # levels of lists and objects; the files of rankwise have half as many


def read_json(path: str | Path, most_bytes: int) -> Json:
    """The content of a file, decompressed according to its suffix; an error if it has more than `most_bytes`."""
    with decompressed(path) as file:
        text = file.read(most_bytes + 1)
    if len(text) > most_bytes:
        raise ValueError(f"it has more than {most_bytes:,} bytes")
    return parse_json(text)


def parse_json(text: bytes | str) -> Json:
    try:
        value = json.loads(text, parse_constant=_not_finite, object_pairs_hook=named_once)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    _check_depth(value, DEEPEST)
    return value


def parse_sequence(text: str, deepest: int) -> Iterator[tuple[int, int, Json]]:
    """(begin, end, value) of the values that follow one another in a text, as in JSON lines."""
    decoder = json.JSONDecoder(parse_constant=_not_finite, object_pairs_hook=named_once)
    at = _end_of_blanks(text, 0)
    while at < len(text):
        try:
            value, end = decoder.raw_decode(text, at)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        _check_depth(value, deepest)
        yield at, end, value
        at = _end_of_blanks(text, end)


def _end_of_blanks(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return blanks.end() if blanks else at


def _not_finite(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number in JSON")


def named_once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """The object; for json.loads as its `object_pairs_hook`."""
    named = dict(pairs)
    if len(named) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"an object has the same name twice: {shown(twice)}")
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
    """The value, if it is an object with the fields of `rules` and each field is valid; else an error."""
    if not isinstance(value, dict):
        raise ValueError(f"{where or 'it'} is {shown(value)}, expected an object")
    before = f"{where}." if where else ""
    if unknown := sorted(set(value) - set(rules)):
        raise ValueError(f"{before}{shown(unknown[0])} is unknown")
    for field, (is_right, expected) in rules.items():
        if field in value and not is_right(value[field]):
            raise ValueError(f"{before}{field} is {shown(value[field])}, expected {expected}")
        if field not in value and field not in optional:
            raise ValueError(f"{before}{field} is missing")
    return value


def shown(value: object) -> str:
    """The value as a message shows it: in JSON, cut off if it is long."""
    text = visible(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def is_number(value: object) -> bool:
    """Whether the value is a finite number in the range of float64, and not a boolean; 1e400 is read as infinity."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -_LARGEST <= value <= _LARGEST


def is_count(value: object, most: int = 2**62) -> bool:
    """Whether the value is an integer from 0 to `most`."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def is_text(value: object) -> bool:
    """Whether the value is a string that UTF-8 can encode: no lone surrogates."""
    return isinstance(value, str) and (value.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in value))


def is_list_of(is_right: Callable[[object], bool], value: object) -> bool:
    return isinstance(value, list) and all(map(is_right, value))
