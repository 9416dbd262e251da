"""Malformed requests to `rankwise serve`, each kind with the statuses that it may get, and a client without a network.

Every kind takes a good request, {"documents": ...} or {"ids": ..., "features": ...}, and makes one thing wrong. What
was changed at random may still be a good request.
"""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fuzz.inputs import WORDS, mutated

NAMES = ("bm25", "pagerank", "clicks")
OTHERS = [None, True, False, "", "1.5", [], {}, [1], {"a": 1}, float("nan"), float("inf")]


@dataclass(frozen=True)
class Sent:
    """A request; `closed`: the connection is closed before the body has ended."""

    body: bytes
    method: str = "POST"
    path: str = "/rank"
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    closed: bool = False


def good(draw: random.Random) -> dict[str, Any]:
    ids = [f"d{i}" for i in range(draw.randint(2, 5))]
    rows = [[draw.randint(-99, 99) / 8 for _ in NAMES] for _ in ids]
    common = {"query": "q", "top": 2, "explain": True}
    if draw.random() < 0.5:
        return {"ids": ids, "features": rows, "names": list(NAMES)} | common
    return {
        "documents": [
            {"id": one, "features": dict(zip(NAMES, row, strict=True))} for one, row in zip(ids, rows, strict=True)
        ]
    } | common


def _features(request: dict[str, Any], draw: random.Random) -> tuple[Any, Any]:
    """The features of a document, and the place or the name of one of them."""
    if "documents" in request:
        return draw.choice(request["documents"])["features"], draw.choice(NAMES)
    return draw.choice(request["features"]), draw.randrange(len(NAMES))


def _bytes_changed(draw: random.Random) -> Sent:
    body, other = (json.dumps(good(draw)).encode() for _ in range(2))
    return Sent(mutated(body, WORDS["json"], [other], draw))


def _noise(draw: random.Random) -> Sent:
    return Sent(b"\x00" + draw.randbytes(draw.randint(0, 200)))


def _cut_off(draw: random.Random) -> Sent:
    body = json.dumps(good(draw)).encode()
    return Sent(body[: draw.randrange(len(body))])


def _closed_early(draw: random.Random) -> Sent:
    return Sent(_cut_off(draw).body, closed=True)


def _nested(draw: random.Random) -> Sent:
    deep = draw.choice((50, 5_000, 200_000))
    return Sent(draw.choice((b'{"features": ', b"")) + b"[" * deep + b"]" * draw.choice((0, deep)))


def _value_of_another_type(draw: random.Random) -> Sent:
    request = good(draw)
    features, which = _features(request, draw)
    features[which] = draw.choice(OTHERS)
    return Sent(json.dumps(request).encode())


def _field_of_another_type(draw: random.Random) -> Sent:
    request = good(draw)
    name = draw.choice([one for one in request if one != "query"])
    values = [one for one in OTHERS if one is not None and not (name == "explain" and isinstance(one, bool))]
    values = [one for one in values if not (name in ("documents",) and one == [])]
    request[name] = draw.choice(values)
    return Sent(json.dumps(request).encode())


def _number_too_large(draw: random.Random) -> Sent:
    request = good(draw)
    features, which = _features(request, draw)
    features[which] = "here"
    huge = draw.choice(("1e400", "-1e999", "1" + "0" * 400, "1" + "0" * 5_000, "NaN", "Infinity", "-Infinity"))
    return Sent(json.dumps(request).replace('"here"', huge).encode())


def _same_name_twice(draw: random.Random) -> Sent:
    name = draw.choice(("query", "top"))
    return Sent(json.dumps(good(draw)).replace(f'"{name}"', f'"{name}": 1, "{name}"').encode())


def _same_id_twice(draw: random.Random) -> Sent:
    request = good(draw)
    if "ids" in request:
        request["ids"][1] = request["ids"][0]
    else:
        request["documents"][1]["id"] = request["documents"][0]["id"]
    return Sent(json.dumps(request).encode())


def _feature_missing(draw: random.Random) -> Sent:
    request = good(draw)
    features, which = _features(request, draw)
    del features[which]
    return Sent(json.dumps(request).encode())


