"""Run the experiments named, or all on the data at hand: python -m experiments [NAME ...] --data FOLDER [--quick]

python -m experiments data says which data these are, where they are published, and whether a folder holds them.
"""

import argparse
import hashlib
import shlex
import signal
import sys
import time
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from experiments import data_page, pages, registry, sources
from experiments.sources import DIFFERS, MISSING, Finding
from experiments.units import Cache, Unit, UnitError, Worker, in_lanes
from rankwise.foundation.threads import thread_count

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "experiments" / "results"
BUILD = ROOT / "build" / "experiments"  # git ignores build/
DATA = ROOT.parent / "shared" / "data"
QUICK = "A quick run: it shows that the experiment works, and is no result."


def main() -> int:
    if sys.argv[1:2] == ["data"]:
        return data_page.main(sys.argv[2:], DATA)
    options = _arguments()
    console = Console(stderr=True)
    chosen, differing = _at_hand(options, console)
    _choose_folders(options, differing)
    cache = Cache(options.cache)
    work = {name: module.units(options.quick) for name, module in chosen.items()}
    if options.fresh:
        for unit in chain.from_iterable(work.values()):
            cache.forget(unit)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    late: set[Path] = set()
    written = 0
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("", total=sum(map(len, work.values())))
        for name, module in chosen.items():

            def work_off(unit: Unit, worker: Worker, name: str = name) -> None:
                progress.update(bar, description=f"{name}: {unit.name}")
                _work_off(unit, worker, cache, late)
                progress.advance(bar)

            began = time.perf_counter()
            try:
                for timed, lanes in ((True, 1), (False, thread_count())):
                    units = [unit for unit in work[name] if unit.timed == timed]
                    in_lanes(units, lanes, options.data, options.patience, work_off)
            except UnitError as error:  # the others go on: they may have taken an hour
                console.print(f"{name}: {error}", markup=False)
                continue
            found = {unit.name: cache.load(unit) if unit in cache else None for unit in work[name]}
            notes = [*_notes(module, options.quick, differing), *_left_out(found)]
            pages.write(name, module.TITLE, module.report(found), options.out, notes)
            written += 1
            console.print(f"{name}: {len(work[name])} units in {time.perf_counter() - began:.0f} s", markup=False)
    console.print(f"{written} of {len(chosen)} experiments written to {options.out}")
    return 0 if written == len(chosen) > 0 else 1


def _at_hand(options: argparse.Namespace, console: Console) -> tuple[dict[str, ModuleType], list[Finding]]:
    """The requested experiments whose data are available, and the files among these data that differ from ours."""
    wanted = {name: registry.load(name) for name in options.names or registry.names()}
    needed = dict.fromkeys(chain.from_iterable(_needs(module, options.quick) for module in wanted.values()))
    findings = {name: sources.check(options.data, sources.datasets()[name]) for name in needed}
    missing = [name for name, files in findings.items() if any(one.state == MISSING for one in files)]
    chosen = {}
    for name, module in wanted.items():
        lacking = [folder for folder in _needs(module, options.quick) if folder in missing]
        if lacking:
            console.print(f"{name} is skipped: it needs {', '.join(lacking)} in {options.data} (--data)", markup=False)
        else:
            chosen[name] = module
    for name in missing:
        source = sources.datasets()[name]
        console.print(f"{name} is published by {source.publisher}: {source.address}", markup=False, soft_wrap=True)
    used = dict.fromkeys(chain.from_iterable(_needs(module, options.quick) for module in chosen.values()))
    differing = [one for name in used for one in findings[name] if one.state == DIFFERS]
    if missing or differing:
        console.print(
            f"python -m experiments data --data {shlex.quote(str(options.data))} says what is missing or differs",
            markup=False,
            soft_wrap=True,
        )
    return chosen, differing


def _needs(module: ModuleType, quick: bool) -> tuple[str, ...]:
    needs: tuple[str, ...] = getattr(module, "QUICK_NEEDS", module.NEEDS) if quick else module.NEEDS
    return needs


def _choose_folders(options: argparse.Namespace, differing: list[Finding]) -> None:
    """Results on other data neither replace those on ours nor come from their cache."""
    base, results = BUILD, RESULTS
    if differing:
        key = hashlib.sha256(" ".join(sorted(one.sha256 for one in differing)).encode()).hexdigest()[:12]
        base = BUILD / f"other-data-{key}"
        results = base / "results"
    options.out = options.out or (base / "quick" if options.quick else results)
    options.cache = options.cache or base / "cache"


def _notes(module: ModuleType, quick: bool, differing: list[Finding]) -> list[str]:
    """What a reader has to know before the figures."""
    needs = _needs(module, quick)
    notes = [QUICK] if quick else []
    if not module.NEEDS:
        notes.append("All data of this page are synthetic.")
    elif not needs:
        notes.append(f"The data are rankwise's synthetic sample, in place of {', '.join(module.NEEDS)}.")
    files = [one.path for one in differing if one.dataset.folder in needs]
    if files:
        notes.append(f"The data are not those of the stored results: {', '.join(files)} differ (docs/data.md).")
    return notes


def _left_out(found: dict[str, Any]) -> list[str]:
    late = sum(outcome is None for outcome in found.values())
    return [f"{late} of {len(found)} units exceeded their time limit and are left out."] if late else []


def _work_off(unit: Unit, worker: Worker, cache: Cache, late: set[Path]) -> None:
    """What was late is tried again in the next run, but not by another experiment of this one."""
    if unit in cache or cache.path(unit) in late:
        return
    try:
        cache.keep(unit, worker.run(unit))
    except TimeoutError:
        late.add(cache.path(unit))


def _arguments() -> argparse.Namespace:
    names = registry.names()
    parser = argparse.ArgumentParser(
        prog="python -m experiments", description=__doc__, epilog=f"NAMES: {', '.join(names)}"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a table or figure; a beginning stands for all of it")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the data sets")
    parser.add_argument("--quick", action="store_true", help="seconds instead of minutes: fewer and smaller units")
    parser.add_argument(
        "--out", type=Path, help="where the pages go: experiments/results, or build/ if quick or other data"
    )
    parser.add_argument("--cache", type=Path, help="where finished units are kept")
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs have finished")
    parser.add_argument("--patience", type=float, default=1.0, help="times the limit of every unit: for a busy machine")
    options = parser.parse_args()
    if "data" in options.names:
        parser.error("data must come first: python -m experiments data --data FOLDER")
    for prefix in options.names:
        if not any(name.startswith(prefix) for name in names):
            parser.error(f"{prefix!r} begins none of {', '.join(names)}")
    wanted = options.names
    options.names = [name for name in names if any(name == one or _begins(name, one, names) for one in wanted)]
    return options


def _begins(name: str, prefix: str, names: list[str]) -> bool:
    """table_1 is not table_10."""
    return prefix not in names and name.startswith(prefix)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the workers end with this process
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("interrupted: what is finished is kept, the same command goes on from there")
