"""How the time of one evaluation grows with the documents l and the levels k, for ours and the papers' pair schemes.

An evaluation is what a Newton step asks of new scores: value, gradient and one Hessian product of the squared hinge, on
one thread, one query. A scheme stops where its pairs exceed the memory, or where one evaluation would take too long.
Steps of "sgd" on sparse rows should cost what the rows store, whatever the number of features.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.measures import OURS

DOCUMENTS = [round(10 ** (e / 2)) for e in range(6, 13)]  # 10^3 to 10^6
LEVELS = [2, 10, 100, 1_000, 10_000, 100_000]
AT_LEVELS = 100_000  # documents of the second curve
SCHEMES = ("explicit", "by-level", "red-black-tree", "score-red-black-tree", "selection-tree", "avl-tree", "aa-tree")
LIMIT, QUICK_LIMIT = 20.0, 0.5  # seconds of one evaluation
REPEATS, ENOUGH = 9, 0.4


def growth(folder: str, quick: bool) -> Iterator[dict[str, Any]]:
    at = 10_000 if quick else AT_LEVELS
    sizes = [n for n in DOCUMENTS if not quick or n <= 100_000]
    levels = [k for k in LEVELS if k <= at]
    limit = QUICK_LIMIT if quick else LIMIT
    for scheme in ("auto", "red-black-tree") if quick else ("auto", *SCHEMES):
        yield from _curve("documents", scheme, sizes, lambda n: _problem(n, None), limit)
        if scheme != "explicit":  # 20 GB of pairs already at two levels
            yield from _curve(f"levels of {at:,} documents", scheme, levels, lambda k: _problem(at, k), limit)
    few, many = (min(_seconds(_epoch(n_features))) for n_features in (10_000, 1_000_000))
    what = "an epoch of sgd on sparse rows: 1,000,000 features over 10,000"
    yield {"what": what, "solver": OURS, "value": many / few, "unit": "x"}


def _curve(across: str, scheme: str, sizes: list[int], problem: Callable[[int], Any], limit: float) -> Any:
    name = OURS if scheme == "auto" else scheme
    times: dict[int, float] = {}
    _evaluation(scheme, _problem(100, None))()  # compile
    for size in sizes:
        if _expected(times, size) > limit:
            return
        try:
            evaluate = _evaluation(scheme, problem(size))
        except (ValueError, MemoryError) as refusal:
            yield {"what": f"growth with {across}", "solver": name, "size": size, "note": str(refusal)}
            return
        seconds = list(_seconds(evaluate))
        times[size] = min(seconds)
        found = {"value": float(np.median(seconds)), "best": times[size], "repeats": len(seconds)}
        yield {"what": f"growth with {across}", "solver": name, "size": size, "unit": "s", "threads": 1, **found}
    if len(times) > 2:
        exponent = np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)[0]
        yield {"what": f"exponent in {across}", "solver": name, "value": float(exponent), "unit": "exponent"}


def _problem(n: int, n_levels: int | None) -> tuple[Any, Any, Any]:
    """Labels, scores that know something of them, and a direction."""
    rng = np.random.default_rng(n)
    value = rng.normal(size=n)
    labels = value if n_levels is None else np.argsort(np.argsort(value)) * n_levels // n
    return labels, 1.5 * value + rng.normal(size=n), rng.normal(size=n)


def _evaluation(scheme: str, problem: tuple[Any, Any, Any]) -> Callable[[], Any]:
    from rankwise import Preferences
    from rankwise.objective import losses
    from rankwise.objective.risks import PairwiseRisk

    labels, scores, direction = problem
    risk = PairwiseRisk(Preferences(labels, scheme=scheme, n_jobs=1), losses.parse("squared_hinge"))
    return lambda: risk.at(scores).hessian(direction)


def _epoch(n_features: int) -> Callable[[], Any]:
    from scipy import sparse

    from rankwise.objective import losses
    from rankwise.objective.building import build
    from rankwise.solvers.stochastic import StochasticState, Walk
    from rankwise.solvers.stochastic_draws import Pairs

    rng, n, stored = np.random.default_rng(0), 30_000, 20
    places = rng.integers(0, n_features, n * stored), np.arange(n + 1) * stored
    X = sparse.csr_array((rng.normal(size=n * stored), *places), shape=(n, n_features))
    problem = build(X, rng.normal(size=n), loss=losses.hinge(), C=1.0)
    walk = Walk(StochasticState.at(np.zeros(n_features)), Pairs(problem), 0)
    walk.epoch()  # compile
    return walk.epoch


def _expected(times: dict[int, float], size: int) -> float:
    """The seconds that the last two sizes foretell."""
    if len(times) < 2:
        return 0.0
    (before, least), (last, most) = list(times.items())[-2:]
    rate = np.log(most / least) / np.log(last / before)
    return float(most * (size / last) ** max(rate, 0.0))


def _seconds(work: Callable[[], Any]) -> Iterator[float]:
    """The thread's own seconds: others may share the machine."""
    spent = count = 0.0
    while spent < ENOUGH and count < REPEATS:
        begin = time.thread_time()
        work()
        seconds = time.thread_time() - begin
        spent, count = spent + seconds, count + 1
        yield seconds
