"""Numba kernels: free functions of arrays that release the GIL, compiled on the first call and cached on disk.

Only modules that define kernels import this one, and they are imported when a kernel is first needed.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, overload

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])
# Let the compiler reorder sums, which vector instructions need; once compiled, the order is fixed.
REORDER = {"reassoc", "contract"}


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
