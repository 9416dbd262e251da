"""Arrays of torch and CuPy, on a GPU or not: one namespace of functions for all libraries, and transfers to and from.

Names follow the array API, as in NumPy; where torch or CuPy have another name for a function, it is adapted here.
"""

import warnings
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from math import prod, sqrt
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.foundation.memory import memory_at_hand

if TYPE_CHECKING:  # optional packages, never imported for their types alone
    import cupy
    import torch
    from scipy import sparse

    Tensor: TypeAlias = torch.Tensor
    CupyArray: TypeAlias = cupy.ndarray
    SparseMatrix: TypeAlias = sparse.csr_array
else:
    Tensor = CupyArray = SparseMatrix = Any

_Array: TypeAlias = NDArray[Any]
DeviceArray: TypeAlias = Tensor | CupyArray  # of torch or CuPy, on a GPU or not
AnyArray: TypeAlias = _Array | DeviceArray
HostMatrix: TypeAlias = _Array | SparseMatrix  # rows of features of NumPy or SciPy
Matrix: TypeAlias = HostMatrix | DeviceArray  # or of torch or CuPy, dense or sparse
AnyFloats: TypeAlias = NDArray[np.float64] | DeviceArray  # float64, on the device of the rows
Numbers: TypeAlias = ArrayLike | DeviceArray  # numbers that users pass: also a list or a column of a data frame
Selection: TypeAlias = _Array | slice  # of rows or queries

LIBRARIES = ("torch", "cupy")


def namespace(x: AnyArray) -> "ArrayFunctions":
    """The functions for arrays of the library of x, under their array-API names."""
    if isinstance(x, np.ndarray | np.generic):
        return np
    library = library_of(x)
    return _namespace(library) if library else x.__array_namespace__()


def library_of(x: object) -> str | None:
    """ "torch" or "cupy" if x is an array or a sparse matrix of that library, else None."""
    library = type(x).__module__.partition(".")[0].removesuffix("x")  # CuPy's sparse matrices are in cupyx
    return library if library in LIBRARIES else None


def is_device_array(x: object) -> TypeGuard[DeviceArray]:
    """Whether x is an array or a sparse matrix of torch or CuPy."""
    return library_of(x) is not None


def _is_torch(x: object) -> TypeGuard[Tensor]:
    return library_of(x) == "torch"


def _is_cupy(x: object) -> TypeGuard[CupyArray]:
    return library_of(x) == "cupy"


def is_sparse(x: object) -> TypeGuard[SparseMatrix]:
    """Whether x is a sparse matrix of torch, CuPy or SciPy."""
    if _is_torch(x):
        return bool(x.layout != import_module("torch").strided)
    return hasattr(x, "tocsr")


def stored(x: Matrix) -> int:
    """The number of stored entries of an array or sparse matrix."""
    if _is_torch(x):
        return int(x._nnz()) if is_sparse(x) else prod(x.shape)
    return int(x.size)


def device_of(x: Matrix) -> object:
    return x.data.device if library_of(x) == "cupy" and is_sparse(x) else x.device


def on_device_of(like: Matrix, x: Numbers) -> AnyArray:
    """x, an array of NumPy or of the library of `like`, on the device of `like`."""
    return namespace(like).asarray(x, device=device_of(like))


def on_cuda(x: AnyArray) -> bool:
    """Whether x is a torch tensor on a GPU, so that `pairs.device_kernels` can be used."""
    return _is_torch(x) and bool(x.is_cuda)


def inner(u: AnyArray, v: AnyArray) -> float:
    """u·v, inf on overflow. Not by BLAS: its threads take longer to start, and their number changes the last bits."""
    if not isinstance(u, np.ndarray):
        return float(u @ v)
    return float(np.einsum("i,i->", u, v))


def largest_of(v: AnyArray) -> float:
    """max |v_j|; 0 if there is none."""
    return float(abs(v).max()) if v.shape[0] else 0.0


def length_of(v: AnyArray) -> float:
    """|v|, even if the squares of its entries overflow."""
    norm = sqrt(inner(v, v))
    if norm < float("inf"):
        return norm
    largest = float(abs(v).max())
    return largest * sqrt(inner(v / largest, v / largest)) if largest < float("inf") else norm


