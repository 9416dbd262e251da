"""Compiled kernels on disk: Numba's cache, made safe against kills, full disks and damaged files.

It changes private parts of Numba, which another version may name otherwise: `Cache(function)` then raises
AttributeError, TypeError or ImportError before anything is compiled, and `jit` takes Numba's cache as it is.
"""

import hashlib
from collections.abc import Callable, Hashable
from importlib import import_module
from typing import Any

caching: Any = import_module("numba.core.caching")


class _CacheFile(caching.IndexDataCacheFile):  # type: ignore[misc]
    """A file per compiled function, named by what it was compiled from. Numba numbers them and writes the index first:
    a process killed in between, or two at once, can leave an index that leads to the code of another function.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        for used in ("_source_stamp", "_version", "_data_name_pattern", "_save_data", "_save_index"):
            getattr(self, used)

    def save(self, key: Hashable, data: object) -> None:
        origin = hashlib.sha256(repr((self._source_stamp, self._version, key)).encode()).hexdigest()
        name = self._data_name_pattern.replace("{number:d}", origin[:16])
        self._save_data(name, data)
        self._save_index(self._load_index() | {key: name})

    def _load_index(self) -> dict[Hashable, str]:
        try:
            return super()._load_index()  # type: ignore[no-any-return]
        except Exception:  # a damaged pickle can raise anything
            return {}


class Cache(caching.FunctionCache):  # type: ignore[misc]
    """A cache never stops a fit: what cannot be read from it is compiled, what cannot be written is not kept."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        base = self._impl.filename_base
        self._cache_file = _CacheFile(self._cache_path, base, self._impl.locator.get_source_stamp())

    def load_overload(self, sig: object, target_context: object) -> object:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a damaged pickle can raise anything
            return None

    def save_overload(self, sig: object, data: object) -> None:
        try:
            super().save_overload(sig, data)
        except (OSError, AttributeError, TypeError):  # the disk is full, the folder is gone; or another Numba
            self.disable()
