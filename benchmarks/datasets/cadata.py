"""California housing: one query of 20,640 documents and 8 features, real-valued labels, from cadata/cadata.txt.xz."""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.datasets import MissingError


@dataclass(frozen=True)
class Cadata:
    """Each feature with mean 0 and variance 1: as they come, a solver sees little but the largest."""

    name: str = "cadata"

    def get_data(self, folder: Path | None) -> Any:
        from rankwise import read_letor

        path = folder / "cadata" / "cadata.txt.xz" if folder else None
        if path is None or not path.exists():
            raise MissingError(f"cadata is not in the folder {folder}: give --data")
        data = read_letor(path, dense=True)
        X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
        return SimpleNamespace(X=X, y=data.y, qid=None)
