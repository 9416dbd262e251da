"""Queries: rows grouped by query ids, which may have any type and order."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from rankwise.foundation.arrays import LARGEST_EXACT, Array, Floats, Ints
from rankwise.foundation.devices import AnyArray, Numbers, is_device_array, namespace, some_rows, to_host

QueryIds: TypeAlias = Numbers | Sequence[object]  # of any type: also strings and dates

LEAST_DRAWN = 16  # a sample has rows of at least this many queries, if there are that many
LONGEST_PLAIN = 64  # longest id, in characters, that is stored in an array of fixed width


class Queries:
    """Rows grouped by query id; `None` means one query of all rows.

    ids     the distinct ids, in the order in which they first occur
    codes   for each row, the index of its id in `ids`
    starts  query q owns `rows[starts[q]:starts[q + 1]]`
    rows    the row numbers, query after query, ascending within a query; None if the rows are stored in this order
    """

    ids: Array
    codes: Ints
    starts: Ints
    rows: Ints | None

    def __init__(self, queries: QueryIds | None, n_rows: int) -> None:
        if queries is None:
            self.ids = np.zeros(1, np.int64)
            self.codes = np.zeros(n_rows, np.int32)
            self.starts = np.array([0, n_rows])
            self.rows = None
            return
        first, ids_of_runs = _runs(queries, n_rows)
        run_codes, self.ids = _factorize(ids_of_runs)
        lengths = np.diff(first, append=n_rows)
        self.codes = np.repeat(run_codes.astype(np.int32), lengths)
        sizes = np.bincount(run_codes, weights=lengths, minlength=self.ids.size).astype(np.int64)
        self.starts = np.concatenate(([0], np.cumsum(sizes)))
        contiguous = self.ids.size == first.size
        self.rows = None if contiguous else np.argsort(self.codes, kind="stable")

    def gathered(self) -> "Queries":
        """The same queries after the rows are sorted in the order of `rows`."""
        return Queries(np.repeat(np.arange(len(self)), self.sizes), self.codes.size)

    def __len__(self) -> int:
        return int(self.ids.size)

    @property
    def sizes(self) -> Ints:
        return np.diff(self.starts)


def grouped(queries: QueryIds | Queries | None, n_rows: int) -> Queries:
    """The rows by query, where they are not grouped already."""
    return queries if isinstance(queries, Queries) else Queries(queries, n_rows)


def group_of_each(queries: Queries, groups: QueryIds) -> Array:
    """The group of each query, from one per row; an error if a query has rows of several groups."""
    given = Queries(one_column(groups, queries.codes.size, "groups"), queries.codes.size)
    first = queries.starts[:-1] if queries.rows is None else queries.rows[queries.starts[:-1]]
    codes = given.codes[first]
    other = given.codes != codes[queries.codes]
    if other.any():
        row = int(other.argmax())
        query = queries.ids[queries.codes[row]]
        raise ValueError(f"the query {str(query)!r} has rows of several groups, such as row {row}: it must have one")
    return given.ids[codes]


def cut(starts: Ints, size: int) -> list[tuple[int, int]]:
    """Divide queries into runs [first, last) of at least `size` documents each; the last run may have fewer."""
    n_queries = starts.size - 1
    pieces = []
    first = 0
    while first < n_queries:
        last = min(int(np.searchsorted(starts, starts[first] + size)), n_queries)
        pieces.append((first, last))
        first = last
    return pieces


def draw(starts: Ints, n_rows: int, random: np.random.Generator) -> tuple[Ints, Ints, Ints, Floats]:
    """Draw about `n_rows` rows of some queries, such that sums over their pairs estimate the sums over all pairs.

    Returns the queries, their rows, the number of rows per query, and a factor for the weight of each row. Queries so
    long that a few of them would fill the sample are thinned, all to the same number of rows; others are taken whole.
    """
    sizes = np.diff(starts)
    most = max(2, n_rows // min(LEAST_DRAWN, sizes.size))
    queries, scales = [], []
    for group in (np.flatnonzero(sizes > most), np.flatnonzero(sizes <= most)):
        if group.size:
            shuffled = random.permutation(group)
            filled = np.cumsum(np.minimum(sizes[shuffled], most))
            drawn = shuffled[: max(1, int(np.searchsorted(filled, n_rows, side="right")))]
            queries.append(drawn)
            scales.append(np.full(drawn.size, group.size / drawn.size))
    chosen, scale = np.concatenate(queries), np.concatenate(scales)
    kept = np.minimum(sizes[chosen], most)
    rows = [
        starts[q] + (np.arange(m) if m == sizes[q] else np.sort(random.choice(sizes[q], m, replace=False)))
        for q, m in zip(chosen, kept, strict=True)
    ]
    n, k = sizes[chosen], np.maximum(kept, 2)  # a pair of a thinned query is drawn with probability k(k-1) / n(n-1)
    thinned = np.where(kept < n, n * (n - 1) / (k * (k - 1)), 1.0)
    return chosen, np.concatenate(rows), kept, np.repeat(np.sqrt(scale * thinned), kept)


def _runs(queries: QueryIds, n_rows: int) -> tuple[Ints, Array]:
    """Where runs of equal ids begin, and their ids."""
    if is_device_array(queries):
        _check_shape(queries, n_rows)
        changes = namespace(queries).nonzero(queries[1:] != queries[:-1])[0]
        first = np.concatenate(([0], to_host(changes) + 1))
        return first, one_column(to_host(some_rows(queries, first)), first.size)
    given = one_column(queries, n_rows)
    first = np.flatnonzero(np.concatenate(([True], given[1:] != given[:-1]))) if n_rows else np.zeros(0, np.intp)
    return first, given[first]


def _check_shape(given: AnyArray, n_rows: int, name: str = "qid") -> None:
    if tuple(given.shape) != (n_rows,):
        shape = tuple(given.shape)
        raise ValueError(f"{name} must hold one id per row: expected {n_rows} ids, got an array of shape {shape}")


def one_column(queries: QueryIds, n_rows: int, name: str = "qid") -> Array:
    """The ids as an array in which different ids stay different; an error if one is missing.

    name  what messages call the ids
    """
    given = np.asarray(queries)
    _check_shape(given, n_rows, name)
    if isinstance(queries, np.ma.MaskedArray) and np.ma.is_masked(queries):
        raise _missing(int(np.flatnonzero(np.ma.getmaskarray(queries))[0]), "masked", name)
    if not hasattr(queries, "dtype") and _was_rounded(queries, given):
        given = np.array(queries, dtype=object)
    kind = given.dtype.kind
    if kind == "O":
        return id_array(id_texts(given, name))
    lacking = ~np.isfinite(given) if kind in "fcmM" else np.zeros(0, bool)  # isfinite is false for NaT too
    if lacking.any():
        row = int(np.flatnonzero(lacking)[0])
        raise _missing(row, str(given[row]), name)
    if kind == "f" and given.size and (large := float(np.abs(given).max())) >= LARGEST_EXACT:
        raise _rounded(large, name)
    return given


def _was_rounded(queries: object, given: Array) -> bool:
    """Whether NumPy converted large integers of a list to floats, or numbers among strings to strings."""
    if given.dtype.kind == "f":
        return bool((np.abs(given) >= LARGEST_EXACT).any())
    if given.dtype.kind not in "US" or not isinstance(queries, Iterable):
        return False
    return not all(isinstance(one, str) for one in queries)


def _missing(row: int, value: str, name: str = "qid") -> ValueError:
    return ValueError(f"{name} of row {row} is missing ({value}): every row needs an id")


def _rounded(value: float, name: str) -> ValueError:
    return ValueError(
        f"{name} holds the floating-point number {value!r}, and floats beyond 2^53 are rounded, so that different "
        f"ids become equal: pass {name} as integers or strings"
    )


def id_texts(ids: Array, name: str = "qid") -> list[str]:
    """The ids as strings; an error if one is missing."""
    texts = []
    for row, one in enumerate((ids.astype(str) if ids.dtype.kind in "mM" else ids).tolist()):
        if (text := id_text(one, name)) is None:
            raise _missing(row, str(one), name)
        texts.append(text)
    return texts


def id_text(one: object, name: str = "qid") -> str | None:
    """An id as a string, None if it is missing; 7, 7.0 and "7" are the same query, as in a file."""
    try:
        is_missing = one is None or bool(one != one)
    except (TypeError, ValueError, ArithmeticError):  # pandas.NA has no truth value, Decimal("sNaN") raises
        is_missing = True
    if is_missing:
        return None
    if not isinstance(one, float | np.floating):
        return str(one)
    if abs(float(one)) >= LARGEST_EXACT:
        raise _rounded(float(one), name)
    return str(int(one)) if one.is_integer() else str(one)


def id_array(texts: list[str]) -> Array:
    """Strings as an array, of fixed width if all are short: with one long id, every row would take as much memory."""
    if max(map(len, texts), default=0) <= LONGEST_PLAIN and "\0" not in "".join(texts):  # NumPy drops a trailing \0
        return np.array(texts, dtype=np.str_)
    return np.array(texts, dtype=object)


def one_type(ids: list[Array]) -> list[Array]:
    """Query ids of several blocks, converted to strings if their types differ."""
    kinds = {one.dtype.kind for one in ids}
    if len(kinds) == 1:
        return ids
    if "O" in kinds:
        return [np.array(id_texts(block), object) for block in ids]
    return [(one.astype(np.int64) if _is_whole(one) else one).astype(np.str_) for one in ids]


def _is_whole(ids: Array) -> bool:
    return ids.dtype.kind == "f" and bool(((ids == np.floor(ids)) & (np.abs(ids) < LARGEST_EXACT)).all())


def _factorize(ids: Array) -> tuple[Ints, Array]:
    """Codes by first occurrence, and the distinct ids in that order."""
    distinct, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    by_occurrence = np.argsort(first, kind="stable")
    place = np.empty_like(by_occurrence)
    place[by_occurrence] = np.arange(by_occurrence.size)
    return place[inverse], distinct[by_occurrence]
