"""Problems drawn at random, each given to every solver: is "auto" near the best of them, and ahead of LIBLINEAR?

    python -m benchmarks.sweep --seed 7 --minutes 10     problems of that seed, for so long
    python -m benchmarks.sweep --seed 7 --only 12        one of them

Every solver's time is that of its fastest fit that reaches the same gap, (f - optimum) / f by one evaluator;
the optimum is the best value that anyone found. Rows go to benchmarks/results/sweep.csv, the laws are printed.
"""

import argparse
import csv
import itertools
import subprocess
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.objective import Objective
from benchmarks.process import ROOT
from benchmarks.solvers.liblinear import PROGRAM, train, write_text
from benchmarks.where import place

RESULT = ROOT / "benchmarks" / "results" / "sweep.csv"
COLUMNS = ("seed", "number", "problem", "loss", "C", "goal", "solver", "seconds", "gap", "tol", "note")
COLUMNS += ("commit", "machine")
SOLVERS = {
    "squared_hinge": ("auto", "newton", "newton-cg", "trust-region", "trust-region-diagonal", "trust-region-sampled"),
    "hinge": ("auto", "bundle", "dual"),
}
HINGE_GOAL = 1e-4  # of the law that compares it with the squared hinge
GOALS = {"squared_hinge": (1e-2, 1e-4, 1e-8), "hinge": (1e-2, HINGE_GOAL)}
TOLERANCES = 10.0 ** -np.arange(1.0, 11.0)
MOST_VALUES = 2e7  # numbers in X
MOST_WRITTEN = 5e6  # an explicit Hessian beyond this is not tried: d² numbers
LIBLINEAR, SQUARED = "liblinear", "auto, squared hinge"  # what "auto" is held against besides the other solvers
QUANTILES = (0, 5, 50, 95, 100)
BEHIND, AHEAD, HINGE = "auto / best solver", "LIBLINEAR / auto", "hinge / squared hinge"
LAWS = {  # what it says, and its bounds by quantile
    BEHIND: ("median at most 1.1, 95 % at most 1.5, worst at most 3", {50: 1.1, 95: 1.5, 100: 3.0}),
    AHEAD: ("least at least 1, median at least 5", {0: 1.0, 50: 5.0}),
    HINGE: ("at most 5 to a gap of 1e-4", {100: 5.0}),
}
LIMIT = 20.0  # seconds of one fit
ENOUGH = 0.3  # seconds of repeats


@dataclass(frozen=True)
class Problem:
    name: str
    X: Any
    y: Any
    qid: Any
    loss: str
    C: float
    goal: float


def draw(seed: int, number: int) -> Problem:
    """The problem of that number: size, columns, queries, levels, noise, loss and C, all at random."""
    rng = np.random.default_rng([seed, number])
    n, d = int(10 ** rng.uniform(2, 6)), int(10 ** rng.uniform(np.log10(2), np.log10(3000)))
    sparse = rng.random() < 0.3
    density = 10 ** rng.uniform(-3, -1) if sparse else 1.0
    if sparse:
        d = max(d, 100) * 10 ** rng.integers(0, 2)
        density = max(density, 3 / d)
    n = max(100, int(min(n, MOST_VALUES / (d * density))))
    kind = rng.choice(("normal", "heavy", "binary", "correlated", "offset", "scales"))
    X = _sparse(rng, n, d, density) if sparse else _dense(rng, n, d, kind)
    w = rng.standard_normal(d)
    signal = X @ (w / np.maximum(_spread(X), 1e-300))
    signal = (signal - signal.mean()) / (signal.std() or 1.0)
    noise = float(rng.choice((0.0, 0.1, 0.5, 1.0, 3.0, 30.0)))
    quality = signal + noise * rng.standard_normal(n)
    length = int(min(n, 10 ** rng.uniform(np.log10(5), 6))) if rng.random() < 0.8 else n
    qid = np.arange(n) // length
    levels = int(rng.choice((2, 3, 5, 50, n)))
    y = np.argsort(np.argsort(quality)) * levels // n
    loss = "hinge" if rng.random() < 0.3 else "squared_hinge"
    C = 10 ** rng.uniform(-3, 3) * _usual_C(X, y, qid)
    goal = float(rng.choice(GOALS[loss]))
    what = f"sparse {density:.2g}" if sparse else kind
    name = f"{n} x {d}, {what}, {qid[-1] + 1} queries, {levels} levels, noise {noise:g}"
    return Problem(name, X, y, qid, loss, C, goal)


