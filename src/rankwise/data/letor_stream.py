"""Ranking text of any size as blocks of rows: looked through once for its shape, then read piece by piece."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rankwise.data.columns import Reading
from rankwise.data.letor_error import LetorError
from rankwise.data.letor_parts import Options, Seen, counts_from, read_part
from rankwise.data.letor_scan import count
from rankwise.data.records import RankingData
from rankwise.data.streams import Text, changed, open_bytes, status_of, streamed
from rankwise.foundation.threads import share, thread_count

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True)
class _Shape:
    rows: int
    n_features: int
    zero_based: bool
    dense: bool


def letor_stream(paths: list[Path], reading: Reading, progress: Progress) -> Iterator[RankingData]:
    """Blocks of rows, alike in their columns; a file is read twice. `progress` is called with the rows done and the
    number of all rows, None while it is not known.
    """
    n_threads = thread_count(reading.n_jobs)
    before = [status_of(path) for path in paths]
    shape = _look_through(paths, reading, n_threads, progress)
    dtype = np.dtype(reading.dtype or np.float64)
    options = Options(reading.n_features, shape.dense, dtype, reading.missing, False, n_threads, shape.zero_based)
    seen = Seen()
    done = 0
    for text in _texts(paths):
        part = read_part([text], options, seen, whole=True, width=shape.n_features)
        if [status_of(path) for path in paths] != before:
            raise changed(", ".join(map(str, paths)))
        if part is not None:
            yield RankingData(part.X, part.y, part.qid, None, part.base)
            done += part.y.size
            progress(done, shape.rows)


def _look_through(paths: list[Path], reading: Reading, n_threads: int, progress: Progress) -> _Shape:
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
        raise LetorError("there are no rows to read", ", ".join(map(str, paths)))
    chosen = counts_from(reading.zero_based, reading.n_features)
    zero_based = index_zero if chosen is None else chosen
    n_features = reading.n_features or max(largest + zero_based, 1)
    dense = reading.dense if reading.dense is not None else 2 * entries >= rows * n_features
    return _Shape(rows, n_features, zero_based, dense)


def _texts(paths: list[Path]) -> Iterator[Text]:
    for path in paths:
        with ExitStack() as closing:
            yield from streamed(closing.enter_context(open_bytes(path, "rb")), str(path))
