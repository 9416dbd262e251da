"""Texts into arrays: chunks are counted in parallel, arrays are allocated once, chunks are filled in parallel.

`explain` makes the message for a malformed line: file, line, column, what was found, what was expected.
"""

import mmap
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from rankwise.data import letor_kernels as kernels
from rankwise.data.columns import FILL_IN, largest_lost, largest_number
from rankwise.data.letor_kernels import count, spans
from rankwise.data.letor_options import Counts, Options, Part, Seen
from rankwise.data.reading_kernels import INDEX_DIGITS, LARGEST_INDEX, byte_runs
from rankwise.data.streams import Chunk, LetorError, Text, changed
from rankwise.foundation.arrays import Array, is_rounded_integer
from rankwise.foundation.memory import check_dense_room
from rankwise.foundation.threads import share
from rankwise.pairs.queries import id_array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_SHOWN = 40  # bytes of a token that a message shows
_QUERY_LACKING, _QUERY_EXTRA = 100, 101  # faults between lines, besides those of the kernels
_PLACES = (kernels.PLACE, kernels.WITH_QUERY, kernels.WITHOUT_QUERY)


def read_part(texts: list[Text], options: Options, seen: Seen, *, whole: bool, width: int | None = None) -> Part | None:
    """The rows of the texts, None if there are none; `whole`: X gets its final shape, because these are all rows or
    because `width` says how many columns all rows have.
    """
    chunks = [chunk for text in texts for chunk in text.chunks()]
    counted = share(lambda chunk: count(chunk.load()), chunks, options.n_threads)
    counts = np.array(counted, dtype=np.int64).reshape(-1, 4)
    rows, entries = int(counts[:, 0].sum()), int(counts[:, 1].sum())
    if not rows:
        return None
    total = Counts(rows, entries, int(counts[:, 2].max()), bool(counts[:, 3].any()))
    base, n_features, dense = seen.shape(total, options, whole, width)
    work = _Filling(chunks, counts, options, _rules(options, dense, base, n_features))
    try:
        if not whole:  # a part, which is copied when the parts are joined
            check_dense_room(rows, n_features if dense else 0, np.dtype(options.dtype).itemsize, copies=2)
        arrays = allocated((rows, n_features), entries, dense, options.dtype, np.zeros if whole else _passing)
    except MemoryError:
        work.into(allocated((rows, 0), 0, True, options.dtype), seen)  # a malformed line can look like a large index
        raise
    has_text_ids = work.into(arrays, seen)
    ids, comments = read_strings(chunks, counts[:, 0].tolist(), has_text_ids, options.comments)
    for text in texts:
        text.check_unchanged()
    X = matrix(arrays, (rows, n_features), dense)
    return Part(X, arrays.labels, arrays.queries if ids is None else ids, comments, base, entries)


def allocated(
    shape: tuple[int, int],
    entries: int,
    dense: bool,
    dtype: DTypeLike,
    allocate: Callable[[int, DTypeLike], Array] = np.zeros,
) -> kernels.Arrays:
    """Arrays for the rows; raises an error if a dense X would not fit into memory."""
    rows, n_features = shape
    check_dense_room(rows, n_features if dense else 0, np.dtype(dtype).itemsize)
    index = np.int32 if entries < 2**31 else np.int64
    labels, queries = np.empty(rows), np.empty(rows, np.int64)
    if dense:
        nothing = np.empty(0, index)
        return kernels.Arrays(allocate(rows * n_features, dtype), nothing, nothing, labels, queries)
    starts = np.zeros(rows + 1, index)
    return kernels.Arrays(allocate(entries, dtype), allocate(entries, index), starts, labels, queries)


def _passing(size: int, dtype: DTypeLike) -> Array:
    """Zeros whose memory is returned to the system when they are freed: malloc would keep it."""
    n_bytes = size * np.dtype(dtype).itemsize
    return np.frombuffer(mmap.mmap(-1, n_bytes), dtype) if n_bytes else np.empty(0, dtype)


def _rules(options: Options, dense: bool, base: int, n_features: int) -> kernels.Rules:
    last = LARGEST_INDEX + 1 if options.n_features is None else options.n_features - 1
    missing = 0.0 if options.missing is None else float(options.missing)
    range_of_X = largest_number(options.dtype), largest_lost(options.dtype)
    return kernels.Rules(dense, base, n_features, last, *range_of_X, missing, options.missing is not None)


@dataclass(frozen=True)
class _Filling:
    """The second pass over the chunks, which fills the arrays."""

    chunks: list[Chunk]
    counts: Array
    options: Options
    rules: kernels.Rules

    def into(self, arrays: kernels.Arrays, seen: Seen) -> bool:
        """Fill the arrays, or raise the first fault; returns whether some query ids are not integers."""
        places = np.concatenate((np.zeros((1, 2), np.int64), np.cumsum(self.counts[:-1, :2], axis=0))).tolist()
        work = list(zip(self.chunks, places, strict=True))
        notes = share(lambda one: _fill(*one, arrays, self.rules), work, self.options.n_threads)
        for chunk, counted, one in zip(self.chunks, self.counts.tolist(), notes, strict=True):
            _check(chunk, one, self.options, seen)
            if counted[:2] != [one[kernels.ROWS], one[kernels.ENTRIES]]:
                raise changed(chunk.text.name)
        return any(one[kernels.TEXT_QUERY] >= 0 for one in notes)


