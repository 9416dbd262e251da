"""Run all benchmarks, or those named: every row measured in a fresh process, written to benchmarks/results/NAME.csv.

Results and page of those named go to build/bench. Under --quick sizes and repeats are small, and results and page go to
benchmarks/results/quick. `python -m benchmarks.report FOLDER` makes one page of the tables of several runs that were
copied into one folder.
"""

import argparse
import csv
import platform
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import report, solvers
from benchmarks.cases import BENCHMARKS, SLOW, Fit, Measure
from benchmarks.process import ROOT, StoppedError, fresh
from benchmarks.solvers.liblinear import PROGRAM
from benchmarks.where import commit, processor
from rankwise.foundation.texts import counted
from rankwise.foundation.threads import thread_count

DATA = ROOT.parent / "shared" / "data"
RESULTS = ROOT / "benchmarks" / "results"
PARTS = ROOT / "build" / "bench"  # of benchmarks that are named: the page in the repository is of all together
PACKAGES = ("rankwise", "numpy", "scipy", "numba", "scikit-learn", "scikit-survival", "dlib-bin", "liblinear-official")
PACKAGES += ("xgboost-cpu", "xgboost", "lightgbm", "rlscore", "skglm")
COLUMNS = ("case", "what", "solver", "ours", "phase", "tol", "size", "value", "unit", "best", "repeats", "threads")
COLUMNS += ("peak_mb", "extra_mb", "data_mb", "objective", "gradient_norm", "gap", "accuracy", "test_ndcg10", "note")
COLUMNS += ("goal", "reduced", "command", "machine", "cores", "versions")
BUDGET, QUICK_BUDGET = 120.0, 5.0  # seconds after which a solver begins no further tolerance
LIMIT, QUICK_LIMIT = 900.0, 60.0  # seconds after which a process is stopped; measurements may take thrice as long

Tell = Callable[[str], None]


