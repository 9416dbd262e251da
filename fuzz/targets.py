"""One function of bytes for each reader. It raises DisagreementError where the reader and its reference differ: in a
value, to the last bit, in whether the input is refused, or in the line that the refusal names.
"""

import atexit
import contextlib
import io
import itertools
import json
import os
import re
import shutil
import tempfile
import zipfile
from pathlib import Path
from unittest.mock import patch

import numpy as np
from scipy.sparse import issparse

from fuzz import references
from fuzz.references import RefusedError
from rankwise.data import streams
from rankwise.data.chunk_writer import write_chunks
from rankwise.data.chunks import open_chunks
from rankwise.data.formats import read_data, stream_data, write_data
from rankwise.data.letor import read_letor
from rankwise.data.records import column_names
from rankwise.data.streams import LetorError
from rankwise.data.trec import read_qrels, read_run
from rankwise.foundation import memory

_MEMORY = "/dev/shm"
FOLDER = Path(tempfile.mkdtemp(prefix="rankwise-fuzz-", dir=_MEMORY if os.path.isdir(_MEMORY) else None))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
_SINGLE = float(np.nextafter(2.0**128 - 2.0**103, 0))  # the largest double that float32 can hold, rounded
_ROOM = 100e6  # bytes: what asks for more is refused, so that no input fills the machine


class DisagreementError(AssertionError):
    """Reader and reference differ."""


def agree(condition, *told):
    if not condition:
        raise DisagreementError(*told)


def choices(data, *options):
    """One of each list of options, chosen by the first two bytes; and the rest of the input."""
    number = int.from_bytes(data[:2], "little")
    chosen = []
    for one in options:
        number, place = divmod(number, len(one))
        chosen.append(one[place])
    return *chosen, data[2:]


@contextlib.contextmanager
def cut_small(chunk, piece):
    """Texts are cut into chunks and pieces of about so many bytes."""
    before = streams.CHUNK, streams.PIECE
    streams.CHUNK, streams.PIECE = chunk, piece
    try:
        yield
    finally:
        streams.CHUNK, streams.PIECE = before


def outcome(read):
    """Call the reader: (its result, None), or (None, its error). Errors other than a refusal in one sentence go on."""
    at_hand, memory.memory_at_hand = memory.memory_at_hand, lambda: _ROOM
    try:
        return read(), None
    except (ValueError, MemoryError) as error:
        agree(str(error).strip() and "\n" not in str(error), "not one sentence", str(error))
        return None, error
    finally:
        memory.memory_at_hand = at_hand


def expected(read):
    """Call the reference: (its result, None), or (None, its refusal)."""
    try:
        return read(), None
    except RefusedError as error:
        return None, error


def line_of(error):
    found = re.search(r"(?:^|[^0-9a-zA-Z])line ([0-9]+)", str(error))
    return int(found.group(1)) if found else None


def letor(data):
    """read_letor of a file, of a stream and in parts, dense and sparse, and stream_data; also as if without Numba."""
    n_features, missing, zero_based, dtype, dense, way, size, is_small, text = choices(
        data, [None, 3, 13], [None, 0.5], [None, True, False], ["f8", "f4"], [None, True, False],
        ["file", "stream", "parts"], [1 << 20, 16, 64], [False, True])  # fmt: skip
    largest = float(np.finfo(np.float64).max) if dtype == "f8" else _SINGLE
    wanted, refusal = expected(lambda: references.letor(text, n_features, missing, zero_based, largest))
    options = {"n_features": n_features, "missing": missing, "zero_based": zero_based, "dtype": dtype, "dense": dense}
    path = FOLDER / "data.txt"
    path.write_bytes(text)
    reads = {
        "file": lambda: read_letor(path, comments=True, n_jobs=1, **options),
        "stream": lambda: read_letor(io.BytesIO(text), comments=True, n_jobs=1, **options),
        "parts": lambda: list(stream_data(path, n_jobs=1, **options)),
    }
    with cut_small(size, size), patch("rankwise.data.letor.is_small", lambda texts: is_small):
        found, error = outcome(reads[way])
    if dense is True and way != "file" and isinstance(error, MemoryError) and b"00" in re.sub(rb"[1-9]", b"0", text):
        return  # a piece with a large index is refused before later ones are seen
    if refusal is not None:
        agree(isinstance(error, LetorError), "refused by the reference only", refusal.args, error)
        agree(error.line == refusal.line, "another line", error, refusal.args)
        agree(refusal.column is None or error.column == refusal.column, "another column", error, refusal.args)
        return
    if isinstance(error, MemoryError):
        n_bytes = len(wanted.rows) * wanted.n_features * np.dtype(dtype).itemsize
        agree(dense is True and n_bytes > _ROOM / 2, "no room for little", error)
        return
    agree(error is None, "refused by the reader only", error)
    if way != "parts":
        compare_rows(found, wanted, dtype, dense)
        agree(found.comments.tolist() == wanted.comments, "comments")
        return
    wanted.n_features = max(wanted.n_features, 1)
    is_dense = not issparse(found[0].X)
    begin = 0
    for block in found:
        rows = slice(begin, begin + len(block))
        part = references.Rows(wanted.rows[rows], wanted.y[rows], wanted.ids[rows], [], wanted.base, wanted.n_features)
        compare_rows(block, part, dtype, is_dense)
        begin += len(block)
    agree(begin == len(wanted.rows), "rows are lost")


