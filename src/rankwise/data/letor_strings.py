"""The strings of ranking text that was found well-formed: query ids that are no integers, and comments."""

import numpy as np

from rankwise.data.letor_scan import mark_runs, spans
from rankwise.data.streams import Chunk, changed
from rankwise.foundation.arrays import Array
from rankwise.pairs.queries import id_array


def read_strings(chunks: list[Chunk], rows: list[int], ids: bool, comments: bool) -> tuple[Array | None, Array | None]:
    """The query ids and the comments, one per row; None for what is not wanted. `rows` counts those of each chunk."""
    if not ids and not comments:
        return None, None
    texts: list[str] = []  # one a run of rows with equal ids
    lengths: list[Array] = []
    remarks: list[str] = []
    for chunk, n in zip(chunks, rows, strict=True):
        data = chunk.load()
        id_places, comment_places = np.empty((n, 2), np.int64), np.empty((n, 2), np.int64)
        if spans(data, id_places, comment_places) != n:
            raise changed(chunk.text.name)
        if ids and n:
            codes, first = byte_runs(data, id_places)
            texts += [code.decode(errors="backslashreplace") for code in codes]  # UTF-8, if nobody changed the file
            lengths.append(np.diff(first, append=n))
        if comments:
            letters = data.tobytes()
            places = comment_places.tolist()
            remarks += [letters[start:end].strip().decode(errors="backslashreplace") for start, end in places]
    of_rows = np.repeat(id_array(texts), np.concatenate(lengths)) if ids else None
    return of_rows, (np.array(remarks, object) if comments else None)


def byte_runs(data: Array, places: Array) -> tuple[list[bytes], Array]:
    """What stands at (begin, end) of each row, once for each run of rows where it is the same; the runs' first rows."""
    begins = np.empty(len(places), bool)
    mark_runs(data, places, begins)
    first = np.flatnonzero(begins)
    letters = data.tobytes()
    return [letters[start:end] for start, end in places[first].tolist()], first
