"""Ranking data larger than memory: labels and queries are in memory, rows of X are read from their chunks on demand."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankwise.data.chunk_files import ChunkFile, Common, OpenChunk, read_manifest
from rankwise.data.columns import Reading
from rankwise.data.npz import check_columns, check_rows
from rankwise.data.records import RankingData, check_finite
from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.outputs import FileName
from rankwise.foundation.texts import counted
from rankwise.foundation.threads import share, thread_count
from rankwise.pairs.queries import cut, one_type

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_ATTEMPTS = 10  # to open a folder that another process replaces meanwhile
PART_BYTES = 1 << 22  # rows of X read together: they stay in cache


class ChunkPart(NamedTuple):
    """Queries first, ..., last - 1. `load` reads their rows of X, which take memory only as long as they are kept."""

    first: int
    last: int
    rows: slice
    load: "Callable[[], Array | csr_array]"


@dataclass(frozen=True)
class OneChunk:
    """One chunk of a folder, which `chunk_blocks` reads alone."""

    folder: Path
    number: int

    def __str__(self) -> str:
        return f"{self.folder}, chunk {self.number}"


def list_chunks(folder: Path) -> list[OneChunk]:
    return [OneChunk(folder, i) for i in range(len(read_manifest(folder)[1]))]


def chunk_blocks(source: FileName | OneChunk, reading: Reading) -> Iterator[RankingData]:
    """The chunks of a folder, or one of them; checksums are verified."""
    if isinstance(source, OneChunk):
        common, files = read_manifest(source.folder)
        opened = files[source.number].opened(source.folder)
        yield from ChunkedData(source.folder, common, [opened]).read_ahead()
    else:
        yield from open_chunks(source).read_ahead()


def open_chunks(folder: FileName, *, verify: bool = False) -> "ChunkedData":
    """Open what `write_chunks` wrote. Sizes are always checked; verify=True checks checksums, which reads all data.

    Examples
    --------
    >>> from rankwise import RankSVM, load_sample, open_chunks, write_chunks
    >>> write_chunks("books.chunks", load_sample())
    >>> chunks = open_chunks("books.chunks")
    >>> RankSVM().fit(chunks).coef_.shape
    (13,)
    """
    path = Path(folder)
    manifest = read_manifest(path)
    for _ in range(_ATTEMPTS):
        common, files = manifest
        try:
            opened = share(lambda one: one.opened(path, verify), files, thread_count() if verify else 1)
            return ChunkedData(path, common, opened)
        except ValueError:
            if (now := read_manifest(path)) == manifest:
                raise
            manifest = now
    raise ValueError(f"{path} is replaced again and again: wait until no process writes to it")


class ChunkedData:
    """Ranking data in a folder of chunks. In memory are

    y       the labels
    weight  the documents' weights in a fit, None if a chunk has none
    ids     the query ids, one per query
    starts  query q has the rows starts[q], ..., starts[q + 1] - 1
    """

    def __init__(self, folder: Path, common: Common, opened: list[OpenChunk]) -> None:
        self.folder = folder
        self.opened = opened
        self.files: list[ChunkFile] = [one.entry for one in opened]
        self.n_features, self.first_index, self.names = common.n_features, common.first_index, common.names
        self.is_sparse = common.sparse
        self.dtype: np.dtype = np.dtype(common.dtype)
        self.row_starts = np.cumsum([0, *(one.rows for one in self.files)])
        self.n_rows = int(self.row_starts[-1])
        stored = ("data", "indices") if self.is_sparse else ("X",)
        self.nbytes = sum(one.arrays[name].rows * one.arrays[name].row_bytes for one in self.files for name in stored)
        self.y: Floats = np.concatenate([one.array("y") for one in opened])
        self.weight: Floats | None = self._besides("weight")
        by_chunk = [runs(one.array("qid")) for one in opened]
        self.ids = np.concatenate(one_type([ids for ids, _ in by_chunk]))
        self.starts = np.cumsum([0, *np.concatenate([sizes for _, sizes in by_chunk])])

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        shape = ((self.n_rows, "rows"), (self.n_features, "features"), (self.n_queries, "queries"))
        size = ", ".join(counted(n, what) for n, what in shape)
        kind = "sparse" if self.is_sparse else "dense"
        return f"ChunkedData({size}, {kind} {self.dtype}, {counted(len(self.files), 'chunks')} in {self.folder})"

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, self.n_features

    @property
    def size(self) -> int:
        """How many numbers X holds."""
        return sum(one.arrays["data"].rows if self.is_sparse else one.rows * self.n_features for one in self.files)

    @property
    def n_queries(self) -> int:
        return int(self.ids.size)

    @property
    def qid(self) -> Array:
        """The query id of each row."""
        return np.repeat(self.ids, np.diff(self.starts))

    @property
    def docid(self) -> Array | None:
        """The document id of each row, which are read from the chunks; None if a chunk has none."""
        return self._besides("docid")

    @property
    def groups(self) -> Array | None:
        """The group of each row, which are read from the chunks; None if a chunk has none."""
        return self._besides("groups")

    def _besides(self, name: str) -> Array | None:
        if not all(name in one.arrays for one in self.files):
            return None
        return np.concatenate(one_type([one.array(name) for one in self.opened]))

    def chunk(self, i: int) -> RankingData:
        """All of one chunk."""
        rows = slice(int(self.row_starts[i]), int(self.row_starts[i + 1]))
        one = self.opened[i]
        besides = (one.array(name) if name in one.entry.arrays else None for name in ("docid", "weight", "groups"))
        X = self.rows(rows.start, rows.stop)
        return RankingData(X, self.y[rows], one.array("qid"), None, self.first_index, self.names, *besides)

    def read_ahead(self) -> Iterator[RankingData]:
        """One chunk after another, each checked and read while the caller works on the one before it."""

        def checked(i: int) -> RankingData:
            self.opened[i].check(thoroughly=True)
            data = self.chunk(i)
            check_finite(data, f" of {self.opened[i].path}")
            return data

        with ThreadPoolExecutor(1) as reader:
            coming = reader.submit(checked, 0)
            for i in range(1, len(self.files) + 1):
                data = coming.result()
                if i < len(self.files):
                    coming = reader.submit(checked, i)
                yield data

    def read(self) -> RankingData:
        """All of the data, in memory."""
        X = self.rows(0, self.n_rows)
        besides = self.docid, self.weight, self.groups
        return RankingData(X, self.y, self.qid, None, self.first_index, self.names, *besides)

    def check_finite(self) -> None:
        """Raise an error if a number of X is NaN or infinite; reads everything."""
        for i, one in enumerate(self.opened):
            check_finite(self.chunk(i), f" of {one.path}")

    def parts(self, max_bytes: int = PART_BYTES) -> list[ChunkPart]:
        """Runs of whole queries; a run ends with the query that reaches `max_bytes` of X."""
        step = max(1, max_bytes * self.n_rows // max(self.nbytes, 1))
        cuts = cut(self.starts, step)
        spans = [slice(int(self.starts[first]), int(self.starts[last])) for first, last in cuts]
        return [
            ChunkPart(*queries, rows, partial(self.load, rows.start, rows.stop))
            for queries, rows in zip(cuts, spans, strict=True)
        ]

    def rows(self, low: int, high: int) -> "Array | csr_array":
        """Rows low, ..., high - 1 of X, copied into arrays of their own."""
        pieces = list(self._pieces(low, high))
        if not self.is_sparse:
            X = np.empty((high - low, self.n_features), self.dtype)
            at = 0
            for chunk, first, last in pieces:
                chunk.read("X", first, X[at : at + last - first])
                at += last - first
            return X
        bounds = [self._bounds(*piece) for piece in pieces]
        begins = np.cumsum([0, *(int(bound[-1] - bound[0]) for bound in bounds)]).tolist()
        data, indices = np.empty(begins[-1], self.dtype), np.empty(begins[-1], np.int32)
        for (chunk, _, _), bound, (begin, end) in zip(pieces, bounds, pairwise(begins), strict=True):
            chunk.read("data", int(bound[0]), data[begin:end])
            chunk.read("indices", int(bound[0]), indices[begin:end])
        ends = [bound[1:] - bound[0] + begin for bound, begin in zip(bounds, begins, strict=False)]
        return self._csr(data, indices, np.concatenate([[0], *ends]))

    def load(self, low: int, high: int) -> "Array | csr_array":
        """The same, under the name that `rankwise.objective.stored` calls."""
        return self.rows(low, high)

    def _pieces(self, low: int, high: int) -> Iterator[tuple[OpenChunk, int, int]]:
        """The chunks that hold these rows, each with the numbers of its first row and of the row after its last."""
        i = int(np.searchsorted(self.row_starts, low, side="right")) - 1
        while i < len(self.files) and self.row_starts[i] < high:
            start = int(self.row_starts[i])
            yield self.opened[i], max(low - start, 0), min(high - start, self.files[i].rows)
            i += 1

    def _bounds(self, chunk: OpenChunk, first: int, last: int) -> Array:
        """Where the entries of each of these rows begin in a chunk, and where those of the last one end."""
        bounds = np.empty(last - first + 1, chunk.entry.arrays["indptr"].dtype)
        chunk.read("indptr", first, bounds)
        self._checked(check_rows, bounds, chunk.entry.arrays["data"].rows)
        return bounds

    def _checked(self, check: Callable[[Array, int], None], array: Array, most: int) -> None:
        """Kernels do not check indices, and a folder may come from a stranger."""
        try:
            check(array, most)
        except ValueError as error:
            raise ValueError(f"{self.folder} is damaged: {error}: convert the data again") from None

    def _csr(self, data: Array, indices: Array, indptr: Array) -> "csr_array":
        from scipy.sparse import csr_array

        self._checked(check_columns, indices, self.n_features)
        index = np.int32 if data.size < 2**31 else np.int64
        stored = (data, indices.astype(index, copy=False), indptr.astype(index))
        return csr_array(stored, shape=(indptr.size - 1, self.n_features), copy=False)


def runs(qid: Array) -> tuple[Array, Array]:
    """The ids of the runs of equal ids, and their lengths."""
    first = np.flatnonzero(np.concatenate(([True], qid[1:] != qid[:-1])))
    return qid[first], np.diff(first, append=qid.size)