def compare_rows(found, wanted, dtype, dense):
    entries = sum(map(len, wanted.rows))
    if dense is None:
        dense = 2 * entries >= len(wanted.rows) * wanted.n_features
    agree(found.first_index == wanted.base, "first index", found.first_index, wanted.base)
    agree(found.X.shape == (len(wanted.rows), wanted.n_features), "shape", found.X.shape, wanted.n_features)
    agree(issparse(found.X) is not dense, "density")
    same_bits(found.y, np.array(wanted.y), "y")
    agree(found.qid.tolist() == wanted.qid(), "qid", found.qid.tolist(), wanted.qid())
    values = np.array([value for row in wanted.rows for value in row.values()], np.float64).astype(dtype)
    columns = [index - wanted.base for row in wanted.rows for index in row]
    if dense:
        rows = np.repeat(np.arange(len(wanted.rows)), [len(row) for row in wanted.rows])
        X = np.zeros(found.X.shape, dtype)
        X[rows, columns] = values
        same_bits(found.X, X, "X")
        return
    same_bits(found.X.data, values, "X.data")
    agree(found.X.indices.tolist() == columns, "X.indices")
    agree(found.X.indptr.tolist() == [0, *itertools.accumulate(map(len, wanted.rows))], "X.indptr")


def same_bits(found, wanted, what):
    alike = found.dtype == wanted.dtype and found.shape == wanted.shape and found.tobytes() == wanted.tobytes()
    agree(alike, what, found.tolist(), wanted.tolist())


def table(data):
    """CSV and TSV."""
    kind, missing, comments, size, text = choices(data, ["csv", "tsv"], [None, 0.5], [False, True], [1 << 20, 16, 64])
    separator = "," if kind == "csv" else "\t"
    wanted, refusal = expected(lambda: references.table(text, separator, missing, comments))
    with cut_small(size, size):
        options = {"format": kind, "missing": missing, "comments": comments, "n_jobs": 2}
        found, error = outcome(lambda: read_data(io.BytesIO(text), **options))
    if refusal is not None:
        agree(error is not None, "refused by the reference only", refusal.args)
        agree(line_of(error) == refusal.line, "another line", error, refusal.args)
        return
    agree(error is None, "refused by the reader only", error)
    header, _ = references.header_of(text, separator)
    names = [name for name in header if name not in references.BESIDES]
    X = np.array(wanted.rows, np.float64).reshape(len(wanted.rows), len(names))
    agree(sorted(names) == sorted(column_names(found)), "names", names)
    same_bits(
        np.ascontiguousarray(found.X),
        np.ascontiguousarray(X[:, [names.index(one) for one in column_names(found)]]),
        "X",
    )
    same_bits(found.y, np.array(wanted.y), "y")
    agree(found.qid.tolist() == wanted.qid(), "qid", found.qid.tolist(), wanted.qid())
    docid = [] if found.docid is None else found.docid.tolist()
    agree(docid == references.one_type(wanted.documents), "docid", docid, wanted.documents)
    same_bits(np.zeros(0) if found.weight is None else found.weight, np.array(wanted.weights), "weight")
    agree((found.comments is not None) == any(wanted.comments), "comments")
    agree(found.comments is None or found.comments.tolist() == wanted.comments, "comments")


def trec(data):
    """Runs and qrels."""
    kind, size, text = choices(data, ["run", "qrels"], [1 << 20, 16])
    fields, value_at = (6, 4) if kind == "run" else (4, 3)
    wanted, refusal = expected(lambda: references.trec(text, fields, value_at))
    path = FOLDER / "data.trec"
    path.write_bytes(text)
    with cut_small(size, size):
        found, error = outcome(lambda: (read_run if kind == "run" else read_qrels)(path))
    if refusal is not None:
        agree(error is not None, "refused by the reference only", refusal.args)
        agree(line_of(str(error).removeprefix(str(path))) == refusal.line, "another line", error, refusal.args)
        return
    agree(error is None, "refused by the reader only", error)
    keys = [tuple(one.decode(errors="surrogateescape") for one in key) for key in wanted]
    agree(list(zip(found.qid.tolist(), found.docid.tolist(), strict=True)) == keys, "ids")
    same_bits(found.values, np.array(list(wanted.values())), "values")


