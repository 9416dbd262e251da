"""What signs and few features cost: seconds of a fit with the penalty over those of a fit without, in turns.

Both have the same loss, C and tol. On the smallest data skglm is timed too, on the listed pairs; its tolerance is made
smaller until its value is within `TOL` of ours.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import solvers
from benchmarks.datasets import load
from benchmarks.datasets.synthetic import Plain, Sparse
from benchmarks.measures import OURS, figure, row
from benchmarks.measures.selection import heavy_tailed
from benchmarks.process import repeated
from benchmarks.solvers.listed_pairs import list_pairs

REPEATS, TOL = 7, 1e-3
BOTH = ("squared_hinge", "hinge")


class Shape(NamedTuple):
    """Data, by whether they are to be small, the losses and C."""

    get_data: Callable[[bool], Any]
    losses: tuple[str, ...] = BOTH
    C: float | str = "auto"


def shapes(folder: Path) -> dict[str, Shape]:
    """The hinge takes minutes on the sparse ones without any penalty, and "auto" leaves no feature there."""
    wide = {False: Sparse(20_000, 30_000, 45, 100), True: Sparse(2_000, 3_500, 45, 100)}
    return {
        "9,000 x 40": Shape(lambda quick: Plain(900 if quick else 9_000, 40).get_data(None)),
        "MQ2008": Shape(lambda quick: load(folder)),
        "3,000 x 300, heavy tails": Shape(lambda quick: heavy_tailed(*((600, 60, 40) if quick else (3_000, 300, 200)))),
        "sparse 20,000 x 30,000": Shape(lambda quick: wide[quick].get_data(None), ("squared_hinge",), 0.3),
    }


def penalties(folder: str, quick: bool) -> Iterator[dict[str, Any]]:
    warnings.simplefilter("ignore")  # a fit that does not converge is told in its note
    for number, (name, shape) in enumerate(shapes(Path(folder)).items()):
        data = shape.get_data(quick)
        ratios = []
        for loss in shape.losses:
            for figures in compared(data, loss, shape.C, 1 if quick else REPEATS):
                ratios.append(figures["value"])
                yield figures | {"what": f"{name}, {loss.replace('_', ' ')}: {figures['what']}"}
        yield figure(f"{name}: largest of these ratios", max(ratios), "x")
        if number == 0:
            yield from beside_skglm(data, name, 1 if quick else REPEATS)


def compared(data: Any, loss: str, C: float | str, repeats: int) -> Iterator[dict[str, Any]]:
    """For each penalty, the ratio of the best times."""
    from rankwise import RankSVM

    plain = RankSVM(C=C, loss=loss, tol=TOL)
    options = options_for(plain.fit(data.X, data.y, data.qid).coef_)
    rankers = [plain, *(RankSVM(C=C, loss=loss, tol=TOL, **one) for one in options.values())]
    seconds = np.full(len(rankers), np.inf)
    for _ in range(repeats):
        for i, ranker in enumerate(rankers):
            began = time.perf_counter()
            ranker.fit(data.X, data.y, data.qid)
            seconds[i] = min(seconds[i], time.perf_counter() - began)
    for name, ranker, ratio in zip(options, rankers[1:], seconds[1:] / seconds[0], strict=True):
        kept, ended = int((ranker.coef_ != 0).sum()), "" if ranker.result_.converged else "; did not converge"
        yield figure(f"{name}, over no penalty", ratio, "x", note=f"{kept} of {ranker.coef_.size} weights kept{ended}")


def options_for(w: Any) -> dict[str, dict[str, Any]]:
    """The penalties, as options of `RankSVM`, where w are the weights without one."""
    random = np.random.default_rng(0).choice((-1, 1), w.size)
    return {
        "no weight negative": {"monotonic_cst": np.ones(w.size, int)},
        "signs that hold anyway": {"monotonic_cst": np.sign(w).astype(int)},
        "random signs": {"monotonic_cst": random},
        "L1": {"l1_ratio": 1.0},
        "elastic net": {"l1_ratio": 0.5},
    }


def beside_skglm(data: Any, name: str, repeats: int) -> Iterator[dict[str, Any]]:
    """Seconds of both; listing the pairs is not timed."""
    from rankwise import RankSVM

    better, worse = list_pairs(data.y, data.qid)
    differences = np.asfortranarray(data.X[better] - data.X[worse])
    for kind, l1_ratio, positive in (
        ("no weight negative", 0.0, True),
        ("L1", 1.0, False),
        ("elastic net", 0.5, False),
    ):
        signs = np.ones(data.X.shape[1], int) if positive else None
        ranker = RankSVM(tol=TOL, monotonic_cst=signs, l1_ratio=l1_ratio)
        what = f"{name}, squared hinge: {kind}"
        yield row(what, OURS, repeated(partial(ranker.fit, data.X, data.y, data.qid), repeats))
        if find_spec("skglm") is None:
            yield {"what": what, "solver": "skglm", "note": solvers.Solver.advice}
            continue
        from benchmarks.solvers.skglm_pairs import solve

        def value(w: Any, C: float = ranker.C_, l1_ratio: float = l1_ratio) -> float:
            penalty = l1_ratio * np.abs(w).sum() + 0.5 * (1.0 - l1_ratio) * w @ w
            return float(penalty + C * (np.maximum(1.0 - differences @ w, 0.0) ** 2).sum())

        enough = ranker.result_.value * (1.0 + TOL)
        run = partial(solve, differences, ranker.C_, l1_ratio, positive)
        tol = next((tol for tol in 10.0 ** -np.arange(8) if value(run(tol)) <= enough), None)
        if tol is None:
            yield {"what": what, "solver": "skglm", "note": f"not within {TOL:g} of our value"}
        else:
            yield row(what, "skglm", repeated(partial(run, tol), repeats), note=f"on listed pairs, tol {tol:g}")