def half_square(length: float) -> float:
    """½ length²; on overflow inf, where ** would raise an error."""
    return 0.5 * length * length


def diagonal_of(matrix: AnyFloats) -> AnyFloats:
    """A view of its diagonal, to write into; the matrix is square and stored row by row."""
    return matrix.reshape(-1)[:: matrix.shape[0] + 1]


def some_rows(x: AnyArray, rows: Selection) -> AnyArray:
    """x[rows], for a slice or an array of row numbers of NumPy."""
    if isinstance(rows, slice) or isinstance(x, np.ndarray):
        return x[rows]
    return namespace(x).take(x, on_device_of(x, rows), axis=0)


def to_host(x: Numbers) -> _Array:
    """x as a NumPy array."""
    on_host: _Array
    if _is_torch(x):
        on_host = x.detach().cpu().numpy()
    elif _is_cupy(x):
        on_host = x.get()
    else:
        on_host = np.asarray(x)
    return on_host


def finite_rows(X: AnyArray) -> bool:
    """Whether every entry of a matrix is finite; checked in blocks, without a temporary of the matrix's size."""
    xp, step = namespace(X), max(1, (1 << 28) // X.shape[1])
    return all(bool(xp.isfinite(X[first : first + step]).all()) for first in range(0, X.shape[0], step))


def check_device(device: str | None) -> None:
    """Raise ValueError if arrays cannot be moved to the device."""
    if device in (None, "cpu"):
        return
    library, place = _place_of(device)
    try:
        _MOVES[library](np.zeros(1), place)
    except ImportError as error:
        package = {"cupy": "cupy-cuda12x"}.get(library, library)  # CuPy has one per version of CUDA
        raise ValueError(f"device {device!r} needs {library}: pip install {package}") from error
    except (RuntimeError, AssertionError, ValueError) as error:  # as torch and CuPy have it
        reason = str(error).partition("\n")[0]
        raise ValueError(f"device {device!r} cannot be used: {reason}") from error


def move(x: Matrix, device: str | None) -> Matrix:
    """Move x, an array of NumPy or a CSR matrix of SciPy, to a device, named as in `RankSVM`."""
    if device in (None, "cpu"):
        return x
    check_device(device)
    library, place = _place_of(device)
    return _MOVES[library](x, place)


def _place_of(device: str | None) -> tuple[str, str]:
    """The library, and the device as it calls it."""
    library, _, place = str(device).partition(":")
    if library == "cuda":
        library, place = "torch", str(device)
    if library not in LIBRARIES:
        raise ValueError(f"device must be 'cpu', 'cuda', 'cuda:1', 'torch:cpu', 'cupy' or the like; got {device!r}")
    return library, place


def _to_torch(x: Matrix, place: str) -> Tensor:
    torch = import_module("torch")
    if place.startswith("cuda") and not torch.cuda.is_available():
        raise RuntimeError("torch finds no GPU: use device='cpu'")
    if not is_sparse(x):
        return torch.as_tensor(np.ascontiguousarray(x), device=place or "cpu")
    ends, columns, values = (torch.as_tensor(one, device=place or "cpu") for one in (x.indptr, x.indices, x.data))
    return torch_csr(ends, columns, values, x.shape)


def torch_csr(ends: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A CSR matrix of torch."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse (CSR tensor support is in beta|invariant checks are implicitly)")
        return import_module("torch").sparse_csr_tensor(ends, columns, values, size=shape, check_invariants=False)


def _to_cupy(x: Matrix, place: str) -> CupyArray:
    cupy = import_module("cupy")
    with cupy.cuda.Device(int(place or 0)):
        return import_module("cupyx.scipy.sparse").csr_matrix(x) if is_sparse(x) else cupy.asarray(x)


_MOVES = {"torch": _to_torch, "cupy": _to_cupy}


def memory_left(like: AnyArray) -> int:
    """Free bytes on the device of the array."""
    if _is_torch(like) and like.is_cuda:
        torch = import_module("torch")
        kept = torch.cuda.memory_reserved(like.device) - torch.cuda.memory_allocated(like.device)
        return int(torch.cuda.mem_get_info(like.device)[0]) + int(kept)
    if _is_cupy(like):
        cupy = import_module("cupy")
        return int(cupy.cuda.Device().mem_info[0]) + int(cupy.get_default_memory_pool().free_bytes())
    return int(memory_at_hand())


@cache
def _namespace(library: str) -> "ArrayFunctions":
    return {"torch": _Torch, "cupy": _CuPy}[library](import_module(library))


class _Namespace:
    """A library's own functions, except for those below, which are adapted to the array API."""

    def __init__(self, library: ModuleType) -> None:
        self.library = library

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.library, name)
        setattr(self, name, attribute)  # so that the next access does not come here
        return attribute

    def cumulative_sum(
        self, x: DeviceArray, axis: int = 0, dtype: object = None, include_initial: bool = False
    ) -> DeviceArray:
        if not include_initial:
            return self.cumsum(x, axis, dtype=dtype)
        out = self.empty((x.shape[0] + 1, *x.shape[1:]), dtype=dtype or x.dtype, device=device_of(x))
        out[:1] = 0
        self.cumsum(x, axis, dtype=dtype, out=out[1:])
        return out

    def unique_values(self, x: DeviceArray) -> DeviceArray:
        return self.unique(x)