def main(arguments: list[str] | None = None) -> int:
    """1 if a benchmark that was named, or every benchmark, could not be run; else 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="small sizes, few repeats: under five minutes")
    parser.add_argument("--data", metavar="DIR", default=str(DATA), help="folder of mq2007, mq2008, ohsumed and cadata")
    program = str(PROGRAM) if PROGRAM.exists() else None
    known = f"a `train` of LIBLINEAR's ranking extension, to compare; {PROGRAM.relative_to(ROOT.parent)} if it exists"
    parser.add_argument("--liblinear", metavar="PATH", default=program, help=known)
    parser.add_argument("--results", metavar="DIR", help="where tables and page go instead")
    parser.add_argument("--limit", metavar="S", type=float, help="seconds after which a process is stopped")
    parser.add_argument("--beside", metavar="TEXT", help="what else the machine does, told with every figure")
    options = parser.parse_args(arguments)
    options.limit = options.limit or (QUICK_LIMIT if options.quick else LIMIT)
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"{unknown[0]!r} is none of {', '.join(BENCHMARKS)}")
    folder = Path(options.results) if options.results else folder_for(options.names, options.quick)
    folder.mkdir(parents=True, exist_ok=True)
    usual = [name for name in BENCHMARKS if not (options.quick and name in SLOW)]
    chosen = options.names or usual
    failed = run(chosen, folder, options)
    page = report.write(folder)
    print(f"{page}: the table of targets, all times and the pictures")
    for name, reason in failed.items():
        print(f"{name} was not measured: {reason}", file=sys.stderr)
    return 1 if failed and (options.names or len(failed) == len(chosen)) else 0


def folder_for(names: list[str], quick: bool) -> Path:
    if names:
        return PARTS
    return RESULTS / "quick" if quick else RESULTS


def run(names: list[str], folder: Path, options: Any) -> dict[str, str]:
    """Writes a table per benchmark; returns why benchmarks have no measurement, by name."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    host = f"{processor()}, {options.beside}" if options.beside else processor()
    where = {"machine": host, "cores": thread_count(), "versions": versions()}
    look = (TextColumn("{task.fields[name]:<16}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    failed = {}
    with Progress(*look, TextColumn("{task.description}")) as bar:
        task = bar.add_task("", total=len(names), name="")
        for name in names:
            bar.update(task, name=name)
            begin = time.perf_counter()
            rows = list(rows_of(BENCHMARKS[name], options, lambda doing: bar.update(task, description=doing)))
            command = f"python -m benchmarks {name}{' --quick' if options.quick else ''}"
            write(folder / f"{name}.csv", [row | where | {"case": name, "command": command} for row in rows])
            if len(rows) == 1 and rows[0].get("note") and "value" not in rows[0]:
                failed[name] = rows[0]["note"]
            bar.console.print(f"{name}: {counted(len(rows), 'rows')} in {time.perf_counter() - begin:.0f} s")
            bar.advance(task)
    return failed


def rows_of(case: Fit | Measure, options: Any, tell: Tell) -> Iterator[dict[str, Any]]:
    """All rows of a benchmark; its data live as long as this takes."""
    with TemporaryDirectory(prefix="rankwise-bench-") as folder:
        known: dict[str, Any] = {"reduced": False}
        if case.data is not None:
            tell("making the data")
            given = {"case": case.name, "folder": folder, "quick": options.quick, "data": options.data}
            try:
                (known,) = fresh("benchmarks.fits:make_data", given, options.limit)
            except StoppedError as stop:
                known = {"note": str(stop)}
            if known.get("note"):
                yield known
                return
        if isinstance(case, Measure):
            yield from _measured(case, folder, known, options, tell)
        else:
            yield from _fitted(case, folder, known, options, tell)


def _measured(case: Measure, folder: str, known: dict[str, Any], options: Any, tell: Tell) -> Iterator[dict[str, Any]]:
    tell("measuring")
    reduced = known["reduced"] or (options.quick and case.shrinks)
    arguments = {"folder": folder, "quick": options.quick} | ({"liblinear": options.liblinear} if case.has_peer else {})
    try:
        rows = fresh(f"benchmarks.measures.{case.function}", arguments, 3 * options.limit)
    except StoppedError as stop:
        rows = [*stop.rows, {"what": case.name, "note": str(stop)}]
    yield from (row | {"reduced": reduced, "ours": row.get("solver") == "rankwise"} for row in rows)


def _fitted(case: Fit, folder: str, known: dict[str, Any], options: Any, tell: Tell) -> Iterator[dict[str, Any]]:
    if case.goal is not None:
        tell("the reference optimum")
        try:
            fresh("benchmarks.fits:make_reference", {"case": case.name, "folder": folder}, options.limit)
        except StoppedError as stop:
            yield known | {"what": "reference optimum", "note": str(stop)}
    common = known | {"what": known["what"] + case.problem, "goal": case.goal}
    for solver in case.solvers:
        tell(solver)
        given = {"case": case.name, "folder": folder, "solver": solver, "options": {"liblinear": options.liblinear}}
        for row in _solved(given, options.quick, options.limit):
            yield common | row


def _solved(given: dict[str, Any], quick: bool, limit: float) -> Iterator[dict[str, Any]]:
    """Cold, warm and hot rows of one solver, or the reason why there are none.

    A quick run keeps the kernels where they always are: its first fit, which may compile them, is not told.
    """
    solver = solvers.make(given["solver"])
    who = {"solver": solver.name, "ours": solver.ours}
    with TemporaryDirectory() as cache:
        kernels = {} if quick else {"NUMBA_CACHE_DIR": cache}
        timing = given | {"quick": quick, "budget": QUICK_BUDGET if quick else BUDGET}
        try:
            if solver.ours:
                (cold,) = fresh("benchmarks.fits:first_fit", given, limit, **kernels)
                if not quick:
                    yield who | cold | {"phase": "cold"}
            rows = fresh("benchmarks.fits:times", timing, limit, **kernels)
        except StoppedError as stop:
            rows = [*stop.rows, {"note": str(stop)}]
    yield from (who | row for row in _evaluated(given, rows, limit))


def _evaluated(given: dict[str, Any], rows: list[dict[str, Any]], limit: float) -> list[dict[str, Any]]:
    if not any("result" in row for row in rows):
        return rows
    try:
        return fresh(
            "benchmarks.fits:evaluated", {"case": given["case"], "folder": given["folder"], "rows": rows}, limit
        )
    except StoppedError as stop:
        return [*rows, {"note": f"not evaluated: {stop}"}]


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def versions() -> str:
    found = [f"Python {platform.python_version()}"]
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join([*found, f"commit {commit()}"])


if __name__ == "__main__":
    sys.exit(main())
