"""What the benchmarks share: timing, rows, peers that may be missing, and data of the usual shapes."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rankwise import RankingData, make_ranking, read_letor

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def best_of(repeats: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest of `repeats` runs in seconds, and what the last one returned."""
    seconds, outcome = float("inf"), None
    for _ in range(repeats):
        begin = time.perf_counter()
        outcome = work()
        seconds = min(seconds, time.perf_counter() - begin)
    return seconds, outcome


def seconds(work: Callable[[], Any], repeats: int = 15) -> float:
    """The best of `repeats` runs: others share the machine."""
    return best_of(repeats, work)[0]


def timed(name: str, value: float, peer: str = "", peer_value: float | None = None) -> dict[str, Any]:
    """A row in seconds, beside the peer's seconds."""
    return row(name, value, "s", peer, None if peer_value is None else peer_value / value)


def row(name: str, value: float, unit: str, peer: str = "", ratio: float | None = None) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "peer": peer, "ratio": ratio}


def letor(name: str, *parts: int) -> RankingData:
    """Parts of a LETOR set where it lies beside the checkout, else synthetic data of its shape."""
    if DATA.is_dir():
        return read_letor([DATA / name / f"S{part}.txt.xz" for part in parts], dense=True)
    n_queries, documents = {"mq2007": (1017, 41), "mq2008": (471, 20)}[name]
    return make_ranking(n_queries, documents, 46, n_levels=3, random_state=0)


def listed_pairs(data: RankingData) -> tuple[np.ndarray, np.ndarray]:
    """x_i - x_j for every preference pair, half of them turned round, and the signs: what a classifier is given."""
    from rankwise import Preferences
    from rankwise.pairs.explicit import list_pairs

    better, worse = list_pairs(Preferences(data.y, data.qid).layout)
    signs = np.where(np.arange(better.size) % 2, 1.0, -1.0)
    return (data.X[better] - data.X[worse]) * signs[:, None], signs
