"""Run the experiments named, or all on the data at hand: python -m experiments [NAME ...] --data FOLDER [--quick]"""

import argparse
import signal
import sys
from itertools import chain
from pathlib import Path
from types import ModuleType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from experiments import pages, registry
from experiments.units import Cache, Unit, UnitError, Worker

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "experiments" / "results"
BUILD = ROOT / "build" / "experiments"  # git ignores build/


def main() -> int:
    options = _arguments()
    console = Console(stderr=True)
    chosen = _at_hand(options, console)
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
            try:
                with Worker(options.data, options.patience) as worker:
                    for unit in work[name]:
                        progress.update(bar, description=f"{name}: {unit.name}")
                        _work_off(unit, worker, cache, late)
                        progress.advance(bar)
            except UnitError as error:  # the others go on: they may have taken an hour
                console.print(f"{name}: {error}", markup=False)
                continue
            report = module.report({unit.name: cache.load(unit) if unit in cache else None for unit in work[name]})
            pages.write(name, module.TITLE, report, options.out)
            written += 1
    console.print(f"{written} of {len(chosen)} experiments written to {options.out}")
    return 0 if written == len(chosen) > 0 else 1


def _at_hand(options: argparse.Namespace, console: Console) -> dict[str, ModuleType]:
    """The experiments asked for whose data there are."""
    found = {}
    for name in options.names or registry.names():
        module = registry.load(name)
        needed = getattr(module, "QUICK_NEEDS", module.NEEDS) if options.quick else module.NEEDS
        missing = [folder for folder in needed if not (options.data / folder).is_dir()]
        if missing:
            needs = f"it needs {', '.join(missing)} in {options.data}"
            console.print(f"{name} is skipped: {needs} (--data; docs/papers.md says where to get them)")
        else:
            found[name] = module
    return found


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
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the data sets")
    parser.add_argument("--quick", action="store_true", help="seconds instead of minutes: fewer and smaller units")
    parser.add_argument("--out", type=Path, help="where the pages go: experiments/results, with --quick build/")
    parser.add_argument("--cache", type=Path, default=BUILD / "cache", help="where finished units are kept")
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs have finished")
    parser.add_argument("--patience", type=float, default=1.0, help="times the limit of every unit: for a busy machine")
    options = parser.parse_args()
    for prefix in options.names:
        if not any(name.startswith(prefix) for name in names):
            parser.error(f"{prefix!r} begins none of {', '.join(names)}")
    wanted = options.names
    options.names = [name for name in names if any(name == one or _begins(name, one, names) for one in wanted)]
    options.out = options.out or (BUILD / "quick" if options.quick else RESULTS)
    return options


def _begins(name: str, prefix: str, names: list[str]) -> bool:
    """table_1 is not table_10."""
    return prefix not in names and name.startswith(prefix)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the worker is ended with us
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("interrupted: what is finished is kept, the same command goes on from there")
