"""What /metrics shows, in the text format of Prometheus: requests by status, documents, times, reloads.

The numbers of all workers are in memory that they share, one row per worker, so that each writes only its own row and
every worker can show the sum.
"""

import mmap
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from rankwise.foundation.arrays import Floats

PATHS = ("/rank", "/health", "/metrics", "/model", "other")
STATUS = (200, 400, 404, 405, 408, 413, 415, 422, 500)
REQUESTS = {(path, status): i for i, (path, status) in enumerate((path, status) for path in PATHS for status in STATUS)}
SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, float("inf"))
TIMES = len(REQUESTS)  # one per entry of SECONDS, then their sum
TOTAL_TIME = TIMES + len(SECONDS)
DOCUMENTS, RELOADS, FAILED_RELOADS = range(TOTAL_TIME + 1, TOTAL_TIME + 4)
SIZE = TOTAL_TIME + 4


def _shared(workers: int) -> Floats:
    return np.frombuffer(mmap.mmap(-1, 8 * SIZE * workers)).reshape(workers, SIZE)


@dataclass(frozen=True, eq=False)
class Counters:
    """Of one worker, `row`; processes forked after `all_rows` was made share it."""

    all_rows: Floats = field(default_factory=lambda: _shared(1))
    row: int = 0

    @classmethod
    def for_workers(cls, workers: int) -> Self:
        return cls(_shared(workers))

    def of_worker(self, row: int) -> Self:
        return replace(self, row=row)

    def add(self, which: int, amount: float = 1.0) -> None:
        self.all_rows[self.row, which] += amount

    def add_request(self, path: str, status: int, seconds: float) -> None:
        path = path if path in PATHS else PATHS[-1]
        self.add(REQUESTS[path, status if status in STATUS else 500])
        if path == "/rank" and status == 200:
            self.add(TIMES + bisect_left(SECONDS, seconds))
            self.add(TOTAL_TIME, seconds)

    def text(self) -> str:
        return "\n".join(_lines(self.all_rows.sum(axis=0).tolist())) + "\n"


def _lines(counts: list[float]) -> Iterator[str]:
    yield from _head("rankwise_requests_total", "counter", "Requests by path and status.")
    for (path, status), i in REQUESTS.items():
        if counts[i]:
            yield f'rankwise_requests_total{{path="{path}",status="{status}"}} {counts[i]:.0f}'
    for name, which, meaning in (
        ("rankwise_documents_total", DOCUMENTS, "Documents ranked."),
        ("rankwise_reloads_total", RELOADS, "New models loaded, by all workers together."),
        ("rankwise_failed_reloads_total", FAILED_RELOADS, "New model files that could not be loaded, likewise."),
    ):
        yield from _head(name, "counter", meaning)
        yield f"{name} {counts[which]:.0f}"
    name = "rankwise_rank_seconds"
    yield from _head(name, "histogram", "Time of answered requests to /rank, their arrival included.")
    within = 0.0
    for i, bound in enumerate(SECONDS):
        within += counts[TIMES + i]
        yield f'{name}_bucket{{le="{"+Inf" if bound == float("inf") else f"{bound:g}"}"}} {within:.0f}'
    yield f"{name}_sum {counts[TOTAL_TIME]:.6f}"
    yield f"{name}_count {within:.0f}"


def _head(name: str, kind: str, meaning: str) -> Iterator[str]:
    yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} {kind}"
