"""What starting costs, each in a fresh process: the import, the command's help, and the first fit (MQ2008 fold 1).

"Compiling" is the first fit ever, with an empty cache of kernels; "warm" a new process that finds them there. Times are
over a bare Python that does nothing, the median of the runs.
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
import time, numpy as np
begin = time.perf_counter()
from rankwise import RankSVM
stored = np.load({path!r}, allow_pickle=False)
RankSVM().fit(stored["X"], stored["y"], stored["qid"])
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
        cold = seconds(code, 1, NUMBA_CACHE_DIR=f"{folder}/cache") - bare
        warm = seconds(code, NUMBA_CACHE_DIR=f"{folder}/cache") - bare
    return [
        *rows,
        row("first fit of MQ2008 fold 1 in a fresh process, compiling", cold, "s"),
        row("first fit of MQ2008 fold 1 in a fresh process, kernels cached", warm, "s"),
    ]


def seconds(code: str, repeats: int = 5, **environment: str) -> float:
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=os.environ | environment)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


if __name__ == "__main__":
    for one in main():
        print(one)
