"""How Numba is used here: free functions over arrays that release the GIL, compiled on first call, cached on disk.

Only modules that hold kernels import this one, and they are imported where a kernel is first needed.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F | None = None, **options: Any) -> Any:
    """Compile `function` on its first call; `options` go to numba.njit."""

    def compile_later(python_function: F) -> F:
        settings = {"nogil": True, "error_model": "numpy", **options}
        try:
            return njit(cache=True, **settings)(python_function)  # type: ignore[no-any-return]
        except RuntimeError:  # no place to write a cache: a read-only home or site-packages
            return njit(**settings)(python_function)  # type: ignore[no-any-return]

    return compile_later if function is None else compile_later(function)
