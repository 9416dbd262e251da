"""`rankwise serve` on loopback: 100 documents with 136 features per request, in all forms; and what malformed requests
get.

Clients are processes with one connection each, which ask again as soon as they are answered; they need processor time
on the same cores. Numbers have six digits. One client gives the time of a request alone, several the most requests per
second.
"""

import asyncio
import base64
import http.client
import json
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import malformed
from benchmarks.measures import figure

DOCUMENTS, FEATURES = 100, 136
SECONDS, QUICK_SECONDS = 10.0, 0.5
MALFORMED, QUICK_MALFORMED = 10_000, 500
CLIENTS = (1, 4)


def serving(folder: str, quick: bool) -> Iterator[dict[str, Any]]:
    model = Path(folder) / "model.json"
    names = write_model(model)
    for workers in (1, 2):
        command = [sys.executable, "-m", "rankwise", "serve", str(model), "--port", "0", "--workers", str(workers)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            try:
                line = process.stderr.readline() if process.stderr else ""
                address = re.search(r":(\d+)$", line.strip())
                if address is None:
                    raise RuntimeError(f"it is not served: {line.strip()}")
                port = int(address[1])
                for form, body in bodies(names).items():
                    for clients in CLIENTS:
                        times = ask(port, body, clients, QUICK_SECONDS if quick else SECONDS)
                        what = f"{form}, {clients} clients, {workers} workers".replace("1 clients", "1 client")
                        yield from summary(what.replace("1 workers", "1 worker"), *times)
            finally:
                process.terminate()
    for kind, counts in outcomes(QUICK_MALFORMED if quick else MALFORMED).items():
        for status, n in sorted(counts.items()):
            yield figure(f"malformed: {kind}", n, f"get {status}")


def write_model(path: Path) -> list[str]:
    """A model of synthetic data; its names of features."""
    from rankwise import RankSVM, make_ranking, save_model

    data = make_ranking(20, 20, FEATURES, random_state=0)
    names = [f"feature_{i:03}" for i in range(FEATURES)]
    save_model(RankSVM().fit(data.X, data.y, data.qid), path, names)
    return names


def bodies(names: list[str]) -> dict[str, bytes]:
    X = np.random.default_rng(1).random((DOCUMENTS, len(names))).round(6)
    rows = X.tolist()
    ids = [f"document-{i}" for i in range(DOCUMENTS)]
    documents = [
        {"id": one, "features": dict(zip(names, row, strict=True))} for one, row in zip(ids, rows, strict=True)
    ]
    packed = base64.b64encode(X.astype("<f4").tobytes()).decode()
    forms = {
        "by name": {"documents": documents},
        "compact": {"ids": ids, "names": names, "features": rows},
        "packed": {"ids": ids, "names": names, "features": packed, "dtype": "float32"},
    }
    return {form: json.dumps(request).encode() for form, request in forms.items()}


def ask(port: int, body: bytes, clients: int, seconds: float) -> tuple[list[float], float]:
    """The time of each request, and requests per second."""
    with Pool(clients) as pool:
        pool.starmap(_client, [(port, body, seconds / 10)] * clients)  # warm
        times = pool.starmap(_client, [(port, body, seconds)] * clients)
    return [one for some in times for one in some], sum(len(some) for some in times) / seconds


def _client(port: int, body: bytes, seconds: float) -> list[float]:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    times = []
    end = time.perf_counter() + seconds
    while (began := time.perf_counter()) < end:
        connection.request("POST", "/rank", body, {"content-type": "application/json"})
        response = connection.getresponse()
        content = response.read()
        times.append(time.perf_counter() - began)
        if response.status != 200:
            raise RuntimeError(content.decode())
    return times


def summary(what: str, times: list[float], per_second: float) -> Iterator[dict[str, Any]]:
    percentiles = statistics.quantiles(times, n=100)
    yield figure(what, per_second, "requests/s")
    yield figure(f"{what}: p50", 1e3 * percentiles[49], "ms")
    yield figure(f"{what}: p99", 1e3 * percentiles[98], "ms")


def outcomes(n: int) -> dict[str, Counter[int]]:
    """How many malformed requests of each kind get which status, from the application without a network."""
    from rankwise.data.columns import ModelColumns
    from rankwise.rankers.models import LinearModel
    from rankwise.serving import Limits, make_app

    columns = ModelColumns(len(malformed.NAMES), 1, malformed.NAMES)
    model = LinearModel(kind="RankSVM", params={}, columns=columns, coef=np.ones(len(malformed.NAMES)))
    app = make_app(model, Limits(size=100_000, documents=100))
    counts: dict[str, Counter[int]] = {kind: Counter() for kind in malformed.KINDS}

    async def ask_all() -> None:
        for kind, sent in malformed.requests(n, seed=0):
            counts[kind][(await malformed.answer(app, sent))[0]] += 1

    asyncio.run(ask_all())
    return counts
