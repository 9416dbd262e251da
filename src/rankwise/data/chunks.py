"""Ranking data larger than memory: labels and queries are kept, rows of X are read from their chunks when asked for."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankwise.arrays import Array, Floats
from rankwise.data.chunk_files import ChunkFile, read_manifest
from rankwise.data.columns import joined, one_type
from rankwise.data.records import RankingData
from rankwise.queries import cut
from rankwise.threads import share, thread_count

PART_BYTES = 1 << 22  # rows of X read together: they stay in cache
AHEAD = 4  # parts that the system is asked to fetch before they are read


class ChunkPart(NamedTuple):
    """Queries first, ..., last - 1. `load` gives their rows of X; the arrays are used again by the next load of the
    same thread, so copy what is to be kept.
    """

    first: int
    last: int
    rows: slice
    load: Callable[[], Any]


def open_chunks(folder: Any, *, verify: bool = False) -> "ChunkedData":
    """Open what `write_chunks` wrote; sizes are always checked, checksums with verify=True, which reads everything."""
    path = Path(folder)
    known, files = read_manifest(path)
    share(lambda one: one.check(path, verify), files, thread_count() if verify else 1)
    return ChunkedData(path, known, files)


class ChunkedData:
    """Ranking data in a folder of chunks. In memory are

    y       the labels
    ids     the query ids, one a query
    starts  query q has the rows starts[q], ..., starts[q + 1] - 1
    """

    def __init__(self, folder: Path, known: dict[str, Any], files: list[ChunkFile]) -> None:
        self.folder = folder
        self.files = files
        self.n_features = int(known["n_features"])
        self.first_index = int(known["first_index"])
        self.names = known["names"]
        self.is_sparse = bool(known["sparse"])
        self.dtype = np.dtype(known["dtype"])
        self.row_starts = np.cumsum([0, *(one.rows for one in files)])
        self.n_rows = int(self.row_starts[-1])
        stored = ("data", "indices") if self.is_sparse else ("X",)
        self.nbytes = sum(one.arrays[name].rows * one.arrays[name].row_bytes for one in files for name in stored)
        self.y: Floats = np.concatenate([one.array(folder, "y") for one in files])
        by_chunk = [runs(one.array(folder, "qid")) for one in files]
        self.ids = np.concatenate(one_type([ids for ids, _ in by_chunk]))
        self.starts = np.cumsum([0, *np.concatenate([sizes for _, sizes in by_chunk])])
        self._buffers = threading.local()

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        shape = f"{self.n_rows} rows, {self.n_features} features, {self.n_queries} queries"
        kind = "sparse" if self.is_sparse else "dense"
        return f"ChunkedData({shape}, {kind} {self.dtype}, {len(self.files)} chunks in {self.folder})"

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, self.n_features

    @property
    def n_queries(self) -> int:
        return int(self.ids.size)

    @property
    def qid(self) -> Array:
        """The query id of each row."""
        return np.repeat(self.ids, np.diff(self.starts))

    def chunk(self, i: int) -> RankingData:
        """All of one chunk."""
        rows = slice(int(self.row_starts[i]), int(self.row_starts[i + 1]))
        X = self._rows(rows.start, rows.stop, lambda name, size, dtype: np.empty(size, dtype))
        qid = self.files[i].array(self.folder, "qid")
        return RankingData(X, self.y[rows], qid, None, self.first_index, self.names)

    def read_ahead(self) -> Iterator[RankingData]:
        """One chunk after another, the next being read while one is worked on."""
        with ThreadPoolExecutor(1) as reader:
            coming = reader.submit(self.chunk, 0)
            for i in range(1, len(self.files) + 1):
                here = coming.result()
                if i < len(self.files):
                    coming = reader.submit(self.chunk, i)
                yield here

    def read(self) -> RankingData:
        """All of the data, in memory."""
        return joined([self.chunk(i) for i in range(len(self.files))])

    def parts(self, max_bytes: int = PART_BYTES) -> list[ChunkPart]:
        """The data cut into runs of whole queries, each of that many bytes of X and the rest of a query."""
        step = max(1, max_bytes * self.n_rows // max(self.nbytes, 1))
        cuts = cut(self.starts, step)
        spans = [(int(self.starts[first]), int(self.starts[last])) for first, last in cuts]

        def load(i: int) -> Any:
            if i + AHEAD < len(spans):
                self._announce(*spans[i + AHEAD])
            return self._rows(*spans[i], self._buffer)

        def loader(i: int) -> Callable[[], Any]:
            return lambda: load(i)

        return [ChunkPart(*cuts[i], slice(*spans[i]), loader(i)) for i in range(len(cuts))]

    def rows(self, low: int, high: int) -> Any:
        """Rows low, ..., high - 1 of X, in arrays of their own."""
        return self._rows(low, high, lambda name, size, dtype: np.empty(size, dtype))

    def _pieces(self, low: int, high: int) -> Iterator[tuple[ChunkFile, int, int]]:
        """The chunks that hold these rows, each with the numbers that the rows have in it."""
        first = int(np.searchsorted(self.row_starts, low, side="right")) - 1
        for i in range(first, len(self.files)):
            start = int(self.row_starts[i])
            if start >= high:
                return
            yield self.files[i], max(low - start, 0), min(high - start, self.files[i].rows)

    def _rows(self, low: int, high: int, room: Callable[[str, int, Any], Array]) -> Any:
        if self.is_sparse:
            return self._sparse_rows(low, high, room)
        X = room("X", (high - low) * self.n_features, self.dtype).reshape(high - low, self.n_features)
        at = 0
        for file, first, last in self._pieces(low, high):
            file.read(self.folder, "X", first, X[at : at + last - first])
            at += last - first
        return X

    def _sparse_rows(self, low: int, high: int, room: Callable[[str, int, Any], Array]) -> Any:
        from scipy.sparse import csr_array

        ends = []
        for file, first, last in self._pieces(low, high):
            bounds = np.empty(last - first + 1, file.arrays["indptr"].dtype)
            file.read(self.folder, "indptr", first, bounds)
            ends.append((file, bounds))
        starts = np.cumsum([0, *(int(bounds[-1] - bounds[0]) for _, bounds in ends)])
        index = np.dtype(ends[0][0].arrays["indices"].dtype)
        stored = room("data", int(starts[-1]), self.dtype), room("indices", int(starts[-1]), index)
        indptr = np.zeros(high - low + 1, index)
        at = 0
        for (file, bounds), (begin, end) in zip(ends, pairwise(starts.tolist()), strict=True):
            for name, out in zip(("data", "indices"), stored, strict=True):
                file.read(self.folder, name, int(bounds[0]), out[begin:end])
            indptr[at + 1 : at + bounds.size] = bounds[1:] - bounds[0] + begin
            at += bounds.size - 1
        return csr_array((*stored, indptr), shape=(high - low, self.n_features), copy=False)

    def _buffer(self, name: str, size: int, dtype: Any) -> Array:
        """Room that the thread has used before, where it is large enough."""
        known = getattr(self._buffers, name, None)
        if known is None or known.size < size:
            known = np.empty(size, dtype)
            setattr(self._buffers, name, known)
        return known[:size]

    def _announce(self, low: int, high: int) -> None:
        if not self.is_sparse:
            for file, first, last in self._pieces(low, high):
                file.announce(self.folder, "X", first, last)


def runs(qid: Array) -> tuple[Array, Array]:
    """The ids of the runs of equal ids, and their lengths."""
    first = np.flatnonzero(np.concatenate(([True], qid[1:] != qid[:-1])))
    return qid[first], np.diff(first, append=qid.size)
