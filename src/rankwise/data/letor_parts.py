"""Texts into arrays: chunks counted side by side, room made once, chunks filled side by side."""

import mmap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.data import letor_kernels as kernels
from rankwise.data.columns import largest_number
from rankwise.data.letor_faults import WITH_QUERY, WITHOUT_QUERY, explain
from rankwise.data.letor_scan import count
from rankwise.data.letor_strings import read_strings
from rankwise.data.streams import Chunk, Text, changed
from rankwise.data.tokens import LARGEST_INDEX
from rankwise.foundation.arrays import Array, Floats, is_rounded_integer
from rankwise.foundation.memory import check_dense_room
from rankwise.foundation.threads import share

_PLACES = (kernels.PLACE, kernels.WITH_QUERY, kernels.WITHOUT_QUERY)


@dataclass(frozen=True)
class Options:
    """What the caller of read_letor asked for; with zero_based None the text decides."""

    n_features: int | None
    dense: bool | None
    dtype: Any
    missing: float | None
    comments: bool
    n_threads: int
    zero_based: bool | None

    def is_dense(self, rows: int, n_features: int, entries: int) -> bool:
        return 2 * entries >= rows * n_features if self.dense is None else self.dense


@dataclass
class Seen:
    """What is known from the texts read so far about those that follow."""

    has_qid: bool | None = None
    index_zero: bool = False

    def base(self, options: Options) -> int:
        """The index of the first column."""
        zero_based = self.index_zero if options.zero_based is None else options.zero_based
        return 0 if zero_based else 1


@dataclass
class Part:
    """Rows read together; `base` is the index of the first column of X."""

    X: Any
    y: Floats
    qid: Array
    comments: Array | None
    base: int
    entries: int


def counts_from(zero_based: bool | None, n_features: int | None) -> bool | None:
    """Whether indices count from 0; None: the text decides. For a given number of features it must not: an
    index 0 in data to be predicted would shift every feature of a model that counts from 1.
    """
    return False if zero_based is None and n_features is not None else zero_based


def read_part(texts: list[Text], options: Options, seen: Seen, *, whole: bool, width: int | None = None) -> Part | None:
    """The rows of the texts, None where there are none; `whole`: X gets its final shape, as these are all rows or as
    it is known how wide all are.
    """
    chunks = [chunk for text in texts for chunk in text.chunks()]
    counted = share(lambda chunk: count(chunk.load()), chunks, options.n_threads)
    counts = np.array(counted, dtype=np.int64).reshape(-1, 4)
    rows, entries = int(counts[:, 0].sum()), int(counts[:, 1].sum())
    if not rows:
        return None
    seen.index_zero |= bool(counts[:, 3].any())
    base = seen.base(options)
    n_features = max(int(counts[:, 2].max()) + 1 - base, 0)
    known = width if width is not None else options.n_features
    if whole and known is not None:
        n_features = known
    full = entries == rows * n_features  # then nothing is lost about which entries were written
    dense = options.is_dense(rows, n_features, entries) if whole else options.dense is True or full
    work = _Filling(chunks, counts, options, _rules(options, dense, base, n_features))
    try:
        if not whole:  # a part, which is copied when the parts are joined
            check_dense_room(rows, n_features if dense else 0, np.dtype(options.dtype).itemsize, copies=2)
        arrays = make_room((rows, n_features), entries, dense, options.dtype, np.zeros if whole else _passing)
    except MemoryError:
        work.into(make_room((rows, 0), 0, True, options.dtype), seen)  # a malformed line can look like a large index
        raise
    has_text_ids = work.into(arrays, seen)
    ids, comments = read_strings(chunks, counts[:, 0].tolist(), has_text_ids, options.comments)
    for text in texts:
        text.check_unchanged()
    X = matrix(arrays, (rows, n_features), dense)
    return Part(X, arrays.labels, arrays.queries if ids is None else ids, comments, base, entries)


def make_room(
    shape: tuple[int, int], entries: int, dense: bool, dtype: Any, allocate: Callable[[int, Any], Array] = np.zeros
) -> kernels.Arrays:
    """Arrays for the rows; one sentence where a dense X would not fit into memory."""
    rows, n_features = shape
    check_dense_room(rows, n_features if dense else 0, np.dtype(dtype).itemsize)
    index = np.int32 if entries < 2**31 else np.int64
    labels, queries = np.empty(rows), np.empty(rows, np.int64)
    if dense:
        nothing = np.empty(0, index)
        return kernels.Arrays(allocate(rows * n_features, dtype), nothing, nothing, labels, queries)
    starts = np.zeros(rows + 1, index)
    return kernels.Arrays(allocate(entries, dtype), allocate(entries, index), starts, labels, queries)


