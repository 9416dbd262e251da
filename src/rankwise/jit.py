"""How Numba is used here: free functions over arrays that release the GIL, compiled on first call, cached on disk.

Only modules that hold kernels import this one, and they are imported where a kernel is first needed.
"""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, TypeVar, overload

from numba import njit

caching: Any = import_module("numba.core.caching")
F = TypeVar("F", bound=Callable[..., Any])


@overload
def kernel(function: F) -> F: ...
@overload
def kernel(*, fastmath: set[str]) -> Callable[[F], F]: ...
def kernel(function: Any = None, **options: Any) -> Any:
    """Compile `function` on its first call; `options` go to numba.njit."""
    if function is None:
        return lambda later: kernel(later, **options)
    dispatcher = njit(nogil=True, error_model="numpy", **options)(function)
    if hasattr(dispatcher, "_cache"):  # it is the plain function where Numba is switched off
        with suppress(RuntimeError):  # no place to write a cache: a read-only home and site-packages
            dispatcher._cache = _Cache(function)
    return dispatcher


class _CacheFile(caching.IndexDataCacheFile):  # type: ignore[misc]
    """A file per compiled function, named by what it was compiled from. Numba numbers them and writes the index first:
    a process killed in between, or two at once, can leave an index that leads to the code of another function.
    """

    def save(self, key: Any, data: Any) -> None:
        origin = hashlib.sha256(repr((self._source_stamp, self._version, key)).encode()).hexdigest()
        name = self._data_name_pattern.replace("{number:d}", origin[:16])
        self._save_data(name, data)
        self._save_index(self._load_index() | {key: name})

    def _load_index(self) -> dict[Any, str]:
        try:
            return super()._load_index()  # type: ignore[no-any-return]
        except Exception:  # a damaged pickle can raise anything
            return {}


class _Cache(caching.FunctionCache):  # type: ignore[misc]
    """A cache never stops a fit: what cannot be read from it is compiled, what cannot be written is not kept."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        base = self._impl.filename_base
        self._cache_file = _CacheFile(self._cache_path, base, self._impl.locator.get_source_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a damaged pickle can raise anything
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError:  # the disk is full, or the folder is gone
            self.disable()
