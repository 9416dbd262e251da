"""LETOR's five folds: fold i trains on the parts i, i+1, i+2, validates on i+3, tests on i+4, cyclically."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator

from rankwise.data.letor import read_letor
from rankwise.data.records import RankingData
from rankwise.foundation.arrays import Ints
from rankwise.foundation.compression import open_bytes
from rankwise.foundation.names import one_of
from rankwise.model_selection.splits import Split

PARTS = 5


@dataclass(frozen=True)
class Rotation:
    """Rows of one fold."""

    train: Ints
    valid: Ints
    test: Ints


class LetorFolds(BaseCrossValidator):  # type: ignore[misc]
    """The rotation over five parts, as a splitter for `cv`.

    Parameters
    ----------
    parts : array of shape (n_documents,)
        The part that each row is in, 1 to 5.
    judge : {"valid", "test"}, default="valid"
        The part that `split` holds out beside the three for training: to choose a model by, or to report.

    Examples
    --------
    `data, folds = LetorFolds.read("MQ2007")` reads S1.txt ... S5.txt of a folder, or test.txt of its folders Fold1
    ... Fold5, which together have each part once; or a list of five files, S1 first.

    >>> import numpy as np
    >>> from rankwise.model_selection import LetorFolds
    >>> folds = LetorFolds(np.repeat([1, 2, 3, 4, 5], 10))
    >>> train, valid = next(folds.split())
    >>> train.size, valid.size
    (30, 10)
    """

    def __init__(self, parts: ArrayLike, judge: str = "valid") -> None:
        self.parts = parts
        self.judge = judge

    @classmethod
    def read(
        cls, source: str | Path | Sequence[str | Path], judge: str = "valid", **options: Any
    ) -> tuple[RankingData, "LetorFolds"]:
        """The data of all five parts and their folds; `options` go to `read_letor`."""
        files = list(source) if isinstance(source, Sequence) and not isinstance(source, str) else _files(Path(source))
        if len(files) != PARTS:
            raise ValueError(
                f"LETOR's folds rotate over {PARTS} parts: pass the files S1 ... S5; got {len(files)} files"
            )
        data = read_letor(files, **options)
        sizes = [_rows(Path(file)) for file in files]
        return data, cls(np.repeat(np.arange(1, PARTS + 1), sizes), judge)

    def get_n_splits(self, X: object = None, y: object = None, groups: object = None) -> int:
        return PARTS

    def rotations(self) -> Iterator[Rotation]:
        """Train, validation and test rows of fold 1, fold 2, ..."""
        parts = self._checked()
        for i in range(PARTS):
            place = (parts - 1 - i) % PARTS
            yield Rotation(*(np.flatnonzero(mask) for mask in (place < 3, place == 3, place == 4)))

    def split(self, X: ArrayLike | None = None, y: object = None, groups: object = None) -> Iterator[Split]:
        """(training rows, rows of the part to judge by) of each fold; query ids are ignored."""
        one_of("judge", self.judge, ("valid", "test"))
        rows = None if X is None else np.shape(X)[0]
        if rows is not None and rows != self._checked().size:
            raise ValueError(f"parts holds {np.size(self.parts)} numbers, X has {rows} rows: one number per row")
        for rotation in self.rotations():
            yield rotation.train, getattr(rotation, self.judge)

    def _checked(self) -> Ints:
        parts = np.asarray(self.parts)
        if parts.ndim != 1 or set(np.unique(parts).tolist()) != set(range(1, PARTS + 1)):
            raise ValueError(f"parts must hold a number from 1 to {PARTS} for each row, and each of these numbers")
        return parts.astype(np.int64)


def _rows(file: Path) -> int:
    with open_bytes(file, "rb") as lines:
        return sum(bool(line.strip()) and not line.lstrip().startswith(b"#") for line in lines)


def _files(folder: Path) -> list[Path]:
    """S1 ... S5 of a folder; if it only has LETOR's folds, part i is the test set of fold i + 1."""
    parts = [_only(folder, f"S{i + 1}.*") for i in range(PARTS)]
    if any(part is None for part in parts):
        parts = [_only(folder / f"Fold{(i + 1) % PARTS + 1}", "test.*") for i in range(PARTS)]
    files = [part for part in parts if part is not None]
    if len(files) != PARTS:
        raise ValueError(f"{folder} holds neither S1.txt ... S5.txt nor Fold1/test.txt ... Fold5/test.txt")
    return files


def _only(folder: Path, pattern: str) -> Path | None:
    files = sorted(folder.glob(pattern))
    if len(files) > 1:
        raise ValueError(f"{files[0]} and {files[1]} both exist: pass a list of the five files")
    return files[0] if files else None
