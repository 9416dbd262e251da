"""How much memory there is."""

import os
from pathlib import Path


def memory_at_hand() -> float:
    """Bytes that this process may still take: what the machine has free, or less where a control group says so."""
    bounds = [float("inf")]
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        bounds += [1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
        group = Path("/sys/fs/cgroup")
        most, used = (group / "memory.max").read_text().strip(), (group / "memory.current").read_text()
        bounds += [] if most == "max" else [max(float(most) - float(used), 0.0)]
    except OSError:  # no Linux, or no control group
        pass
    if len(bounds) == 1 and "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        bounds.append(float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")))
    return min(bounds)
