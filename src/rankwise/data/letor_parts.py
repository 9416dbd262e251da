"""Texts into arrays: chunks counted side by side, room made once, chunks filled side by side."""

import mmap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.arrays import Array, Floats
from rankwise.data import letor_kernels as kernels
from rankwise.data.letor_error import LetorError
from rankwise.data.letor_faults import WITH_QUERY, WITHOUT_QUERY, explain
from rankwise.data.letor_scan import count
from rankwise.data.letor_strings import read_strings
from rankwise.data.streams import Chunk, Text
from rankwise.data.tokens import LARGEST_INDEX
from rankwise.threads import share

_PLACES = (kernels.PLACE, kernels.WITH_QUERY, kernels.WITHOUT_QUERY, kernels.LAST_FEATURE)


@dataclass(frozen=True)
class Options:
    """What the caller of read_letor asked for."""

    n_features: int | None
    dense: bool | None
    dtype: Any
    missing: float | None
    comments: bool
    n_threads: int

    def is_dense(self, rows: int, n_features: int, entries: int) -> bool:
        return 2 * entries >= rows * n_features if self.dense is None else self.dense


@dataclass
class Seen:
    """What the texts read so far have told about those to come."""

    has_qid: bool | None = None
    zero_based: bool = False
    last_feature: LetorError | None = None  # the error of the first index that is too large if indices count from 0


@dataclass
class Part:
    """Rows read together; `base` is the index of the first column of X."""

    X: Any
    y: Floats
    qid: Array
    comments: Array | None
    base: int
    entries: int


def read_part(texts: list[Text], options: Options, seen: Seen, *, whole: bool) -> Part | None:
    """The rows of the texts, None where there are none; `whole`: they are all rows, so X gets its final shape."""
    chunks = [chunk for text in texts for chunk in text.chunks()]
    counts = np.array(share(_count, chunks, options.n_threads), dtype=np.int64).reshape(-1, 4)
    rows, entries = int(counts[:, 0].sum()), int(counts[:, 1].sum())
    if not rows:
        return None
    seen.zero_based |= bool(counts[:, 3].any())
    if seen.zero_based and seen.last_feature is not None:
        raise seen.last_feature
    base = 0 if seen.zero_based else 1
    n_features = max(int(counts[:, 2].max()) + 1 - base, 0)
    if whole and options.n_features is not None:
        n_features = options.n_features
    full = entries == rows * n_features  # then nothing is lost about which entries were written
    dense = options.is_dense(rows, n_features, entries) if whole else options.dense is True or full
    allocate = np.zeros if whole else _passing
    arrays = make_room((rows, n_features), entries, dense, options.dtype, allocate)
    rules = _rules(options, dense, base, n_features)
    places = np.concatenate((np.zeros((1, 2), np.int64), np.cumsum(counts[:-1, :2], axis=0))).tolist()
    work = list(zip(chunks, places, strict=True))
    notes = share(lambda one: _fill(*one, arrays, rules), work, options.n_threads)
    _check(chunks, notes, options, seen)
    has_text_ids = any(one[kernels.TEXT_QUERY] >= 0 for one in notes)
    ids, comments = read_strings(chunks, counts[:, 0].tolist(), has_text_ids, options.comments)
    X = matrix(arrays, (rows, n_features), dense)
    return Part(X, arrays.labels, arrays.queries if ids is None else ids, comments, base, entries)


def _count(chunk: Chunk) -> tuple[int, np.int64, int, bool]:
    counts = count(chunk.data)
    chunk.release()
    return counts


def make_room(
    shape: tuple[int, int], entries: int, dense: bool, dtype: Any, allocate: Callable[[int, Any], Array] = np.zeros
) -> kernels.Arrays:
    rows, n_features = shape
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
    largest = float(np.finfo(options.dtype).max)
    if options.dtype == np.float32:
        largest = float(np.nextafter(2.0**128 - 2.0**103, 0))  # from there on a double rounds to infinity
    missing = 0.0 if options.missing is None else float(options.missing)
    return kernels.Rules(dense, base, n_features, last, largest, missing, options.missing is not None)


def _fill(chunk: Chunk, place: list[int], arrays: kernels.Arrays, rules: kernels.Rules) -> Array:
    """Fill the chunk's rows; its notes, with places in the text."""
    notes = np.empty(kernels.N_NOTES, np.int64)
    hard = np.empty((64, 3), np.int64)
    kernels.fill(chunk.data, (place[0], place[1]), arrays, rules, hard, notes)
    if notes[kernels.N_HARD] > len(hard):
        hard = np.empty((notes[kernels.N_HARD], 3), np.int64)
        kernels.fill(chunk.data, (place[0], place[1]), arrays, rules, hard, notes)
    for slot, start, end in hard[: notes[kernels.N_HARD]].tolist():
        value = float(chunk.data[start:end].tobytes())
        if abs(value) > (rules.largest if slot >= 0 else np.finfo(float).max):
            notes[kernels.FAULT], notes[kernels.PLACE] = kernels.TOO_LARGE, start
            break
        if slot < 0:
            arrays.labels[-1 - slot] = value
        elif slot < arrays.values.size:
            arrays.values[slot] = value
    chunk.release()
    return notes


def _check(chunks: list[Chunk], notes: list[Array], options: Options, seen: Seen) -> None:
    """Raise the first fault, if there is one; else remember in `seen` what later texts must agree with."""
    for chunk, one in zip(chunks, notes, strict=True):
        places = {kind: chunk.offset + int(one[kind]) for kind in _PLACES if one[kind] >= 0}
        faults = [(places[kernels.PLACE], int(one[kernels.FAULT]))] if kernels.PLACE in places else []
        with_query, without = places.get(kernels.WITH_QUERY), places.get(kernels.WITHOUT_QUERY)
        if seen.has_qid is None and (with_query is not None or without is not None):
            seen.has_qid = without is None or (with_query is not None and with_query < without)
        if seen.has_qid and without is not None:
            faults.append((without, WITHOUT_QUERY))
        if not seen.has_qid and with_query is not None:
            faults.append((with_query, WITH_QUERY))
        if faults:
            raise explain(chunk.text, *min(faults), options.n_features, seen.zero_based)
        if kernels.LAST_FEATURE in places and seen.last_feature is None and not seen.zero_based:
            place = places[kernels.LAST_FEATURE]
            seen.last_feature = explain(chunk.text, place, kernels.BEYOND, options.n_features, True)


def matrix(arrays: kernels.Arrays, shape: tuple[int, int], dense: bool) -> Any:
    if dense:
        return arrays.values.reshape(shape)
    from scipy.sparse import csr_array

    return csr_array((arrays.values, arrays.columns, arrays.starts), shape=shape)
