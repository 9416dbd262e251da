"""Reading 200 MB of ranking text with 136 features, beside scikit-learn's load_svmlight_file.

`python -m benchmarks.letor` prints the rows. Each loader runs in a process of its own, after a small file to warm up:
the first load gives the peak of memory, the best of three the speed. The results are compared value by value.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

SIZE = 200_000_000
N_FEATURES, N_COUNTS = 136, 48  # the first features are counts, as in MSLR-WEB
ROWS_AT_ONCE, ROWS_A_QUERY = 4_000, 120
REPEATS = 3
PEER = "scikit-learn's load_svmlight_file"


def main() -> list[dict[str, Any]]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, digits, size in (("6 decimals", ".6f", SIZE), ("17 digits", ".17g", SIZE // 4)):
            path, warm = Path(folder) / "data.txt", Path(folder) / "warm.txt"
            for file, wanted in ((warm, 100_000), (path, size)):
                _fresh_process("generate", file, wanted, digits)
            ours = _fresh_process("measure", "rankwise", path, warm)
            theirs = _fresh_process("measure", "sklearn", path, warm)
            _fresh_process("compare", path)
            what = f"{path.stat().st_size / 1e6:.0f} MB of text, {N_FEATURES} features, {name}"
            speed, peer_speed = (path.stat().st_size / 1e6 / one["seconds"] for one in (ours, theirs))
            rows.append(_row(f"read {what}", speed, "MB/s", speed / peer_speed))
            memory = ours["peak"] / ours["arrays"]
            rows.append(_row(f"peak memory of reading {what}", memory, "x arrays", theirs["peak"] / ours["peak"]))
    for row in rows:
        print(f"{row['value']:8.2f} {row['unit']:8}  {row['name']}; {row['ratio']:.1f} times better than {PEER}")
    return rows


def generate(path: str, size: str, digits: str) -> None:
    """Labels 0 to 4, counts and skewed reals, and LETOR's kind of comments."""
    random = np.random.default_rng(0)
    written = first = 0
    with open(path, "w") as file:
        while written < int(size):
            n = min(ROWS_AT_ONCE, max(int(size) // 1000, 1))
            counts = random.poisson(random.gamma(1.0, 8.0, (n, N_COUNTS))).tolist()
            reals = random.gamma(0.7, 9.0, (n, N_FEATURES - N_COUNTS)).tolist()
            for row, label in enumerate(random.integers(0, 5, n).tolist(), start=first):
                values = [str(one) for one in counts[row - first]] + [format(one, digits) for one in reals[row - first]]
                features = " ".join(f"{index}:{value}" for index, value in enumerate(values, start=1))
                comment = f"docid = GX{row % 273:03d}-{row % 100:02d}-{row * 7919 % 10**7:07d} inc = 1 prob = 0.0{row}"
                written += file.write(f"{label} qid:{row // ROWS_A_QUERY} {features} #{comment}\n")
            first += n


def load(loader: str, path: str) -> Any:
    """(X, y, qid) by either loader."""
    if loader == "sklearn":
        from sklearn.datasets import load_svmlight_file

        return load_svmlight_file(path, query_id=True)
    from rankwise import read_letor

    data = read_letor(path)
    return data.X, data.y, data.qid


def measure(loader: str, path: str, warm: str) -> None:
    load(loader, warm)
    before = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    seconds = []
    for attempt in range(REPEATS):
        start = time.perf_counter()
        X, y, qid = load(loader, path)
        seconds.append(time.perf_counter() - start)
        if attempt == 0:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
        parts = (X,) if isinstance(X, np.ndarray) else (X.data, X.indices, X.indptr)
        arrays = sum(one.nbytes for one in (*parts, y, qid))
        del X, y, qid, parts
    print(json.dumps({"seconds": min(seconds), "peak": peak, "arrays": arrays}))


def compare(path: str) -> None:
    (X, y, qid), (peer_X, peer_y, peer_qid) = load("rankwise", path), load("sklearn", path)
    same = peer_X.shape == X.shape and (peer_y == y).all() and (peer_qid == qid).all()
    for start in range(0, X.shape[0], ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        same &= (peer_X[rows].toarray() == X[rows]).all()
    if not same:
        raise AssertionError(f"read_letor and {PEER} disagree")
    print(json.dumps({}))


def _fresh_process(function: str, *arguments: Any) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.letor", function, *map(str, arguments)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=Path(__file__).parents[1]).stdout
    return json.loads(output) if output else {}


def _row(name: str, value: float, unit: str, ratio: float) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "peer": PEER, "ratio": ratio}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        {"generate": generate, "measure": measure, "compare": compare}[sys.argv[1]](*sys.argv[2:])
    else:
        main()
