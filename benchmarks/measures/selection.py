"""Choosing the solver and choosing C: RankSVM() over 26 values of C, beside solver="newton", and RankSVMCV over them.

`heavy` has cubes of normals in columns of scales from 10^-2 to 10^2, where a solver chosen by shape alone was a hundred
times too slow; `separable` has little noise, where a large C takes most of the time.
"""

import time
import warnings
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.measures import OURS, figure, row
from benchmarks.process import repeated
from benchmarks.solvers.ours import C_VALUES

REPEATS = 5


def selection(folder: str, quick: bool) -> Iterator[dict[str, Any]]:
    from rankwise import RankSVM, RankSVMCV

    warnings.simplefilter("ignore")  # of convergence, and of a choice at the end of the grid
    sizes = (600, 60, 40) if quick else (3_000, 300, 200)
    name = f"{sizes[0]:,} x {sizes[1]}"
    heavy, separable = heavy_tailed(*sizes), _separable(*sizes)
    RankSVM().fit(heavy.X, heavy.y, heavy.qid)  # imports and kernels
    ratios, above = zip(*(_compared(heavy, C, 1 if quick else REPEATS) for C in C_VALUES), strict=True)
    worst = int(np.argmax(ratios))
    yield figure(
        "auto over newton, largest of 26 C", ratios[worst], "x", note=f"{name}, heavy tails; C = {C_VALUES[worst]:g}"
    )
    yield figure("auto over newton, median of 26 C", float(np.median(ratios)), "x", note=f"{name}, heavy tails")
    yield figure("objective of auto above newton's, largest of 26 C", max(above), "relative", note=name)
    for kind, data in (("heavy tails", heavy), ("nearly separable", separable)):
        chosen = partial(RankSVMCV(Cs=C_VALUES, cv=5).fit, data.X, data.y, data.qid)
        timed = repeated(chosen, 1 if quick else 3, 10.0)
        yield row(f"RankSVMCV, 26 C x 5 folds, {kind}", OURS, timed, note=name)


def _compared(data: Any, C: float, repeats: int) -> tuple[float, float]:
    """The best times of the two, in turns: their ratio, and how far "auto" ends above the other."""
    from rankwise import RankSVM

    seconds = {"auto": np.inf, "newton": np.inf}
    values = {}
    for _ in range(repeats):
        for solver in seconds:
            begin = time.perf_counter()
            result = RankSVM(C=C, solver=solver).fit(data.X, data.y, data.qid).result_
            seconds[solver] = min(seconds[solver], time.perf_counter() - begin)
            values[solver] = result.value
    return seconds["auto"] / seconds["newton"], values["auto"] / values["newton"] - 1


def heavy_tailed(n: int, d: int, n_queries: int) -> Any:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) ** 3
    return _graded(rng, X * 10.0 ** rng.uniform(-2, 2, d), X @ rng.standard_normal(d), 1.0, n_queries)


def _separable(n: int, d: int, n_queries: int) -> Any:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, d))
    return _graded(rng, X, X @ rng.standard_normal(d), 0.02, n_queries)


def _graded(rng: Any, X: Any, signal: Any, noise: float, n_queries: int) -> Any:
    """Three levels of the signal and noise, the noise in units of the signal."""
    quality = signal / signal.std() + noise * rng.standard_normal(len(signal))
    y = np.digitize(quality, np.quantile(quality, (0.5, 0.8)))
    return SimpleNamespace(X=X, y=y, qid=np.arange(len(y)) * n_queries // len(y))
