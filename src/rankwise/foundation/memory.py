"""The available memory, and an error before an allocation that would exceed it."""

import os
from pathlib import Path

_SMALL = 1 << 26  # bytes; smaller allocations are not checked


def memory_at_hand() -> float:
    """Bytes that this process may still allocate: the free memory, or less by the control group (version 2)."""
    bounds = [float("inf")]
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        bounds += [1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
        group = Path("/sys/fs/cgroup")
        most, used = (group / "memory.max").read_text().strip(), float((group / "memory.current").read_text())
        if most != "max":
            bounds.append(max(float(most) - used, 0.0))
            lines = (group / "memory.stat").read_text().splitlines()
            cached = [float(line.split()[1]) for line in lines if line.startswith("inactive_file ")]
            bounds[-1] += sum(cached)  # pages of files, which the system gives up
    except OSError:  # not Linux, or no control group
        pass
    if len(bounds) == 1 and "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        bounds.append(float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")))
    return min(bounds)


def check_room(n_bytes: int, what: str, cure: str, copies: int = 1) -> None:
    """Raise MemoryError if `n_bytes` exceed the available memory; one wrong number in a file can ask for so much."""
    if n_bytes > _SMALL and n_bytes > (available := memory_at_hand() / copies):
        excess = f"takes {n_bytes / 1e9:,.1f} GB, but {available / 1e9:,.1f} GB of memory are available"
        excess += f" for each of {copies} copies" if copies > 1 else ""
        raise MemoryError(f"{what} {excess}: {cure}")


def check_dense_room(rows: int, n_features: int, item_bytes: int, copies: int = 1) -> None:
    what = f"an array of {rows:,} rows and {n_features:,} features"
    check_room(rows * n_features * item_bytes, what, "read it sparse, or number the features without gaps", copies)
