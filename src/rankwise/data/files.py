"""Ranking data in files of any format, told by the suffix: LETOR text, CSV, TSV, Parquet, NPZ, folders of chunks."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.data.columns import Reading, finished, joined
from rankwise.data.matching import ModelColumns, alike
from rankwise.data.records import RankingData
from rankwise.data.streams import COMPRESSED, open_bytes, unchanged

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
    ".chunks": "chunks",
    ".txt": "letor",
    ".letor": "letor",
    ".dat": "letor",
    ".svm": "letor",
    ".svmlight": "letor",
    ".libsvm": "letor",
}
TEXT = ("letor", "csv", "tsv")
FORMATS = (*TEXT, "parquet", "npz", "chunks")
_SEPARATOR = {"csv": ",", "tsv": "\t"}
_ONLY_TABLES = ("label", "qid", "features", "needs_labels")


def read_data(source: Any, *, format: str | None = None, **options: Any) -> RankingData:
    """Read ranking data from a file, or from a list of files of one format, as one.

    source  a path: .csv, .tsv (compressed too), .parquet, .npz, a folder of Parquet files, a folder of chunks, and
            everything else is ranking text; "-" or an open file: text
    format  letor, csv, tsv, parquet, npz or chunks, where the suffix does not say

    Options are those of `read_letor` (n_features, dense, dtype, missing, zero_based, comments, n_jobs); without a dtype
    numbers stay as they are stored, and text is read as float64. Of tables `label` and `qid` name the columns of the
    labels and query ids (qid=None: all rows are one query), and `features` those of X, in this order; without it
    they are all others, but for one called comment. A column f1, f2, ... has a number rather than a name. With
    needs_labels=False a table may lack the labels, as one to predict on does: y is then 0.
    """
    reading = Reading(**options)
    sources, kind = _sources(source, format)
    if kind == "letor":
        from rankwise.data.letor import read_letor

        of_text = {name: value for name, value in asdict(reading).items() if name not in _ONLY_TABLES}
        return read_letor(sources, **of_text | {"dtype": reading.dtype or np.float64})
    blocks = list(table_blocks(sources, kind, reading))
    name = ", ".join(map(str, sources))
    if not blocks:
        raise ValueError(f"{name}: there are no rows to read")
    return finished(joined(blocks), reading, name)


def stream_data(
    source: Any,
    *,
    format: str | None = None,
    progress: Callable[[int, int | None], None] = lambda done, total: None,
    **options: Any,
) -> Iterator[RankingData]:
    """The same data as blocks of rows, so that they need not fit into memory; without comments. Ranking text must be in
    files: it is looked through before it is read. `progress` is called with the rows done and the number of all rows,
    None while it is not known.
    """
    reading = Reading(**options | {"comments": False})
    sources, kind = _sources(source, format)
    if kind == "letor":
        from rankwise.data.letor_stream import letor_stream

        yield from letor_stream([Path(one) for one in sources], reading, progress)
        return
    done = 0
    for block in table_blocks(sources, kind, reading):
        yield finished(block, reading, ", ".join(map(str, sources)))
        done += len(block)
        progress(done, None)


def write_data(target: Any, data: RankingData, *, format: str | None = None) -> None:
    """Write ranking data to a path, in the format of its suffix or in the one given; "-" or an open file: text."""
    kind = format or format_of(target, writing=True)
    if kind in _SEPARATOR:
        from rankwise.data.csv_writer import write_csv

        write_csv(target, data, _SEPARATOR[kind])
        return
    if str(target) == "-" and kind not in TEXT:
        raise ValueError(f"{kind} cannot go to standard output: give a file")
    if kind == "letor":
        from rankwise.data.letor_writer import write_letor

        write_letor(target, data)
    elif kind == "parquet":
        from rankwise.data.parquet import write_parquet

        write_parquet(target, data)
    elif kind == "npz":
        from rankwise.data.npz import write_npz

        write_npz(target, data)
    elif kind == "chunks":
        from rankwise.data.chunk_writer import write_chunks

        write_chunks(target, data)
    else:
        raise ValueError(f"format is {kind!r}: it can be {', '.join(FORMATS)}")


def format_of(target: Any, writing: bool = False) -> str:
    """The format that a path's suffix tells; what has none that is known is ranking text, if it is read."""
    if not isinstance(target, str | os.PathLike) or str(target) == "-":
        return "letor"
    path = Path(target)
    if path.is_dir():
        return "chunks" if (path / "manifest.json").exists() else "parquet"
    plain = path.with_suffix("") if path.suffix in COMPRESSED else path
    kind = SUFFIXES.get(plain.suffix.lower())
    if kind is None and writing and plain.suffix:
        known = " ".join(SUFFIXES)
        raise ValueError(
            f"{target}: {plain.suffix} is the suffix of no known format ({known}): say which it is to have"
        )
    return kind or "letor"


def _sources(source: Any, format: str | None) -> tuple[list[Any], str]:
    """The sources one by one, and their format."""
    sources = list(source) if isinstance(source, Sequence) and not isinstance(source, str) else [source]
    kinds = [format] if format else sorted({format_of(one) for one in sources})
    if len(kinds) > 1:
        raise ValueError(f"the files are of several formats, {' and '.join(kinds)}: convert them to one first")
    kind = kinds[0] if kinds else "letor"
    if kind not in FORMATS:
        raise ValueError(f"format is {kind!r}: it can be {', '.join(FORMATS)}")
    return sources, kind


def table_blocks(sources: list[Any], kind: str, reading: Reading) -> Iterator[RankingData]:
    """The rows of tables, block after block, the columns in the order of the first one."""
    first = None
    for one in sources:
        for block in _blocks(one, kind, reading):
            if first is None:
                first = ModelColumns.of_data(block)
            yield alike(block, first, str(one))


def _blocks(source: Any, kind: str, reading: Reading) -> Iterator[RankingData]:
    if kind in _SEPARATOR:
        from rankwise.data.csv_reader import csv_blocks

        with ExitStack() as closing:
            is_path = isinstance(source, str | os.PathLike) and str(source) != "-"
            if is_path:
                closing.enter_context(unchanged(Path(source)))
            file = closing.enter_context(open_bytes(Path(source), "rb")) if is_path else source
            file = sys.stdin.buffer if str(file) == "-" else file
            yield from csv_blocks(
                file, "standard input" if str(source) == "-" else str(source), reading, _SEPARATOR[kind]
            )
    elif kind == "npz":
        from rankwise.data.npz import read_npz

        with unchanged(Path(source)):
            data = read_npz(Path(source), reading)
        yield data
    elif kind == "chunks":
        from rankwise.data.chunks import open_chunks

        yield from open_chunks(source).read_ahead()
    else:
        from rankwise.data.parquet import parquet_blocks, parquet_files

        for path in parquet_files(Path(source)):
            with unchanged(path):
                yield from parquet_blocks(path, reading)
