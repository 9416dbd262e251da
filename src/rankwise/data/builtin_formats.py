"""The formats of this package. Readers and writers are imported when they are first called, because that takes time."""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rankwise.data.formats import Format, OnDisk, Progress, register_format
from rankwise.foundation.outputs import FileName

if TYPE_CHECKING:
    from rankwise.data.chunks import ChunkedData, OneChunk
    from rankwise.data.columns import Reading
    from rankwise.data.records import RankingData
    from rankwise.data.streams import Source, Target


def _read_letor(sources: "list[Source]", reading: "Reading") -> "RankingData":
    from rankwise.data.letor import read_letor

    return read_letor(
        sources,
        n_features=reading.n_features,
        dense=reading.dense,
        dtype=reading.dtype or "float64",
        missing=reading.missing,
        zero_based=reading.zero_based,
        comments=reading.comments,
        n_jobs=reading.n_jobs,
    )


def _stream_letor(sources: "list[Source]", reading: "Reading", progress: Progress) -> "Iterator[RankingData]":
    from rankwise.data.letor import letor_stream

    return letor_stream(sources, reading, progress)


def _write_letor(target: "Target", data: "RankingData") -> None:
    from rankwise.data.text_writer import write_letor

    write_letor(target, data)


register_format(
    Format(
        "letor",
        (".txt", ".letor", ".dat", ".svm", ".svmlight", ".libsvm"),
        read_all=_read_letor,
        stream_all=_stream_letor,
        write=_write_letor,
        is_text=True,
        is_indexed=True,
    )
)


def _read_csv(separator: str, source: "Source", reading: "Reading") -> "Iterator[RankingData]":
    from rankwise.data.csv_reader import csv_blocks

    return csv_blocks(source, reading, separator)


def _write_csv(separator: str, target: "Target", data: "RankingData") -> None:
    from rankwise.data.text_writer import write_csv

    write_csv(target, data, separator)


for _name, _separator in (("csv", ","), ("tsv", "\t")):
    _read, _write = partial(_read_csv, _separator), partial(_write_csv, _separator)
    register_format(Format(_name, (f".{_name}",), _read, _write, is_text=True))


def _read_parquet(source: FileName, reading: "Reading") -> "Iterator[RankingData]":
    from rankwise.data.frame import parquet_blocks

    return parquet_blocks(Path(source), reading)


def _write_parquet(target: FileName, data: "RankingData") -> None:
    from rankwise.data.frame import write_parquet

    write_parquet(target, data)


def _parquet_files(path: Path) -> list[Path]:
    from rankwise.data.frame import parquet_files

    return parquet_files(path)


register_format(
    Format(
        "parquet",
        (".parquet", ".pq"),
        _read_parquet,
        _write_parquet,
        requires=("pyarrow", "rankwise[parquet]"),
        is_folder=lambda path: True,  # any folder that no other format knows
        split=_parquet_files,
    )
)


def _read_npz(source: FileName, reading: "Reading") -> "Iterator[RankingData]":
    from rankwise.data.npz import npz_blocks

    return npz_blocks(source, reading)


def _write_npz(target: FileName, data: "RankingData") -> None:
    from rankwise.data.npz import write_npz

    write_npz(target, data)


register_format(Format("npz", (".npz",), _read_npz, _write_npz))


def _read_chunks(source: "FileName | OneChunk", reading: "Reading") -> "Iterator[RankingData]":
    from rankwise.data.chunks import chunk_blocks

    return chunk_blocks(source, reading)


def _write_chunks(target: FileName, blocks: "RankingData | Iterable[RankingData]") -> None:
    from rankwise.data.chunk_writer import write_chunks

    write_chunks(target, blocks)


def _open_chunks(folder: FileName, verify: bool) -> "ChunkedData":
    from rankwise.data.chunks import open_chunks

    return open_chunks(folder, verify=verify)


def _check_replaceable(folder: FileName) -> None:
    from rankwise.data.chunk_writer import check_replaceable

    check_replaceable(folder)


def _list_chunks(folder: Path) -> "list[OneChunk]":
    from rankwise.data.chunks import list_chunks

    return list_chunks(folder)


register_format(
    Format(
        "chunks",
        (".chunks",),
        _read_chunks,
        _write_chunks,
        is_folder=lambda path: (path / "manifest.json").exists(),
        split=_list_chunks,
        on_disk=OnDisk(_write_chunks, _open_chunks, _check_replaceable),
    )
)
