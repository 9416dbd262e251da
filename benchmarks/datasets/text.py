"""Ranking text of MSLR-WEB30K's shape: some 1.7 kB a document, 136 features in 6 decimals.

One block of queries is formatted and written as often as it takes, each time under other query ids, the last time in
part: formatting all of 2.27 million documents would take longer than everything that is measured with them.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

BLOCK_QUERIES = 1_000


@dataclass(frozen=True)
class Text:
    n_queries: int

    def write(self, path: Path) -> float:
        """Its size in MB."""
        from rankwise import make_ranking

        block = min(BLOCK_QUERIES, self.n_queries)
        data = make_ranking(block, (120, 120), 136, dtype=np.float32, random_state=0)
        features = " ".join(f"{index}:%.6f" for index in range(1, 137))
        rows = zip(data.y.astype(int).tolist(), (data.qid - 1).tolist(), data.X.tolist(), strict=True)
        lines = [f"{label} qid:100{qid:03d} {features % tuple(row)}\n" for label, qid, row in rows]
        with open(path, "wb") as file:
            for turn, first in enumerate(range(0, self.n_queries, block)):
                text = "".join(lines[: 120 * (self.n_queries - first)]).encode()
                file.write(text.replace(b" qid:100", b" qid:%d" % (100 + turn)))
        return path.stat().st_size / 1e6