def _fill(chunk: Chunk, place: list[int], arrays: kernels.Arrays, rules: kernels.Rules) -> Array:
    """Fill the chunk's rows; returns its notes."""
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
        is_lost = slot >= 0 and 0 < abs(value) <= rules.lost
        if is_lost or abs(value) > (rules.largest if slot >= 0 else np.finfo(float).max):
            notes[kernels.FAULT], notes[kernels.PLACE] = kernels.OUT_OF_RANGE, start
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
        faults.append((without, _QUERY_LACKING))
    if not seen.has_qid and with_query is not None:
        faults.append((with_query, _QUERY_EXTRA))
    if faults:
        raise explain(chunk.text, *min(faults), options.n_features, seen.base(options) == 0)


def matrix(arrays: kernels.Arrays, shape: tuple[int, int], dense: bool) -> "Array | csr_array":
    if dense:
        return arrays.values.reshape(shape)
    from scipy.sparse import csr_array

    return csr_array((arrays.values, arrays.columns, arrays.starts), shape=shape)


def read_strings(chunks: list[Chunk], rows: list[int], ids: bool, comments: bool) -> tuple[Array | None, Array | None]:
    """The query ids and the comments, one per row; None if not requested. `rows` has the number of rows per chunk."""
    if not ids and not comments:
        return None, None
    texts: list[str] = []  # one per run of rows with equal ids
    lengths: list[Array] = []
    remarks: list[str] = []
    for chunk, n in zip(chunks, rows, strict=True):
        data = chunk.load()
        id_places, comment_places = np.empty((n, 2), np.int64), np.empty((n, 2), np.int64)
        if spans(data, id_places, comment_places) != n:
            raise changed(chunk.text.name)
        if ids and n:
            codes, first = byte_runs(data, id_places)
            texts += [code.decode(errors="backslashreplace") for code in codes]  # UTF-8, unless the file was changed
            lengths.append(np.diff(first, append=n))
        if comments:
            letters = data.tobytes()
            places = comment_places.tolist()
            remarks += [letters[start:end].strip().decode(errors="backslashreplace") for start, end in places]
    of_rows = np.repeat(id_array(texts), np.concatenate(lengths)) if ids else None
    return of_rows, (np.array(remarks, object) if comments else None)


def explain(text: Text, place: int, kind: int, n_features: int | None = None, zero_based: bool = False) -> LetorError:
    """The error for a fault of the given kind in the token at `place`."""
    number, begin, line = text.line_at(place)
    before = re.split(rb"[ \t\r\v\f]", line[: place - begin])
    column = place - begin - len(before[-1])
    match = re.match(rb"[^ \t\r\v\f#]+", line[column:])
    token = match.group() if match else b""
    if kind == kernels.LABEL:
        expected = _label(token)
    elif kind == kernels.FEATURE:
        expected = _feature(token, [one for one in before[:-1] if one])
    elif kind == kernels.NOT_ASCENDING:
        expected = _ascending([one for one in before[:-1] if one])
    elif kind == kernels.BEYOND:
        expected = _beyond(n_features or 0, zero_based)
    else:
        expected = _EXPECTED[kind]
    return LetorError(f"found {_shown(token)}, expected {expected}", text.name, number, column + 1)


_EXPECTED = {
    kernels.QUERY: "a query id after qid:, without '#' or control characters, and then a space",
    kernels.MISSING: f"a number after the colon ({FILL_IN})",
    kernels.OUT_OF_RANGE: "a number that the chosen float type can hold",
    kernels.INDEX_ZERO: "an index of 1 or more: by the model, or by zero_based=False, indices count from 1 "
    "(zero_based=True reads data in which they count from 0)",
    kernels.INEXACT_LABEL: "a label that float64 holds exactly: an integer beyond 2^53 is rounded, and different "
    "labels could become equal (only their order within a query counts: write ranks instead)",
    _QUERY_LACKING: "qid: after the label, as in the lines before",
    _QUERY_EXTRA: "no qid:, as in the lines before (give every line one, or none)",
    kernels.QUERY_ENCODING: "a query id in UTF-8",
    kernels.QUERY_BLANK: "a query id without blanks: this one holds a blank beyond ASCII, such as a no-break space",
}


def _shown(token: bytes) -> str:
    text = token.decode(errors="backslashreplace")
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


def _label(token: bytes) -> str:
    if b":" in token:
        return "a label first: a line is 'label qid:ID index:value …', and the label is a number"
    return "a label: a finite number"


def _feature(token: bytes, before: list[bytes]) -> str:
    if token.startswith(b"qid:"):
        twice = any(one.startswith(b"qid:") for one in before)
        return "a single qid: in a line" if twice else "qid: before the first feature"
    index, colon, value = token.partition(b":")
    if not colon:
        return "a feature as index:value"
    if not re.fullmatch(rb"[0-9]+", index):
        return "a whole number, 0 or more, as the index before the colon"
    if int(index[-400:]) > LARGEST_INDEX or len(index) > INDEX_DIGITS:
        return f"an index of at most {LARGEST_INDEX}"
    infinite = re.fullmatch(rb"(?i)[+-]?inf(inity)?", value)
    return "a finite number after the colon" if infinite else "a number after the colon"


def _ascending(before: list[bytes]) -> str:
    last = before[-1].partition(b":")[0].decode()
    return f"an index above {last}: within a line the indices ascend, and none occurs twice"


def _beyond(n_features: int, zero_based: bool) -> str:
    if zero_based:
        return f"an index of at most {n_features - 1}: {n_features} features are expected, and they count from 0"
    return f"an index of at most {n_features}: {n_features} features are expected, by n_features or by the model"