def _dense(rng: Any, n: int, d: int, kind: str) -> Any:
    X = rng.standard_normal((n, d))
    if kind == "heavy":
        return X**3
    if kind == "binary":
        return (rng.uniform(-1, 2, d) < X).astype(float)
    if kind == "correlated":
        k = max(1, d // 4)
        return X[:, :k] @ rng.standard_normal((k, d)) + 0.01 * X
    if kind == "offset":
        return X + 10.0 ** rng.uniform(-1, 4, d)
    return X * 10.0 ** rng.uniform(-2, 2, d) if kind == "scales" else X


def _sparse(rng: Any, n: int, d: int, density: float) -> Any:
    """Rows of unit length whose features occur by Zipf's law, as words do."""
    from scipy.sparse import csr_array

    counts = np.minimum(rng.poisson(density * d, n) + 1, d)
    weights = 1.0 / np.arange(1, d + 1) ** 0.8
    columns = np.searchsorted(np.cumsum(weights) / weights.sum(), rng.random(counts.sum()))
    X = csr_array((rng.exponential(size=columns.size), columns, np.r_[0, np.cumsum(counts)]), shape=(n, d))
    X.sum_duplicates()
    X.data /= np.repeat(np.sqrt(X.power(2).sum(axis=1)), np.diff(X.indptr))
    return X


def _spread(X: Any) -> Any:
    """The standard deviation of every column."""
    if isinstance(X, np.ndarray):
        return X.std(axis=0)
    return np.sqrt(np.maximum(X.power(2).mean(axis=0) - X.mean(axis=0) ** 2, 1e-12))


def _usual_C(X: Any, y: Any, qid: Any) -> float:
    """The C at which penalty and pairs are in balance: one over the pairs, in units of X."""
    pairs = 0.5 * (_sum_of_squares(qid) - _sum_of_squares(qid * (int(y.max()) + 1) + y))
    return 30.0 / max(pairs, 1.0) / max(float(np.mean(_spread(X) ** 2)), 1e-12)


def _sum_of_squares(groups: Any) -> float:
    return float(np.sum(np.unique(groups, return_counts=True)[1].astype(float) ** 2))


@dataclass(frozen=True)
class Run:
    """One solver at one tolerance."""

    solver: str
    tol: float
    seconds: float
    value: float
    note: str = ""


def measure(problem: Problem, liblinear: str | None) -> list[dict[str, Any]]:
    """A row for every solver: the least seconds in which it came within the goal, and how near it came if it did not.

    The optimum is the best value of all runs; tolerances are tightened until the goal is met by what is known then, and
    judged again at the end.
    """
    evaluator = Objective(problem.X, problem.y, problem.qid, problem.loss, problem.C).problem()
    runs: list[Run] = []
    for solver in _solvers(problem):
        runs += _ladder(problem, evaluator, lambda tol, solver=solver: _fit(problem, solver, tol), solver, runs)
    if liblinear and problem.loss == "squared_hinge" and problem.X.size * _density(problem.X) <= MOST_VALUES / 2:
        with TemporaryDirectory() as folder:
            peer = _Liblinear(liblinear, problem, Path(folder))
            runs += _ladder(problem, evaluator, peer, LIBLINEAR, runs)
    optimum = min(run.value for run in runs)
    rows = [
        _row(problem, solver, list(group), optimum) for solver, group in itertools.groupby(runs, lambda run: run.solver)
    ]
    return [*rows, _squared(problem)] if problem.loss == "hinge" and problem.goal == HINGE_GOAL else rows


def _squared(problem: Problem) -> dict[str, Any]:
    """The same problem with the squared hinge: what the hinge may take a few times as long as."""
    squared = replace(problem, loss="squared_hinge")
    evaluator = Objective(squared.X, squared.y, squared.qid, squared.loss, squared.C).problem()
    runs = list(_ladder(squared, evaluator, lambda tol: _fit(squared, "auto", tol), SQUARED, []))
    return _row(squared, SQUARED, runs, min(run.value for run in runs))


def _solvers(problem: Problem) -> Iterator[str]:
    for solver in SOLVERS[problem.loss]:
        if solver not in ("newton", "trust-region-sampled") or problem.X.shape[1] ** 2 <= MOST_WRITTEN:
            yield solver


def _ladder(problem: Problem, evaluator: Any, fit: Any, solver: str, runs: list[Run]) -> Iterator[Run]:
    """Runs at tighter and tighter tolerances until the goal is met; each timed as the best of a few."""
    least = min((run.value for run in runs), default=np.inf)
    for tol in TOLERANCES[0.01 * problem.goal <= TOLERANCES]:
        spent: list[float] = []
        note = ""
        while not spent or (sum(spent) < ENOUGH and len(spent) < 5):
            seconds, w, note = fit(tol)
            spent.append(seconds)
        value = float(evaluator.at(np.asarray(w, np.float64)).value)
        yield Run(solver, float(tol), min(spent), value, note)
        if min(spent) >= LIMIT or (np.isfinite(least) and value - least <= 0.5 * problem.goal * value):
            break


def _fit(problem: Problem, solver: str, tol: float) -> tuple[float, Any, str]:
    from rankwise import RankSVM

    began = time.perf_counter()

    def too_late(step: Any) -> bool:
        return time.perf_counter() - began > LIMIT

    ranker = RankSVM(C=problem.C, loss=problem.loss, solver=solver, tol=tol, max_iter=100_000, callback=too_late)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the gap tells
        try:
            ranker.fit(problem.X, problem.y, qid=problem.qid)
        except ValueError as reason:  # the dual lists pairs, and there may be too many of them
            return LIMIT, np.zeros(problem.X.shape[1]), str(reason)
    return time.perf_counter() - began, ranker.coef_, ranker.result_.message


class _Liblinear:
    """Its training alone, by the seconds it reports; reading the text is not counted."""

    def __init__(self, program: str, problem: Problem, folder: Path) -> None:
        self.program, self.problem, self.text = program, problem, folder / "train.txt"
        write_text(self.text, problem.X, problem.y, problem.qid)

    def __call__(self, tol: float) -> tuple[float, Any, str]:
        try:
            w, seconds = train(self.program, self.text, self.problem, repr(float(tol)), 2 * LIMIT)
        except subprocess.TimeoutExpired:
            return 2 * LIMIT, np.zeros(self.problem.X.shape[1]), "over the time limit"
        if seconds is None:
            raise SystemExit(f"{self.program} does not report the seconds of its training (TRAIN, on standard error)")
        return seconds, w, ""


def _density(X: Any) -> float:
    return 1.0 if isinstance(X, np.ndarray) else X.nnz / X.shape[0] / X.shape[1]


def _row(problem: Problem, solver: str, runs: list[Run], optimum: float) -> dict[str, Any]:
    gaps = [(run.value - optimum) / max(abs(run.value), 1e-300) for run in runs]
    met = [run for run, gap in zip(runs, gaps, strict=True) if gap <= problem.goal]
    best = min(met, key=lambda run: run.seconds) if met else runs[int(np.argmin(gaps))]
    gap = gaps[runs.index(best)]
    known = {"problem": problem.name, "loss": problem.loss, "C": f"{problem.C:.3g}", "goal": problem.goal}
    seconds = round(best.seconds, 6) if met else ""
    return known | {"solver": solver, "seconds": seconds, "gap": f"{gap:.2g}", "tol": best.tol, "note": best.note}


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a file that main() wrote."""
    with path.open(newline="") as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file))
    for row in rows:
        row |= {"goal": float(row["goal"]), "seconds": float(row["seconds"]) if row["seconds"] else ""}
    return rows


def summary(rows: list[dict[str, Any]]) -> str:
    """The laws over all problems, and the problems nearest to breaking each, in Markdown."""
    ratios: dict[str, list[tuple[float, str]]] = {law: [] for law in LAWS}
    missed = []
    problems = [list(group) for _, group in itertools.groupby(rows, lambda row: (row.get("seed"), row["number"]))]
    for group in problems:
        times = {row["solver"]: row["seconds"] for row in group if row["seconds"] != ""}
        auto = next(row for row in group if row["solver"] == "auto")
        what = f"{auto['number']}: {auto['problem']}, {auto['loss']}, C {auto['C']}, goal {auto['goal']:g}"
        if "auto" not in times:
            missed.append(f"* {what}: ended at {auto['gap']} ({auto['note']}); others {times}")
            continue
        best = min(times.keys() - {LIBLINEAR, SQUARED}, key=lambda solver: times[solver])
        seconds = times["auto"]
        for law, other in ((BEHIND, best), (AHEAD, LIBLINEAR), (HINGE, SQUARED)):
            if other in times:
                ratio = times[other] / seconds if law == AHEAD else seconds / times[other]
                ratios[law].append((ratio, f"{what}: {seconds:.4g} s, {other} {times[other]:.4g} s"))
    lines = [f"{len(problems)} problems; auto missed the gap in {len(missed)}.", ""]
    lines += [
        f"| ratio of times | {' | '.join(f'{q} %' for q in QUANTILES)} | law | |",
        "|---" * (len(QUANTILES) + 3) + "|",
    ]
    lines += [_judged(law, [ratio for ratio, _ in found]) for law, found in ratios.items()]
    for law, found in ratios.items():
        worst = sorted(found, reverse=law != AHEAD)[:10]
        lines += ["", f"The worst of {law}:", "", *(f"* {ratio:.3g}, {what}" for ratio, what in worst)] if worst else []
    return "\n".join([*lines, *(["", "Not reached:", "", *missed] if missed else [])])


def _judged(law: str, ratios: list[float]) -> str:
    """The law's line of the table: the quantiles of its ratios, and whether its bounds hold."""
    words, bounds = LAWS[law]
    if not ratios:
        return f"| {law} |{' |' * len(QUANTILES)} {words} | not measured |"
    values = {q: float(np.percentile(ratios, q)) for q in QUANTILES}
    holds = all(values[q] >= bound if law == AHEAD else values[q] <= bound for q, bound in bounds.items())
    cells = " | ".join(f"{value:.3g}" for value in values.values())
    return f"| {law} | {cells} | {words} | {'met' if holds else '**missed**'} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sweep", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--only", type=int, nargs="+", metavar="NUMBER")
    parser.add_argument("--first", type=int, default=0, metavar="NUMBER", help="where to begin, for several at a time")
    parser.add_argument("--liblinear", metavar="PATH", default=str(PROGRAM) if PROGRAM.exists() else None)
    parser.add_argument("--result", type=Path, default=RESULT)
    options = parser.parse_args()
    warm_up()
    until, rows, here = time.time() + 60 * options.minutes, [], place()
    for number in options.only or itertools.count(options.first):
        if time.time() > until:
            break
        problem = draw(options.seed, number)
        for row in measure(problem, options.liblinear):
            rows.append({"seed": options.seed, "number": number} | row | here)
            if options.only:
                print(row)
        with options.result.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
    print(summary(rows))


def warm_up() -> None:
    """Kernels are loaded before anything is timed."""
    rng = np.random.default_rng(0)
    for loss, solvers in SOLVERS.items():
        for solver in solvers:
            for X in (rng.standard_normal((200, 3)), _sparse(rng, 200, 50, 0.1)):
                _fit(Problem("", X, rng.integers(0, 3, 200), np.arange(200) // 20, loss, 0.01, 0.0), solver, 1e-2)


if __name__ == "__main__":
    main()
