"""How Numba is used here: free functions over arrays that release the GIL, compiled on first call, cached on disk.

Only modules that hold kernels import this one, and they are imported where a kernel is first needed.
"""

from collections.abc import Callable
from typing import Any, TypeVar, overload

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


@overload
def kernel(function: F) -> F: ...
@overload
def kernel(*, fastmath: set[str]) -> Callable[[F], F]: ...
def kernel(function: Any = None, **options: Any) -> Any:
    """Compile `function` on its first call; `options` go to numba.njit."""
    if function is None:
        return lambda later: kernel(later, **options)
    settings = {"nogil": True, "error_model": "numpy", **options}
    try:
        return njit(cache=True, **settings)(function)
    except RuntimeError:  # no place to write a cache: a read-only home or site-packages
        return njit(**settings)(function)