def _passing(size: int, dtype: Any) -> Array:
    """Zeros that go back to the system when they are dropped: malloc would keep what many parts held."""
    n_bytes = size * np.dtype(dtype).itemsize
    return np.frombuffer(mmap.mmap(-1, n_bytes), dtype) if n_bytes else np.empty(0, dtype)


def _rules(options: Options, dense: bool, base: int, n_features: int) -> kernels.Rules:
    last = LARGEST_INDEX + 1 if options.n_features is None else options.n_features - 1
    missing = 0.0 if options.missing is None else float(options.missing)
    return kernels.Rules(
        dense, base, n_features, last, largest_number(options.dtype), missing, options.missing is not None
    )


@dataclass(frozen=True)
class _Filling:
    """The second pass over the chunks: into arrays, by rules."""

    chunks: list[Chunk]
    counts: Array
    options: Options
    rules: kernels.Rules

    def into(self, arrays: kernels.Arrays, seen: Seen) -> bool:
        """Fill the arrays, or raise the first fault; whether there are query ids that are no integers."""
        places = np.concatenate((np.zeros((1, 2), np.int64), np.cumsum(self.counts[:-1, :2], axis=0))).tolist()
        work = list(zip(self.chunks, places, strict=True))
        notes = share(lambda one: _fill(*one, arrays, self.rules), work, self.options.n_threads)
        for chunk, counted, one in zip(self.chunks, self.counts.tolist(), notes, strict=True):
            _check(chunk, one, self.options, seen)
            if counted[:2] != [one[kernels.ROWS], one[kernels.ENTRIES]]:
                raise changed(chunk.text.name)
        return any(one[kernels.TEXT_QUERY] >= 0 for one in notes)


def _fill(chunk: Chunk, place: list[int], arrays: kernels.Arrays, rules: kernels.Rules) -> Array:
    """Fill the chunk's rows; its notes."""
    text = chunk.load()
    notes = np.empty(kernels.N_NOTES, np.int64)
    hard = np.empty((64, 3), np.int64)
    kernels.fill(text, (place[0], place[1]), arrays, rules, hard, notes)
    if notes[kernels.N_HARD] > len(hard):
        hard = np.empty((notes[kernels.N_HARD], 3), np.int64)
        kernels.fill(text, (place[0], place[1]), arrays, rules, hard, notes)
    for slot, start, end in hard[: notes[kernels.N_HARD]].tolist():
        written = text[start:end].tobytes()
        value = float(written)
        if abs(value) > (rules.largest if slot >= 0 else np.finfo(float).max):
            notes[kernels.FAULT], notes[kernels.PLACE] = kernels.TOO_LARGE, start
            break
        if slot < 0 and is_rounded_integer(written):
            notes[kernels.FAULT], notes[kernels.PLACE] = kernels.INEXACT_LABEL, start
            break
        if slot < 0:
            arrays.labels[-1 - slot] = value
        elif slot < arrays.values.size:
            arrays.values[slot] = value
    return notes


def _check(chunk: Chunk, notes: Array, options: Options, seen: Seen) -> None:
    """Raise the chunk's first fault, if there is one; else remember in `seen` what later texts must agree with."""
    places = {kind: chunk.offset + int(notes[kind]) for kind in _PLACES if notes[kind] >= 0}
    if notes[kernels.FAULT] == kernels.CHANGED:
        raise changed(chunk.text.name)
    faults = [(places[kernels.PLACE], int(notes[kernels.FAULT]))] if kernels.PLACE in places else []
    with_query, without = places.get(kernels.WITH_QUERY), places.get(kernels.WITHOUT_QUERY)
    if seen.has_qid is None and (with_query is not None or without is not None):
        seen.has_qid = without is None or (with_query is not None and with_query < without)
    if seen.has_qid and without is not None:
        faults.append((without, WITHOUT_QUERY))
    if not seen.has_qid and with_query is not None:
        faults.append((with_query, WITH_QUERY))
    if faults:
        raise explain(chunk.text, *min(faults), options.n_features, seen.base(options) == 0)


def matrix(arrays: kernels.Arrays, shape: tuple[int, int], dense: bool) -> Any:
    if dense:
        return arrays.values.reshape(shape)
    from scipy.sparse import csr_array

    return csr_array((arrays.values, arrays.columns, arrays.starts), shape=shape)
