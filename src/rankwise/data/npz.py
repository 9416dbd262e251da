"""NPZ: NumPy's archive of arrays, without pickle.

    y, qid, first_index, X                                        dense
    y, qid, first_index, data, indices, indptr, shape, format     CSR; scipy.sparse.load_npz reads X from the same file

and `names`, `comments`, `docid`, `weight`, `groups` if there are any.
"""

import errno
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from math import prod
from pathlib import Path

import numpy as np
import scipy

from rankwise.data.columns import Reading, finished
from rankwise.data.records import RankingData, check_finite
from rankwise.data.streams import unchanged
from rankwise.foundation.arrays import Array
from rankwise.foundation.memory import check_room
from rankwise.foundation.outputs import FileName, naming, written_beside

_SPARSE = ("data", "indices", "indptr", "shape")
_ARRAYS = ("y", "qid", "first_index", "X", *_SPARSE, "format", "names", "comments", "docid", "weight", "groups")
_MUCH = 1 << 24  # characters
_DAMAGED = (ValueError, TypeError, KeyError, AttributeError, EOFError, OverflowError, SyntaxError, RuntimeError)
_SEEN_IN_DAMAGED = (None, errno.EINVAL)  # NumPy raises OSError without a number; a seek before the start is EINVAL


def write_npz(target: FileName, data: RankingData) -> None:
    check_finite(data)
    with written_beside(target) as file:
        np.savez(file, allow_pickle=False, **npz_arrays(data))


def npz_arrays(data: RankingData) -> dict[str, Array]:
    """The arrays of the file by name."""
    arrays = {"y": data.y, "qid": _plain(data.qid, "qid"), "first_index": np.array(data.first_index)}
    if isinstance(data.X, np.ndarray):
        arrays["X"] = np.ascontiguousarray(data.X)
    else:
        X = data.canonical
        arrays |= {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
        arrays["format"] = np.array(b"csr")
    for name, texts in (("names", data.names), ("comments", data.comments)):
        if texts is not None:
            arrays[name] = _one_width([str(one) for one in texts], name)
    for name, ids in (("docid", data.docid), ("groups", data.groups)):
        if ids is not None:
            arrays[name] = _plain(ids, name)
    if data.weight is not None:
        arrays["weight"] = data.weight
    return arrays


def _plain(ids: Array, name: str) -> Array:
    if ids.dtype.kind not in "OT":
        return ids
    texts = [str(one) for one in ids.tolist()]
    if (row := next((row for row, one in enumerate(texts) if "\0" in one), None)) is not None:
        raise ValueError(
            f"{name}[{row}] is {texts[row][:40]!r}, whose NUL an array of texts, as NPZ files and chunks have, drops "
            "at the end: remove it"
        )
    return _one_width(texts, name)


def _one_width(texts: list[str], name: str) -> Array:
    """Texts as NumPy stores them without pickle, each as wide as the longest; an error if that is far too much."""
    longest = max(map(len, texts), default=0)
    if longest * len(texts) > max(_MUCH, 16 * sum(map(len, texts))):
        shown = next(one for one in texts if len(one) == longest)[:40]
        raise ValueError(
            f"{name} holds {shown!r}… of {longest:,} characters, which is too long for an array of texts of one width, "
            f"as NPZ files and chunks have: shorten it"
        )
    return np.array(texts, dtype=np.str_)


def npz_blocks(source: FileName, reading: Reading) -> Iterator[RankingData]:
    """All rows as one block."""
    path = Path(source)
    with unchanged(path):
        data = _read(path, reading)
    yield data


def _read(path: Path, reading: Reading) -> RankingData:
    try:
        with naming(path), open(path, "rb") as plain, zipfile.ZipFile(plain) as archive:
            sizes = [_size(archive, f"{name}.npy") for name in _ARRAYS if f"{name}.npy" in archive.namelist()]
            check_room(sum(sizes), f"what {path} holds", "convert it to chunks on a larger machine")
        with naming(path), np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in _ARRAYS if name in file.files}
    except (*_DAMAGED, OSError, zipfile.BadZipFile, zlib.error, tokenize.TokenError) as error:
        if getattr(error, "errno", None) not in _SEEN_IN_DAMAGED:
            raise
        raise ValueError(f"{path} is not an NPZ file of plain arrays, or is damaged") from None
    if not reading.needs_labels and "qid" in arrays:
        arrays.setdefault("y", np.zeros(arrays["qid"].size))
    lacking = [name for name in ("y", "qid") if name not in arrays]
    if "X" not in arrays:
        lacking += [name for name in _SPARSE if name not in arrays]
    if lacking:
        raise ValueError(f"{path} lacks {', '.join(lacking)}: ranking data are X, y and qid")
    _check_kinds(arrays, path)
    _check_format(arrays, path)
    try:
        with np.errstate(over="ignore"):  # of a longer float; what becomes infinite is refused
            data = _from_npz(arrays)
        if not reading.keep_missing:
            check_finite(data)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{path} holds no ranking data, or is damaged: {error}") from None
    return finished(data, reading, str(path))


