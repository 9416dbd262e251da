"""Arrays of other libraries, on a GPU or not: which functions go with them, and the way there and back.

NumPy's own follow the array API; for torch and CuPy the few functions are added here that they call otherwise.
"""

import warnings
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from math import prod
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.foundation.memory import memory_at_hand

if TYPE_CHECKING:  # none of these is imported for its types alone
    import cupy
    import torch
    from scipy import sparse

    Tensor: TypeAlias = torch.Tensor
    CupyArray: TypeAlias = cupy.ndarray
    SparseMatrix: TypeAlias = sparse.csr_array
else:
    Tensor = CupyArray = SparseMatrix = Any

_Array: TypeAlias = NDArray[Any]
DeviceArray: TypeAlias = Tensor | CupyArray  # of another library, on a GPU or not
AnyArray: TypeAlias = _Array | DeviceArray
HostMatrix: TypeAlias = _Array | SparseMatrix  # rows of features, as NumPy and SciPy have them
Matrix: TypeAlias = HostMatrix | DeviceArray  # or torch and CuPy, which have sparse ones of their own
AnyFloats: TypeAlias = NDArray[np.float64] | DeviceArray  # float64, on the device of the rows
Numbers: TypeAlias = ArrayLike | DeviceArray  # as users give them: also a list or a column of a data frame
Selection: TypeAlias = _Array | slice  # which rows or queries

LIBRARIES = ("torch", "cupy")


def namespace(x: AnyArray) -> "ArrayFunctions":
    """The functions that go with the array x, as the array API names them."""
    if isinstance(x, np.ndarray | np.generic):
        return np
    library = library_of(x)
    return _namespace(library) if library else x.__array_namespace__()


def library_of(x: object) -> str | None:
    """ "torch" or "cupy" where x is an array or a sparse matrix of theirs."""
    library = type(x).__module__.partition(".")[0].removesuffix("x")  # cupyx has CuPy's sparse matrices
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
    """How many numbers the array or sparse matrix x holds."""
    if _is_torch(x):
        return int(x._nnz()) if is_sparse(x) else prod(x.shape)
    return int(x.size)


def device_of(x: Matrix) -> object:
    return x.data.device if library_of(x) == "cupy" and is_sparse(x) else x.device


def on_device_of(like: Matrix, x: Numbers) -> AnyArray:
    """x, an array of NumPy or of the same library, where `like` lies."""
    return namespace(like).asarray(x, device=device_of(like))


def fused(x: AnyArray) -> bool:
    """Whether x is of torch and on a GPU, where `device_kernels` can be used."""
    return _is_torch(x) and bool(x.is_cuda)


def length_of(v: AnyArray) -> float:
    """|v|, also where the squares of its entries would overflow."""
    norm = float(namespace(v).linalg.norm(v))
    if norm < float("inf"):
        return norm
    largest = float(abs(v).max())
    return largest * float(namespace(v).linalg.norm(v / largest)) if largest < float("inf") else norm


def half_square(length: float) -> float:
    """Half of its square; inf, not an error, where that overflows."""
    return 0.5 * length * length


def some_rows(x: AnyArray, rows: Selection) -> AnyArray:
    """x[rows], for a slice or an array of row numbers of NumPy."""
    if isinstance(rows, slice) or isinstance(x, np.ndarray):
        return x[rows]
    return namespace(x).take(x, on_device_of(x, rows), axis=0)


def to_host(x: Numbers) -> _Array:
    """x as NumPy has it."""
    on_host: _Array
    if _is_torch(x):
        on_host = x.detach().cpu().numpy()
    elif _is_cupy(x):
        on_host = x.get()
    else:
        on_host = np.asarray(x)
    return on_host


def finite_rows(X: AnyArray) -> bool:
    """Whether all of a matrix is finite, found without another of its size."""
    xp, step = namespace(X), max(1, (1 << 28) // X.shape[1])
    return all(bool(xp.isfinite(X[first : first + step]).all()) for first in range(0, X.shape[0], step))


def check_device(device: str | None) -> None:
    """One sentence where arrays cannot be moved there."""
    move(np.zeros(1), device)


def move(x: Matrix, device: str | None) -> Matrix:
    """x, an array of NumPy or a CSR matrix of SciPy, on a device: see `RankSVM`."""
    if device in (None, "cpu"):
        return x
    library, _, place = str(device).partition(":")
    if library == "cuda":
        library, place = "torch", str(device)
    if library not in LIBRARIES:
        raise ValueError(f"device is {device!r}: there are 'cpu', 'cuda', 'cuda:1', 'torch:cpu', 'cupy', ...")
    try:
        return _MOVES[library](x, place)
    except ImportError:
        raise ValueError(f"device {device!r} needs {library}: pip install {library}") from None


def _to_torch(x: Matrix, place: str) -> Tensor:
    torch = import_module("torch")
    if place.startswith("cuda") and not torch.cuda.is_available():
        raise ValueError("device is 'cuda', and torch finds no GPU that it could use")
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
    """Bytes that are free where the array lies."""
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
    """A library's own functions, but for those below, which follow the array API."""

    def __init__(self, library: ModuleType) -> None:
        self.library = library

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.library, name)
        setattr(self, name, found)  # found directly the next time
        return found

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
        return self.amax(x, () if axis is None else axis)  # torch's own max along an axis gives a pair

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
    """Arrays lie on CuPy's current device; its sort is stable."""

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


ArrayFunctions: TypeAlias = ModuleType | _Namespace  # of an array API, by the names that it gives them