def npz(data):
    """NPZ, whose bytes are changed: read as NumPy reads it, or refused."""
    path = FOLDER / "data.npz"
    path.write_bytes(data)
    found, error = outcome(lambda: read_data(path, format="npz"))
    if error is not None:
        return
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files if name in ("X", "y", "qid")}
    agree(len(found) == arrays["y"].size, "rows")
    same_bits(found.y, arrays["y"].astype(np.float64), "y")
    agree(found.qid.tolist() == arrays["qid"].tolist(), "qid")
    if "X" in arrays:
        same_bits(found.X, np.ascontiguousarray(arrays["X"], found.X.dtype), "X")
    else:
        X = found.X
        agree(X.indptr[0] == 0 and X.indptr[-1] <= X.data.size and (np.diff(X.indptr) >= 0).all(), "indptr")
        agree(not X.indices.size or 0 <= X.indices.min() <= X.indices.max() < X.shape[1], "indices")


def manifest(data):
    """The manifest of a folder of chunks, changed: the rows as NumPy reads the chunks, or refused."""
    (_folder() / "manifest.json").write_bytes(data)
    chunks, error = outcome(lambda: open_chunks(_folder()).read())
    if error is not None:
        return
    files = [np.load(_folder() / one["file"]) for one in json.loads(data)["chunks"]]
    agree(chunks.y.tolist() == np.concatenate([one["y"] for one in files]).tolist(), "y")
    agree(chunks.qid.tolist() == np.concatenate([one["qid"] for one in files]).tolist(), "qid")
    same_bits(chunks.X.data, np.concatenate([one["data"] for one in files]), "data")
    agree(chunks.X.indices.tolist() == np.concatenate([one["indices"] for one in files]).tolist(), "indices")


def _folder():
    folder = FOLDER / "data.chunks"
    if not folder.exists():
        rows = b"".join(b"%d qid:%d 1:%d 3:0.5\n" % (i % 3, i // 4, i) for i in range(24))
        write_chunks(folder, read_letor(io.BytesIO(rows), dense=False), chunk_bytes=256)
    return folder


def model(data):
    """Model files, changed: the numbers that JSON holds, or refused."""
    from rankwise.model_io.files import load_model

    path = FOLDER / "model.json"
    path.write_bytes(data)
    found, error = outcome(lambda: load_model(path))
    if error is not None:
        return
    state = json.loads(data)
    ranker = getattr(found, "ranker_", found)
    if "coef" in state and hasattr(ranker, "coef_"):
        same_bits(ranker.coef_, np.array(state["coef"], np.float64), "coef")
        agree(found.n_features_in_ == len(state["coef"]), "n_features")
        outcome(lambda: ranker.predict(np.zeros((2, ranker.n_features_in_))))


def archive(**arrays):
    """The bytes of an NPZ file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.asarray(array))
            packed.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue())
    return file.getvalue()


def saved_models():
    """Model files of several kinds, as bytes."""
    from rankwise import RankRLS, RankSVM
    from rankwise.estimators.kernel import KernelRankSVM
    from rankwise.estimators.scaled import ScaledRanker
    from rankwise.model_io.files import save_model

    X, y = np.arange(12.0).reshape(6, 2) % 5, np.arange(6) % 3
    path = FOLDER / "seed.json"
    for ranker in (RankSVM(), RankRLS(), KernelRankSVM(), ScaledRanker(RankSVM(), "query-minmax")):
        fitted = ranker.fit(X, y) if not isinstance(ranker, ScaledRanker) else ranker.fit(X, y, np.zeros(6))
        save_model(fitted, path, ["a", "b"])
        yield path.read_bytes()


def saved_data():
    """NPZ files of dense and sparse rows, as bytes."""
    rows = b"1 qid:1 1:1 2:2\n0 qid:1 2:0.5\n2 qid:b 1:7 # x\n"
    for dense in (True, False):
        path = FOLDER / "seed.npz"
        write_data(path, read_letor(io.BytesIO(rows), dense=dense, comments=True))
        yield path.read_bytes()
    yield archive(X=np.eye(3, dtype=np.int64), y=np.arange(3), qid=np.array([b"a", b"a", b"b"]))


def saved_manifest():
    yield (_folder() / "manifest.json").read_bytes()
