"""NPZ: NumPy's archive of arrays, without pickle.

    y, qid, first_index, X                                        dense
    y, qid, first_index, data, indices, indptr, shape, format     CSR; scipy.sparse.load_npz reads X from the same file

and `names`, `comments` where there are any.
"""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.arrays import Array
from rankwise.data.columns import Reading, check_finite, finished
from rankwise.data.outputs import written_beside
from rankwise.data.records import RankingData

_SPARSE = ("data", "indices", "indptr", "shape")


def write_npz(target: Any, data: RankingData) -> None:
    check_finite(data)
    with written_beside(target) as file:
        np.savez(file, allow_pickle=False, **npz_arrays(data))


def npz_arrays(data: RankingData) -> dict[str, Array]:
    """The arrays of the file by name."""
    arrays = {"y": data.y, "qid": _plain(data.qid), "first_index": np.array(data.first_index)}
    if isinstance(data.X, np.ndarray):
        arrays["X"] = np.ascontiguousarray(data.X)
    else:
        X = data.canonical
        arrays |= {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
        arrays["format"] = np.array(b"csr")
    for name, texts in (("names", data.names), ("comments", data.comments)):
        if texts is not None:
            arrays[name] = np.array([str(one) for one in texts], dtype=np.str_)
    return arrays


def _plain(qid: Array) -> Array:
    return np.array([str(one) for one in qid.tolist()]) if qid.dtype.kind in "OT" else qid


def read_npz(path: Path, reading: Reading) -> RankingData:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (ValueError, EOFError, zipfile.BadZipFile, AttributeError):
        raise ValueError(f"{path} is no NPZ file of plain arrays, or is damaged") from None
    lacking = [name for name in ("y", "qid") if name not in arrays]
    if "X" not in arrays:
        lacking += [name for name in _SPARSE if name not in arrays]
    if lacking:
        raise ValueError(f"{path} lacks {', '.join(lacking)}: ranking data are X, y and qid")
    try:
        data = from_npz(arrays)
        check_finite(data)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} holds no ranking data, or is damaged: {error}") from None
    return finished(data, reading, str(path))


def from_npz(arrays: dict[str, Array]) -> RankingData:
    """RankingData of the arrays that `npz_arrays` names."""
    X: Any
    if "X" in arrays:
        X = arrays["X"]
        X = np.ascontiguousarray(X, X.dtype if X.dtype in (np.float32, np.float64) else np.float64)
    else:
        from scipy.sparse import csr_array

        check_rows(arrays["indptr"], arrays["data"].size)
        check_columns(arrays["indices"], int(arrays["shape"][1]))
        X = csr_array(tuple(arrays[name] for name in _SPARSE[:3]), shape=tuple(arrays["shape"].tolist()))
    names, comments = arrays.get("names"), arrays.get("comments")
    first_index = int(arrays.get("first_index", np.array(1)))
    texts = None if comments is None else comments.astype(object)
    return RankingData(X, arrays["y"], arrays["qid"], texts, first_index, None if names is None else names.tolist())


def check_rows(indptr: Array, n_stored: int) -> None:
    """One sentence where rows of CSR do not begin and end within what is stored: kernels do not look."""
    if not (indptr.ndim == 1 and indptr.dtype.kind in "iu" and indptr.size):
        raise ValueError("indptr is no vector of whole numbers")
    if indptr[0] < 0 or indptr[-1] > n_stored or (indptr[1:] < indptr[:-1]).any():
        raise ValueError("indptr does not say where rows begin")


def check_columns(indices: Array, n_columns: int) -> None:
    """One sentence where an entry of CSR has no column; one pass, as a negative number is a large one without sign."""
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise ValueError("indices is no vector of whole numbers")
    if indices.size and int(indices.view(f"u{indices.itemsize}").max()) >= n_columns:
        raise ValueError(f"an index is beyond the {n_columns:,} columns")
