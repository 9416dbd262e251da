"""Tasks on the way to something: whatever happens, nothing of them is left at the end."""

from collections.abc import Callable
from typing import Any, Self


class Errand:
    """A context that submits tasks and lets go of all of them."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.futures: list[Any] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.release()

    def submit(self, work: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """The future of work(*arguments)."""
        self.futures.append(self.client.submit(work, *arguments, pure=False, **options))
        return self.futures[-1]

    def compute(self, parts: list[Any]) -> list[Any]:
        """The futures of Dask's delayed objects."""
        futures = list(self.client.compute(parts))
        self.futures += futures
        return futures

    def release(self) -> None:
        """What is not done is not begun any more, but for what others still wait for."""
        for future in self.futures:
            future.release()
