"""What a client sends: the documents of one query, as JSON. A request that is not right gets one sentence.

    {"documents": [{"id": "a", "features": {"bm25": 1.5, ...}}, ...]}     features by name, or as a list
    {"ids": ["a", ...], "features": [[1.5, ...], ...], "names": [...]}    compact; ids and names are optional
    {"ids": ["a", ...], "features": "AADAPw==...", "dtype": "float32"}    packed: base64 of the little-endian numbers

All may have `query` (returned as it is), `top` and `explain`. Nothing else is accepted, so that the depth of the JSON
needs no check of its own.
"""

import binascii
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from rankwise.foundation.arrays import Floats
from rankwise.foundation.strict_json import Json, is_count, named_once, shown

Id: TypeAlias = str | int
OPTIONAL = ("query", "top", "explain")
DOCUMENTS, COMPACT = ("documents", *OPTIONAL), ("features", "ids", "names", "dtype", *OPTIONAL)
PACKED = {"float32": "<f4", "float64": "<f8"}
MALFORMED, TOO_LARGE, UNSUITABLE = 400, 413, 422  # HTTP status: not JSON, too many bytes, not what a ranking needs


class RequestError(ValueError):
    """A request that cannot be answered, in one sentence for the client."""

    def __init__(self, sentence: str, status: int = UNSUITABLE) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True)
class Block:
    """Documents whose features are given in the same way.

    places  of the documents in the request
    names   of the features; None if they are in the order of the model
    values  the features of each document; an array if they were packed
    """

    places: Sequence[int]
    names: tuple[str, ...] | None
    values: Sequence[Collection[Json]] | Floats


@dataclass(frozen=True)
class Request:
    """The documents of a query, and what is wanted of them.

    top      how many documents to return
    explain  how many contributions per document; None: all, 0: none
    """

    query: Id | None
    ids: Sequence[Id]
    blocks: Sequence[Block]
    top: int
    explain: int | None


def parse(body: bytes) -> Json:
    """The JSON of a body. NaN and Infinity are read, and refused with the name of their feature later."""
    try:
        return json.loads(body.decode(), object_pairs_hook=named_once)
    except UnicodeDecodeError as error:
        raise RequestError(f"the body is not UTF-8 (byte {error.start})", MALFORMED) from None
    except json.JSONDecodeError as error:
        raise RequestError(f"the body is not JSON: {error.msg} (character {error.pos})", MALFORMED) from None
    except RecursionError:
        raise RequestError("the body is nested too deeply", MALFORMED) from None
    except ValueError as error:  # a name given twice, or an integer of thousands of digits
        found = "a number has too many digits" if str(error).startswith("Exceeds the limit") else str(error)
        raise RequestError(found, MALFORMED) from None


def read(given: Json, most_documents: int) -> Request:
    """The request that the JSON describes."""
    if not isinstance(given, dict):
        raise RequestError(f"the request is {described(given)}, expected an object with documents")
    given = {field: value for field, value in given.items() if value is not None}
    compact = "documents" not in given
    if compact and "features" not in given:
        raise RequestError('the request has neither "documents" nor "features"')
    _check_fields(given, COMPACT if compact else DOCUMENTS, "the request")
    ids, blocks = _compact(given, most_documents) if compact else _documents(given["documents"], most_documents)
    query = given.get("query")
    if query is not None:
        _check_id(query, '"query"')
    top, explain = given.get("top"), given.get("explain", False)
    if top is not None and not (is_count(top) and top):
        raise RequestError(f'"top" is {described(top)}, expected a whole number, 1 or more')
    if not (isinstance(explain, bool) or (is_count(explain) and explain)):
        raise RequestError(f'"explain" is {described(explain)}, expected true, false or a number of features')
    return Request(query, ids, blocks, len(ids) if top is None else top, None if explain is True else int(explain))