def _feature_unknown(draw: random.Random) -> Sent:
    name = draw.choice(("bm52", "x" * draw.choice((1, 1_000)), "bm25\x00", "\ud800", "ключ", "__class__"))
    return Sent(json.dumps(good(draw)).replace('"bm25"', json.dumps(name)).encode())


def _field_unknown(draw: random.Random) -> Sent:
    return Sent(json.dumps(good(draw) | {draw.choice(("docs", "k", "Top", "")): 1}).encode())


def _too_many_documents(draw: random.Random) -> Sent:
    n = draw.randint(101, 150)
    return Sent(json.dumps({"features": [[1.0] * len(NAMES)] * n}).encode())


def _too_large(draw: random.Random) -> Sent:
    return Sent(b" " * draw.randint(100_001, 200_000) + json.dumps(good(draw)).encode())


def _wrong_path(draw: random.Random) -> Sent:
    return Sent(json.dumps(good(draw)).encode(), path=draw.choice(("/", "/rank/", "/Rank", "/../x", "/%00", "/\x00\n")))


def _wrong_method(draw: random.Random) -> Sent:
    return Sent(json.dumps(good(draw)).encode(), method=draw.choice(("GET", "PUT", "DELETE", "OPTIONS", "RANK")))


def _wrong_type(draw: random.Random) -> Sent:
    kind = draw.choice(("text/plain", "application/x-www-form-urlencoded", "", "x", "application/json-x"))
    headers = draw.choice(({"content-type": kind}, {"content-encoding": draw.choice(("gzip", "x"))}))
    return Sent(json.dumps(good(draw)).encode(), headers=headers)


KINDS: dict[str, tuple[Callable[[random.Random], Sent], set[int]]] = {
    "bytes changed at random": (_bytes_changed, {200, 400, 413, 422}),
    "random bytes": (_noise, {400}),
    "JSON cut off": (_cut_off, {400}),
    "connection closed in the body": (_closed_early, {400}),
    "nested 50 to 200,000 deep": (_nested, {400, 413, 422}),
    "a feature of another type": (_value_of_another_type, {422}),
    "a field of another type": (_field_of_another_type, {422}),
    "a number too large, or NaN": (_number_too_large, {400, 422}),
    "a name twice in an object": (_same_name_twice, {400}),
    "an id twice": (_same_id_twice, {422}),
    "a feature missing": (_feature_missing, {422}),
    "a feature unknown": (_feature_unknown, {422}),
    "a field unknown": (_field_unknown, {422}),
    "too many documents": (_too_many_documents, {422}),
    "too many bytes": (_too_large, {413}),
    "wrong path": (_wrong_path, {404}),
    "wrong method": (_wrong_method, {405}),
    "wrong content type or encoding": (_wrong_type, {415}),
}


def requests(n: int, seed: int) -> Iterator[tuple[str, Sent]]:
    """Kinds in turn, each with a request of it."""
    draw = random.Random(seed)
    kinds = list(KINDS)
    for number in range(n):
        kind = kinds[number % len(kinds)]
        yield kind, KINDS[kind][0](draw)


async def answer(app: Any, sent: Sent, part: int = 50_000) -> tuple[int, bytes]:
    """Status and body of the application's response, without a network; the body is sent in parts."""
    parts = [sent.body[i : i + part] for i in range(0, len(sent.body), part)] or [b""]
    messages = [{"type": "http.request", "body": one, "more_body": True} for one in parts]
    if sent.closed:
        messages.append({"type": "http.disconnect"})
    else:
        messages[-1]["more_body"] = False
    received = iter(messages)
    status, body = 0, b""

    async def receive() -> dict[str, Any]:
        return next(received)

    async def send(message: dict[str, Any]) -> None:
        nonlocal status, body
        status = message.get("status", status)
        body += message.get("body", b"")

    headers = [(name.encode(), value.encode()) for name, value in sent.headers.items()]
    scope = {"type": "http", "method": sent.method, "path": sent.path, "raw_path": sent.path.encode(), "root_path": ""}
    await app(scope | {"headers": headers, "query_string": b"", "http_version": "1.1", "scheme": "http"}, receive, send)
    return status, body
