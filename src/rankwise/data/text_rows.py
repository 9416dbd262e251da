"""Rows as text: the label, the query id, the entries, what follows. Both LETOR and CSV are written by it."""

import io
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from rankwise.data.outputs import written_beside
from rankwise.foundation.arrays import Array
from rankwise.foundation.threads import share, thread_count

BLOCK = 1 << 17  # entries made into text at a time by one thread


class Strings(NamedTuple):
    """Texts laid end to end; row i has the one numbered codes[i]."""

    letters: Any
    ends: Any
    codes: Any


class Entries(NamedTuple):
    """The numbers of a run of rows, as bits; without columns no index is written before a number."""

    ends: Any
    columns: Any
    bits: Any


def write_text(target: Any, blocks: Iterable[Callable[[], bytes]], first: bytes = b"") -> None:
    """Write the blocks, made side by side, to a path, "-" or an open file; `first` goes before them."""
    n_threads = thread_count()
    with ExitStack() as closing:
        named = isinstance(target, str | os.PathLike)
        file: Any = closing.enter_context(written_beside(target)) if named else target
        is_text = isinstance(file, io.TextIOBase)
        file.write(first.decode() if is_text else first)
        todo = iter(blocks)
        while group := list(islice(todo, 4 * n_threads)):
            for text in share(lambda block: block(), group, n_threads):
                file.write(text.decode() if is_text else text)


def row_blocks(X: Any) -> Iterator[slice]:
    """Runs of rows to be made into text together."""
    n_rows = X.shape[0]
    step = max(1, BLOCK * n_rows // max(X.size, 1))
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def id_runs(qid: Array) -> tuple[list[str], Array]:
    """Query ids as texts, one a run of rows with equal ids, and for each row its run."""
    begins = np.concatenate(([True], qid[1:] != qid[:-1]))
    return [str(one) for one in qid[begins].tolist()], np.cumsum(begins) - 1


def at_rows(texts: Strings, rows: slice) -> Strings:
    return texts._replace(codes=texts.codes[rows])


def strings(texts: list[str], codes: Array) -> Strings:
    encoded = [one.encode() for one in texts]
    ends = np.cumsum([0, *map(len, encoded)])
    return Strings(np.frombuffer(b"".join(encoded), np.uint8), ends, codes)


def row_bytes(labels: Array, befores: Strings, entries: Entries, afters: Strings, separator: str) -> bytes:
    """The rows, each as `label before entries after`."""
    from rankwise.data.text_kernels import most_bytes, write_rows

    texts = sum(int(np.diff(one.ends)[one.codes].sum()) for one in (befores, afters))
    out = np.empty(texts + most_bytes(labels.size, entries.bits.size), np.uint8)
    end = write_rows(labels.view(np.uint64), befores, entries, afters, ord(separator), out)
    return out[:end].tobytes()
