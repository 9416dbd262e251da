"""What readers yield, one record per judgement or logged document, and the ids and numbers in them."""

import json
import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from rankwise.foundation.arrays import LARGEST_EXACT, is_rounded_integer, read_number
from rankwise.foundation.strict_json import Json, is_number, is_text

_MISSING = {"", "na", "nan", "null", "none"}  # cells without a number, in any case
GIVE_QUERIES = "give queries=[...], or --queries FILE with a query per line, in the order of the responses"
_SHOWN = 40  # characters of a value in a message


class Judgment(NamedTuple):
    """How well a document answers a query, according to a judge.

    rating  None if the document is listed and not rated
    judge   None if the file does not tell judges apart
    place   file and line, or the like, for messages
    """

    query: str
    docid: str
    rating: float | None
    judge: str | None
    place: str


class Logged(NamedTuple):
    """The features of a document for a query, by name; None is a feature without a value."""

    query: str
    docid: str
    values: Mapping[str, float | None]
    place: str


def identifier(value: object, what: str, place: str) -> str:
    """A query or the id of a document as text; 7 and 7.0 are "7"."""
    value = _of_python(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < LARGEST_EXACT:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not is_text(value) or not value:
        raise ValueError(f"{place}: {what} must be a text or a whole number, found {shown(value)}")
    return str(value)


def _of_python(value: object) -> object:
    """A number of NumPy as one of Python; dates and durations stay, because their item may be a bare count."""
    return value.item() if isinstance(value, np.generic) and value.dtype.kind in "iuf" else value


def _number(value: object) -> float | None:
    """None if there is none: null, or a cell that is empty or says NA, NaN, null or none; NaN if it is no number."""
    value = _of_python(value)
    if isinstance(value, str):
        text = value.strip()
        return None if text.lower() in _MISSING else read_number(text.encode(errors="replace"))
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return float(value) if is_number(value) else math.nan  # type: ignore[arg-type]


def feature(name: str, value: object, place: str) -> float | None:
    """The value of a feature, None if it has none."""
    result = _number(value)
    if result is not None and not math.isfinite(result):
        raise ValueError(f"{place}: feature {shown(name)} must be a finite number, found {shown(value)}")
    return result


def rating(value: object, place: str) -> float | None:
    """A label; an integer that float64 rounds is refused, because different ratings could become equal."""
    result = _number(value)
    if result is not None and not math.isfinite(result):
        raise ValueError(f"{place}: the rating must be a finite number, found {shown(value)}")
    written = str(value).strip().encode(errors="replace")
    if result is not None and isinstance(value, int | str) and is_rounded_integer(written):
        raise ValueError(f"{place}: the rating {shown(value)} is rounded by float64: write a smaller number")
    return result


def fields_by_name(value: Json, place: str) -> dict[str, Json]:
    """The fields of an object of JSON; an error that names the place if it is no object."""
    if not isinstance(value, dict):
        raise ValueError(f"{place}: found {shown(value)}, expected an object")
    return value


def shown(value: object) -> str:
    """A value of a file in a message."""
    text = repr(value) if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
