"""Ranking text, one document per line: `label qid:ID index:value … # comment`.

`read_letor` reads it whole; `letor_stream` yields blocks of rows, so that the text may be larger than memory. Files are
read in parallel from disk; compressed files, pipes and standard input are read in pieces that are then joined.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
from numpy.typing import DTypeLike

from rankwise.data.columns import Reading, check_missing
from rankwise.data.document_ids import ids_in_comments
from rankwise.data.letor_options import Options, Part, Seen, counts_from
from rankwise.data.letor_plain import is_small, read_plain
from rankwise.data.records import RankingData
from rankwise.data.streams import (
    LetorError,
    Source,
    Text,
    changed,
    is_path,
    name_of,
    opened,
    status_of,
    stored,
    streamed,
)
from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.threads import share, thread_count
from rankwise.pairs.queries import one_type

if TYPE_CHECKING:  # kernels are imported where they are first needed
    from scipy.sparse import csr_array

    from rankwise.data.letor_kernels import Arrays

BLOCK_VALUES = 1 << 22  # of a dense block, where text is read once

Progress: TypeAlias = Callable[[int, int | None], None]  # rows done, rows in all (None if not known yet)


def read_letor(
    source: Source | Sequence[Source],
    *,
    n_features: int | None = None,
    dense: bool | None = None,
    dtype: DTypeLike = np.float64,
    missing: float | None = None,
    zero_based: bool | None = None,
    comments: bool = False,
    n_jobs: int | None = None,
) -> RankingData:
    """Read ranking text.

    source      a path (.gz, .bz2, .xz and .zst are decompressed), "-" for standard input, an open file, or a list
                of these, read as one text
    n_features  columns of X: a larger index is an error, so that a file to predict on fits its model; None: as many
                as occur
    dense       True for an array, False for SciPy's CSR; None: an array if at least half of its entries are written in
                the file. CSR stores what is written, zeros too
    dtype       of X: float64, exactly as Python's float reads the text, or float32, that rounded once
    missing     the value that replaces NULL, NA and nan; None: they are an error
    comments    whether to keep the text after '#', one string per row; document ids are taken from it, which are
                `docid = ID` or the first word of every comment
    n_jobs      threads; None for every core. The result does not depend on it

    zero_based  True: indices count from 0, even if index 0 does not occur; False: they count from 1, and an index 0 is
                an error; None: they count from 0 if an index 0 occurs anywhere, else from 1; with n_features, None
                means False. Data for a model that was trained on a zero-based file need True

    Without any `qid:` all rows belong to one query, 0. The ids become int64 if each is written as a plain integer that
    fits, else all are kept as strings. A malformed line raises a LetorError, which names the line; blank lines and
    lines that begin with '#' are skipped.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rankwise import read_letor
    >>> written = Path("two.txt").write_text("2 qid:tea 1:7.5 2:4\\n0 qid:tea 1:3.2\\n")
    >>> read_letor("two.txt", dense=True).X
    array([[7.5, 4. ],
           [3.2, 0. ]])
    """
    chosen = _checked_dtype(dtype, missing)
    if n_features is not None and n_features < 1:
        raise ValueError(f"n_features must be at least 1, got {n_features}")
    zero_based = counts_from(zero_based, n_features)
    options = Options(n_features, dense, chosen, missing, comments, thread_count(n_jobs), zero_based)
    sources = list(source) if isinstance(source, Sequence) and not isinstance(source, str) else [source]
    return _read(sources, options)


def letor_data(sources: list[Source], reading: Reading) -> RankingData:
    """Ranking text by the options of `read_data`, of which those for tables do not matter here."""
    dtype = _checked_dtype(reading.dtype or np.float64, reading.missing)
    zero_based, n_threads = counts_from(reading.zero_based, reading.n_features), thread_count(reading.n_jobs)
    options = Options(reading.n_features, reading.dense, dtype, reading.filler, reading.comments, n_threads, zero_based)
    return _read(sources, options)


def _checked_dtype(dtype: DTypeLike, missing: float | None) -> np.dtype:
    """The type of X, which must be able to hold the value for missing features."""
    check_missing(missing)
    chosen = np.dtype(dtype)
    if chosen not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {chosen}")
    if missing is not None and abs(missing) > float(np.finfo(chosen).max):
        raise ValueError(f"missing is {missing}, which {chosen} cannot hold")
    return chosen


def _read(sources: list[Source], options: Options) -> RankingData:
    seen, parts = Seen(), []
    for texts, whole in _batches(sources):
        part = _read_part(texts, options, seen, whole=whole)
        if part is not None and whole:
            return _data(part.X, part.y, part.qid, part.comments, part.base)
        if part is not None:
            parts.append(part)
    if not parts:
        raise _empty(sources)
    return _join(parts, options)


def _read_part(
    texts: list[Text], options: Options, seen: Seen, *, whole: bool, width: int | None = None
) -> Part | None:
    """The rows of the texts, None if there are none: without Numba where that is not worth its start."""
    part = read_plain(texts, options, seen, whole=whole, width=width) if is_small(texts) else None
    if part is not None:
        return part
    from rankwise.data.letor_parts import read_part

    return read_part(texts, options, seen, whole=whole, width=width)


def _batches(sources: list[Source]) -> Iterator[tuple[list[Text], bool]]:
    """Yield (texts to read together, whether they are the whole input)."""
    for one in sources:
        if not is_path(one) and one != "-" and not hasattr(one, "read"):
            raise TypeError(f"a source must be a path, '-' or an open file, got {type(one).__name__}")
    texts = [stored(Path(cast(str, one))) if is_path(one) else None for one in sources]
    plain = [text for text in texts if text is not None]
    if len(plain) == len(texts):
        yield plain, True
        return
    for one, text in zip(sources, texts, strict=True):
        if text is not None:
            yield [text], False
            continue
        with ExitStack() as closing:
            for piece in streamed(opened(one, closing), name_of(one)):
                yield [piece], False


def _join(parts: list[Part], options: Options) -> RankingData:
    """Concatenate the parts of a stream. Empties the list: each part is freed as soon as it is copied."""
    y = np.concatenate([part.y for part in parts])
    qid = np.concatenate(one_type([part.qid for part in parts]))
    comments = None
    if options.comments:
        comments = np.concatenate([part.comments for part in parts if part.comments is not None])
    base = min(part.base for part in parts)
    return _data(_joined_matrix(parts, options, base), y, qid, comments, base)


def _data(X: "Array | csr_array", y: Floats, qid: Array, comments: Array | None, base: int) -> RankingData:
    docid = None if comments is None else ids_in_comments(comments, qid)
    return RankingData(X, y, qid, comments, base, docid=docid)


def _joined_matrix(parts: list[Part], options: Options, base: int) -> "Array | csr_array":
    from rankwise.data.letor_parts import allocated, matrix

    n_features = max(part.X.shape[1] + part.base - base for part in parts)
    if options.n_features is not None:
        n_features = options.n_features
    rows, entries = sum(part.X.shape[0] for part in parts), sum(part.entries for part in parts)
    dense = options.is_dense(rows, n_features, entries)
    arrays = allocated((rows, n_features), entries, dense, options.dtype)
    row, entry = 0, 0
    while parts:
        part = parts.pop(0)
        n_rows, n_columns = part.X.shape
        shift = part.base - base
        if dense:
            block = arrays.values.reshape(rows, n_features)[row : row + n_rows, shift : shift + n_columns]
            if isinstance(part.X, np.ndarray):
                block[:] = part.X
            else:  # not by toarray, which adds to zeros: 0.0 + -0.0 is 0.0
                block[np.repeat(np.arange(n_rows), np.diff(part.X.indptr)), part.X.indices] = part.X.data
        else:
            _append(arrays, row, entry, part, shift)
        row += n_rows
        entry += part.entries
    return matrix(arrays, (rows, n_features), dense)


def _append(arrays: "Arrays", row: int, entry: int, part: Part, shift: int) -> None:
    n_rows, n_columns = part.X.shape
    span = slice(entry, entry + part.entries)
    if isinstance(part.X, np.ndarray):  # a part is dense only if its every entry was written
        arrays.values[span] = part.X.ravel()
        arrays.columns[span].reshape(n_rows, n_columns)[:] = np.arange(shift, shift + n_columns)
        arrays.starts[row + 1 : row + n_rows + 1] = entry + n_columns * np.arange(1, n_rows + 1)
    else:
        arrays.values[span] = part.X.data
        arrays.columns[span] = part.X.indices + shift
        arrays.starts[row + 1 : row + n_rows + 1] = entry + part.X.indptr[1:]


@dataclass(frozen=True)
class _Shape:
    rows: int
    n_features: int
    zero_based: bool
    dense: bool


def letor_stream(sources: list[Source], reading: Reading, progress: Progress) -> Iterator[RankingData]:
    """Blocks of rows with the same columns.

    With n_features and dense given, each source is read once and may be a pipe. Else files are read twice: for the
    shape of the data, then for the rows.
    """
    if reading.n_features is not None and reading.dense is not None:
        yield from _read_once(sources, reading, progress)
        return
    paths = [Path(cast(str, one)) for one in sources]
    n_threads = thread_count(reading.n_jobs)
    before = [status_of(path) for path in paths]
    shape = _shape(paths, reading, n_threads, progress)
    dtype = np.dtype(reading.dtype or np.float64)
    options = Options(reading.n_features, shape.dense, dtype, reading.filler, False, n_threads, shape.zero_based)
    seen = Seen()
    done = 0
    for text in _texts(sources):
        part = _read_part([text], options, seen, whole=True, width=shape.n_features)
        if [status_of(path) for path in paths] != before:
            raise changed(", ".join(map(str, paths)))
        if part is not None:
            yield RankingData(part.X, part.y, part.qid, None, part.base)
            done += part.y.size
            progress(done, shape.rows)


def _read_once(sources: list[Source], reading: Reading, progress: Progress) -> Iterator[RankingData]:
    """Blocks of at most BLOCK_VALUES values if they are dense."""
    zero_based = counts_from(reading.zero_based, reading.n_features)
    dtype = np.dtype(reading.dtype or np.float64)
    n_threads = thread_count(reading.n_jobs)
    options = Options(reading.n_features, reading.dense, dtype, reading.filler, False, n_threads, zero_based)
    n_lines = max(1, BLOCK_VALUES // (reading.n_features or 1)) if reading.dense else sys.maxsize
    seen = Seen()
    done = 0
    for text in chain.from_iterable(one.cut(n_lines) for one in _texts(sources)):
        part = _read_part([text], options, seen, whole=True)
        if part is not None:
            yield RankingData(part.X, part.y, part.qid, None, part.base)
            done += part.y.size
            progress(done, None)
    if not done:
        raise _empty(sources)


def _shape(paths: list[Path], reading: Reading, n_threads: int, progress: Progress) -> _Shape:
    from rankwise.data.letor_kernels import count

    rows, entries, largest, index_zero = 0, 0, -1, False
    for text in _texts(paths):
        counted = share(lambda chunk: count(chunk.load()), list(text.chunks()), n_threads)
        counts = np.array(counted, np.int64).reshape(-1, 4)
        rows += int(counts[:, 0].sum())
        entries += int(counts[:, 1].sum())
        largest = max(largest, int(counts[:, 2].max(initial=-1)))
        index_zero |= bool(counts[:, 3].any())
        progress(rows, None)
    if not rows:
        raise _empty(paths)
    chosen = counts_from(reading.zero_based, reading.n_features)
    zero_based = index_zero if chosen is None else chosen
    n_features = reading.n_features or max(largest + zero_based, 1)
    dense = reading.dense if reading.dense is not None else 2 * entries >= rows * n_features
    return _Shape(rows, n_features, zero_based, dense)


def _texts(sources: Sequence[Source]) -> Iterator[Text]:
    for one in sources:
        with ExitStack() as closing:
            yield from streamed(opened(one, closing), name_of(one))


def _empty(sources: Sequence[Source]) -> LetorError:
    return LetorError("there are no rows to read", ", ".join(map(name_of, sources)) or "an empty list")
