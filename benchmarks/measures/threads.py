"""One fit with 1, 2, 4, ... threads, as far as there are cores; the weights must not depend on their number."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.datasets import load
from benchmarks.measures import OURS, row
from benchmarks.process import repeated

COUNTS = (1, 2, 4, 8, 16)


def threads(folder: str, quick: bool) -> Iterator[dict[str, Any]]:
    from rankwise import RankSVM
    from rankwise.foundation.threads import thread_count

    data = load(Path(folder))
    weights = set()
    for count in COUNTS:
        if count > thread_count():
            return
        ranker = RankSVM(C=8.0, n_jobs=count)
        fit = partial(ranker.fit, data.X, data.y, data.qid)
        fit()
        timed = repeated(fit, 2 if quick else 5, 20.0)
        weights.add(ranker.coef_.tobytes())
        if len(weights) > 1:
            raise AssertionError(f"the weights with {count} threads differ from those with fewer")
        what = f"one fit, {count} threads" if count > 1 else "one fit, 1 thread"
        yield row(what, OURS, timed, note=f"{len(data.y):,} x {data.X.shape[1]}, {data.X.dtype}, C = 8, tol 1e-3")
