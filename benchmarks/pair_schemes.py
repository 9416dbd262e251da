"""The papers' ways to sum over pairs, and ours: seconds of one evaluation against documents and against levels.

`python -m benchmarks pair_schemes` prints the rows and writes pair_schemes.csv and .png under benchmarks/results;
`python -m benchmarks.pair_schemes` shows the small sizes only. An evaluation is what a Newton step asks of new scores:
value, gradient and one Hessian product of the squared hinge, on one thread. Labels are real numbers as cadata's house
values are, all in one query. A scheme stops where its pairs exceed the memory at hand, or where one evaluation would
last longer than LIMIT. Seconds are the thread's own, the best of a few.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import row
from rankwise import Preferences
from rankwise.losses import squared_hinge
from rankwise.pairs.schemes import SCHEMES
from rankwise.risk import PairwiseRisk

DOCUMENTS = [round(10 ** (e / 2)) for e in range(6, 13)]  # 10^3 to 10^6
LEVELS = [2, 10, 100, 1_000, 10_000, 100_000]
AT_LEVELS = 100_000  # documents of the second table
QUICK = 10_000
LIMIT, ENOUGH = 20.0, 0.4  # seconds: of one evaluation, and of all repeats of it
ASYMPTOTIC = 10_000  # growth is fitted from here on, where fixed costs no longer count
NAMES = [name for name in SCHEMES if name != "compiled"]  # which is "auto"
PEER = "red-black-tree"
PICTURE = Path(__file__).parent / "results" / "pair_schemes.png"

Times = dict[str, dict[int, float]]  # scheme -> size -> seconds


def main(quick: bool = False) -> list[dict[str, Any]]:
    sizes = [n for n in DOCUMENTS if n <= QUICK] if quick else DOCUMENTS
    at = QUICK if quick else AT_LEVELS
    listless = [name for name in NAMES if name != "explicit"]  # 20 GB of pairs already at two levels
    by_size = _measure(NAMES, sizes, lambda n: _problem(n, None))
    by_levels = _measure(listless, [k for k in LEVELS if k <= at], lambda k: _problem(at, k))
    rows = [
        *_rows(by_size, "{:,} documents, all labels distinct"),
        *_rows(by_levels, f"{at:,} documents, {{:,}} levels"),
    ]
    for name, times in by_size.items():
        large = [n for n in times if n >= ASYMPTOTIC]
        if len(large) > 1:
            exponent = np.polyfit(np.log(large), np.log([times[n] for n in large]), 1)[0]
            what = f"{name}: growth from {large[0]:,} to {large[-1]:,} documents"
            rows.append(row(what, float(exponent), "exponent"))
    if not quick:
        _draw(by_size, by_levels, at)
    return rows


def _problem(n: int, n_levels: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, scores that know something of them, and a direction."""
    random = np.random.default_rng(n)
    value = random.normal(size=n)
    labels = value if n_levels is None else np.argsort(np.argsort(value)) * n_levels // n
    return labels, 1.5 * value + random.normal(size=n), random.normal(size=n)


def _measure(names: list[str], sizes: list[int], problem: Callable[[int], Any]) -> Times:
    times: Times = {name: {} for name in names}
    for name in names:
        _evaluation(name, _problem(100, None))()  # compile
        for size in sizes:
            try:
                evaluate = _evaluation(name, problem(size))
            except ValueError as refusal:
                print(f"  {name} stops before {size:,}: {refusal}")
                break
            expected = _expected(times[name], size)
            if expected > LIMIT:
                print(f"  {name} stops before {size:,}: one evaluation would take some {expected:.0f} s")
                break
            times[name][size] = min(_seconds(evaluate))
    return times


def _evaluation(name: str, problem: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Callable[[], Any]:
    labels, scores, direction = problem
    risk = PairwiseRisk(Preferences(labels, engine=name, n_jobs=1), squared_hinge())
    return lambda: risk.at(scores).hessian(direction)


def _expected(times: dict[int, float], size: int) -> float:
    """The seconds that the last two sizes foretell."""
    if len(times) < 2:
        return 0.0
    (before, least), (last, most) = list(times.items())[-2:]
    growth = np.log(most / least) / np.log(last / before)
    return float(most * (size / last) ** max(growth, 0.0))


def _seconds(work: Callable[[], Any]) -> Iterator[float]:
    spent = 0.0
    while spent < ENOUGH:
        begin = time.thread_time()
        work()
        seconds = time.thread_time() - begin
        spent += seconds
        yield seconds


def _rows(times: Times, case: str) -> list[dict[str, Any]]:
    rows = []
    for name, of_scheme in times.items():
        for size, seconds in of_scheme.items():
            against = times[PEER].get(size) if name == "auto" else None
            ratio = None if against is None else against / seconds
            rows.append(row(f"{name}: {case.format(size)}", seconds, "s", PEER if ratio else "", ratio))
    return rows


def _draw(by_size: Times, by_levels: Times, at: int) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print(f"  no picture: {PICTURE.name} needs matplotlib (pip install matplotlib)")
        return
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    cases = ((by_size, "documents, all labels distinct"), (by_levels, f"levels of {at:,} documents"))
    for axes, (times, across) in zip(figure.subplots(1, 2), cases, strict=True):
        for place, name in enumerate(NAMES):
            if times.get(name):
                sizes, seconds = zip(*times[name].items(), strict=True)
                style = {"linewidth": 2.6, "color": "black"} if name == "auto" else {"color": f"C{place}"}
                axes.loglog(sizes, seconds, marker="o", markersize=3.5, label=name, **style)
        axes.set_xlabel(across)
        axes.set_ylabel("seconds of one evaluation, one thread")
        axes.grid(alpha=0.3)
    figure.axes[0].legend(fontsize=8)
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=150)


if __name__ == "__main__":
    for one in main(quick=True):
        print(f"{one['value']:10.4g} {one['unit']:8}  {one['name']}")
