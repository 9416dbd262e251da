"""Sorting the documents of each query by score, and numbering the labels of one."""

from typing import Any

import numpy as np

from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.jit import kernel

SHORT = 200  # up to this many documents counting sort is faster than radix sort


@kernel
def sort_queries(starts: Ints, identity: bool, rows: Ints, scores: Floats, level: Ints, ranking: Any) -> None:
    """Stable sort by score within each query."""
    spare = sorting_space(starts, ranking[0].dtype)
    for q in range(starts.size - 1):
        sort_query(starts[q], starts[q + 1], identity, rows, scores, level, ranking, spare)


@kernel
def sorting_space(starts: Ints, dtype: Any) -> tuple[Floats, Ints, Ints]:
    """Room to sort any of these queries."""
    longest = 0
    for q in range(starts.size - 1):
        longest = max(longest, starts[q + 1] - starts[q])
    return np.empty(longest), np.empty(longest, dtype), np.empty((8, 256), np.int64)


@kernel
def sort_query(
    first: int, last: int, identity: bool, rows: Ints, scores: Floats, level: Ints, ranking: Any, spare: Any
) -> None:
    """Short ones by counting, others by the digits of the score's bits."""
    order, sorted_scores, sorted_levels = ranking
    for i in range(first, last):
        order[i] = i if identity else rows[i]
        sorted_scores[i] = scores[order[i]] + 0.0  # turns -0.0 into 0.0
    if last - first <= SHORT:
        _counting_sort(first, last, sorted_scores, order, spare)
    else:
        _radix_sort(sorted_scores[first:last].view(np.uint64), order[first:last], spare)
    for i in range(first, last):
        sorted_levels[i] = level[order[i]]


@kernel
def _counting_sort(first: int, last: int, keys: Floats, items: Ints, spare: Any) -> None:
    """A key's place is the number of smaller ones: n² comparisons, but many at once and none of them a branch that the
    processor has to guess.
    """
    n = last - first
    values, rows, equals, places = spare[0], spare[1], spare[2][0], spare[2][1]
    for i in range(n):
        values[i], rows[i], equals[i] = keys[first + i], items[first + i], 0
    for i in range(n):
        smaller = 0
        for j in range(n):
            smaller += values[j] < values[i]
        places[i] = smaller
    for i in range(n):
        place = first + places[i] + equals[places[i]]
        equals[places[i]] += 1
        keys[place], items[place] = values[i], rows[i]


@kernel
def _radix_sort(keys: Ints, items: Ints, spare: Any) -> None:
    """Sort by one byte after another, lowest first.

    The bits of floats sort like integers if those of negative floats are inverted and the sign bit of others is set.
    """
    n, negative = keys.size, np.uint64(1 << 63)
    spare_keys, spare_items, counts = spare[0].view(np.uint64), spare[1], spare[2]
    counts[:] = 0
    for i in range(n):
        key = ~keys[i] if keys[i] & negative else keys[i] | negative
        keys[i] = key
        for byte in range(8):
            counts[byte, (key >> np.uint64(8 * byte)) & np.uint64(255)] += 1
    source, target = (keys, items), (spare_keys[:n], spare_items[:n])
    for byte in range(8):
        shift, places = np.uint64(8 * byte), counts[byte]
        if places[(keys[0] >> shift) & np.uint64(255)] == n:
            continue  # all bytes are equal
        place = 0
        for digit in range(256):
            place, places[digit] = place + places[digit], place
        for i in range(n):
            digit = (source[0][i] >> shift) & np.uint64(255)
            target[0][places[digit]], target[1][places[digit]] = source[0][i], source[1][i]
            places[digit] += 1
        source, target = target, source
    for i in range(n):
        key = source[0][i]
        keys[i], items[i] = key ^ negative if key & negative else ~key, source[1][i]


@kernel
def number_few(labels: Floats, most: int, level: Ints) -> int:
    """Number the distinct labels in ascending order, into `level`; return their number, or 0 if it exceeds `most`."""
    values = np.empty(most + 1)
    n_distinct = 0
    for label in labels:
        place = _place(values, n_distinct, label)
        if place == n_distinct or values[place] != label:
            if n_distinct == most:
                return 0
            for later in range(n_distinct, place, -1):
                values[later] = values[later - 1]
            values[place] = label
            n_distinct += 1
    for i in range(labels.size):
        level[i] = _place(values, n_distinct, labels[i])
    return n_distinct


@kernel
def _place(values: Floats, n: int, label: float) -> int:
    """How many of the first n values, which ascend, are below the label."""
    place = 0
    while place < n and values[place] < label:
        place += 1
    return place
