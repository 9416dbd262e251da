"""Compiled kernels on disk: Numba's cache, made robust against killed processes, full disks and damaged files.

It overrides private methods of Numba. If another version of Numba lacks them, `Cache(function)` raises AttributeError,
TypeError or ImportError before anything is compiled, and `jit` uses Numba's own cache.
"""

import hashlib
from collections.abc import Callable, Hashable
from importlib import import_module
from typing import Any

caching: Any = import_module("numba.core.caching")


class _CacheFile(caching.IndexDataCacheFile):  # type: ignore[misc]
    """One file per compiled function, named by a hash of its source, version and signature.

    Numba numbers the files and writes the index first: if a process is killed in between, or two processes write at
    once, the index can point to the code of another function.
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
    """A cache that never raises: an unreadable kernel is compiled again, and one that cannot be written is not kept."""

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
        except (OSError, AttributeError, TypeError):  # full disk, removed folder, or another version of Numba
            self.disable()