class _Torch(_Namespace):
    def astype(self, x: DeviceArray, dtype: object, copy: bool = True) -> DeviceArray:
        return x.to(dtype, copy=copy)

    def take(self, x: DeviceArray, places: DeviceArray, axis: int = 0) -> DeviceArray:
        return self.index_select(x, axis, places)

    def max(self, x: DeviceArray, axis: int | None = None) -> DeviceArray:
        return self.amax(x, () if axis is None else axis)  # torch.max along an axis returns a pair

    def repeat(self, x: DeviceArray, repeats: DeviceArray) -> DeviceArray:
        return self.repeat_interleave(x, repeats)

    def argsort(self, x: DeviceArray, stable: bool = True) -> DeviceArray:
        return self.library.argsort(x, stable=stable)

    def nonzero(self, x: DeviceArray) -> tuple[DeviceArray, ...]:
        places: tuple[DeviceArray, ...] = self.library.nonzero(x, as_tuple=True)
        return places

    def ascontiguousarray(self, x: DeviceArray) -> DeviceArray:
        return x.contiguous()


class _CuPy(_Namespace):
    """Arrays are created on CuPy's current device; CuPy's argsort is stable."""

    def astype(self, x: DeviceArray, dtype: object, copy: bool = True) -> DeviceArray:
        return x.astype(dtype, copy=copy)

    def take(self, x: DeviceArray, places: DeviceArray, axis: int = 0) -> DeviceArray:
        return self.library.take(x, places, axis=axis)

    def repeat(self, x: DeviceArray, repeats: DeviceArray) -> DeviceArray:
        ends = self.cumsum(repeats)
        total = int(ends[-1]) if ends.shape[0] else 0
        return self.take(x, self.searchsorted(ends, self.arange(total), side="right"))

    def argsort(self, x: DeviceArray, stable: bool = True) -> DeviceArray:
        return self.library.argsort(x)

    def concat(self, arrays: Sequence[DeviceArray], axis: int = 0) -> DeviceArray:
        return self.concatenate(arrays, axis=axis)

    def pow(self, x: DeviceArray, y: DeviceArray) -> DeviceArray:
        return self.power(x, y)

    def asarray(self, x: DeviceArray, dtype: object = None, device: object = None) -> DeviceArray:
        return self.library.asarray(x, dtype=dtype)

    def arange(self, n: int, dtype: object = None, device: object = None) -> DeviceArray:
        return self.library.arange(n, dtype=dtype)

    def zeros(self, shape: int | tuple[int, ...], dtype: object = None, device: object = None) -> DeviceArray:
        return self.library.zeros(shape, dtype=dtype)

    def empty(self, shape: int | tuple[int, ...], dtype: object = None, device: object = None) -> DeviceArray:
        return self.library.empty(shape, dtype=dtype)


ArrayFunctions: TypeAlias = ModuleType | _Namespace  # functions under their array-API names
