"""MQ2007, MQ2008 and OHSUMED, from a folder NAME/S1.txt.xz, ..., S5.txt.xz: fold 1 trains on S1 to S3, tests on S5."""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.datasets import MissingError


@dataclass(frozen=True)
class Letor:
    """`two_levels`: labels 1 and 2 made one, for a peer that takes no more."""

    name: str
    two_levels: bool = False

    def get_data(self, folder: Path | None) -> Any:
        from rankwise import read_letor

        paths = [folder / self.name / f"S{part}.txt.xz" for part in (1, 2, 3, 5)] if folder else []
        if not paths or not all(path.exists() for path in paths):
            raise MissingError(f"{self.name} is not in the folder {folder}: give --data")
        train, test = (self._data(read_letor(part, dense=True)) for part in (paths[:3], paths[3:]))
        train.test = test
        return train

    def _data(self, data: Any) -> Any:
        return SimpleNamespace(X=data.X, y=np.minimum(data.y, 1.0) if self.two_levels else data.y, qid=data.qid)