def _size(archive: zipfile.ZipFile, name: str) -> int:
    """The bytes that an array takes, by its header; ValueError if the file does not hold as many."""
    with archive.open(name) as member:
        major, _ = np.lib.format.read_magic(member)
        read_header = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(member)
    size = prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or size > archive.getinfo(name).file_size:
        raise ValueError("the array is larger than the file")
    return int(size)


def _check_kinds(arrays: dict[str, Array], path: Path) -> None:
    """Raise an error if an array has not the type or the shape that its name requires."""
    numbers, texts = "biuf", "US"
    expected = {"X": (2, numbers), "data": (1, numbers), "y": (1, numbers), "qid": (1, numbers + texts)}
    expected |= {"indices": (1, "iu"), "indptr": (1, "iu"), "shape": (1, "iu"), "first_index": (0, "iu")}
    expected |= {"names": (1, "U"), "comments": (1, "U"), "format": (0, "US")}
    expected |= {"docid": (1, numbers + texts), "weight": (1, numbers), "groups": (1, numbers + texts)}
    for name, array in arrays.items():
        ndim, kinds = expected[name]
        if array.ndim != ndim or array.dtype.kind not in kinds:
            shape = f"{array.dtype} of shape {array.shape}"
            raise ValueError(f"{path} holds no ranking data: {name} is an array of {shape}")
    if int(arrays.get("first_index", np.array(1))) not in (0, 1):
        raise ValueError(f"{path} holds no ranking data: first_index is {arrays['first_index']}, expected 0 or 1")


def _check_format(arrays: dict[str, Array], path: Path) -> None:
    """Raise an error if X is stored twice, or is a sparse matrix of another format than CSR."""
    if "X" in arrays and (both := [name for name in _SPARSE if name in arrays]):
        raise ValueError(f"{path} holds X and also {', '.join(both)}: ranking data are dense or sparse, not both")
    stored = arrays.get("format", np.array("csr")).item()
    name = stored.decode(errors="backslashreplace") if isinstance(stored, bytes) else stored
    if name != "csr":
        raise ValueError(
            f"{path} holds a sparse matrix in the format {name[:40]!r}, expected 'csr': X.tocsr() makes one"
        )


def _from_npz(arrays: dict[str, Array]) -> RankingData:
    """RankingData of the arrays that `npz_arrays` names."""
    X: Array | scipy.sparse.csr_array
    if "X" in arrays:
        X = np.ascontiguousarray(_floats(arrays["X"]))
    else:
        shape = tuple(arrays["shape"].tolist())
        if len(shape) != 2:
            raise ValueError("shape is not that of a matrix")
        check_rows(arrays["indptr"], arrays["data"].size)
        check_columns(arrays["indices"], int(shape[1]))
        X = scipy.sparse.csr_array((_floats(arrays["data"]), arrays["indices"], arrays["indptr"]), shape=shape)
        X.check_format(full_check=True)  # kernels do not check the columns
    names, comments = arrays.get("names"), arrays.get("comments")
    first_index = int(arrays.get("first_index", np.array(1)))
    texts = None if comments is None else comments.astype(object)
    named = None if names is None else tuple(names.tolist())
    besides = (arrays.get(name) for name in ("docid", "weight", "groups"))
    return RankingData(X, arrays["y"], arrays["qid"], texts, first_index, named, *besides)


def _floats(values: Array) -> Array:
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def check_rows(indptr: Array, n_stored: int) -> None:
    """Raise an error if rows of CSR do not begin and end within what is stored: kernels do not check it."""
    if not (indptr.ndim == 1 and indptr.dtype.kind in "iu" and indptr.size):
        raise ValueError("indptr is not a vector of whole numbers")
    if indptr[0] < 0 or indptr[-1] > n_stored or (indptr[1:] < indptr[:-1]).any():
        raise ValueError("indptr does not say where rows begin")


def check_columns(indices: Array, n_columns: int) -> None:
    """Raise an error if an entry of CSR has no column. One pass: read as unsigned, a negative index is a large one."""
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise ValueError("indices is not a vector of whole numbers")
    if indices.size and int(indices.view(f"u{indices.itemsize}").max()) >= n_columns:
        raise ValueError(f"an index is beyond the {n_columns:,} columns")
