"""Which data the experiments need, who publishes them, and whether a folder holds them: the table is sources.toml."""

import hashlib
import lzma
import os
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from rankwise import RankingData, read_letor

TABLE = Path(__file__).with_name("sources.toml")
FOUND, MISSING, DIFFERS = "found", "missing", "differs"
PART = re.compile(r"S([1-5])\.txt\.xz")


class Shape(NamedTuple):
    documents: int
    queries: int
    features: int
    levels: int


@dataclass(frozen=True)
class DataFile:
    """`sha256` is that of the text before compression; `values` is that of what it says: see `fingerprint`."""

    name: str
    shape: Shape
    sha256: str
    values: str


@dataclass(frozen=True)
class DataSet:
    folder: str
    title: str
    publisher: str
    address: str
    terms: str
    copy: str  # whose copy ours is
    files: tuple[DataFile, ...]


@dataclass(frozen=True)
class StandIn:
    """A set that a paper used and we do not have: synthetic data take its place."""

    title: str
    publisher: str
    address: str


@dataclass(frozen=True)
class Finding:
    """What a folder has in place of a file: found, missing or differs; `sha256` is that of the text, if it has one."""

    dataset: DataSet
    file: DataFile
    state: str
    detail: str
    sha256: str

    @property
    def path(self) -> str:
        return f"{self.dataset.folder}/{self.file.name}"


@cache
def datasets() -> dict[str, DataSet]:
    return {one["folder"]: _dataset(**one) for one in _table()["set"]}


@cache
def stand_ins() -> tuple[StandIn, ...]:
    return tuple(StandIn(**one) for one in _table()["synthetic"])


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(TABLE.read_text())


def _dataset(files: list[dict[str, Any]], **known: Any) -> DataSet:
    shaped = [DataFile(one["name"], Shape(*one["shape"]), one["sha256"], one["values"]) for one in files]
    return DataSet(files=tuple(shaped), **known)


def check(data: Path, dataset: DataSet) -> list[Finding]:
    """One finding per file of the set."""
    return [Finding(dataset, file, *_checked(data / dataset.folder / file.name, file)) for file in dataset.files]


def _checked(path: Path, file: DataFile) -> tuple[str, str, str]:
    if not os.path.isfile(path):  # a folder that may not be read is no error either
        return MISSING, _hint(path), ""
    try:
        with lzma.open(path) as text:
            sha256 = hashlib.file_digest(text, "sha256").hexdigest()  # type: ignore[arg-type]
    except (lzma.LZMAError, EOFError, OSError) as error:
        return DIFFERS, f"cannot be unpacked: {error}", ""
    if sha256 == file.sha256:
        return FOUND, "", sha256
    try:
        held = read_letor(path)
    except (ValueError, OSError) as error:
        return DIFFERS, f"cannot be read: {error}", sha256
    unlike = [
        f"{held:,} {what} instead of {expected:,}"
        for what, held, expected in zip(Shape._fields, shape_of(held), file.shape, strict=True)
        if held != expected
    ]
    if unlike:
        return DIFFERS, ", ".join(unlike), sha256
    if fingerprint(held) == file.values:
        return FOUND, "the same values, written differently", sha256
    return DIFFERS, "the same shape, other values", sha256


def _hint(path: Path) -> str:
    """What to do with what is there instead, in the layouts in which the sets are published."""
    if not path.parent.is_dir() and path.parent.parent.is_dir():
        others = [one.name for one in path.parent.parent.iterdir() if one.name.lower() == path.parent.name]
        return f"rename {others[0]} to {path.parent.name}" if others else ""
    if path.with_suffix("").is_file():
        return f"compress {path.stem}: xz {path.stem}"
    part = PART.fullmatch(path.name)
    fold = int(part[1]) % 5 + 1 if part else 0  # whose test part it is
    test = path.parent / f"Fold{fold}" / "test.txt"
    return f"xz -c Fold{fold}/test.txt > {path.name}" if test.is_file() else ""


def shape_of(data: RankingData) -> Shape:
    return Shape(len(data), data.n_queries, data.n_features, np.unique(data.y).size)


def fingerprint(data: RankingData) -> str:
    """SHA-256 of labels, query ids and features as numbers: comments, spaces and spellings of numbers do not count."""
    X = csr_array(data.X)
    X.sum_duplicates()
    X.eliminate_zeros()
    digest = hashlib.sha256("\n".join(map(str, data.qid)).encode())
    for array, kind in ((data.y, "<f8"), (X.indptr, "<i8"), (X.indices, "<i8"), (X.data, "<f8")):
        digest.update(np.ascontiguousarray(array, kind))
    return digest.hexdigest()
