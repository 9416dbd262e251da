"""The strings of ranking text that was found well-formed: query ids that are no integers, and comments."""

import numpy as np

from rankwise.arrays import Array
from rankwise.data.letor_faults import QUERY_ENCODING, explain
from rankwise.data.letor_scan import gather, spans
from rankwise.data.streams import Chunk


def read_strings(chunks: list[Chunk], rows: list[int], ids: bool, comments: bool) -> tuple[Array | None, Array | None]:
    """(one query id a row, one comment a row), each None where it is not wanted; `rows` counts those of each chunk."""
    if not ids and not comments:
        return None, None
    id_runs, remarks = [], []
    for chunk, n in zip(chunks, rows, strict=True):
        id_places, comment_places = np.empty((n, 2), np.int64), np.empty((n, 2), np.int64)
        spans(chunk.data, id_places, comment_places)
        if ids:
            id_runs.append(_ids(chunk, id_places))
        if comments:
            remarks += _comments(chunk, comment_places)
        chunk.release()
    return (np.concatenate(id_runs) if ids else None), (np.array(remarks, object) if comments else None)


def _ids(chunk: Chunk, places: Array) -> Array:
    """One string a row, decoded once for each run of equal ids."""
    if not len(places):
        return np.empty(0, "U1")
    codes, first = byte_runs(chunk.data, places)
    try:
        decoded = np.char.decode(codes, "utf-8")
    except UnicodeDecodeError:
        bad = next(row for row, code in zip(first.tolist(), codes, strict=True) if not _is_utf8(code))
        raise explain(chunk.text, chunk.offset + int(places[bad, 0]), QUERY_ENCODING) from None
    return np.repeat(decoded, np.diff(first, append=len(places)))


def byte_runs(data: Array, places: Array) -> tuple[Array, Array]:
    """What stands at (begin, end) of each row, once for each run of rows where it is the same; the runs' first rows."""
    width = max(int((places[:, 1] - places[:, 0]).max()), 1)
    letters = np.zeros((len(places), width), np.uint8)
    gather(data, places, letters)
    codes = letters.view(f"S{width}").ravel()
    first = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1])))
    return codes[first], first


def _is_utf8(code: bytes) -> bool:
    try:
        code.decode()
    except UnicodeDecodeError:
        return False
    return True


def _comments(chunk: Chunk, places: Array) -> list[str]:
    text = chunk.data.tobytes()
    return [text[start:end].strip().decode(errors="backslashreplace") for start, end in places.tolist()]
