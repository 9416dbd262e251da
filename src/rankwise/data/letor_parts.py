"""Texts into arrays: chunks counted side by side, room made once, chunks filled side by side, parts joined.

Plain files are one part, filled in its final shape. A stream of unknown length becomes a part a piece, in the smallest
shape that loses nothing; they are joined at the end, each let go as soon as it is copied.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from rankwise.arrays import Array, Floats
from rankwise.data import letor_kernels as kernels
from rankwise.data.letor_faults import QUERY_ENCODING, WITH_QUERY, WITHOUT_QUERY, LetorError, explain
from rankwise.data.letor_scan import count, gather, spans
from rankwise.data.records import RankingData
from rankwise.data.streams import Text
from rankwise.data.tokens import LARGEST_INDEX
from rankwise.threads import share


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
class Part:
    """Rows read together; `base` is the index of the first column of X.

    `last` is the error to raise where the columns turn out to count from 0, for the first entry in the last column
    that n_features allows.
    """

    X: Any
    y: Floats
    qid: Array
    has_qid: bool
    comments: Array | None
    base: int
    entries: int
    last: LetorError | None


@dataclass(frozen=True)
class Chunk:
    text: Text
    offset: int
    data: Array

    def release(self) -> None:
        self.text.release(self.offset, self.offset + self.data.size)


def read_part(texts: list[Text], options: Options, *, whole: bool, has_qid: bool | None) -> Part | None:
    """The rows of the texts; None where there are none.

    whole    these are all rows, so X gets its final shape
    has_qid  whether the rows before had query ids; None where there were none
    """
    chunks = [Chunk(text, offset, data) for text in texts for offset, data in text.chunks()]
    counts = np.array(share(_count, chunks, options.n_threads), dtype=np.int64).reshape(-1, 4)
    rows, entries = int(counts[:, 0].sum()), int(counts[:, 1].sum())
    if not rows:
        return None
    base = 0 if counts[:, 3].any() else 1
    seen = max(int(counts[:, 2].max()) + 1 - base, 0)
    n_features = options.n_features if whole and options.n_features is not None else seen
    full = entries == rows * n_features  # then nothing is lost about which entries were written
    dense = options.is_dense(rows, n_features, entries) if whole else options.dense is True or full
    arrays = _make_room(rows, entries, n_features, dense, options.dtype)
    rules = _rules(options, dense, base, n_features)
    places = np.concatenate((np.zeros((1, 2), np.int64), np.cumsum(counts[:-1, :2], axis=0))).tolist()
    fill = partial(_fill, arrays=arrays, rules=rules)
    notes = share(lambda one: fill(*one), list(zip(chunks, places, strict=True)), options.n_threads)
    if has_qid is None:
        has_qid = _first_row_has_query(notes)
    _raise_first_fault(chunks, notes, options, rules, has_qid)
    ids, remarks = _strings(chunks, counts[:, 0], notes, options.comments)
    return Part(
        _matrix(arrays, (rows, n_features), dense),
        arrays.labels,
        arrays.queries if ids is None else ids,
        has_qid,
        remarks,
        base,
        entries,
        _last_feature(chunks, notes, options),
    )


def _count(chunk: Chunk) -> tuple[int, np.int64, int, bool]:
    counts = count(chunk.data)
    chunk.release()
    return counts


def _make_room(rows: int, entries: int, n_features: int, dense: bool, dtype: Any) -> kernels.Arrays:
    index = np.int32 if entries < 2**31 else np.int64
    labels, queries = np.empty(rows), np.empty(rows, np.int64)
    if dense:
        nothing = np.empty(0, index)
        return kernels.Arrays(np.zeros(rows * n_features, dtype), nothing, nothing, labels, queries)
    starts = np.zeros(rows + 1, index)
    return kernels.Arrays(np.empty(entries, dtype), np.empty(entries, index), starts, labels, queries)


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
        if slot >= 0:
            arrays.values[slot] = value
        else:
            arrays.labels[-1 - slot] = value
    chunk.release()
    return notes


def _first_row_has_query(notes: list[Array]) -> bool:
    for one in notes:
        with_query, without = one[kernels.WITH_QUERY], one[kernels.WITHOUT_QUERY]
        if with_query >= 0 or without >= 0:
            return bool(with_query >= 0 and (without < 0 or with_query < without))
    return False


def _raise_first_fault(
    chunks: list[Chunk], notes: list[Array], options: Options, rules: kernels.Rules, has_qid: bool
) -> None:
    odd, kind = (kernels.WITHOUT_QUERY, WITHOUT_QUERY) if has_qid else (kernels.WITH_QUERY, WITH_QUERY)
    for chunk, one in zip(chunks, notes, strict=True):
        faults = []
        if one[kernels.FAULT] != kernels.NONE:
            faults.append((int(one[kernels.PLACE]), int(one[kernels.FAULT])))
        if one[odd] >= 0:
            faults.append((int(one[odd]), kind))
        if faults:
            place, worst = min(faults)
            raise explain(chunk.text, chunk.offset + place, worst, options.n_features, rules.base == 0)


def _last_feature(chunks: list[Chunk], notes: list[Array], options: Options) -> LetorError | None:
    if options.n_features is None:
        return None
    for chunk, one in zip(chunks, notes, strict=True):
        if one[kernels.LAST_FEATURE] >= 0:
            place = chunk.offset + int(one[kernels.LAST_FEATURE])
            return explain(chunk.text, place, kernels.BEYOND, options.n_features, True)
    return None


def _matrix(arrays: kernels.Arrays, shape: tuple[int, int], dense: bool) -> Any:
    if dense:
        return arrays.values.reshape(shape)
    from scipy.sparse import csr_array

    return csr_array((arrays.values, arrays.columns, arrays.starts), shape=shape)


def _strings(
    chunks: list[Chunk], rows: Array, notes: list[Array], want_comments: bool
) -> tuple[Array | None, Array | None]:
    """The query ids as text, where one of them is no integer, and the comments, where they are wanted."""
    want_ids = any(one[kernels.TEXT_QUERY] >= 0 for one in notes)
    if not want_ids and not want_comments:
        return None, None
    ids, comments = [], []
    for chunk, n in zip(chunks, rows.tolist(), strict=True):
        id_places, comment_places = np.empty((n, 2), np.int64), np.empty((n, 2), np.int64)
        spans(chunk.data, id_places, comment_places)
        if want_ids:
            ids.append(_ids(chunk, id_places))
        if want_comments:
            comments += _comments(chunk, comment_places)
        chunk.release()
    return (np.concatenate(ids) if want_ids else None), (np.array(comments, object) if want_comments else None)


def _ids(chunk: Chunk, places: Array) -> Array:
    """One string a row, decoded once for each run of equal ids."""
    width = int((places[:, 1] - places[:, 0]).max(initial=1))
    letters = np.zeros((len(places), width), np.uint8)
    gather(chunk.data, places, letters)
    codes = letters.view(f"S{width}").ravel()
    first = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1])))[: len(codes)]
    try:
        decoded = np.char.decode(codes[first], "utf-8")
    except UnicodeDecodeError:
        for start, end in places.tolist():
            try:
                chunk.data[start:end].tobytes().decode()
            except UnicodeDecodeError:
                raise explain(chunk.text, chunk.offset + start, QUERY_ENCODING, None, False) from None
        raise
    return np.repeat(decoded, np.diff(first, append=len(codes)))


def _comments(chunk: Chunk, places: Array) -> list[str]:
    text = chunk.data.tobytes()
    return [text[start:end].strip().decode(errors="backslashreplace") for start, end in places.tolist()]


def join(parts: list[Part], options: Options) -> RankingData:
    """The parts, one after another, as one; empties the list."""
    base = min(part.base for part in parts)
    for part in parts:
        if part.last is not None and part.base > base:
            raise part.last
    y = np.concatenate([part.y for part in parts])
    qid = _joined_ids([part.qid for part in parts])
    comments = None
    if options.comments:
        comments = np.concatenate([part.comments for part in parts if part.comments is not None])
    return RankingData(_joined_matrix(parts, base, options), y, qid, comments)


def _joined_ids(ids: list[Array]) -> Array:
    if all(one.dtype == np.int64 for one in ids):
        return np.concatenate(ids)
    return np.concatenate([one.astype(str) for one in ids])


def _joined_matrix(parts: list[Part], base: int, options: Options) -> Any:
    n_features = max(part.X.shape[1] + part.base - base for part in parts)
    if options.n_features is not None:
        n_features = options.n_features
    rows, entries = sum(part.X.shape[0] for part in parts), sum(part.entries for part in parts)
    dense = options.is_dense(rows, n_features, entries)
    arrays = _make_room(rows, entries, n_features, dense, options.dtype)
    row, entry = 0, 0
    while parts:
        part = parts.pop(0)
        n_rows, n_columns = part.X.shape
        shift = part.base - base
        if dense:
            block = part.X if isinstance(part.X, np.ndarray) else part.X.toarray()
            arrays.values.reshape(rows, n_features)[row : row + n_rows, shift : shift + n_columns] = block
        else:
            _append(arrays, row, entry, part, shift)
        row += n_rows
        entry += part.entries
    return _matrix(arrays, (rows, n_features), dense)


def _append(arrays: kernels.Arrays, row: int, entry: int, part: Part, shift: int) -> None:
    n_rows, n_columns = part.X.shape
    here = slice(entry, entry + part.entries)
    if isinstance(part.X, np.ndarray):  # only a part whose every entry was written is dense here
        arrays.values[here] = part.X.ravel()
        arrays.columns[here].reshape(n_rows, n_columns)[:] = np.arange(shift, shift + n_columns)
        arrays.starts[row + 1 : row + n_rows + 1] = entry + n_columns * np.arange(1, n_rows + 1)
    else:
        arrays.values[here] = part.X.data
        arrays.columns[here] = part.X.indices + shift
        arrays.starts[row + 1 : row + n_rows + 1] = entry + part.X.indptr[1:]
