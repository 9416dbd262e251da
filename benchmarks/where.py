"""Where figures come from, the processor and the commit, and tables of them that grow row by row."""

import csv
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.process import ROOT

SCALE = ROOT / "benchmarks" / "results" / "scale"  # the tables of docs/scale.md


def processor() -> str:
    """Its model."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def commit() -> str:
    """Its short name; "" outside a repository."""
    git = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(git, capture_output=True, text=True).stdout.strip()


def place() -> dict[str, str]:
    return {"commit": commit(), "machine": f"{processor()}, {os.cpu_count()} cores"}


def keep(path: Path, key: dict[str, Any], values: dict[str, Any]) -> None:
    """Write a row into the table, with commit and machine (that of `values`, if any), in place of the row with the same
    key.
    """
    row = {name: "" if value is None else str(value) for name, value in (key | place() | values).items()}
    rows = []
    if path.exists():
        with path.open(newline="") as file:
            rows = [one for one in csv.DictReader(file) if any(one[name] != row[name] for name in key)]
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for one in [*rows, row] for name in one)))
        writer.writeheader()
        writer.writerows([*rows, row])
