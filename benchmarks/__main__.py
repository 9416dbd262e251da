"""Run the benchmarks named, or all; print their rows and write them to benchmarks/results/NAME.csv.

A row is {name, value, unit, peer, ratio}: what was measured, and how many times better than the peer in the same run.
"""

import argparse
import csv
import platform
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

NAMES = ("start", "fit", "hinge", "letor", "evaluation", "pair_schemes", "rankrls", "kernels", "ctr")
RESULTS = Path(__file__).parent / "results"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    names = parser.parse_args().names or NAMES
    for name in names:
        if name not in NAMES:
            parser.error(f"{name!r} is none of {', '.join(NAMES)}")
    if len(names) > 1:  # each in a process of its own: a child's peak of memory begins at its parent's size
        sys.exit(max(subprocess.run([sys.executable, "-m", "benchmarks", name]).returncode for name in names))
    for name in names:
        print(f"\n{name}", flush=True)
        rows = import_module(f"benchmarks.{name}").main()
        for row in rows:
            print(_line(row), flush=True)
        write(name, rows)


def _line(row: dict[str, Any]) -> str:
    ratio = f"   {row['ratio']:.3g} x {row['peer']}" if row.get("ratio") else ""
    return f"  {row['name']:<70} {row['value']:>12.4g} {row['unit']}{ratio}"


def write(name: str, rows: list[dict[str, Any]]) -> None:
    RESULTS.mkdir(exist_ok=True)
    where = {"machine": _machine(), "rankwise": version("rankwise"), "numpy": version("numpy")}
    with open(RESULTS / f"{name}.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, ["name", "value", "unit", "peer", "ratio", *where], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(row | where for row in rows)


def _machine() -> str:
    import os

    try:
        found = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout.splitlines()
        model = next(line.split(":", 1)[1].strip() for line in found if line.startswith("Model name"))
    except (OSError, StopIteration, subprocess.CalledProcessError):
        model = platform.processor() or platform.machine()
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}"


if __name__ == "__main__":
    main()
