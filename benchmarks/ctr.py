"""Lee and Lin's click-through data by shape: 11 million documents in one query, 94,000 levels, 22 non-zeros each.

Synthetic; trained to tol 1e-3 in a process of its own, whose peak of memory is reported with and without the data.
"""

import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

from benchmarks.measure import row

DOCUMENTS, FEATURES, STORED, LEVELS = 11_000_000, 1_000_000, 22, 94_000


def main() -> list[dict[str, Any]]:
    told = subprocess.run([sys.executable, "-m", "benchmarks.ctr"], capture_output=True, text=True, check=True).stdout
    found = json.loads(told.splitlines()[-1])
    what = f"one query, {DOCUMENTS:,} documents, {LEVELS:,} levels, {STORED} non-zeros each"
    return [
        row(f"fit {what}, {found['steps']} steps", found["seconds"], "s"),
        row(f"peak memory of the same, the data ({found['data']:.1f} GB) included", found["peak"], "GB"),
    ]


def train() -> None:
    from scipy import sparse

    from rankwise import RankSVM

    rng = np.random.default_rng(0)
    indices = rng.integers(0, FEATURES, (DOCUMENTS, STORED), dtype=np.int32)
    indices.sort(axis=1)
    data = np.ones(indices.size, np.float32)
    X = sparse.csr_array((data, indices.ravel(), np.arange(0, indices.size + 1, STORED)), shape=(DOCUMENTS, FEATURES))
    truth = rng.normal(size=FEATURES).astype(np.float32)
    quality = X @ truth + 5 * rng.standard_normal(DOCUMENTS, dtype=np.float32)
    levels = np.argsort(np.argsort(quality)) * LEVELS // DOCUMENTS
    begin = time.perf_counter()
    ranker = RankSVM(C=1e-11, tol=1e-3).fit(X, levels)
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    size = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 1e9
    print(json.dumps({"seconds": seconds, "peak": peak, "data": size, "steps": ranker.n_iter_}))


if __name__ == "__main__":
    train()
