"""What it costs to stop near the optimum: a fit at the default tolerance over one by the papers' rule, in turns; and
how far above the optimum each of them stops.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.datasets import load
from benchmarks.measures import figure

REPEATS = 9


def stopping(folder: str, quick: bool) -> Iterator[dict[str, Any]]:
    shapes = {"MQ2008": lambda _: load(Path(folder))} | SHAPES
    ratios = []
    for name, make in shapes.items():
        data = make(np.random.default_rng(0))
        found = _in_turns(data, 2 if quick else REPEATS)
        ratios.append(found["gap"][0] / found["gradient"][0])
        yield figure(f"{name}: default over a small gradient", ratios[-1], "x")
        for rule, told in (("gap", "rankwise"), ("gradient", "stopping='gradient'")):
            yield figure(f"{name}: above the optimum", found[rule][1], "of it", told)
    yield figure("largest of these ratios", max(ratios), "x")


def _in_turns(data: Any, repeats: int) -> dict[str, tuple[float, float]]:
    """For each rule, the best of the times, and the distance to the optimum."""
    from rankwise import RankSVM

    warnings.simplefilter("ignore")  # where a rule does not end well, the distance says it
    best = RankSVM(C=1.0, tol=1e-10).fit(data.X, data.y, data.qid).result_.value
    times: dict[str, float] = {"gap": np.inf, "gradient": np.inf}
    values = {}
    for _ in range(repeats + 1):  # the first compiles
        for rule in times:
            began = time.perf_counter()
            result = RankSVM(C=1.0, stopping=rule).fit(data.X, data.y, data.qid).result_
            times[rule] = min(times[rule], time.perf_counter() - began)
            values[rule] = result.value
    return {rule: (times[rule], (values[rule] - best) / best) for rule in times}


class _Data:
    def __init__(self, X: Any, y: Any, qid: Any = None) -> None:
        self.X, self.y, self.qid = X, y, qid


def _graded(X: Any, rng: np.random.Generator, queries: int, noise: float = 2.0) -> _Data:
    """Three levels of a noisy linear score."""
    scores = X @ (rng.normal(size=X.shape[1]) / np.asarray(abs(X).mean(axis=0)).clip(1e-12))
    scores = scores / scores.std() + noise * rng.normal(size=X.shape[0])
    return _Data(X, np.digitize(scores, np.quantile(scores, [0.5, 0.8])), np.sort(rng.integers(0, queries, X.shape[0])))


def _unlike(rng: np.random.Generator) -> _Data:
    return _graded(rng.normal(size=(5000, 50)) * 10.0 ** rng.integers(-4, 5, 50), rng, 200)


def _sparse(rng: np.random.Generator) -> _Data:
    return _graded(sparse.random_array((10_000, 20_000), density=0.002, rng=rng, format="csr"), rng, 100)


def _distinct(rng: np.random.Generator) -> _Data:
    X = rng.normal(size=(50_000, 8))
    return _Data(X, X @ rng.normal(size=8) + rng.normal(size=50_000))


SHAPES: dict[str, Callable[[np.random.Generator], _Data]] = {
    "9,000 x 40": lambda rng: _graded(rng.normal(size=(9000, 40)), rng, 450),
    "5,000 x 50, scales from 1e-4 to 1e4": _unlike,
    "300 x 2,000": lambda rng: _graded(rng.normal(size=(300, 2000)), rng, 15),
    "2,000 x 100, heavy tails": lambda rng: _graded(np.exp(2 * rng.normal(size=(2000, 100))), rng, 100),
    "10,000 x 20,000 sparse": _sparse,
    "one query of 50,000 distinct labels": _distinct,
}
