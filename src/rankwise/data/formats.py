"""Formats of ranking data: the registry that readers, writers, the command line and Dask ask.

A format is a value. `register_format` adds one, from outside this package too; ours enter by the same call, at the end.
This module is imported for help texts: it must not import NumPy.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rankwise.data.first_bytes import begun_as, first_bytes
from rankwise.foundation.compression import COMPRESSED, plain_suffix
from rankwise.foundation.names import one_of
from rankwise.foundation.outputs import FileName

if TYPE_CHECKING:
    from rankwise.data.chunks import ChunkedData
    from rankwise.data.columns import Reading
    from rankwise.data.records import RankingData
    from rankwise.data.streams import Source, Target

Progress: TypeAlias = Callable[[int, int | None], None]  # rows done, rows in all (None if not known yet)

DEFAULT = "letor"  # of open files, and of files whose suffix is not registered


@dataclass(frozen=True)
class OnDisk:
    """A format whose data may be larger than memory: it is written from a stream, and opened without reading X.

    write         (path, blocks of rows) -> None
    open          (path, verify=bool) -> the data, with X on disk; `verify`: check that nothing is damaged
    check_target  (path) -> None; an error if something else is stored there

    Examples
    --------
    >>> from rankwise import load_sample, open_chunks, write_chunks
    >>> from rankwise.data import OnDisk
    >>> on_disk = OnDisk(write=write_chunks, open=open_chunks, check_target=lambda path: None)
    >>> on_disk.write("books.chunks", load_sample())
    >>> len(on_disk.open("books.chunks"))
    1951
    """

    write: "Callable[[FileName, Iterable[RankingData]], None]"
    open: "Callable[..., ChunkedData]"
    check_target: Callable[[FileName], None]


@dataclass(frozen=True)
class Format:
    """A format of ranking data. What is None, the format cannot do.

    name       as in format=NAME and in `rankwise convert --to NAME`
    suffixes   of its files; the first one is shown in help texts
    read       (source, reading) -> blocks of rows of one file; `reading` holds the options of `read_data`. The blocks
               may have their columns in different orders. Memory holds one block if the data are streamed
    write      (target, data) -> None
    is_text    whether pipes and open files can be read and written, and files can be compressed (.gz, .bz2, .xz, .zst)
    is_indexed  whether features have numbers and zeros may be left out, as in LETOR text
    has_columns  whether labels, ids, weights and features are columns that can be named
    holds_groups  whether `RankingData.groups` are written
    requires   (module, what pip installs to have it), if the format needs a package
    is_folder  (path) -> whether a folder holds data of this format
    split      (path) -> parts of a path that `read` takes and that workers of a cluster read separately
    read_all   (sources, reading) -> data; for a format whose files must be read together, instead of `read`
    stream_all  (sources, reading, progress) -> blocks of rows; the same as a stream
    on_disk    how data larger than memory are written and opened

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankingData
    >>> from rankwise.data import Format
    >>> def read_columns(source, reading):
    ...     numbers = np.loadtxt(source)
    ...     yield RankingData(numbers[:, 1:], numbers[:, 0], np.ones(len(numbers), dtype=int))
    >>> columns = Format("columns", (".columns",), read=read_columns)
    >>> columns.suffixes
    ('.columns',)
    """

    name: str
    suffixes: tuple[str, ...]
    read: "Callable[[Any, Reading], Iterable[RankingData]] | None" = None
    write: "Callable[[Any, RankingData], None] | None" = None
    is_text: bool = False
    is_indexed: bool = False
    has_columns: bool = True
    holds_groups: bool = False
    requires: tuple[str, str] | None = None
    is_folder: Callable[[Path], bool] | None = None
    split: Callable[[Path], Sequence[object]] | None = None
    read_all: "Callable[[list[Source], Reading], RankingData] | None" = None
    stream_all: "Callable[[list[Source], Reading, Progress], Iterable[RankingData]] | None" = None
    on_disk: OnDisk | None = None

    def check_installed(self) -> None:
        """Raise an error if a package that the format requires is not installed."""
        if self.requires and find_spec(self.requires[0]) is None:
            raise ImportError(f"{self.name} needs a package: pip install '{self.requires[1]}'")


_FORMATS: dict[str, Format] = {}


def register_format(format: Format) -> None:
    """Make a format known by its name and its suffixes; one of the same name is replaced.

    The format is then read by `read_data`, `stream_data`, every command and, if it is registered on the workers too, by
    the Dask estimators; it is written by `write_data` and `rankwise convert`.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankingData, read_data, register_format
    >>> from rankwise.data import Format
    >>> def read_columns(source, reading):
    ...     numbers = np.loadtxt(source)
    ...     yield RankingData(numbers[:, 1:], numbers[:, 0], np.ones(len(numbers), dtype=int))
    >>> register_format(Format("columns", (".columns",), read=read_columns))
    >>> np.savetxt("two.columns", [[2, 7.5, 4], [0, 3.2, 1]])
    >>> read_data("two.columns")
    RankingData(2 rows, 2 features, 1 query, dense float64)
    """
    if not isinstance(format, Format):
        raise TypeError(f"register_format takes a rankwise.data.Format; got {format!r}")
    if not isinstance(format.suffixes, tuple | list) or not all(isinstance(one, str) for one in format.suffixes):
        raise TypeError(f"suffixes must be a tuple of texts, such as ('.jsonl',); got {format.suffixes!r}")
    if not isinstance(format.name, str) or not format.name.isidentifier():
        raise ValueError(f"name must be a word of letters, digits and '_', got {format.name!r}")
    for suffix in format.suffixes:
        other = _by_suffix(suffix)
        if not suffix.startswith(".") or suffix != suffix.lower():
            raise ValueError(f"a suffix must start with '.' and be in lower case, got {suffix!r}")
        if suffix in COMPRESSED:
            raise ValueError(f"the suffix {suffix} belongs to compressed files: choose another")
        if other is not None and other.name != format.name:
            raise ValueError(f"the suffix {suffix} belongs to the format {other.name!r}: choose another")
    if format.read is None and format.read_all is None and format.write is None:
        raise ValueError(f"the format {format.name!r} can neither be read nor written: give `read` or `write`")
    _FORMATS[format.name] = format


def format_names(on_disk: bool = True) -> list[str]:
    """The names of all formats, or of those that are not chunks on disk."""
    return [one.name for one in _FORMATS.values() if on_disk or one.on_disk is None]


def known_suffixes() -> list[str]:
    return [suffix for one in _FORMATS.values() for suffix in one.suffixes]


def suffixes_shown(on_disk: bool = True) -> str:
    """These formats by suffix, for help texts: first those of text, which may be compressed, then the others."""
    known = [_FORMATS[name] for name in format_names(on_disk)]
    texts, others = (
        " ".join(one.suffixes[0] for one in known if one.is_text == is_text and one.suffixes)
        for is_text in (True, False)
    )
    return f"{texts} (also {' '.join(COMPRESSED)}), {others}"


def get_format(name: str) -> Format:
    """The format of this name."""
    one_of("format", name, _FORMATS)
    return _FORMATS[name]


def format_of(target: "Source", writing: bool = False) -> Format:
    """The format of a path by its suffix. Without a registered suffix it is LETOR text, but only for reading.

    Standard input ("-") shows its format by its first bytes.
    """
    if str(target) == "-" and not writing:
        return _FORMATS[begun_as(first_bytes(sys.stdin.buffer)) or DEFAULT]
    if not isinstance(target, str | os.PathLike) or str(target) == "-":
        return _FORMATS[DEFAULT]
    path = Path(target)
    if path.is_dir():  # a format that was registered later is more special
        return next(one for one in reversed(_FORMATS.values()) if one.is_folder is not None and one.is_folder(path))
    suffix = plain_suffix(path)
    format = _by_suffix(suffix)
    if format is None and writing and suffix:
        known = " ".join(known_suffixes())
        cure = "give another name, or say the format by --to NAME, or format=NAME in Python"
        raise ValueError(f"{target}: {suffix} is the suffix of no known format (known: {known}): {cure}")
    return format or _FORMATS[DEFAULT]


def _by_suffix(suffix: str) -> Format | None:
    return next((one for one in _FORMATS.values() if suffix in one.suffixes), None)


def sources_of(source: "Source | Sequence[Source]", format: str | None = None) -> "tuple[list[Source], Format]":
    """The sources one by one, and their format; an error if they have several."""
    sources = list(source) if isinstance(source, Sequence) and not isinstance(source, str) else [source]
    formats = [get_format(format)] if format else [format_of(one) for one in sources]
    names = sorted({one.name for one in formats})
    if len(names) > 1:
        raise ValueError(f"the files have several formats, {' and '.join(names)}: convert them to one first")
    chosen = formats[0] if formats else _FORMATS[DEFAULT]
    if chosen.read is None and chosen.read_all is None:
        raise ValueError(f"the format {chosen.name!r} can be written but not read")
    if not chosen.is_text and any(isinstance(one, str) and one == "-" for one in sources):
        raise ValueError(f"{chosen.name} cannot be read from standard input: give a file")
    chosen.check_installed()
    return sources, chosen


def read_data(source: "Source | Sequence[Source]", *, format: str | None = None, **options: Any) -> "RankingData":
    """Read ranking data from a file, or from a list of files of one format, which are joined.

    source  a path, whose suffix gives the format: .csv, .tsv, .jsonl, .ndjson (compressed too), .parquet, .npz or that
            of a format which was registered; a folder of Parquet files or of chunks; every other file is LETOR text;
            "-": text, whose first bytes show the format; an open file: LETOR text, if no format is given
    format  the name of the format, if the suffix does not give it: letor, csv, tsv, parquet, npz, chunks, ...

    Options are those of `read_letor` (n_features, dense, dtype, missing, zero_based, comments, n_jobs). Without a dtype
    numbers keep the type in which they are stored, and text is read as float64. The columns of tables are named by

    label, qid     labels and query ids (qid=None: all rows are one query)
    docid, weight  document ids and weights; None: columns called docid and sample_weight, if there are any
    features       the columns of X, in this order, by name or by patterns such as "bm25_*"; None: all others, except
                   one called comment. A column f1, f2, ... has a number rather than a name
    ignore         columns to leave out, likewise

    With needs_labels=False a table may lack the labels, as one to predict on does: y is then 0. With unjudged=True the
    rows of a table may lack theirs: y is NaN there, and `evaluate` and `compare` have an option for its value. With
    keep_missing=True missing features are NaN too, instead of an error: `rankwise.check` counts them.

    Examples
    --------
    >>> from rankwise import load_sample, read_data, write_data
    >>> write_data("books.csv", load_sample())
    >>> read_data("books.csv", ignore=["clicks"])
    RankingData(1,951 rows, 12 features, 120 queries, dense float64)
    """
    from rankwise.data.columns import Reading, finished
    from rankwise.data.records import joined

    reading = Reading(**options)
    sources, chosen = sources_of(source, format)
    _check_naming(chosen, reading, sources)
    if chosen.read_all is not None:
        return chosen.read_all(sources, reading)
    blocks = list(_blocks(sources, chosen, reading))
    name = ", ".join(map(str, sources))
    if not blocks:
        raise ValueError(f"{name}: there are no rows to read")
    return finished(joined(blocks), reading, name)


def stream_data(
    source: "Source | Sequence[Source]",
    *,
    format: str | None = None,
    progress: Progress = lambda done, total: None,
    **options: Any,
) -> "Iterator[RankingData]":
    """Read ranking data as blocks of rows, so that they need not fit into memory; without comments.

    Arguments are those of `read_data`. LETOR text must be in files, because it is read twice, unless `n_features` and
    `dense` are given: it is then read once, and may come from "-" or an open file. `progress` is called with the number
    of rows done and the number of all rows, None while that is not known.

    Examples
    --------
    >>> from rankwise import load_sample, stream_data, write_data
    >>> write_data("books.csv", load_sample())
    >>> sum(len(block) for block in stream_data("books.csv"))
    1951
    """
    from rankwise.data.columns import Reading, finished
    from rankwise.data.streams import name_of

    reading = Reading(**options | {"comments": False})
    sources, chosen = sources_of(source, format)
    _check_naming(chosen, reading, sources)
    if chosen.stream_all is not None:
        yield from chosen.stream_all(sources, reading, progress)
        return
    done = 0
    for block in _blocks(sources, chosen, reading):
        yield finished(block, reading, ", ".join(map(str, sources)))
        done += len(block)
        progress(done, None)
    if not done:
        raise ValueError(f"{', '.join(map(name_of, sources))}: there are no rows to read")


def _check_naming(format: Format, reading: "Reading", sources: "list[Source]") -> None:
    """Raise an error if columns are named where there are none; data for a model take what they have."""
    named = [one for one in ("label", "qid", "docid", "weight", "features", "ignore") if reading.is_given(one)]
    if named and not format.has_columns and reading.known is None:
        which = ", ".join(map(str, sources))
        cure = "only tables (CSV, TSV, JSON lines, Parquet) have columns to choose by name"
        raise ValueError(f"{which}: {', '.join(named)} cannot be given for the format {format.name!r}: {cure}")


def _blocks(sources: "list[Source]", format: Format, reading: "Reading") -> "Iterator[RankingData]":
    """The rows of the sources, block after block, with the columns in the order of the first block."""
    from rankwise.data.columns import ModelColumns, alike

    first = None
    for one in sources:
        for block in format.read(one, reading) if format.read is not None else ():
            if first is None:
                first = ModelColumns.of_data(block)
            yield alike(block, first, str(one))


def write_data(target: "Target", data: "RankingData", *, format: str | None = None) -> None:
    """Write ranking data to a path, in the format of its suffix or in the given one; to "-" or an open file as text.

    Examples
    --------
    >>> from rankwise import load_sample, read_data, write_data
    >>> write_data("books.parquet", load_sample())
    >>> len(read_data("books.parquet"))
    1951
    """
    chosen = get_format(format) if format else format_of(target, writing=True)
    if chosen.write is None:
        raise ValueError(f"the format {chosen.name!r} can be read but not written")
    if not chosen.is_text and isinstance(target, str) and target == "-":
        raise ValueError(f"{chosen.name} cannot go to standard output: give a file")
    chosen.check_installed()
    from rankwise.data.records import check_copied, check_no_groups

    check_copied(data)
    if not chosen.holds_groups:
        check_no_groups(data)
    chosen.write(target, data)


def _later(place: str, **options: str) -> Callable[..., Any]:
    """The function "module:name" of this room with these options; it is imported when it is first called."""
    module, name = place.split(":")
    return lambda *args, **more: getattr(import_module(f"rankwise.data.{module}"), name)(*args, **options, **more)


register_format(
    Format(
        "letor",
        (".txt", ".letor", ".dat", ".svm", ".svmlight", ".libsvm"),
        write=_later("text_writer:write_letor"),
        is_text=True,
        is_indexed=True,
        has_columns=False,
        read_all=_later("letor:letor_data"),
        stream_all=_later("letor:letor_stream"),
    )
)
register_format(
    Format(
        "csv",
        (".csv",),
        _later("csv_reader:csv_blocks", separator=","),
        _later("text_writer:write_csv", separator=","),
        is_text=True,
    )
)
register_format(
    Format(
        "tsv",
        (".tsv",),
        _later("csv_reader:csv_blocks", separator="\t"),
        _later("text_writer:write_csv", separator="\t"),
        is_text=True,
    )
)
register_format(
    Format(
        "jsonl",
        (".jsonl", ".ndjson"),
        _later("json_lines:json_blocks"),
        _later("json_lines:write_json"),
        is_text=True,
        read_all=_later("json_lines:json_data"),
    )
)
register_format(
    Format(
        "parquet",
        (".parquet", ".pq"),
        _later("frame:parquet_blocks"),
        _later("frame:write_parquet"),
        requires=("pyarrow", "pyarrow"),
        is_folder=lambda path: True,  # every folder that no other format claims
        split=_later("frame:parquet_files"),
    )
)
register_format(
    Format("npz", (".npz",), _later("npz:npz_blocks"), _later("npz:write_npz"), has_columns=False, holds_groups=True)
)
register_format(
    Format(
        "chunks",
        (".chunks",),
        _later("chunks:chunk_blocks"),
        _later("chunk_writer:write_chunks"),
        has_columns=False,
        holds_groups=True,
        is_folder=lambda path: (path / "manifest.json").exists(),
        split=_later("chunks:list_chunks"),
        on_disk=OnDisk(
            _later("chunk_writer:write_chunks"),
            _later("chunks:open_chunks"),
            _later("chunk_writer:check_replaceable"),
        ),
    )
)
