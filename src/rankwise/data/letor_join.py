"""Parts of a stream into one: they come in the smallest shape that loses nothing, and go as soon as they are copied."""

from typing import Any

import numpy as np

from rankwise.data.letor_kernels import Arrays
from rankwise.data.letor_parts import Options, Part, make_room, matrix
from rankwise.data.records import RankingData
from rankwise.pairs.queries import one_type


def join(parts: list[Part], options: Options) -> RankingData:
    """The parts, one after another, as one; empties the list."""
    y = np.concatenate([part.y for part in parts])
    qid = np.concatenate(one_type([part.qid for part in parts]))
    comments = None
    if options.comments:
        comments = np.concatenate([part.comments for part in parts if part.comments is not None])
    base = min(part.base for part in parts)
    return RankingData(_joined_matrix(parts, options, base), y, qid, comments, base)


def _joined_matrix(parts: list[Part], options: Options, base: int) -> Any:
    n_features = max(part.X.shape[1] + part.base - base for part in parts)
    if options.n_features is not None:
        n_features = options.n_features
    rows, entries = sum(part.X.shape[0] for part in parts), sum(part.entries for part in parts)
    dense = options.is_dense(rows, n_features, entries)
    arrays = make_room((rows, n_features), entries, dense, options.dtype)
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
    return matrix(arrays, (rows, n_features), dense)


def _append(arrays: Arrays, row: int, entry: int, part: Part, shift: int) -> None:
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
