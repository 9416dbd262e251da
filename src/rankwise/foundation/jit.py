"""Numba kernels: free functions of arrays that release the GIL, compiled on the first call and cached on disk.

Only modules that define kernels import this one, and they are imported when a kernel is first needed.
"""

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, TypeVar, overload

from numba import njit

from rankwise.foundation import compiling

event: Any = import_module("numba.core.event")

F = TypeVar("F", bound=Callable[..., Any])
# Let the compiler reorder sums, which vector instructions need; once compiled, the order is fixed.
REORDER = {"reassoc", "contract"}


class _Listener(event.Listener):  # type: ignore[misc]
    """Numba tells when it compiles, and not when it loads from its cache; kernels of others do not matter."""

    def on_start(self, event: Any) -> None:
        if _is_ours(event):
            compiling.begin()

    def on_end(self, event: Any) -> None:
        if _is_ours(event):
            compiling.end()


def _is_ours(compilation: Any) -> bool:
    return str(compilation.data["dispatcher"].py_func.__module__).startswith("rankwise.")


event.register("numba:compile", _Listener())


@overload
def kernel(function: F) -> F: ...
@overload
def kernel(*, fastmath: set[str]) -> Callable[[F], F]: ...
def kernel(function: Any = None, **options: Any) -> Any:
    """Compile `function` on its first call; `options` go to numba.njit."""
    if function is None:
        return lambda later: kernel(later, **options)
    dispatcher = njit(nogil=True, error_model="numpy", **options)(function)
    if hasattr(dispatcher, "enable_caching"):  # with NUMBA_DISABLE_JIT it is the plain function
        with suppress(RuntimeError):  # no folder for a cache is writable
            _enable_cache(dispatcher, function)
    return dispatcher


def _enable_cache(dispatcher: Any, function: Any) -> None:
    """Use our cache if this version of Numba has the private attributes that it needs, else Numba's own."""
    with suppress(AttributeError, TypeError, ImportError):
        from rankwise.foundation.jit_cache import Cache

        cache = Cache(function)
        if hasattr(dispatcher, "_cache"):
            dispatcher._cache = cache
            return
    dispatcher.enable_caching()
