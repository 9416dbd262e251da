"""What starting costs, each in a fresh process: the import, the command's help, and the first fit (MQ2008 fold 1).

"Compiling" is the first fit ever, with an empty cache of kernels; "cached" a new process that finds them there: from
the first import to the end of the fit. The others are whole processes, less a bare Python that does nothing. Medians.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from benchmarks.measure import letor, row

FIT = """
import time
begin = time.perf_counter()
import numpy as np
from rankwise import RankSVM
stored = np.load({path!r}, allow_pickle=False)
RankSVM().fit(stored["X"], stored["y"], stored["qid"])
print(time.perf_counter() - begin)
"""


def main() -> list[dict[str, Any]]:
    import numpy as np

    bare = seconds("pass")
    help_wanted = "import sys; sys.argv[1:] = ['--help']; from rankwise.cli import main; main()"
    rows = [
        row("import rankwise", seconds("import rankwise") - bare, "s"),
        row("rankwise --help", seconds(help_wanted) - bare, "s"),
    ]
    data = letor("mq2008", 1, 2, 3)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/data.npz"
        np.savez(path, X=data.X, y=data.y, qid=data.qid)
        code = FIT.format(path=path)
        cold, *warm = (told(code, NUMBA_CACHE_DIR=f"{folder}/cache") for _ in range(6))
    return [
        *rows,
        row("first fit of MQ2008 fold 1 in a fresh process, compiling", cold, "s"),
        row("first fit of MQ2008 fold 1 in a fresh process, kernels cached", statistics.median(warm), "s"),
    ]


def told(code: str, **environment: str) -> float:
    """What the code prints."""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=os.environ | environment)
    return float(done.stdout)


def seconds(code: str, repeats: int = 5) -> float:
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


if __name__ == "__main__":
    for one in main():
        print(one)