def _compact(given: dict[str, Json], most: int) -> tuple[Sequence[Id], list[Block]]:
    ids = _list(given["ids"], '"ids"', most) if "ids" in given else None
    rows: list[Json] | Floats
    if isinstance(given["features"], str):
        rows = _unpacked(given["features"], given.get("dtype"), ids)
    elif "dtype" in given:
        raise RequestError('"dtype" is for packed features: leave it out, or send "features" in base64')
    else:
        rows = _list(given["features"], '"features"', most)
        for place, row in enumerate(rows):
            if not isinstance(row, list):
                raise RequestError(f'"features"[{place}] is {described(row)}, expected a list of numbers')
    if ids is not None:
        if len(ids) != len(rows):
            raise RequestError(f'"ids" has {len(ids):,} entries and "features" {len(rows):,}')
        for place, one in enumerate(ids):
            _check_id(one, f'"ids"[{place}]')
        _check_distinct(ids)
    names = given.get("names")
    if names is not None:
        for place, name in enumerate(_list(names, '"names"')):
            if not isinstance(name, str):
                raise RequestError(f'"names"[{place}] is {described(name)}, expected a text')
    everywhere = range(len(rows))
    return everywhere if ids is None else ids, [Block(everywhere, None if names is None else tuple(names), rows)]


def _unpacked(text: str, dtype: Json, ids: list[Json] | None) -> Floats:
    """One row per id."""
    if not isinstance(dtype, str) or dtype not in PACKED:
        raise RequestError(f'"dtype" is {described(dtype)}, expected "float32" or "float64" for packed features')
    if not ids:
        raise RequestError('packed features need "ids", at least one: these say how many rows there are')
    try:
        packed = binascii.a2b_base64(text, strict_mode=True)
    except ValueError as error:
        raise RequestError(f'"features" is a text, but not base64: {error}') from None
    per_row, rest = divmod(len(packed), len(ids) * np.dtype(PACKED[dtype]).itemsize)
    if rest:
        raise RequestError(f'"features" has {len(packed):,} bytes, which are not {len(ids):,} equal rows of {dtype}')
    return np.frombuffer(packed, PACKED[dtype]).astype(np.float64).reshape(len(ids), per_row)


def _documents(given: Json, most: int) -> tuple[Sequence[Id], list[Block]]:
    """Ids, and the documents in blocks of equal names: usually one."""
    alike: dict[tuple[str, ...] | None, tuple[list[int], list[Collection[Json]]]] = {}
    ids = []
    for place, document in enumerate(_list(given, '"documents"', most)):
        where = f'"documents"[{place}]'
        if not isinstance(document, dict):
            raise RequestError(f"{where} is {described(document)}, expected an object with an id and features")
        if document.keys() != {"id", "features"}:
            _check_fields(document, ("id", "features"), where)
            missing = "features" if "id" in document else "id"
            raise RequestError(f'{where} has no "{missing}"')
        one, features = document["id"], document["features"]
        _check_id(one, f'{where}."id"')
        if not isinstance(features, dict | list):
            raise RequestError(f'{where}."features" is {described(features)}, expected an object or a list of numbers')
        names, row = (tuple(features), features.values()) if isinstance(features, dict) else (None, features)
        places, values = alike.setdefault(names, ([], []))
        places.append(place)
        values.append(row)
        ids.append(one)
    _check_distinct(ids)
    return ids, [Block(places, names, values) for names, (places, values) in alike.items()]


def _check_fields(given: dict[str, Json], known: Sequence[str], where: str) -> None:
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        expected = ", ".join(f'"{name}"' for name in known)
        raise RequestError(f"{where} has an unknown field {shown(unknown)}, expected {expected}")


def _list(value: Json, where: str, most: int | None = None) -> list[Json]:
    if not isinstance(value, list):
        raise RequestError(f"{where} is {described(value)}, expected a list")
    if most is not None and len(value) > most:
        raise RequestError(f"the request has {len(value):,} documents, at most {most:,} are allowed")
    return value


def _check_id(value: Json, where: str) -> None:
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise RequestError(f"{where} is {described(value)}, expected a text or a whole number")


def _check_distinct(ids: Sequence[Id]) -> None:
    """By their texts, whose hashes nobody can foresee: thousands of integers with equal hashes would take seconds."""
    texts = list(map(repr, ids))
    if len(set(texts)) == len(texts):
        return
    first: dict[str, int] = {}
    for place, text in enumerate(texts):
        if text in first:
            raise RequestError(f"documents {first[text]} and {place} have the same id {shown(ids[place])}")
        first[text] = place


def described(value: Json) -> str:
    """A value in a message; lists and objects may be large, so they are not shown."""
    return "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else shown(value)
