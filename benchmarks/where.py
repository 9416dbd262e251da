"""Where figures come from: the processor and the commit."""

import platform
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def processor() -> str:
    """Its model."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def commit() -> str:
    """The word "commit" and its short name; "" outside a repository."""
    git = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    name = subprocess.run(git, capture_output=True, text=True).stdout.strip()
    return f"commit {name}" if name else ""
